// SPDX-License-Identifier: Apache-2.0
/* aten::convolution.out: values that were worked out by hand, and many shapes against the
 * definition, which is a loop over each pair of a place and a tap. */
#include "host.h"

static const char name[] = "aten::convolution.out";

/* A call; lists have as many numbers as there are spatial dims. */
typedef struct call {
    kr_tensor *input, *weight, *bias, *out;
    int64_t stride[3], padding[3], dilation[3], output_padding[3], groups;
    bool transposed;
} call;

static call plain(kr_tensor *input, kr_tensor *weight, kr_tensor *bias, kr_tensor *out)
{
    return (call){ input,       weight,      bias,        out, { 1, 1, 1 },
                   { 0, 0, 0 }, { 1, 1, 1 }, { 0, 0, 0 }, 1,   false };
}

static void run(host *h, const call *c)
{
    const int n = c->weight->dim - 2;
    const kr_value args[] = {
        tensor(c->input),       tensor(c->weight),          c->bias ? tensor(c->bias) : none(),
        list(n, c->stride),     list(n, c->padding),        list(n, c->dilation),
        boolean(c->transposed), list(n, c->output_padding), integer(c->groups),
        tensor(c->out)
    };
    host_runs(h, name, args);
}

static void every_dtype_is_convolved(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_UINT8,   KR_INT8,     KR_INT16,   KR_INT32,  KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 9; d++) {
        kr_tensor *input = host_ints(h, dtypes[d], SIZES(1, 1, 3, 3),
                                     INTS(1, 2, 3, 4, 5, 6, 7, 8, 9));
        kr_tensor *weight = host_ints(h, dtypes[d], SIZES(1, 1, 2, 2), INTS(1, 2, 0, 3));
        kr_tensor *bias = host_ints(h, dtypes[d], SIZES(1), INTS(10));
        const call c = plain(input, weight, bias, host_empty(h, dtypes[d], 4));
        run(h, &c);
        host_has_sizes(c.out, SIZES(1, 1, 2, 2));
        /* 1 + 4 + 15, 2 + 6 + 18, 4 + 10 + 24, 5 + 12 + 27, each with the bias */
        host_has_reals(c.out, REALS(30, 36, 48, 54));
        host_forget(h);
    }
}

static void integers_wrap(void **state)
{
    host *h = *state;
    kr_tensor *input = host_ints(h, KR_INT8, SIZES(1, 1, 2), INTS(100, 100));
    kr_tensor *weight = host_ints(h, KR_INT8, SIZES(1, 1, 2), INTS(1, 1));
    const call c = plain(input, weight, NULL, host_empty(h, KR_INT8, 1));
    run(h, &c);
    host_has_ints(c.out, INTS(-56));
}

static void a_transposed_convolution_spreads_each_element(void **state)
{
    host *h = *state;
    kr_tensor *input = host_ints(h, KR_FLOAT32, SIZES(1, 2, 2), INTS(1, 2, 10, 20));
    kr_tensor *weight = host_ints(h, KR_FLOAT32, SIZES(2, 1, 3), INTS(1, 2, 3, 1, 1, 1));
    kr_tensor *bias = host_ints(h, KR_FLOAT32, SIZES(1), INTS(100));
    call c = plain(input, weight, bias, host_empty(h, KR_FLOAT32, 8));
    c.transposed = true;
    run(h, &c);
    /* 1 2 3 + 0 2 4 6 of the first channel, 10 10 10 + 0 20 20 20 of the second */
    host_has_reals(c.out, REALS(111, 134, 137, 126));
    c.stride[0] = 2;
    c.padding[0] = 1;
    c.output_padding[0] = 1;
    run(h, &c);
    /* Without padding: 11, 12, 35, 24, 26, 0. */
    host_has_sizes(c.out, SIZES(1, 1, 4));
    host_has_reals(c.out, REALS(112, 135, 124, 126));
    c.dilation[0] = 2;
    c.padding[0] = 0;
    run(h, &c);
    /* Taps at 0, 2, 4 of elements at 0 and 2. */
    host_has_reals(c.out, REALS(111, 100, 134, 100, 137, 100, 126, 100));
}

