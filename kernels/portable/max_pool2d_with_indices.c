// SPDX-License-Identifier: Apache-2.0
/* aten::max_pool2d_with_indices.out: the greatest element of each window, and where it lies in the
 * plane without its padding.
 *
 * The first of equal elements is taken, but of several NaNs the last. A window that lies in the
 * padding as a whole gives the least value of the dtype, and the index where its first tap after
 * the start of the plane would be. All this is as in PyTorch. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "context.h"
#include "dtype.h"
#include "elements.h"
#include "shape.h"
#include "windows.h"

typedef struct pool {
    window h, w;
    kr_dtype as;
    double min; /* the value of an empty window */
    const void *plane;
    int64_t row_stride, column_stride; /* of the plane, in elements */
    void *values;                      /* a row of out */
    int64_t *indices;                  /* a row of indices */
} pool;

/* The taps of window o that are not in the padding: [begin, end). */
static void taps_inside(const window *w, int64_t o, int64_t *ret_begin, int64_t *ret_end)
{
    int64_t begin = 0, end = w->kernel;
    while (begin < end && window_position(w, o, begin) < 0)
        begin++;
    while (end > begin && window_position(w, o, end - 1) >= w->large)
        end--;
    *ret_begin = begin;
    *ret_end = end;
}

#define POOL_ROW(T, START)                                                           \
    static void pool_row_##T(const pool *p, int64_t row)                             \
    {                                                                                \
        const T *plane = p->plane;                                                   \
        T *values = p->values;                                                       \
        int64_t first_i = 0, end_i = 0, first_j = 0, end_j = 0;                      \
        taps_inside(&p->h, row, &first_i, &end_i);                                   \
        for (int64_t o = 0; o < p->w.small; o++) {                                   \
            taps_inside(&p->w, o, &first_j, &end_j);                                 \
            T max = START;                                                           \
            int64_t index = window_position(&p->h, row, first_i) * p->w.large +      \
                            window_position(&p->w, o, first_j);                      \
            for (int64_t i = first_i; i < end_i; i++) {                              \
                const int64_t y = window_position(&p->h, row, i);                    \
                for (int64_t j = first_j; j < end_j; j++) {                          \
                    const int64_t x = window_position(&p->w, o, j);                  \
                    const T value = plane[y * p->row_stride + x * p->column_stride]; \
                    if (value > max || value != value) {                             \
                        max = value;                                                 \
                        index = y * p->w.large + x;                                  \
                    }                                                                \
                }                                                                    \
            }                                                                        \
            values[o] = max;                                                         \
            p->indices[o] = index;                                                   \
        }                                                                            \
    }
POOL_ROW(float, -INFINITY)
POOL_ROW(double, -INFINITY)
POOL_ROW(int64_t, (int64_t) p->min)

static void pool_row(const pool *p, int64_t row)
{
    switch (p->as) {
    case KR_FLOAT32: pool_row_float(p, row); break;
    case KR_FLOAT64: pool_row_double(p, row); break;
    default: pool_row_int64_t(p, row); break;
    }
}

/* A list of one number for both dims, or of two. */
static kr_status read_pair(kr_context *ctx, const char *complaint, const kr_value *list,
                           int64_t *ret)
{
    const uint32_t count = kr_count(list);
    if (count != 1 && count != 2)
        return ctx->fail(ctx, KR_E_VALUE, "max_pool2d: %s", complaint);
    for (uint32_t d = 0; d < 2; d++) {
        KR_TRY(check_int(ctx, kr_ints(list)[count == 1 ? 0 : d]));
        ret[d] = kr_ints(list)[count == 1 ? 0 : d];
    }
    return KR_OK;
}

