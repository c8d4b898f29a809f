// SPDX-License-Identifier: Apache-2.0
/* aten::add.out: alpha, promotion, and what is neither added nor rounded as one would think. */
#include "host.h"

static const char name[] = "aten::add.out";

static kr_status add(host *h, kr_tensor *self, kr_tensor *other, kr_value alpha, kr_tensor *out)
{
    const kr_value args[] = { tensor(self), tensor(other), alpha, tensor(out) };
    return host_call(h, name, args);
}

static void alpha_multiplies_other(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_INT8, KR_INT64, KR_FLOAT16, KR_BFLOAT16, KR_FLOAT64 };
    for (int d = 0; d < 5; d++) {
        kr_tensor *a = host_ints(h, dtypes[d], SIZES(3), INTS(1, 2, 3));
        kr_tensor *b = host_ints(h, dtypes[d], SIZES(3), INTS(10, 20, -30));
        kr_tensor *out = host_empty(h, dtypes[d], 3);
        assert_int_equal(add(h, a, b, integer(1), out), KR_OK);
        host_has_reals(out, REALS(11, 22, -27));
        assert_int_equal(add(h, a, b, integer(-3), out), KR_OK);
        host_has_reals(out, REALS(-29, -58, 93));
        assert_int_equal(add(h, a, b, integer(0), out), KR_OK);
        host_has_reals(out, REALS(1, 2, 3));
        host_forget(h);
    }
}

static void int64_is_exact_and_wraps(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_INT64, SIZES(3),
                             INTS(INT64_C(9007199254740993), INT64_MAX, INT64_MIN));
    kr_tensor *b = host_ints(h, KR_INT64, SIZES(3), INTS(1, 1, -1));
    kr_tensor *out = host_empty(h, KR_INT64, 3);
    assert_int_equal(add(h, a, b, integer(1), out), KR_OK);
    host_has_ints(out, INTS(INT64_C(9007199254740994), INT64_MIN, INT64_MAX));
    assert_int_equal(add(h, a, b, integer(3), out), KR_OK);
    host_has_ints(out, INTS(INT64_C(9007199254740996), INT64_MIN + 2, INT64_MAX - 2));
}

static void short_integers_wrap_before_a_wider_out(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_INT8, SIZES(1), INTS(100));
    kr_tensor *out = host_empty(h, KR_INT64, 1);
    assert_int_equal(add(h, a, a, integer(1), out), KR_OK);
    host_has_ints(out, INTS(-56));
}

static void bool_is_or_with_any_alpha_but_zero(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_BOOL, SIZES(4), INTS(0, 0, 1, 1));
    kr_tensor *b = host_ints(h, KR_BOOL, SIZES(4), INTS(0, 1, 0, 1));
    kr_tensor *out = host_empty(h, KR_BOOL, 4);
    assert_int_equal(add(h, a, b, integer(1), out), KR_OK);
    host_has_ints(out, INTS(0, 1, 1, 1));
    assert_int_equal(add(h, a, b, integer(-1), out), KR_OK);
    host_has_ints(out, INTS(0, 1, 1, 1));
    assert_int_equal(add(h, a, b, boolean(true), out), KR_OK);
    host_has_ints(out, INTS(0, 1, 1, 1));
    assert_int_equal(add(h, a, b, integer(0), out), KR_OK);
    host_has_ints(out, INTS(0, 0, 1, 1));
}

static void a_sum_with_alpha_is_rounded_once(void **state)
{
    host *h = *state;
    /* The product in float would be 100000.008, and 0 the sum. */
    kr_tensor *a = host_reals(h, KR_FLOAT32, SIZES(1), REALS(-100000.0078125));
    kr_tensor *b = host_reals(h, KR_FLOAT32, SIZES(1), REALS(1000000.0625));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 1);
    assert_int_equal(add(h, a, b, real(0.1), out), KR_OK);
    assert_true(fabs(host_real(out, 0) - (1000000.0625 * 0.1 - 100000.0078125)) < 1e-9);
    /* float16 holds neither the product, 120000, nor alpha's 0.3. */
    kr_tensor *c = host_reals(h, KR_FLOAT16, SIZES(1), REALS(-60000));
    kr_tensor *d = host_reals(h, KR_FLOAT16, SIZES(1), REALS(60000));
    kr_tensor *half = host_empty(h, KR_FLOAT16, 1);
    assert_int_equal(add(h, c, d, integer(2), half), KR_OK);
    host_has_reals(half, REALS(60000));
}

static void promotion_decides_the_dtype_of_the_sum(void **state)
{
    host *h = *state;
    kr_tensor *integers = host_ints(h, KR_INT32, SIZES(2), INTS(1, 2));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 2);
    assert_int_equal(add(h, integers, host_number(h, KR_FLOAT64, 2.5), integer(1), out), KR_OK);
    host_has_reals(out, REALS(3.5, 4.5));
    kr_tensor *halves = host_reals(h, KR_FLOAT16, SIZES(2), REALS(1, 2048));
    kr_tensor *single = host_reals(h, KR_FLOAT32, NO_SIZES, REALS(1));
    kr_tensor *wide = host_empty(h, KR_FLOAT64, 2);
    assert_int_equal(add(h, halves, single, integer(1), wide), KR_OK);
    host_has_reals(wide, REALS(2, 2048));
}

