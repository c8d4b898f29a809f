// SPDX-License-Identifier: Apache-2.0
/* Contradicts the schema of an operator that is known. */
#include <kernrig/kernel.h>

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine,
          .schema = "aten::relu.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