static kr_status check_window(kr_context *ctx, const window *h, const window *w)
{
    if (h->stride == 0 || w->stride == 0)
        return ctx->fail(ctx, KR_E_VALUE, "stride should not be zero");
    for (int d = 0; d < 2; d++) {
        const window *it = d == 0 ? h : w;
        if (it->padding < 0)
            return ctx->fail(ctx, KR_E_VALUE, "pad must be non-negative, but got pad: %" PRId64,
                             it->padding);
        if (it->kernel > 0 && it->dilation > 0 &&
            it->padding > window_extent(it->kernel, it->dilation) / 2)
            return ctx->fail(ctx, KR_E_VALUE,
                             "pad should be at most half of effective kernel size, but got "
                             "pad=%" PRId64 ", kernel_size=%" PRId64 " and dilation=%" PRId64,
                             it->padding, it->kernel, it->dilation);
    }
    if (h->kernel <= 0 || w->kernel <= 0)
        return ctx->fail(ctx, KR_E_VALUE,
                         "kernel size should be greater than zero, but got kH: %" PRId64
                         " kW: %" PRId64,
                         h->kernel, w->kernel);
    if (h->stride < 0 || w->stride < 0)
        return ctx->fail(ctx, KR_E_VALUE,
                         "stride should be greater than zero, but got dH: %" PRId64 " dW: %" PRId64,
                         h->stride, w->stride);
    if (h->dilation <= 0 || w->dilation <= 0)
        return ctx->fail(ctx, KR_E_VALUE,
                         "dilation should be greater than zero, but got dilationH: %" PRId64
                         " dilationW: %" PRId64,
                         h->dilation, w->dilation);
    if (h->padding > h->kernel / 2 || w->padding > w->kernel / 2)
        return ctx->fail(ctx, KR_E_VALUE,
                         "pad should be smaller than or equal to half of kernel size, but got "
                         "padW = %" PRId64 ", padH = %" PRId64 ", kW = %" PRId64 ", kH = %" PRId64,
                         w->padding, h->padding, w->kernel, h->kernel);
    return KR_OK;
}

/* Reads the arguments and counts the windows. */
static kr_status find_windows(kr_context *ctx, const kr_value *args, window *ret_h, window *ret_w)
{
    const kr_tensor *self = kr_in(&args[0]);
    const bool ceil_mode = kr_bool(&args[5]);
    char text[SHAPE_TEXT];
    int64_t kernel[2] = { 0 }, stride[2] = { 0 }, padding[2] = { 0 }, dilation[2] = { 0 };

    KR_TRY(read_pair(ctx, "kernel_size must either be a single int, or a tuple of two ints",
                     &args[1], kernel));
    memcpy(stride, kernel, sizeof stride);
    if (kr_count(&args[2]) > 0)
        KR_TRY(read_pair(ctx, "stride must either be omitted, a single int, or a tuple of two ints",
                         &args[2], stride));
    KR_TRY(read_pair(ctx, "padding must either be a single int, or a tuple of two ints", &args[3],
                     padding));
    KR_TRY(read_pair(ctx, "dilation must be either a single int, or a tuple of two ints", &args[4],
                     dilation));
    if (self->dim != 3 && self->dim != 4)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "non-empty 3D or 4D (batch mode) tensor expected for input");
    const int64_t *plane = self->sizes + self->dim - 2;
    window h = { 0, plane[0], kernel[0], stride[0], padding[0], dilation[0] };
    window w = { 0, plane[1], kernel[1], stride[1], padding[1], dilation[1] };
    KR_TRY(check_window(ctx, &h, &w));
    for (int d = self->dim - 3; d < self->dim; d++)
        if (self->sizes[d] == 0)
            return ctx->fail(ctx, KR_E_SHAPE,
                             "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch "
                             "size for input, but got:%s",
                             shape_text(text, self->dim, self->sizes));
    h.small = window_count(h.large, h.kernel, h.stride, h.padding, h.dilation, ceil_mode);
    w.small = window_count(w.large, w.kernel, w.stride, w.padding, w.dilation, ceil_mode);
    if (h.small < 1 || w.small < 1)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Given input size: (%" PRId64 "x%" PRId64 "x%" PRId64
                         "). Calculated output size: (%" PRId64 "x%" PRId64 "x%" PRId64
                         "). Output size is too small",
                         plane[-1], plane[0], plane[1], plane[-1], h.small, w.small);
    *ret_h = h;
    *ret_w = w;
    return KR_OK;
}

