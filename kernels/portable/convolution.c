// SPDX-License-Identifier: Apache-2.0
/* aten::convolution.out: convolution and transposed convolution over one to three dims.
 *
 * Both are matrix products. A convolution is weight times a matrix that has, for each tap of each
 * channel, a row of the elements that the tap meets in all windows; rows are read out of the input
 * when the product needs them. A transposed convolution is the transposed weight times the input,
 * and adds each row of that product to the places where its tap goes. There each window is met
 * only where it is: a NaN in the weight goes no further than in PyTorch. */
#include <string.h>

#include "context.h"
#include "convolution_shape.h"
#include "dtype.h"
#include "elements.h"
#include "matmul.h"
#include "shape.h"
#include "windows.h"

/* All that is known of one call, as 3-d: a dim that is missing has one window of one tap. */
typedef struct convolution {
    kr_tensor input, out; /* batch, channels, and three spatial dims */
    const kr_tensor *bias;
    const char *weight; /* contiguous, of type as, in the order that the product reads it */
    kr_dtype as, sums;
    window windows[SPATIAL];
    int64_t taps;           /* of all dims */
    int64_t in_channels;    /* of a group */
    int64_t out_channels;   /* of a group */
    int64_t group, image;   /* those that are being computed */
    kr_tensor plane;        /* what one channel of them covers, coalesced */
    int64_t plane_elements; /* of out, of one image and channel */
    void *accumulated;      /* planes of out as `sums`: of a transposed convolution */
} convolution;

/* A walk of one tap of one channel through windows that follow each other in row-major order, by
 * segments within the last dim. */
typedef struct walk {
    const convolution *c;
    int64_t channel, image;
    int64_t tap[SPATIAL], at[SPATIAL]; /* at: the next window */
    int64_t inside_begin, inside_end;  /* windows of the last dim for which the tap is inside */
    /* The segment: of n windows, those before `begin` and from `end` on meet the padding. */
    int64_t n, begin, end;
    int64_t place[SPATIAL]; /* of the window at begin, in the large side */
} walk;

static void walk_open(walk *w, const convolution *c, int64_t row, int64_t column)
{
    const window *last = &c->windows[SPATIAL - 1];
    w->c = c;
    for (int d = SPATIAL - 1; d >= 0; d--) {
        w->tap[d] = row % c->windows[d].kernel;
        row /= c->windows[d].kernel;
        w->at[d] = column % c->windows[d].small;
        column /= c->windows[d].small;
    }
    w->channel = row;
    w->image = column;
    window_range(last, w->tap[SPATIAL - 1], &w->inside_begin, &w->inside_end);
}

/* Finds the next segment, of at most max windows. */
static void walk_next(walk *w, int64_t max)
{
    const window *windows = w->c->windows, *last = &windows[SPATIAL - 1];
    const int64_t o = w->at[SPATIAL - 1], left = last->small - o;
    bool inside = true;

    w->n = left < max ? left : max;
    for (int d = 0; d < SPATIAL - 1; d++) {
        w->place[d] = window_position(&windows[d], w->at[d], w->tap[d]);
        inside = inside && w->place[d] >= 0 && w->place[d] < windows[d].large;
    }
    const int64_t begin = w->inside_begin > o ? w->inside_begin - o : 0;
    const int64_t end = w->inside_end < o + w->n ? w->inside_end - o : w->n;
    w->begin = inside && begin < end ? begin : w->n;
    w->end = inside && begin < end ? end : w->n;
    w->place[SPATIAL - 1] = window_position(last, o + w->begin, w->tap[SPATIAL - 1]);

    w->at[SPATIAL - 1] += w->n;
    for (int d = SPATIAL - 1; d > 0 && w->at[d] == windows[d].small; d--) {
        w->at[d] = 0;
        w->at[d - 1]++;
    }
}

/* After the last window of an image comes the first of the next one. */
static void walk_wrap(walk *w)
{
    if (w->at[0] == w->c->windows[0].small) {
        w->at[0] = 0;
        w->image++;
    }
}

/* What a tap of a channel meets in n windows of all images, of which the first is `column`. */
static void read_taps(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const convolution *c = cookie;
    const kr_tensor *input = &c->input;
    const kr_dtype dtype = (kr_dtype) input->dtype;
    const size_t size = dtype_size(c->as), in_size = dtype_size(dtype);
    const int64_t step = c->windows[SPATIAL - 1].stride * input->strides[4];
    char *values = to;
    walk w;

    walk_open(&w, c, row, column);
    const int64_t channel = (c->group * c->in_channels + w.channel) * input->strides[1];
    for (int64_t done = 0; done < n; done += w.n, values += (size_t) w.n * size) {
        const int64_t image = w.image * input->strides[0];
        walk_next(&w, n - done);
        walk_wrap(&w);
        if (w.begin > 0)
            memset(values, 0, (size_t) w.begin * size);
        if (w.begin < w.end)
            load_elements(dtype,
                          element_offset(input,
                                         image + channel + w.place[0] * input->strides[2] +
                                             w.place[1] * input->strides[3] +
                                             w.place[2] * input->strides[4],
                                         in_size),
                          step, w.end - w.begin, c->as, values + (size_t) w.begin * size);
        if (w.end < w.n)
            memset(values + (size_t) w.end * size, 0, (size_t) (w.n - w.end) * size);
    }
}

