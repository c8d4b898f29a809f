// SPDX-License-Identifier: Apache-2.0
/* Writes into its output for ever. */
#include <kernrig/kernel.h>

static kr_status scribbles(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) rets;
    volatile float *out = kr_out(&args[1])->data;
    for (float x = 1;; x = x < 1e6f ? x + 1 : 1)
        *out = x;
    return KR_OK;
}
KR_KERNEL(scribbles, .schema = "test::scribbles.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
