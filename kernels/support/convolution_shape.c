// SPDX-License-Identifier: Apache-2.0
/* The checks of PyTorch's convolution, in its order and with its words. */
#include "convolution_shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "context.h"
#include "dtype.h"
#include "shape.h"

typedef struct arguments {
    const kr_tensor *input, *weight, *bias;
    int spatial;
    int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL], output_padding[SPATIAL];
    bool transposed;
    int64_t groups;
} arguments;

/* A list of one number for all dims, or of one for each. */
static kr_status read_list(kr_context *ctx, const char *name, const kr_value *list, int spatial,
                           int64_t *ret)
{
    char text[SHAPE_TEXT];
    const int64_t *items = kr_ints(list);
    const uint32_t count = kr_count(list);
    if (count != 1 && count != (uint32_t) spatial)
        return ctx->fail(ctx, KR_E_VALUE,
                         "expected %s to be a single integer value or a list of %d values to "
                         "match the convolution dimensions, but got %s=%s",
                         name, spatial, name, shape_text(text, (int) count, items));
    for (int d = 0; d < spatial; d++) {
        const int64_t item = items[count == 1 ? 0 : d];
        KR_TRY(check_int(ctx, item));
        ret[d] = item;
    }
    return KR_OK;
}

/* Reads all but the tensors. */
static kr_status read_arguments(kr_context *ctx, const kr_value *args, arguments *ret)
{
    arguments a = *ret;
    a.transposed = kr_bool(&args[6]);
    a.groups = kr_int(&args[8]);
    a.spatial = a.weight->dim - 2;
    if (a.spatial < 1)
        return ctx->fail(ctx, KR_E_SHAPE, "weight should have at least three dimensions");
    if (a.spatial > SPATIAL)
        return ctx->fail(ctx, KR_E_SHAPE, "unsupported ConvNd parameters");
    if (a.groups <= 0)
        return ctx->fail(ctx, KR_E_VALUE, "non-positive groups is not supported");
    KR_TRY(read_list(ctx, "stride", &args[3], a.spatial, a.stride));
    KR_TRY(read_list(ctx, "padding", &args[4], a.spatial, a.padding));
    KR_TRY(read_list(ctx, "dilation", &args[5], a.spatial, a.dilation));
    KR_TRY(read_list(ctx, "output_padding", &args[7], a.spatial, a.output_padding));
    for (int d = 0; d < a.spatial; d++) {
        if (a.padding[d] < 0)
            return ctx->fail(ctx, KR_E_VALUE, "negative padding is not supported");
        if (a.output_padding[d] < 0)
            return ctx->fail(ctx, KR_E_VALUE, "negative output_padding is not supported");
        if (a.stride[d] <= 0)
            return ctx->fail(ctx, KR_E_VALUE, "non-positive stride is not supported");
        if (a.dilation[d] <= 0)
            return ctx->fail(ctx, KR_E_VALUE, "dilation should be greater than zero");
    }
    *ret = a;
    return KR_OK;
}

static kr_status check_channels(kr_context *ctx, const arguments *a)
{
    const kr_tensor *input = a->input, *weight = a->weight;
    const int64_t wanted = a->transposed ? weight->sizes[0] : weight->sizes[1] * a->groups;
    char text[SHAPE_TEXT], input_text[SHAPE_TEXT];

    shape_text(text, weight->dim, weight->sizes);
    shape_text(input_text, input->dim, input->sizes);
    if (input->dim != weight->dim)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                         "%d-dimensional input of size %s instead",
                         weight->dim, weight->dim, text, input->dim, input_text);
    if (weight->sizes[0] < a->groups)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Given groups=%" PRId64 ", expected weight to be at least %" PRId64
                         " at dimension 0, but got weight of size %s instead",
                         a->groups, a->groups, text);
    if (weight->sizes[0] % a->groups != 0)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Given groups=%" PRId64 ", expected weight to be divisible by %" PRId64
                         " at dimension 0, but got weight of size %s instead",
                         a->groups, a->groups, text);
    if (input->sizes[1] != wanted)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Given %s=%" PRId64 ", weight of size %s, expected input%s to have "
                         "%" PRId64 " channels, but got %" PRId64 " channels instead",
                         a->transposed ? "transposed" : "groups", a->transposed ? 1 : a->groups,
                         text, input_text, wanted, input->sizes[1]);
    return KR_OK;
}

