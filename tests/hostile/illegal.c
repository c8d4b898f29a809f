// SPDX-License-Identifier: Apache-2.0
/* Executes an instruction that does not exist. */
#include <kernrig/kernel.h>

static kr_status illegal(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    __builtin_trap();
}
KR_KERNEL(illegal, .schema = "test::illegal.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
