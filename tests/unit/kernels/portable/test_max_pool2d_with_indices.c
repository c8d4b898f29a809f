// SPDX-License-Identifier: Apache-2.0
/* aten::max_pool2d_with_indices.out: NaN, padding, dilation, ceil_mode, and each refusal. */
#include "host.h"

static const char name[] = "aten::max_pool2d_with_indices.out";

/* A call with windows of 2 x 2; each test changes what it is about. */
typedef struct call {
    kr_value args[8];
} call;

static call pool(host *h, kr_tensor *self)
{
    static const int64_t two[] = { 2, 2 }, zero[] = { 0, 0 }, one[] = { 1, 1 };
    return (call){ { tensor(self), list(2, two), list(0, NULL), list(2, zero), list(2, one),
                     boolean(false), tensor(host_empty(h, (kr_dtype) self->dtype, 64)),
                     tensor(host_empty(h, KR_INT64, 64)) } };
}

static kr_tensor *out_of(const call *c) { return c->args[6].as.tensor; }
static kr_tensor *indices_of(const call *c) { return c->args[7].as.tensor; }

static void each_dtype_and_layout_finds_the_greatest(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_UINT8,   KR_INT8,     KR_INT16,   KR_INT32,  KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 9; d++) {
        kr_tensor *dense = host_ints(h, dtypes[d], SIZES(1, 2, 2, 4),
                                     INTS(1, 2, 3, 4, 5, 6, 7, 7, 9, 0, 0, 1, 0, 9, 2, 0));
        kr_tensor *views[] = { dense, host_spread(h, dense, 2),
                               host_ordered(h, dense, (const int[]){ 0, 2, 3, 1 }) };
        for (int v = 0; v < 3; v++) {
            const call c = pool(h, views[v]);
            host_runs(h, name, c.args);
            host_has_sizes(out_of(&c), SIZES(1, 2, 1, 2));
            host_has_reals(out_of(&c), REALS(6, 7, 9, 2));
            host_has_ints(indices_of(&c), INTS(5, 6, 0, 6));
        }
        host_forget(h);
    }
}

static void an_image_without_a_batch_is_taken_and_outs_may_be_strided(void **state)
{
    host *h = *state;
    call c = pool(h, host_ints(h, KR_FLOAT32, SIZES(1, 2, 2), INTS(1, 2, 3, 4)));
    c.args[2] = list(SIZES(1));
    c.args[1] = list(SIZES(1));
    c.args[6] = tensor(
        host_ordered(h, host_tensor(h, KR_FLOAT32, SIZES(1, 2, 2)), (const int[]){ 0, 2, 1 }));
    c.args[7] = tensor(host_spread(h, host_tensor(h, KR_INT64, SIZES(1, 2, 2)), 2));
    host_runs(h, name, c.args);
    host_has_reals(out_of(&c), REALS(1, 2, 3, 4));
    host_has_ints(indices_of(&c), INTS(0, 1, 2, 3));
}

static void nan_wins_and_padding_never_does(void **state)
{
    host *h = *state;
    call c = pool(h, host_reals(h, KR_FLOAT32, SIZES(1, 1, 4, 3),
                                REALS(1, 2, NAN, 4, 5, 6, -INFINITY, -INFINITY, -INFINITY,
                                      -INFINITY, -INFINITY, -INFINITY)));
    c.args[3] = list(SIZES(0, 1));
    host_runs(h, name, c.args);
    host_has_reals(out_of(&c), REALS(4, NAN, -INFINITY, -INFINITY));
    host_has_ints(indices_of(&c), INTS(3, 2, 6, 7));
    /* Of several NaNs the last, of equal numbers the first. */
    c = pool(h, host_reals(h, KR_FLOAT64, SIZES(1, 2, 2), REALS(NAN, 1, NAN, 2)));
    host_runs(h, name, c.args);
    host_has_ints(indices_of(&c), INTS(2));
    c = pool(h, host_ints(h, KR_INT8, SIZES(1, 2, 2), INTS(-128, -128, -128, -128)));
    host_runs(h, name, c.args);
    host_has_ints(out_of(&c), INTS(-128));
    host_has_ints(indices_of(&c), INTS(0));
}

static void stride_dilation_and_ceil_mode_place_the_windows(void **state)
{
    host *h = *state;
    int64_t values[25];
    for (int i = 0; i < 25; i++)
        values[i] = i;
    call c = pool(h, host_ints(h, KR_FLOAT32, SIZES(1, 5, 5), 25, values));
    c.args[2] = list(SIZES(2, 3));
    host_runs(h, name, c.args);
    host_has_sizes(out_of(&c), SIZES(1, 2, 2));
    host_has_reals(out_of(&c), REALS(6, 9, 16, 19));
    c.args[5] = boolean(true);
    host_runs(h, name, c.args);
    host_has_sizes(out_of(&c), SIZES(1, 3, 2));
    host_has_reals(out_of(&c), REALS(6, 9, 16, 19, 21, 24));
    c.args[5] = boolean(false);
    c.args[4] = list(SIZES(3));
    host_runs(h, name, c.args);
    host_has_sizes(out_of(&c), SIZES(1, 1, 1));
    host_has_ints(indices_of(&c), INTS(18));
}

static void a_window_in_the_padding_as_a_whole_is_as_pytorch_has_it(void **state)
{
    host *h = *state;
    call c = pool(h, host_ints(h, KR_FLOAT32, SIZES(1, 2, 2), INTS(5, 6, 7, 8)));
    c.args[2] = list(SIZES(1));
    c.args[3] = list(SIZES(1));
    c.args[4] = list(SIZES(3));
    host_runs(h, name, c.args);
    host_has_reals(out_of(&c), REALS(-INFINITY));
    host_has_ints(indices_of(&c), INTS(6));
}