static void each_group_has_its_own_channels_and_bias(void **state)
{
    host *h = *state;
    kr_tensor *input = host_ints(h, KR_INT64, SIZES(1, 2, 1), INTS(3, 5));
    kr_tensor *weight = host_ints(h, KR_INT64, SIZES(4, 1, 1), INTS(1, 2, 3, 4));
    kr_tensor *bias = host_ints(h, KR_INT64, SIZES(4), INTS(100, 200, 300, 400));
    call c = plain(input, weight, bias, host_empty(h, KR_INT64, 4));
    c.groups = 2;
    run(h, &c);
    host_has_ints(c.out, INTS(103, 206, 315, 420));
    c.weight = host_ints(h, KR_INT64, SIZES(2, 2, 1), INTS(1, 2, 3, 4));
    c.transposed = true;
    run(h, &c);
    host_has_ints(c.out, INTS(103, 206, 315, 420));
}

static void a_nan_in_the_weight_goes_where_its_tap_goes(void **state)
{
    host *h = *state;
    kr_tensor *input = host_ints(h, KR_FLOAT32, SIZES(1, 1, 2), INTS(1, 2));
    kr_tensor *weight = host_reals(h, KR_FLOAT32, SIZES(1, 1, 2), REALS(NAN, 1));
    call c = plain(input, weight, NULL, host_empty(h, KR_FLOAT32, 8));
    c.transposed = true;
    c.stride[0] = 3;
    run(h, &c);
    host_has_reals(c.out, REALS(NAN, 1, 0, NAN, 2));
    c.transposed = false;
    c.stride[0] = 1;
    c.padding[0] = 1;
    run(h, &c);
    host_has_reals(c.out, REALS(NAN, NAN, NAN));
}

static void an_input_without_images_or_channels_gives_a_result_without_them(void **state)
{
    host *h = *state;
    call c = plain(host_tensor(h, KR_FLOAT32, SIZES(0, 2, 3)),
                   host_tensor(h, KR_FLOAT32, SIZES(4, 2, 2)), NULL, host_empty(h, KR_FLOAT32, 0));
    run(h, &c);
    host_has_sizes(c.out, SIZES(0, 4, 2));
    c.input = host_tensor(h, KR_FLOAT32, SIZES(1, 0, 3));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(4, 0, 2));
    run(h, &c);
    host_has_sizes(c.out, SIZES(1, 0, 2));
}

/* The element of t at an image, a channel and a place in three dims, of which the first ones that
 * the tensor lacks are 0. */
static int64_t linear_of(const kr_tensor *t, int64_t image, int64_t channel, const int64_t *place)
{
    int64_t linear = image * t->sizes[1] + channel;
    for (int d = 2; d < t->dim; d++)
        linear = linear * t->sizes[d] + place[d - t->dim + 3];
    return linear;
}

/* Row-major counting through three extents; false at the end. */
static bool next_place(int64_t *place, const int64_t *extents)
{
    for (int d = 2; d >= 0; d--) {
        if (++place[d] < extents[d])
            return true;
        place[d] = 0;
    }
    return false;
}

static void spatial_sizes(const kr_tensor *t, int64_t *ret)
{
    for (int d = 0; d < 3; d++)
        ret[d] = d < 5 - t->dim ? 1 : t->sizes[d - 3 + t->dim];
}

/* What the definition gives, with what a channel of the small side and one of the large side add
 * up to, in out's order. */
