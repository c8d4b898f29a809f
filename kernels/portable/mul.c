// SPDX-License-Identifier: Apache-2.0
/* aten::mul.out: self * other, broadcast and promoted; integers wrap, bool is "and". */
#include "dtype.h"
#include "elements.h"
#include "pointwise.h"
#include "shape.h"

BINARY_LOOPS(mul, (a * b));
BINARY_LOOPS(mul_by_number, (a * k));

static kr_status mul_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]), *other = kr_in(&args[1]);
    kr_tensor *out = kr_out(&args[2]);
    const kr_dtype common = dtype_result(2, (const kr_tensor *const[]){ self, other });
    kr_value number = { .tag = KR_TAG_DOUBLE };

    if (common != KR_FLOAT16 || other->dtype == KR_FLOAT16 || numel(other) != 1)
        return pointwise_binary(ctx, out, common, self, other, &mul, NULL);
    /* PyTorch multiplies float16 by a number without converting that to float16 first, so that
     * 0.001 * 100000 is 100; only if it is `other`, though. */
    load_elements((kr_dtype) other->dtype, other->data, 1, 1, KR_FLOAT64, &number.as.real);
    return pointwise_binary(ctx, out, common, self, other, &mul_by_number, &number);
}
KR_KERNEL(mul_out,
          .schema = "aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED, .in_place = true);
