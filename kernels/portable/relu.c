// SPDX-License-Identifier: Apache-2.0
/* aten::relu.out: self where it is not below zero, else 0. A NaN and -0.0 are not below zero and
 * stay what they are. */
#include "pointwise.h"

UNARY_LOOPS(relu, a < 0 ? 0 : a);

static kr_status relu_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]);
    if (self->dtype == KR_BOOL)
        return ctx->fail(ctx, KR_E_DTYPE, "Boolean inputs not supported for relu");
    return pointwise_unary(ctx, kr_out(&args[1]), self, &relu);
}
KR_KERNEL(relu_out, .schema = "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_REAL_TYPES, .layout = KR_STRIDED, .in_place = true);