static void an_empty_batch_gives_an_empty_batch(void **state)
{
    host *h = *state;
    const call c = pool(h, host_tensor(h, KR_FLOAT32, SIZES(0, 1, 4, 4)));
    host_runs(h, name, c.args);
    host_has_sizes(out_of(&c), SIZES(0, 1, 2, 2));
    host_has_sizes(indices_of(&c), SIZES(0, 1, 2, 2));
}

static void changed(host *h, int argument, kr_value value, kr_status status, const char *text)
{
    call c = pool(h, host_tensor(h, KR_FLOAT32, SIZES(1, 1, 4, 4)));
    c.args[argument] = value;
    host_refuses(h, name, c.args, status, text);
}

static void parameters_must_make_windows(void **state)
{
    host *h = *state;
    changed(h, 1, list(SIZES(2, 2, 2)), KR_E_VALUE,
            "max_pool2d: kernel_size must either be a single int, or a tuple of two ints");
    changed(h, 2, list(SIZES(1, 1, 1)), KR_E_VALUE,
            "stride must either be omitted, a single int, or a tuple of two ints");
    changed(h, 3, list(0, NULL), KR_E_VALUE,
            "padding must either be a single int, or a tuple of two ints");
    changed(h, 4, list(SIZES(1, 1, 1)), KR_E_VALUE,
            "dilation must be either a single int, or a tuple of two ints");
    changed(h, 2, list(SIZES(0, 1)), KR_E_VALUE, "stride should not be zero");
    changed(h, 2, list(SIZES(1, -1)), KR_E_VALUE,
            "stride should be greater than zero, but got dH: 1 dW: -1");
    changed(h, 1, list(SIZES(-1, 2)), KR_E_VALUE,
            "kernel size should be greater than zero, but got kH: -1 kW: 2");
    changed(h, 4, list(SIZES(0, 1)), KR_E_VALUE,
            "dilation should be greater than zero, but got dilationH: 0 dilationW: 1");
    changed(h, 3, list(SIZES(-1)), KR_E_VALUE, "pad must be non-negative, but got pad: -1");
    changed(h, 3, list(SIZES(2, 0)), KR_E_VALUE,
            "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 "
            "and dilation=1");
    changed(h, 1, list(SIZES(INT64_C(1) << 40)), KR_E_OVERFLOW, "type int without overflow");
    changed(h, 1, list(SIZES(5)), KR_E_SHAPE,
            "Given input size: (1x4x4). Calculated output size: (1x0x0). Output size is too "
            "small");
}

static void padding_is_at_most_half_a_kernel_even_if_that_is_dilated(void **state)
{
    host *h = *state;
    call c = pool(h, host_tensor(h, KR_FLOAT32, SIZES(1, 1, 4, 4)));
    c.args[3] = list(SIZES(2));
    c.args[4] = list(SIZES(3));
    host_refuses(h, name, c.args, KR_E_VALUE,
                 "pad should be smaller than or equal to half of kernel size");
}

static void tensors_must_be_images_of_a_dtype_that_is_ordered(void **state)
{
    host *h = *state;
    changed(h, 0, tensor(host_tensor(h, KR_FLOAT32, SIZES(4, 4))), KR_E_SHAPE,
            "non-empty 3D or 4D (batch mode) tensor expected for input");
    changed(h, 0, tensor(host_tensor(h, KR_FLOAT32, SIZES(1, 0, 4, 4))), KR_E_SHAPE,
            "tensor with optional 0 dim batch size for input, but got:[1, 0, 4, 4]");
    changed(h, 0, tensor(host_tensor(h, KR_BOOL, SIZES(1, 4, 4))), KR_E_DTYPE,
            "\"max_pool2d\" not implemented for 'Bool'");
    changed(h, 6, tensor(host_empty(h, KR_FLOAT64, 4)), KR_E_DTYPE,
            "Expected out tensor to have dtype float, but got double instead");
    changed(h, 7, tensor(host_empty(h, KR_INT32, 4)), KR_E_DTYPE,
            "Expected out tensor to have dtype long int, but got int instead");
    changed(h, 6, tensor(host_empty(h, KR_FLOAT32, 3)), KR_E_RESIZE, "no room");
    changed(h, 7, tensor(host_empty(h, KR_INT64, 3)), KR_E_RESIZE, "no room");
}

static void without_scratch_memory_there_are_no_windows(void **state)
{
    host *h = *state;
    /* A row of values, a row of indices, and a plane of another dtype. */
    static const size_t limits[] = { 0, 8, 30 };
    for (int i = 0; i < 3; i++) {
        const call c = pool(h, host_tensor(h, KR_FLOAT16, SIZES(1, 4, 4)));
        h->scratch_limit = limits[i];
        h->scratch_used = 0;
        host_refuses(h, name, c.args, KR_E_MEMORY, "no scratch memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(each_dtype_and_layout_finds_the_greatest),
        HOST_TEST(an_image_without_a_batch_is_taken_and_outs_may_be_strided),
        HOST_TEST(nan_wins_and_padding_never_does),
        HOST_TEST(stride_dilation_and_ceil_mode_place_the_windows),
        HOST_TEST(a_window_in_the_padding_as_a_whole_is_as_pytorch_has_it),
        HOST_TEST(an_empty_batch_gives_an_empty_batch),
        HOST_TEST(parameters_must_make_windows),
        HOST_TEST(padding_is_at_most_half_a_kernel_even_if_that_is_dilated),
        HOST_TEST(tensors_must_be_images_of_a_dtype_that_is_ordered),
        HOST_TEST(without_scratch_memory_there_are_no_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