static void read_weight(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const convolution *c = cookie;
    const int64_t depth = c->in_channels * c->taps;
    const int64_t first = (c->group * c->out_channels + row) * depth + column;
    memcpy(to, c->weight + first * (int64_t) dtype_size(c->as), (size_t) n * dtype_size(c->as));
}

/* The weight is stored as output channel, tap, input channel of all groups. */
static void read_transposed_weight(const void *cookie, int64_t row, int64_t column, int64_t n,
                                   void *to)
{
    const convolution *c = cookie;
    const int64_t channels = c->input.sizes[1];
    const int64_t first = row * channels + c->group * c->in_channels + column;
    memcpy(to, c->weight + first * (int64_t) dtype_size(c->as), (size_t) n * dtype_size(c->as));
}

/* The plane of a channel among those of the current group and image. */
static kr_tensor channel_plane(const convolution *c, const kr_tensor *of, int64_t channels,
                               int64_t channel)
{
    kr_tensor plane = c->plane;
    plane.data = element_offset(
        of, c->image * of->strides[0] + (c->group * channels + channel) * of->strides[1],
        dtype_size((kr_dtype) of->dtype));
    return plane;
}

static void read_input(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const convolution *c = cookie;
    const kr_tensor plane = channel_plane(c, &c->input, c->in_channels, row);
    load_range(&plane, column, n, c->as, to);
}

static void add_bias(const convolution *c, int64_t channel, int64_t n, void *values)
{
    const int64_t index = c->group * c->out_channels + channel;
    double *reals = values, real = 0;
    int64_t *integers = values, integer = 0;
    if (!c->bias)
        return;
    const kr_dtype dtype = (kr_dtype) c->bias->dtype;
    const void *place = element_offset(c->bias, index * c->bias->strides[0], dtype_size(dtype));
    if (c->sums == KR_FLOAT64) {
        load_elements(dtype, place, 1, 1, KR_FLOAT64, &real);
        for (int64_t i = 0; i < n; i++)
            reals[i] += real;
    } else {
        load_elements(dtype, place, 1, 1, KR_INT64, &integer);
        for (int64_t i = 0; i < n; i++)
            integers[i] += integer;
    }
}

static void write_channel(const void *cookie, int64_t row, int64_t column, int64_t n, void *values)
{
    const convolution *c = cookie;
    const kr_tensor plane = channel_plane(c, &c->out, c->out_channels, row);
    add_bias(c, row, n, values);
    store_range(&plane, column, n, c->sums, values);
}

/* Adds what n windows of the input give to a tap of a channel to the places where it goes. */
static void add_taps(const void *cookie, int64_t row, int64_t column, int64_t n, void *values)
{
    const convolution *c = cookie;
    const int64_t step = c->windows[SPATIAL - 1].stride;
    const double *reals = values;
    const int64_t *integers = values;
    walk w;

    walk_open(&w, c, row, column);
    for (int64_t done = 0; done < n; done += w.n) {
        walk_next(&w, n - done);
        if (w.begin == w.end)
            continue;
        int64_t place = w.channel;
        for (int d = 0; d < SPATIAL; d++)
            place = place * c->windows[d].large + w.place[d];
        double *real_sums = (double *) c->accumulated + place;
        int64_t *integer_sums = (int64_t *) c->accumulated + place;
        for (int64_t i = w.begin; i < w.end; i++, real_sums += step, integer_sums += step) {
            if (c->sums == KR_FLOAT64)
                *real_sums += reals[done + i];
            else
                *integer_sums += integers[done + i];
        }
    }
}

static kr_status run_convolution(kr_context *ctx, convolution *c, int64_t groups)
{
    const kr_tensor covered = select_dims(&c->out, ~UINT32_C(2));
    matmul product = { .rows = c->out_channels,
                       .columns = numel(&covered),
                       .depth = c->in_channels * c->taps,
                       .as = c->as,
                       .read_a = read_weight,
                       .read_b = read_taps,
                       .write = write_channel,
                       .cookie = c };
    c->plane = coalesce(&covered);
    KR_TRY(matmul_open(ctx, &product));
    for (c->group = 0; c->group < groups; c->group++)
        matmul_run(&product);
    return KR_OK;
}

