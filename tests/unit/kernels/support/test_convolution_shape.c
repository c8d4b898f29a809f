// SPDX-License-Identifier: Apache-2.0
/* The arguments of convolution: the shape that follows from them, and each refusal. */
#include "convolution_shape.h"

#include <stdio.h>

#include "host.h"

/* A convolution over two dims that is right; each test changes one thing of it. */
typedef struct call {
    kr_tensor *input, *weight, *bias;
    kr_value args[9];
} call;

static call right(host *h)
{
    static const int64_t ones[] = { 1, 1 }, zeros[] = { 0, 0 };
    call c = { host_tensor(h, KR_FLOAT32, SIZES(2, 4, 5, 6)),
               host_tensor(h, KR_FLOAT32, SIZES(6, 4, 3, 2)),
               NULL,
               { { 0 } } };
    c.args[3] = list(2, ones);
    c.args[4] = list(2, zeros);
    c.args[5] = list(2, ones);
    c.args[6] = boolean(false);
    c.args[7] = list(2, zeros);
    c.args[8] = integer(1);
    return c;
}

static kr_status checked(host *h, call *c, convolution_shape *ret)
{
    c->args[0] = tensor(c->input);
    c->args[1] = tensor(c->weight);
    c->args[2] = c->bias ? tensor(c->bias) : none();
    h->fails = 0;
    const kr_status status = convolution_check(&h->context, c->input, c->weight, c->bias, c->args,
                                               ret);
    assert_int_equal(h->fails, status < 0 ? 1 : 0);
    return status;
}

static void gives(host *h, call c, int dim, const int64_t *sizes)
{
    convolution_shape shape;
    if (checked(h, &c, &shape) != KR_OK)
        fail_msg("%s", h->text);
    assert_memory_equal(shape.sizes, sizes, (size_t) dim * sizeof *sizes);
}

static void refuses(host *h, call c, kr_status status, const char *text)
{
    convolution_shape shape = { .groups = 77 };
    assert_int_equal(checked(h, &c, &shape), status);
    if (!strstr(h->text, text))
        fail_msg("\"%s\" does not say \"%s\"", h->text, text);
    assert_int_equal(shape.groups, 77);
}

static void the_result_has_a_place_for_each_window(void **state)
{
    host *h = *state;
    call c = right(h);
    gives(h, c, SIZES(2, 6, 3, 5));
    c.args[3] = list(SIZES(2));
    c.args[4] = list(SIZES(1, 2));
    c.args[5] = list(SIZES(2, 3));
    /* (5 + 2 - 5) / 2 + 1 and (6 + 4 - 4) / 2 + 1 */
    gives(h, c, SIZES(2, 6, 2, 4));
}

static void a_transposed_result_is_as_large_as_what_would_give_the_input(void **state)
{
    host *h = *state;
    call c = right(h);
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(4, 3, 3, 2));
    c.args[6] = boolean(true);
    c.args[3] = list(SIZES(2, 3));
    c.args[4] = list(SIZES(1, 0));
    c.args[7] = list(SIZES(1, 2));
    c.args[8] = integer(2);
    /* 4 * 2 - 2 + 3 + 1 and 5 * 3 + 2 + 2 */
    gives(h, c, SIZES(2, 6, 10, 19));
}

static void one_and_three_dims_are_taken_too(void **state)
{
    host *h = *state;
    call c = right(h);
    convolution_shape shape;
    c.input = host_tensor(h, KR_FLOAT32, SIZES(1, 2, 7));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(3, 2, 3));
    c.args[3] = c.args[5] = list(SIZES(1));
    c.args[4] = c.args[7] = list(SIZES(0));
    gives(h, c, SIZES(1, 3, 5));
    assert_int_equal(checked(h, &c, &shape), KR_OK);
    assert_int_equal(shape.windows[0].kernel, 1);
    assert_int_equal(shape.windows[1].large, 1);
    assert_int_equal(shape.windows[2].large, 7);
    assert_int_equal(shape.windows[2].small, 5);
    c.input = host_tensor(h, KR_FLOAT32, SIZES(1, 2, 3, 4, 5));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(3, 2, 1, 2, 3));
    gives(h, c, SIZES(1, 3, 3, 3, 3));
}

