// SPDX-License-Identifier: Apache-2.0
/* Writes on beyond the end of its output until something stops it. */
#include <kernrig/kernel.h>

static kr_status runs_past_end(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) rets;
    volatile float *out = kr_out(&args[1])->data;
    for (int64_t i = 0;; i++)
        out[i] = 1;
    return KR_OK;
}
KR_KERNEL(runs_past_end,
          .schema = "test::runs_past_end.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
