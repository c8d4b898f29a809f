// SPDX-License-Identifier: Apache-2.0
/* The walk of pointwise operators. The order of elements is free, so the dims are taken in the
 * order of out's strides: then channels-last tensors are as fast as contiguous ones. */
#include "pointwise.h"

#include "context.h"
#include "dtype.h"
#include "elements.h"
#include "shape.h"

kr_status pointwise_unary(kr_context *ctx, kr_tensor *out, const kr_tensor *a,
                          const unary_loops *loops)
{
    const kr_dtype dtype = (kr_dtype) a->dtype, as = dtype_compute(dtype);
    int order[KR_MAX_DIMS];
    reader r;
    writer w;

    KR_TRY(check_out_dtype(ctx, out, dtype));
    KR_TRY(resize_out(ctx, out, a->dim, a->sizes));
    order_by_stride(out, order);
    const kr_tensor to = permute(out, order), from = permute(a, order);
    reader_open(&r, &from, dtype, as);
    writer_open(&w, &to, dtype, as);
    while (writer_next(&w, CHUNK) && reader_next(&r, w.n)) {
        switch (as) {
        case KR_FLOAT32: loops->f32(w.n, w.values, r.values); break;
        case KR_FLOAT64: loops->f64(w.n, w.values, r.values); break;
        default: loops->i64(w.n, w.values, r.values); break;
        }
    }
    return KR_OK;
}

kr_status pointwise_check(kr_context *ctx, const kr_tensor *out, kr_dtype common,
                          const kr_tensor *a, const kr_tensor *b, int *ret_dim, int64_t *ret_sizes)
{
    KR_TRY(broadcast(ctx, a, b, ret_dim, ret_sizes));
    if (dtype_can_cast(common, (kr_dtype) out->dtype))
        return KR_OK;
    return ctx->fail(ctx, KR_E_CAST, "result type %s can't be cast to the desired output type %s",
                     dtype_name(common), dtype_name((kr_dtype) out->dtype));
}

kr_status pointwise_binary(kr_context *ctx, kr_tensor *out, kr_dtype common, const kr_tensor *a,
                           const kr_tensor *b, const binary_loops *loops, const kr_value *k)
{
    const kr_dtype as = dtype_compute(common);
    const double real = k ? kr_double(k) : 0;
    const int64_t integer = k ? kr_int(k) : 0;
    int dim = 0, order[KR_MAX_DIMS];
    int64_t sizes[KR_MAX_DIMS];
    reader ra, rb;
    writer w;

    KR_TRY(pointwise_check(ctx, out, common, a, b, &dim, sizes));
    KR_TRY(resize_out(ctx, out, dim, sizes));
    order_by_stride(out, order);
    const kr_tensor xa = expand(a, dim, sizes), xb = expand(b, dim, sizes);
    const kr_tensor pa = permute(&xa, order), pb = permute(&xb, order), po = permute(out, order);
    reader_open(&ra, &pa, (kr_dtype) a->dtype, as);
    reader_open(&rb, &pb, (kr_dtype) b->dtype, as);
    /* PyTorch converts operands to the common dtype first. To round them would only cost
     * precision, but what does not fit has to become infinite. */
    ra.half_range = common == KR_FLOAT16 && a->dtype != KR_FLOAT16;
    rb.half_range = common == KR_FLOAT16 && b->dtype != KR_FLOAT16;
    writer_open(&w, &po, common, as);
    while (writer_next(&w, CHUNK) && reader_next(&ra, w.n) && reader_next(&rb, w.n)) {
        switch (as) {
        case KR_FLOAT32: loops->f32(w.n, w.values, ra.values, rb.values, real); break;
        case KR_FLOAT64: loops->f64(w.n, w.values, ra.values, rb.values, real); break;
        default: loops->i64(w.n, w.values, ra.values, rb.values, integer); break;
        }
    }
    return KR_OK;
}