static double *defined(host *h, const call *c)
{
    const kr_tensor *small = c->transposed ? c->input : c->out;
    const kr_tensor *large = c->transposed ? c->out : c->input;
    const int missing = 5 - c->weight->dim;
    int64_t count = 1, small_sizes[3], large_sizes[3], kernel[3];
    for (int d = 0; d < c->out->dim; d++)
        count *= c->out->sizes[d];
    double *sums = host_tensor(h, KR_FLOAT64, SIZES(count))->data;
    for (int64_t i = 0; i < count; i++) {
        int64_t plane = 1;
        for (int d = 2; d < c->out->dim; d++)
            plane *= c->out->sizes[d];
        sums[i] = c->bias ? host_real(c->bias, i / plane % c->out->sizes[1]) : 0;
    }
    spatial_sizes(small, small_sizes);
    spatial_sizes(large, large_sizes);
    spatial_sizes(c->weight, kernel);

    const int64_t small_group = small->sizes[1] / c->groups;
    const int64_t large_group = large->sizes[1] / c->groups;
    for (int64_t image = 0; image < small->sizes[0]; image++) {
        for (int64_t s = 0; s < small->sizes[1]; s++) {
            for (int64_t l = 0; l < large_group; l++) {
                const int64_t in_large = s / small_group * large_group + l;
                int64_t o[3] = { 0 }, tap[3] = { 0 }, place[3];
                do {
                    do {
                        bool inside = true;
                        for (int d = 0; d < 3; d++) {
                            const int own = d - missing;
                            place[d] = own < 0 ? 0
                                               : o[d] * c->stride[own] - c->padding[own] +
                                                     tap[d] * c->dilation[own];
                            inside = inside && place[d] >= 0 && place[d] < large_sizes[d];
                        }
                        if (!inside)
                            continue;
                        const int64_t at_small = linear_of(small, image, s, o);
                        const int64_t at_large = linear_of(large, image, in_large, place);
                        const double w = host_real(c->weight, linear_of(c->weight, s, l, tap));
                        if (c->transposed)
                            sums[at_large] += w * host_real(c->input, at_small);
                        else
                            sums[at_small] += w * host_real(c->input, at_large);
                    } while (next_place(tap, kernel));
                } while (next_place(o, small_sizes));
            }
        }
    }
    return sums;
}

static kr_tensor *counted(host *h, kr_dtype dtype, int dim, const int64_t *sizes, int64_t step)
{
    int64_t values[8192], count = 1;
    for (int d = 0; d < dim; d++)
        count *= sizes[d];
    assert_true(count <= 8192);
    for (int64_t i = 0; i < count; i++)
        values[i] = i * step % 9 - 4;
    return host_ints(h, dtype, dim, sizes, count, values);
}

static void agrees(host *h, int spatial, call c, const int64_t *channels, const int64_t *extents,
                   const int64_t *kernel)
{
    static const kr_dtype dtypes[] = { KR_FLOAT32, KR_INT64, KR_FLOAT16 };
    static const int orders[3][5] = { { 0, 2, 1 }, { 0, 2, 3, 1 }, { 0, 2, 3, 4, 1 } };
    const int dim = spatial + 2;
    int64_t in[5] = { 2, channels[0] }, weight[5], out[5] = { 2, channels[1] };
    weight[0] = channels[c.transposed ? 0 : 1];
    weight[1] = channels[c.transposed ? 1 : 0] / c.groups;
    for (int d = 0; d < spatial; d++) {
        const int64_t extent = (kernel[d] - 1) * c.dilation[d] + 1;
        in[2 + d] = extents[d];
        weight[2 + d] = kernel[d];
        out[2 + d] = c.transposed ? (extents[d] - 1) * c.stride[d] - 2 * c.padding[d] + extent +
                                        c.output_padding[d]
                                  : (extents[d] + 2 * c.padding[d] - extent) / c.stride[d] + 1;
    }
    for (int i = 0; i < 3; i++) {
        c.input = counted(h, dtypes[i], dim, in, 7);
        c.weight = counted(h, dtypes[i], dim, weight, 5);
        c.bias = i == 1 ? NULL : counted(h, dtypes[i], SIZES(channels[1]), 4);
        c.out = host_tensor(h, dtypes[i], dim, out);
        if (i == 2) { /* channels last, and what is neither */
            c.input = host_ordered(h, c.input, orders[spatial - 1]);
            c.weight = host_spread(h, c.weight, 2);
            c.out = host_ordered(h, c.out, orders[spatial - 1]);
        }
        run(h, &c);
        const double *wanted = defined(h, &c);
        int64_t count = 1;
        for (int d = 0; d < dim; d++)
            count *= out[d];
        host_has_reals(c.out, count, wanted);
        host_forget(h);
    }
}