static void nan_infinity_and_negative_zero_are_numbers_like_others(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT32, SIZES(4), REALS(NAN, INFINITY, INFINITY, -0.0));
    kr_tensor *b = host_reals(h, KR_FLOAT32, SIZES(4), REALS(1, -INFINITY, 1, -0.0));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 4);
    assert_int_equal(add(h, a, b, integer(1), out), KR_OK);
    host_has_reals(out, REALS(NAN, NAN, INFINITY, -0.0));
}

static void float16_converts_what_it_cannot_hold_to_infinity(void **state)
{
    host *h = *state;
    kr_tensor *half = host_reals(h, KR_FLOAT16, SIZES(2), REALS(-60000, 1));
    kr_tensor *out = host_empty(h, KR_FLOAT16, 2);
    assert_int_equal(add(h, half, host_number(h, KR_FLOAT64, 1e5), integer(1), out), KR_OK);
    host_has_reals(out, REALS(INFINITY, INFINITY));
}

static void out_may_be_self(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_INT32, SIZES(3), INTS(1, 2, 3));
    assert_int_equal(add(h, a, a, integer(2), a), KR_OK);
    host_has_ints(a, INTS(3, 6, 9));
    assert_true(host_kernel(name)->in_place);
}

static void alpha_must_fit_the_dtype(void **state)
{
    host *h = *state;
    kr_tensor *integers = host_ints(h, KR_INT8, SIZES(1), INTS(1));
    kr_tensor *reals = host_reals(h, KR_FLOAT32, SIZES(1), REALS(1));
    kr_tensor *out = host_empty(h, KR_INT8, 1);
    kr_value args[] = { tensor(integers), tensor(integers), real(1.5), tensor(out) };
    host_refuses(h, name, args, KR_E_VALUE,
                 "For integral input tensors, argument alpha must not be a floating point number.");
    args[2] = integer(300);
    host_refuses(h, name, args, KR_E_OVERFLOW, "type int8_t without overflow");
    args[0] = args[1] = tensor(reals);
    args[3] = tensor(host_empty(h, KR_FLOAT32, 1));
    args[2] = real(1e300);
    host_refuses(h, name, args, KR_E_OVERFLOW, "type float without overflow");
}

static void a_bool_as_alpha_counts_as_0_or_1(void **state)
{
    host *h = *state;
    kr_tensor *reals = host_reals(h, KR_FLOAT32, SIZES(2), REALS(1, -3));
    kr_tensor *integers = host_ints(h, KR_INT16, SIZES(2), INTS(1, -3));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 2);
    assert_int_equal(add(h, reals, integers, boolean(true), out), KR_OK);
    host_has_reals(out, REALS(2, -6));
    assert_int_equal(add(h, reals, integers, boolean(false), out), KR_OK);
    host_has_reals(out, REALS(1, -3));
}

static void shapes_dtypes_and_room_must_fit(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT32, SIZES(2), REALS(1, 2));
    kr_tensor *b = host_reals(h, KR_FLOAT32, SIZES(3), REALS(1, 2, 3));
    kr_value args[] = { tensor(a), tensor(b), integer(1), tensor(host_empty(h, KR_FLOAT32, 3)) };
    host_refuses(h, name, args, KR_E_SHAPE, "must match the size of tensor b (3)");
    args[1] = tensor(a);
    args[3] = tensor(host_empty(h, KR_INT64, 3));
    host_refuses(h, name, args, KR_E_CAST,
                 "result type Float can't be cast to the desired output type Long");
    args[3] = tensor(host_empty(h, KR_FLOAT32, 1));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    args[3] = tensor(host_repeated(h, host_tensor(h, KR_FLOAT32, SIZES(1)), 0, 2));
    host_refuses(h, name, args, KR_E_OVERLAP, "single memory location");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(alpha_multiplies_other),
        HOST_TEST(int64_is_exact_and_wraps),
        HOST_TEST(short_integers_wrap_before_a_wider_out),
        HOST_TEST(bool_is_or_with_any_alpha_but_zero),
        HOST_TEST(a_sum_with_alpha_is_rounded_once),
        HOST_TEST(promotion_decides_the_dtype_of_the_sum),
        HOST_TEST(nan_infinity_and_negative_zero_are_numbers_like_others),
        HOST_TEST(float16_converts_what_it_cannot_hold_to_infinity),
        HOST_TEST(out_may_be_self),
        HOST_TEST(alpha_must_fit_the_dtype),
        HOST_TEST(a_bool_as_alpha_counts_as_0_or_1),
        HOST_TEST(shapes_dtypes_and_room_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
