// SPDX-License-Identifier: Apache-2.0
/* The walk of pointwise operators, with loops of the test's own. */
#include "pointwise.h"

#include "host.h"
#include "shape.h"

UNARY_LOOPS(negate, -a);
BINARY_LOOPS(subtract, a - b);
BINARY_LOOPS(scaled, (a * k));

static kr_status run(host *h, kr_tensor *out, kr_dtype common, const kr_tensor *a,
                     const kr_tensor *b)
{
    return pointwise_binary(&h->context, out, common, a, b, &subtract, NULL);
}

static void each_type_of_arithmetic_has_its_loop(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_INT8, KR_INT64, KR_FLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 5; d++) {
        const kr_tensor *a = host_ints(h, dtypes[d], SIZES(3), INTS(5, -6, 7));
        const kr_tensor *b = host_ints(h, dtypes[d], SIZES(3), INTS(1, 2, 3));
        kr_tensor *out = host_empty(h, dtypes[d], 3);
        assert_int_equal(run(h, out, dtypes[d], a, b), KR_OK);
        host_has_reals(out, REALS(4, -8, 4));
        assert_int_equal(pointwise_unary(&h->context, out, a, &negate), KR_OK);
        host_has_reals(out, REALS(-5, 6, -7));
        host_forget(h);
    }
}

static void operands_are_broadcast(void **state)
{
    host *h = *state;
    const kr_tensor *column = host_ints(h, KR_INT32, SIZES(2, 1), INTS(10, 20));
    const kr_tensor *row = host_ints(h, KR_INT32, SIZES(3), INTS(1, 2, 3));
    kr_tensor *out = host_empty(h, KR_INT32, 6);
    assert_int_equal(run(h, out, KR_INT32, column, row), KR_OK);
    host_has_sizes(out, SIZES(2, 3));
    host_has_ints(out, INTS(9, 8, 7, 19, 18, 17));
}

static void any_layout_goes_with_any_other(void **state)
{
    host *h = *state;
    const kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(2, 3), INTS(1, 2, 3, 4, 5, 6));
    const kr_tensor *b = host_ints(h, KR_FLOAT32, SIZES(2, 3), INTS(6, 5, 4, 3, 2, 1));
    const kr_tensor *as[] = { a, host_spread(h, a, 3), host_ordered(h, a, (const int[]){ 1, 0 }) };
    const kr_tensor *bs[] = { b, host_spread(h, b, 2), host_ordered(h, b, (const int[]){ 1, 0 }) };
    const kr_tensor *blank = host_tensor(h, KR_FLOAT32, SIZES(2, 3));
    kr_tensor *outs[] = { host_tensor(h, KR_FLOAT32, SIZES(2, 3)), host_spread(h, blank, 2),
                          host_ordered(h, blank, (const int[]){ 1, 0 }) };
    for (int i = 0; i < 27; i++) {
        kr_tensor *out = outs[i % 3];
        memset(out->data, 0, sizeof(float));
        assert_int_equal(run(h, out, KR_FLOAT32, as[i / 3 % 3], bs[i / 9]), KR_OK);
        host_has_reals(out, REALS(-5, -3, -1, 1, 3, 5));
    }
}

static void results_are_rounded_to_the_common_dtype_before_the_cast(void **state)
{
    host *h = *state;
    const kr_tensor *a = host_ints(h, KR_INT8, SIZES(1), INTS(-100));
    const kr_tensor *b = host_ints(h, KR_INT8, SIZES(1), INTS(100));
    kr_tensor *out = host_empty(h, KR_INT64, 1);
    assert_int_equal(run(h, out, KR_INT8, a, b), KR_OK);
    host_has_ints(out, INTS(56));
    const kr_tensor *x = host_reals(h, KR_FLOAT16, SIZES(1), REALS(60000));
    const kr_tensor *y = host_reals(h, KR_FLOAT16, SIZES(1), REALS(-60000));
    kr_tensor *wide = host_empty(h, KR_FLOAT32, 1);
    assert_int_equal(run(h, wide, KR_FLOAT16, x, y), KR_OK);
    host_has_reals(wide, REALS(INFINITY));
}

static void operands_beyond_a_common_float16_are_infinite(void **state)
{
    host *h = *state;
    const kr_tensor *half = host_reals(h, KR_FLOAT16, SIZES(2), REALS(1, 60000));
    const kr_tensor *wide = host_reals(h, KR_FLOAT32, NO_SIZES, REALS(70000));
    kr_tensor *out = host_empty(h, KR_FLOAT16, 2);
    assert_int_equal(run(h, out, KR_FLOAT16, half, wide), KR_OK);
    host_has_reals(out, REALS(-INFINITY, -INFINITY));
    assert_int_equal(run(h, out, KR_FLOAT16, wide, half), KR_OK);
    host_has_reals(out, REALS(INFINITY, INFINITY));
}

