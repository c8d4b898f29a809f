// SPDX-License-Identifier: Apache-2.0
/* Never ends being loaded. */
#include <kernrig/kernel.h>

__attribute__((constructor)) static void early(void)
{
    volatile int n = 0;
    while (1)
        n++;
}

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine, .schema = "test::load_loops.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