static kr_status check_bias(kr_context *ctx, const arguments *a)
{
    const int64_t channels = a->transposed ? a->weight->sizes[1] * a->groups : a->weight->sizes[0];
    char text[SHAPE_TEXT], bias_text[SHAPE_TEXT];
    if (!a->bias || (a->bias->dim == 1 && a->bias->sizes[0] == channels))
        return KR_OK;
    return ctx->fail(ctx, KR_E_SHAPE,
                     "Given %sweight of size %s, expected bias to be 1-dimensional with %" PRId64
                     " elements, but got bias of size %s instead",
                     a->transposed ? "transposed=1, " : "",
                     shape_text(text, a->weight->dim, a->weight->sizes), channels,
                     shape_text(bias_text, a->bias->dim, a->bias->sizes));
}

/* PyTorch takes a bias of another dtype in some cases, depending on size and machine, and refuses
 * it in others; here one rule holds for all. */
static kr_status check_dtypes(kr_context *ctx, const arguments *a)
{
    const kr_dtype dtype = (kr_dtype) a->input->dtype;
    const kr_tensor *others[] = { a->weight, a->bias };
    for (int i = 0; i < 2; i++)
        if (others[i] && others[i]->dtype != dtype)
            return ctx->fail(ctx, KR_E_DTYPE, "Input type (%s) and %s type (%s) should be the same",
                             dtype_name(dtype), i == 0 ? "weight" : "bias",
                             dtype_name((kr_dtype) others[i]->dtype));
    return KR_OK;
}

/* Of integers, only int64 can be convolved in every way. */
static kr_status check_implemented(kr_context *ctx, const arguments *a)
{
    const uint64_t always = KR_FLOAT_TYPES | KR_SET(KR_INT64);
    if (a->transposed)
        return check_dtype(ctx, a->input, always, "slow_conv_transpose_out_cpu");
    for (int d = 0; d < a->spatial; d++)
        if (a->dilation[d] > 1)
            return check_dtype(ctx, a->input, always, "slow_conv_dilated<>");
    return check_dtype(ctx, a->input, KR_REAL_TYPES, "slow_conv2d_cpu");
}

/* Writes "(2 x 3)". */
static const char *product_text(char text[SHAPE_TEXT], int count, const int64_t *sizes)
{
    int length = snprintf(text, SHAPE_TEXT, "(");
    for (int i = 0; i < count; i++)
        length += snprintf(text + length, (size_t) (SHAPE_TEXT - length), "%s%" PRId64,
                           i > 0 ? " x " : "", sizes[i]);
    snprintf(text + length, (size_t) (SHAPE_TEXT - length), ")");
    return text;
}

/* PyTorch computes nothing of such an input, and checks less. */
static bool is_empty(const arguments *a)
{
    return a->input->sizes[0] == 0 || a->input->sizes[1] == 0;
}