static void ranks_must_fit(void **state)
{
    host *h = *state;
    call c = right(h);
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 4));
    refuses(h, c, KR_E_SHAPE, "weight should have at least three dimensions");
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 4, 1, 1, 1, 1));
    refuses(h, c, KR_E_SHAPE, "unsupported ConvNd parameters");
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 4, 3));
    c.args[3] = c.args[4] = c.args[5] = c.args[7] = list(SIZES(1));
    refuses(h, c, KR_E_SHAPE,
            "Expected 3-dimensional input for 3-dimensional weight [6, 4, 3], but got "
            "4-dimensional input of size [2, 4, 5, 6] instead");
}

static void lists_have_one_number_or_one_for_each_dim(void **state)
{
    host *h = *state;
    static const char *const names[] = { "stride", "padding", "dilation", NULL, "output_padding" };
    for (int i = 0; i < 5; i++) {
        char text[200];
        call c = right(h);
        if (!names[i])
            continue;
        c.args[3 + i] = list(SIZES(1, 1, 1));
        snprintf(text, sizeof text,
                 "expected %s to be a single integer value or a list of 2 values to match the "
                 "convolution dimensions, but got %s=[1, 1, 1]",
                 names[i], names[i]);
        refuses(h, c, KR_E_VALUE, text);
        c.args[3 + i] = list(0, NULL);
        refuses(h, c, KR_E_VALUE, "but got");
        c.args[3 + i] = list(SIZES(INT64_C(1) << 40));
        refuses(h, c, KR_E_OVERFLOW, "cannot be converted to type int");
        host_forget(h);
    }
}

static void numbers_must_be_in_range(void **state)
{
    host *h = *state;
    call c = right(h);
    c.args[3] = list(SIZES(0, 1));
    refuses(h, c, KR_E_VALUE, "non-positive stride is not supported");
    c = right(h);
    c.args[4] = list(SIZES(-1));
    refuses(h, c, KR_E_VALUE, "negative padding is not supported");
    c = right(h);
    c.args[5] = list(SIZES(1, 0));
    refuses(h, c, KR_E_VALUE, "dilation should be greater than zero");
    c = right(h);
    c.args[7] = list(SIZES(-1));
    refuses(h, c, KR_E_VALUE, "negative output_padding is not supported");
    c = right(h);
    c.args[8] = integer(0);
    refuses(h, c, KR_E_VALUE, "non-positive groups is not supported");
}

static void channels_must_fit_groups_weight_and_bias(void **state)
{
    host *h = *state;
    call c = right(h);
    c.args[8] = integer(2);
    refuses(h, c, KR_E_SHAPE,
            "Given groups=2, weight of size [6, 4, 3, 2], expected input[2, 4, 5, 6] to have 8 "
            "channels, but got 4 channels instead");
    c.args[8] = integer(4);
    refuses(h, c, KR_E_SHAPE,
            "expected weight to be divisible by 4 at dimension 0, but got weight of size "
            "[6, 4, 3, 2] instead");
    c.args[8] = integer(7);
    refuses(h, c, KR_E_SHAPE, "expected weight to be at least 7 at dimension 0");
    c = right(h);
    c.bias = host_tensor(h, KR_FLOAT32, SIZES(4));
    refuses(h, c, KR_E_SHAPE,
            "Given weight of size [6, 4, 3, 2], expected bias to be 1-dimensional with 6 "
            "elements, but got bias of size [4] instead");
    c.args[6] = boolean(true);
    refuses(h, c, KR_E_SHAPE,
            "Given transposed=1, weight of size [6, 4, 3, 2], expected input[2, 4, 5, 6] to have "
            "6 channels");
}

static void dtypes_must_be_the_same(void **state)
{
    host *h = *state;
    call c = right(h);
    c.weight = host_tensor(h, KR_FLOAT64, SIZES(6, 4, 3, 2));
    refuses(h, c, KR_E_DTYPE, "Input type (Float) and weight type (Double) should be the same");
    c = right(h);
    c.bias = host_tensor(h, KR_INT64, SIZES(6));
    refuses(h, c, KR_E_DTYPE, "Input type (Float) and bias type (Long) should be the same");
}

