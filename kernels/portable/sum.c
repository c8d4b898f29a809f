// SPDX-License-Identifier: Apache-2.0
/* aten::sum.IntList_out: the sum over dims, or over all of them if none is named.
 *
 * Floats are added up in double, integers in int64_t, which wraps; of bool the sum is "or". */
#include "context.h"
#include "dtype.h"
#include "reduce.h"
#include "shape.h"

REDUCE_LOOPS(sum, 0, a + b);

/* PyTorch converts each element to the dtype of the result before it adds. That need not be done
 * where it changes nothing: for wider floats, and for integers, since sums wrap alike. */
static kr_dtype converted(kr_dtype from, kr_dtype to)
{
    if (dtype_is_float(from) != dtype_is_float(to) || to == KR_BOOL)
        return to;
    return !dtype_is_float(to) || dtype_promote(from, to) == to ? from : to;
}

static kr_status sum_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]);
    const bool keepdim = kr_bool(&args[2]);
    kr_tensor *out = kr_out(&args[4]);
    uint32_t mask = 0;
    int64_t sizes[KR_MAX_DIMS];

    if (!kr_is_none(&args[3])) {
        if (!dtype_is_known(kr_int(&args[3])))
            return ctx->fail(ctx, KR_E_DTYPE, "sum: kernrig has no kernel for this dtype argument");
        KR_TRY(check_out_dtype(ctx, out, (kr_dtype) kr_int(&args[3])));
    }
    KR_TRY(dim_mask(ctx, &args[1], self->dim, &mask));
    KR_TRY(resize_out(ctx, out, reduced_shape(self, mask, keepdim, sizes), sizes));
    reduce(self, mask, keepdim, converted((kr_dtype) self->dtype, (kr_dtype) out->dtype), out,
           &sum);
    return KR_OK;
}
KR_KERNEL(sum_out,
          .schema = "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
                    "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED);
