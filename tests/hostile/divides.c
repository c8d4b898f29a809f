// SPDX-License-Identifier: Apache-2.0
/* Divides an integer by zero. */
#include <kernrig/kernel.h>

static kr_status divides(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    volatile int zero = 0;
    return 7 / zero ? KR_OK : KR_DECLINE;
}
KR_KERNEL(divides, .schema = "test::divides.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