/* The windows of the input's dims, and the spatial sizes of the result. */
static kr_status find_windows(kr_context *ctx, const arguments *a, window *windows, int64_t *sizes)
{
    const int64_t least = is_empty(a) ? 0 : 1;
    int64_t padded[SPATIAL], extents[SPATIAL];
    bool fits = true, large_enough = true;
    char text[SHAPE_TEXT], other_text[SHAPE_TEXT];

    for (int d = 0; d < a->spatial; d++) {
        const int64_t in = a->input->sizes[2 + d], kernel = a->weight->sizes[2 + d];
        window w = { .kernel = kernel,
                     .stride = a->stride[d],
                     .padding = a->padding[d],
                     .dilation = a->dilation[d] };
        KR_TRY(check_int(ctx, kernel));
        extents[d] = window_extent(kernel, w.dilation);
        padded[d] = in + 2 * w.padding;
        if (a->transposed) {
            sizes[d] = (in - 1) * w.stride - 2 * w.padding + extents[d] + a->output_padding[d];
            w.small = in;
            w.large = sizes[d];
        } else {
            sizes[d] = window_count(in, kernel, w.stride, w.padding, w.dilation, false);
            w.small = sizes[d];
            w.large = in;
        }
        fits = fits && padded[d] >= extents[d];
        large_enough = large_enough && sizes[d] >= least;
        windows[d] = w;
    }
    if (!a->transposed && !fits)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Calculated padded input size per channel: %s. Kernel size: %s. Kernel "
                         "size can't be greater than actual input size",
                         product_text(text, a->spatial, padded),
                         product_text(other_text, a->spatial, extents));
    if (a->transposed && !large_enough)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Given input size per channel: %s. Calculated output size per channel: "
                         "%s. Output size is too small",
                         product_text(text, a->spatial, a->input->sizes + 2),
                         product_text(other_text, a->spatial, sizes));
    return KR_OK;
}

/* What only matters if there is something to compute. */
static kr_status check_computable(kr_context *ctx, const arguments *a)
{
    char text[SHAPE_TEXT], other_text[SHAPE_TEXT];
    for (int d = 0; d < a->spatial; d++)
        if (a->weight->sizes[2 + d] == 0)
            return ctx->fail(ctx, KR_E_SHAPE,
                             "kernel size should be greater than zero, but got: %s",
                             product_text(text, a->spatial, a->weight->sizes + 2));
    if (numel(a->input) == 0)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Only zero batch or zero channel inputs are supported, but got input "
                         "shape: %s",
                         shape_text(text, a->input->dim, a->input->sizes));
    if (numel(a->weight) == 0)
        return ctx->fail(ctx, KR_E_SHAPE, "non-empty weight tensor expected, but got: %s",
                         shape_text(text, a->weight->dim, a->weight->sizes));
    for (int d = 0; a->transposed && d < a->spatial; d++) {
        if (a->output_padding[d] >= a->stride[d] && a->output_padding[d] >= a->dilation[d])
            return ctx->fail(ctx, KR_E_VALUE,
                             "output padding must be smaller than either stride or dilation, but "
                             "got output_padding %s, stride %s",
                             product_text(text, a->spatial, a->output_padding),
                             product_text(other_text, a->spatial, a->stride));
    }
    return check_implemented(ctx, a);
}

kr_status convolution_check(kr_context *ctx, const kr_tensor *input, const kr_tensor *weight,
                            const kr_tensor *bias, const kr_value *args, convolution_shape *ret)
{
    arguments a = { .input = input, .weight = weight, .bias = bias, .groups = 1 };
    convolution_shape shape;

    KR_TRY(read_arguments(ctx, args, &a));
    KR_TRY(check_channels(ctx, &a));
    KR_TRY(check_bias(ctx, &a));
    const int missing = SPATIAL - a.spatial;
    for (int d = 0; d < missing; d++)
        shape.windows[d] = (window){ 1, 1, 1, 1, 0, 1 };
    KR_TRY(find_windows(ctx, &a, shape.windows + missing, shape.sizes + 2));
    KR_TRY(check_dtypes(ctx, &a));
    if (!is_empty(&a))
        KR_TRY(check_computable(ctx, &a));

    shape.groups = a.groups;
    shape.transposed = a.transposed;
    shape.sizes[0] = a.input->sizes[0];
    shape.sizes[1] = a.transposed ? a.weight->sizes[1] * a.groups : a.weight->sizes[0];
    /* An input without channels gives PyTorch a result without channels. */
    if (a.input->sizes[1] == 0)
        shape.sizes[1] = 0;
    *ret = shape;
    return KR_OK;
}
