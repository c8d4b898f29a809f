// SPDX-License-Identifier: Apache-2.0
/* aten::add.out: self + alpha * other, broadcast and promoted; integers wrap, bool is "or".
 *
 * An alpha that is a bool counts as 0 or 1 for every dtype; PyTorch takes it for bool only. With an
 * alpha, floats are computed in double: a product and a sum in float would round twice, and where
 * they nearly cancel that is more than PyTorch's fused operation loses. */
#include "context.h"
#include "dtype.h"
#include "pointwise.h"

BINARY_LOOPS(add, a + b);
BINARY_LOOPS(add_scaled, a + k * b);

static kr_status check_alpha(kr_context *ctx, const kr_value *alpha, kr_dtype common)
{
    if (alpha->tag == KR_TAG_DOUBLE && !dtype_is_float(common))
        return ctx->fail(ctx, KR_E_VALUE,
                         "For integral input tensors, argument alpha must not be a floating "
                         "point number.");
    return check_scalar(ctx, alpha, common);
}

static kr_status add_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]), *other = kr_in(&args[1]);
    kr_value alpha = args[2];
    kr_tensor *out = kr_out(&args[3]);
    const kr_dtype common = dtype_result(2, (const kr_tensor *const[]){ self, other });
    int dim = 0;
    int64_t sizes[KR_MAX_DIMS];

    KR_TRY(pointwise_check(ctx, out, common, self, other, &dim, sizes));
    KR_TRY(check_alpha(ctx, &alpha, common));
    if (common == KR_BOOL)
        alpha = (kr_value){ .tag = KR_TAG_BOOL, .as.boolean = kr_int(&alpha) != 0 };
    return pointwise_binary(ctx, out, common, self, other,
                            kr_double(&alpha) == 1 ? &add : &add_scaled, &alpha);
}
KR_KERNEL(add_out,
          .schema = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) "
                    "-> Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED, .in_place = true);