static void a_scalar_reaches_the_loops_in_full(void **state)
{
    host *h = *state;
    const kr_value k = real(0.1), big = integer(INT64_C(0x100000001));
    const kr_tensor *a = host_ints(h, KR_FLOAT64, SIZES(1), INTS(3));
    kr_tensor *out = host_empty(h, KR_FLOAT64, 1);
    assert_int_equal(pointwise_binary(&h->context, out, KR_FLOAT64, a, a, &scaled, &k), KR_OK);
    host_has_reals(out, REALS(3 * 0.1));
    const kr_tensor *b = host_ints(h, KR_INT64, SIZES(1), INTS(3));
    kr_tensor *integers = host_empty(h, KR_INT64, 1);
    assert_int_equal(pointwise_binary(&h->context, integers, KR_INT64, b, b, &scaled, &big), KR_OK);
    host_has_ints(integers, INTS(INT64_C(0x300000003)));
}

static void out_may_be_an_input(void **state)
{
    host *h = *state;
    int64_t values[1000];
    for (int i = 0; i < 1000; i++)
        values[i] = i % 50;
    kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(1000), 1000, values);
    const kr_tensor *one = host_ints(h, KR_FLOAT32, NO_SIZES, INTS(1));
    assert_int_equal(run(h, a, KR_FLOAT32, a, one), KR_OK);
    assert_int_equal(run(h, a, KR_FLOAT32, one, a), KR_OK);
    assert_int_equal(pointwise_unary(&h->context, a, a, &negate), KR_OK);
    for (int i = 0; i < 1000; i++)
        assert_true(host_real(a, i) == i % 50 - 2);
}

static void what_does_not_fit_is_refused_before_out_changes(void **state)
{
    host *h = *state;
    const kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(2), INTS(1, 2));
    const kr_tensor *b = host_ints(h, KR_FLOAT32, SIZES(3), INTS(1, 2, 3));
    kr_tensor *out = host_tensor(h, KR_INT32, SIZES(5));
    assert_int_equal(run(h, out, KR_FLOAT32, a, b), KR_E_SHAPE);
    assert_int_equal(run(h, out, KR_FLOAT32, a, a), KR_E_CAST);
    assert_string_equal(h->text, "result type Float can't be cast to the desired output type Int");
    assert_int_equal(pointwise_unary(&h->context, out, a, &negate), KR_E_DTYPE);
    host_has_sizes(out, SIZES(5));
    kr_tensor *small = host_empty(h, KR_FLOAT32, 1);
    assert_int_equal(run(h, small, KR_FLOAT32, a, a), KR_E_RESIZE);
    assert_int_equal(pointwise_unary(&h->context, small, a, &negate), KR_E_RESIZE);
}

static void nothing_comes_of_nothing(void **state)
{
    host *h = *state;
    kr_tensor *out = host_empty(h, KR_FLOAT32, 0);
    const kr_tensor *none_of_them = host_tensor(h, KR_FLOAT32, SIZES(0, 3));
    const kr_tensor *row = host_ints(h, KR_FLOAT32, SIZES(1, 3), INTS(1, 2, 3));
    assert_int_equal(run(h, out, KR_FLOAT32, none_of_them, row), KR_OK);
    host_has_sizes(out, SIZES(0, 3));
}

static void sixteen_dims_are_not_too_many(void **state)
{
    host *h = *state;
    const int64_t sizes[16] = { 2, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2 };
    int64_t values[32];
    for (int i = 0; i < 32; i++)
        values[i] = i;
    const kr_tensor *a = host_ints(h, KR_INT16, 16, sizes, 32, values);
    const int order[16] = { 15, 0, 2, 5, 9, 1, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14 };
    kr_tensor *out = host_ordered(h, host_tensor(h, KR_INT16, 16, sizes), order);
    assert_int_equal(run(h, out, KR_INT16, a, host_ints(h, KR_INT16, NO_SIZES, INTS(1))), KR_OK);
    for (int i = 0; i < 32; i++)
        assert_int_equal(host_int(out, i), i - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(each_type_of_arithmetic_has_its_loop),
        HOST_TEST(operands_are_broadcast),
        HOST_TEST(any_layout_goes_with_any_other),
        HOST_TEST(results_are_rounded_to_the_common_dtype_before_the_cast),
        HOST_TEST(operands_beyond_a_common_float16_are_infinite),
        HOST_TEST(a_scalar_reaches_the_loops_in_full),
        HOST_TEST(out_may_be_an_input),
        HOST_TEST(what_does_not_fit_is_refused_before_out_changes),
        HOST_TEST(nothing_comes_of_nothing),
        HOST_TEST(sixteen_dims_are_not_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