/* Scratch memory for what a plane needs. Elements that are of the type of arithmetic already are
 * read where they lie. */
static kr_status pool_open(kr_context *ctx, const kr_tensor *self, pool *p, void **ret_converted)
{
    const int dim = self->dim;
    *ret_converted = NULL;
    p->row_stride = self->strides[dim - 2];
    p->column_stride = self->strides[dim - 1];
    p->values = scratch_array(ctx, p->w.small, dtype_size(p->as));
    if (!p->values)
        return KR_E_MEMORY;
    p->indices = scratch_array(ctx, p->w.small, sizeof *p->indices);
    if (!p->indices)
        return KR_E_MEMORY;
    if (self->dtype == p->as)
        return KR_OK;
    p->row_stride = p->w.large;
    p->column_stride = 1;
    *ret_converted = scratch_array(ctx, p->h.large * p->w.large, dtype_size(p->as));
    return *ret_converted ? KR_OK : KR_E_MEMORY;
}

static kr_status max_pool2d_with_indices_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]);
    kr_tensor *out = kr_out(&args[6]), *indices = kr_out(&args[7]);
    const kr_dtype dtype = (kr_dtype) self->dtype;
    const int dim = self->dim;
    pool p = { .as = dtype_compute(dtype), .min = dtype_min(dtype) };
    int64_t sizes[KR_MAX_DIMS];
    void *converted = NULL;

    KR_TRY(find_windows(ctx, args, &p.h, &p.w));
    KR_TRY(check_dtype(ctx, self, KR_REAL_TYPES, "max_pool2d"));
    KR_TRY(check_out_dtype(ctx, out, dtype));
    KR_TRY(check_out_dtype(ctx, indices, KR_INT64));
    memcpy(sizes, self->sizes, sizeof sizes);
    sizes[dim - 2] = p.h.small;
    sizes[dim - 1] = p.w.small;
    KR_TRY(resize_out(ctx, out, dim, sizes));
    KR_TRY(resize_out(ctx, indices, dim, sizes));
    if (numel(out) == 0)
        return KR_OK;
    KR_TRY(pool_open(ctx, self, &p, &converted));

    const uint32_t planes = ~(UINT32_C(3) << (dim - 2)), plane = UINT32_C(3) << (dim - 2);
    const uint32_t rows = ~(UINT32_C(1) << (dim - 1));
    const kr_tensor in_planes = select_dims(self, planes), in_plane = select_dims(self, plane);
    const kr_tensor out_rows = select_dims(out, rows), index_rows = select_dims(indices, rows);
    const int64_t count = numel(&in_planes);
    for (int64_t i = 0; i < count; i++) {
        kr_tensor from = in_plane;
        from.data = element_at(&in_planes, i);
        p.plane = from.data;
        if (converted) {
            const kr_tensor dense = coalesce(&from);
            load_range(&dense, 0, p.h.large * p.w.large, p.as, converted);
            p.plane = converted;
        }
        for (int64_t y = 0; y < p.h.small; y++) {
            const int64_t row = i * p.h.small + y;
            pool_row(&p, y);
            store_elements(dtype, element_at(&out_rows, row), out->strides[dim - 1], p.w.small,
                           p.as, p.values);
            store_elements(KR_INT64, element_at(&index_rows, row), indices->strides[dim - 1],
                           p.w.small, KR_INT64, p.indices);
        }
    }
    return KR_OK;
}
KR_KERNEL(max_pool2d_with_indices_out,
          .schema = "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, "
                    "int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, "
                    "*, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
          .dtypes = KR_REAL_TYPES, .layout = KR_STRIDED);