/* Stores the planes of the current group and image. */
static void store_planes(convolution *c, const kr_tensor *out_plane)
{
    const kr_tensor input_plane = c->plane;
    c->plane = *out_plane;
    for (int64_t channel = 0; channel < c->out_channels; channel++) {
        char *values = (char *) c->accumulated +
                       channel * c->plane_elements * (int64_t) dtype_size(c->sums);
        const kr_tensor plane = channel_plane(c, &c->out, c->out_channels, channel);
        add_bias(c, channel, c->plane_elements, values);
        store_range(&plane, 0, c->plane_elements, c->sums, values);
    }
    c->plane = input_plane;
}

static kr_status run_transposed(kr_context *ctx, convolution *c, int64_t groups)
{
    const kr_tensor in_spatial = select_dims(&c->input, ~UINT32_C(3));
    const kr_tensor out_spatial = select_dims(&c->out, ~UINT32_C(3));
    const kr_tensor out_plane = coalesce(&out_spatial);
    matmul product = { .rows = c->out_channels * c->taps,
                       .columns = numel(&in_spatial),
                       .depth = c->in_channels,
                       .as = c->as,
                       .read_a = read_transposed_weight,
                       .read_b = read_input,
                       .write = add_taps,
                       .cookie = c };
    c->plane = coalesce(&in_spatial);
    c->plane_elements = numel(&out_spatial);
    const int64_t sums = c->out_channels * c->plane_elements;
    c->accumulated = scratch_array(ctx, sums, dtype_size(c->sums));
    if (!c->accumulated)
        return KR_E_MEMORY;
    KR_TRY(matmul_open(ctx, &product));
    for (c->image = 0; c->image < c->out.sizes[0]; c->image++) {
        for (c->group = 0; c->group < groups; c->group++) {
            memset(c->accumulated, 0, (size_t) sums * dtype_size(c->sums));
            matmul_run(&product);
            store_planes(c, &out_plane);
        }
    }
    return KR_OK;
}

/* t with dims of size 1 between its channels and its spatial dims, so that these are three. */
static kr_tensor as_3d(const kr_tensor *t)
{
    const int missing = 2 + SPATIAL - t->dim;
    kr_tensor view = *t;
    view.dim = 2 + SPATIAL;
    for (int d = 2; d < view.dim; d++) {
        view.sizes[d] = d < 2 + missing ? 1 : t->sizes[d - missing];
        view.strides[d] = d < 2 + missing ? 0 : t->strides[d - missing];
    }
    return view;
}

static kr_status convolution_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *input = kr_in(&args[0]), *weight = kr_in(&args[1]);
    const kr_tensor *bias = kr_in(&args[2]);
    kr_tensor *out = kr_out(&args[9]);
    convolution_shape shape;

    KR_TRY(convolution_check(ctx, input, weight, bias, args, &shape));
    KR_TRY(check_out_dtype(ctx, out, (kr_dtype) input->dtype));
    KR_TRY(resize_out(ctx, out, input->dim, shape.sizes));
    if (numel(out) == 0)
        return KR_OK;

    convolution c = { .input = as_3d(input),
                      .out = as_3d(out),
                      .bias = bias,
                      .sums = dtype_accumulate((kr_dtype) input->dtype),
                      .taps = 1,
                      .in_channels = input->sizes[1] / shape.groups,
                      .out_channels = out->sizes[1] / shape.groups };
    memcpy(c.windows, shape.windows, sizeof c.windows);
    for (int d = 0; d < SPATIAL; d++)
        c.taps *= c.windows[d].kernel;
    /* One product for each group: as if one matrix stood below the other. */
    const kr_tensor *small = shape.transposed ? input : out;
    c.as = matmul_type((kr_dtype) input->dtype, weight->sizes[0], numel(small) / small->sizes[1],
                       weight->sizes[1] * c.taps);

    const kr_tensor weight_3d = as_3d(weight);
    const kr_tensor stored = permute(&weight_3d, shape.transposed ? (const int[]){ 1, 2, 3, 4, 0 }
                                                                  : (const int[]){ 0, 1, 2, 3, 4 });
    c.weight = contiguous_elements(ctx, &stored, c.as);
    if (!c.weight)
        return KR_E_MEMORY;
    return shape.transposed ? run_transposed(ctx, &c, shape.groups)
                            : run_convolution(ctx, &c, shape.groups);
}
KR_KERNEL(convolution_out,
          .schema = "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, "
                    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
                    "SymInt[] output_padding, SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_REAL_TYPES, .layout = KR_STRIDED);
