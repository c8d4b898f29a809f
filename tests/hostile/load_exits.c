// SPDX-License-Identifier: Apache-2.0
/* Ends its process while it is loaded. */
#include <kernrig/kernel.h>
#include <unistd.h>

__attribute__((constructor)) static void early(void) { _exit(0); }

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine, .schema = "test::load_exits.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