static void short_integers_are_convolved_in_the_plain_way_only(void **state)
{
    host *h = *state;
    for (int i = 0; i < 2; i++) {
        const kr_dtype dtype = i == 0 ? KR_INT8 : KR_INT64;
        call c = right(h);
        c.input = host_tensor(h, dtype, SIZES(2, 6, 5, 6));
        c.weight = host_tensor(h, dtype, SIZES(6, 6, 3, 2));
        gives(h, c, SIZES(2, 6, 3, 5));
        call dilated = c, transposed = c;
        dilated.args[5] = list(SIZES(2, 1));
        transposed.args[6] = boolean(true);
        if (dtype == KR_INT64) {
            gives(h, dilated, SIZES(2, 6, 1, 5));
            gives(h, transposed, SIZES(2, 6, 7, 7));
        } else {
            refuses(h, dilated, KR_E_DTYPE, "not implemented for 'Char'");
            refuses(h, transposed, KR_E_DTYPE, "not implemented for 'Char'");
        }
    }
    call c = right(h);
    c.input = host_tensor(h, KR_BOOL, SIZES(2, 4, 5, 6));
    c.weight = host_tensor(h, KR_BOOL, SIZES(6, 4, 3, 2));
    refuses(h, c, KR_E_DTYPE, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

static void a_kernel_must_fit_the_padded_input(void **state)
{
    host *h = *state;
    call c = right(h);
    c.args[5] = list(SIZES(3, 1));
    refuses(h, c, KR_E_SHAPE,
            "Calculated padded input size per channel: (5 x 6). Kernel size: (7 x 2). Kernel size "
            "can't be greater than actual input size");
    c.args[4] = list(SIZES(1, 0));
    gives(h, c, SIZES(2, 6, 1, 5));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 4, 0, 2));
    refuses(h, c, KR_E_SHAPE, "kernel size should be greater than zero, but got: (0 x 2)");
}

static void a_transposed_result_must_have_elements(void **state)
{
    host *h = *state;
    call c = right(h);
    c.input = host_tensor(h, KR_FLOAT32, SIZES(1, 6, 1, 1));
    c.args[6] = boolean(true);
    c.args[4] = list(SIZES(2, 0));
    refuses(h, c, KR_E_SHAPE,
            "Given input size per channel: (1 x 1). Calculated output size per channel: (-1 x 2). "
            "Output size is too small");
    c.args[4] = list(SIZES(0, 0));
    c.args[7] = list(SIZES(1, 0));
    refuses(h, c, KR_E_VALUE, "output padding must be smaller than either stride or dilation");
    c.args[5] = list(SIZES(2, 1));
    gives(h, c, SIZES(1, 4, 6, 2));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 0, 3, 2));
    refuses(h, c, KR_E_SHAPE, "non-empty weight tensor expected, but got: [6, 0, 3, 2]");
}

static void an_input_may_be_without_images_or_channels_but_not_without_places(void **state)
{
    host *h = *state;
    call c = right(h);
    c.input = host_tensor(h, KR_FLOAT32, SIZES(0, 4, 5, 6));
    gives(h, c, SIZES(0, 6, 3, 5));
    c.input = host_tensor(h, KR_FLOAT32, SIZES(2, 0, 5, 6));
    c.weight = host_tensor(h, KR_FLOAT32, SIZES(6, 0, 3, 2));
    gives(h, c, SIZES(2, 0, 3, 5));
    c = right(h);
    c.input = host_tensor(h, KR_FLOAT32, SIZES(2, 4, 0, 6));
    c.args[4] = list(SIZES(2, 0));
    refuses(h, c, KR_E_SHAPE,
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            "[2, 4, 0, 6]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(the_result_has_a_place_for_each_window),
        HOST_TEST(a_transposed_result_is_as_large_as_what_would_give_the_input),
        HOST_TEST(one_and_three_dims_are_taken_too),
        HOST_TEST(ranks_must_fit),
        HOST_TEST(lists_have_one_number_or_one_for_each_dim),
        HOST_TEST(numbers_must_be_in_range),
        HOST_TEST(channels_must_fit_groups_weight_and_bias),
        HOST_TEST(dtypes_must_be_the_same),
        HOST_TEST(short_integers_are_convolved_in_the_plain_way_only),
        HOST_TEST(a_kernel_must_fit_the_padded_input),
        HOST_TEST(a_transposed_result_must_have_elements),
        HOST_TEST(an_input_may_be_without_images_or_channels_but_not_without_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
