// SPDX-License-Identifier: Apache-2.0
/* Writes to an input, which is mapped read-only. */
#include <kernrig/kernel.h>

static kr_status writes_input(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) rets;
    *(volatile float *) kr_in(&args[0])->data = 7;
    return KR_OK;
}
KR_KERNEL(writes_input,
          .schema = "test::writes_input.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
