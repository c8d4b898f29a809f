// SPDX-License-Identifier: Apache-2.0
/* aten::_softmax.out: exp(x) / sum(exp(x)) along dim.
 *
 * The greatest element of a line is subtracted first, so that no exponential overflows; all is
 * done in double. A line whose greatest element is infinite of either sign gives NaN, as in
 * PyTorch, since infinity minus infinity is NaN. */
#include <math.h>

#include "context.h"
#include "lines.h"
#include "shape.h"

static void softmax_line(int64_t n, double *x)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) {
        x[i] = exp(x[i] - max);
        sum += x[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] /= sum;
}

static kr_status softmax_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]);
    kr_tensor *out = kr_out(&args[3]);
    int dim = 0;

    KR_TRY(wrap_dim(ctx, kr_int(&args[1]), self->dim, &dim));
    KR_TRY(check_dtype(ctx, self, KR_FLOAT_TYPES, "softmax_kernel_impl"));
    KR_TRY(check_out_dtype(ctx, out, kr_bool(&args[2]) ? KR_FLOAT32 : (kr_dtype) self->dtype));
    if (kr_bool(&args[2]))
        return ctx->fail(ctx, KR_E_DTYPE,
                         "softmax with half to float conversion is not supported on CPU");
    KR_TRY(resize_out(ctx, out, self->dim, self->sizes));
    if (numel(self) == 0)
        return KR_OK;

    const lines from = lines_along(self, dim), to = lines_along(out, dim);
    const int64_t n = from.length, at_once = lines_at_once(&from, n);
    double *values = scratch_array(ctx, at_once * n, sizeof *values);
    if (!values)
        return KR_E_MEMORY;
    for (int64_t first = 0, count = 0; first < from.count; first += count) {
        count = from.count - first < at_once ? from.count - first : at_once;
        lines_load(&from, first, count, 0, n, KR_FLOAT64, values);
        for (int64_t i = 0; i < count; i++)
            softmax_line(n, values + i * n);
        lines_store(&to, first, count, 0, n, KR_FLOAT64, values);
    }
    return KR_OK;
}
KR_KERNEL(softmax_out,
          .schema = "aten::_softmax.out(Tensor self, int dim, bool half_to_float, *, "
                    "Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_FLOAT_TYPES, .layout = KR_STRIDED, .in_place = true);
