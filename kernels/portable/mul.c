// SPDX-License-Identifier: Apache-2.0
/* aten::mul.out and aten::mul.Scalar_out: self * other, broadcast and promoted; integers wrap, bool
 * is "and". A Scalar is a tensor that promotes as a number does. */
#include "dtype.h"
#include "elements.h"
#include "pointwise.h"
#include "shape.h"

BINARY_LOOPS(mul, (a * b));
BINARY_LOOPS(mul_by_number, (a * k));

static kr_status multiply(kr_context *ctx, kr_tensor *out, const kr_tensor *self,
                          const kr_tensor *other)
{
    const kr_dtype common = dtype_result(2, (const kr_tensor *const[]){ self, other });
    kr_value number = { .tag = KR_TAG_DOUBLE };

    if (common != KR_FLOAT16 || other->dtype == KR_FLOAT16 || numel(other) != 1)
        return pointwise_binary(ctx, out, common, self, other, &mul, NULL);
    /* PyTorch multiplies float16 by a number without converting that to float16 first, so that
     * 0.001 * 100000 is 100; only if it is `other`, though. */
    load_elements((kr_dtype) other->dtype, other->data, 1, 1, KR_FLOAT64, &number.as.real);
    return pointwise_binary(ctx, out, common, self, other, &mul_by_number, &number);
}

static kr_status mul_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    return multiply(ctx, kr_out(&args[2]), kr_in(&args[0]), kr_in(&args[1]));
}
KR_KERNEL(mul_out,
          .schema = "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED, .in_place = true);

static kr_status mul_scalar_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    scalar_memory memory;
    const kr_tensor other = scalar_tensor(&args[1], &memory);
    (void) rets;
    return multiply(ctx, kr_out(&args[2]), kr_in(&args[0]), &other);
}
KR_KERNEL(mul_scalar_out,
          .schema = "aten::mul.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> "
                    "Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED, .in_place = true);