static void every_shape_is_as_defined(void **state)
{
    host *h = *state;
    static const int64_t extents[] = { 5, 7, 4 }, kernel[] = { 3, 2, 1 };
    static const int64_t channels[][2] = { { 1, 1 }, { 2, 3 }, { 6, 4 }, { 4, 8 } };
    static const int64_t groups[] = { 1, 1, 2, 4 };
    for (int i = 0; i < 4 * 2 * 2 * 2 * 2; i++) {
        call c = plain(NULL, NULL, NULL, NULL);
        c.groups = groups[i % 4];
        c.transposed = i / 4 % 2;
        for (int d = 0; d < 3; d++) {
            c.stride[d] = i / 8 % 2 ? 2 + d % 2 : 1;
            c.padding[d] = i / 16 % 2 ? 1 + d % 2 : 0;
            c.dilation[d] = i / 32 % 2 ? 2 - d % 2 : 1;
            /* Keeps a transposed result from being empty. */
            if (c.transposed && d == 2)
                c.padding[d] = 0;
            c.output_padding[d] = c.transposed && c.stride[d] > 1 ? 1 : 0;
        }
        for (int spatial = 1; spatial <= 3; spatial++)
            agrees(h, spatial, c, channels[i % 4], extents, kernel);
    }
}

static void a_product_that_is_computed_in_float_is_as_defined_too(void **state)
{
    host *h = *state;
    call c = plain(NULL, NULL, NULL, NULL);
    c.padding[0] = c.padding[1] = 1;
    /* 2 * 32 * 121 places times 16 * 9 taps are more than a small product. */
    agrees(h, 2, c, (const int64_t[]){ 16, 32 }, (const int64_t[]){ 11, 11 },
           (const int64_t[]){ 3, 3 });
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_tensor *input = host_tensor(h, KR_FLOAT32, SIZES(1, 1, 3));
    kr_tensor *weight = host_tensor(h, KR_FLOAT32, SIZES(1, 1, 2));
    kr_value args[] = { tensor(input),  tensor(weight),
                        none(),         list(SIZES(1)),
                        list(SIZES(0)), list(SIZES(1)),
                        boolean(false), list(SIZES(0)),
                        integer(1),     tensor(host_empty(h, KR_FLOAT64, 2)) };
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype float, but got double instead");
    args[9] = tensor(host_empty(h, KR_FLOAT32, 1));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    args[9] = tensor(host_empty(h, KR_FLOAT32, 4));
    args[3] = list(SIZES(0));
    host_refuses(h, name, args, KR_E_VALUE, "non-positive stride is not supported");
    args[3] = list(SIZES(1));
    /* The weight as doubles, the sums of a transposed convolution, and the blocks of a product. */
    static const size_t limits[] = { 0, 16, 48 };
    for (int i = 0; i < 6; i++) {
        args[6] = boolean(i % 2);
        h->scratch_limit = limits[i / 2];
        h->scratch_used = 0;
        host_refuses(h, name, args, KR_E_MEMORY, "no scratch memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(every_dtype_is_convolved),
        HOST_TEST(integers_wrap),
        HOST_TEST(a_transposed_convolution_spreads_each_element),
        HOST_TEST(each_group_has_its_own_channels_and_bias),
        HOST_TEST(a_nan_in_the_weight_goes_where_its_tap_goes),
        HOST_TEST(an_input_without_images_or_channels_gives_a_result_without_them),
        HOST_TEST(every_shape_is_as_defined),
        HOST_TEST(a_product_that_is_computed_in_float_is_as_defined_too),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
