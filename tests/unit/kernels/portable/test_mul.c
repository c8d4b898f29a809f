// SPDX-License-Identifier: Apache-2.0
/* aten::mul.out: products, broadcast and promoted. */
#include "host.h"

static const char name[] = "aten::mul.out";

static kr_status mul(host *h, kr_tensor *self, kr_tensor *other, kr_tensor *out)
{
    const kr_value args[] = { tensor(self), tensor(other), tensor(out) };
    return host_call(h, name, args);
}

static void each_dtype_multiplies(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_INT8,    KR_INT16,    KR_INT32,   KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 8; d++) {
        kr_tensor *a = host_ints(h, dtypes[d], SIZES(3), INTS(3, -4, 5));
        kr_tensor *b = host_ints(h, dtypes[d], SIZES(3), INTS(2, 7, 9));
        kr_tensor *out = host_empty(h, dtypes[d], 3);
        assert_int_equal(mul(h, a, b, out), KR_OK);
        host_has_reals(out, REALS(6, -28, 45));
        host_forget(h);
    }
}

static void integers_wrap_and_bool_is_and(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_UINT8, SIZES(2), INTS(200, 16));
    kr_tensor *b = host_ints(h, KR_UINT8, SIZES(2), INTS(2, 16));
    kr_tensor *out = host_empty(h, KR_UINT8, 2);
    assert_int_equal(mul(h, a, b, out), KR_OK);
    host_has_ints(out, INTS(144, 0));
    kr_tensor *c = host_ints(h, KR_INT64, SIZES(1), INTS(INT64_MIN));
    kr_tensor *d = host_ints(h, KR_INT64, SIZES(1), INTS(-1));
    kr_tensor *wide = host_empty(h, KR_INT64, 1);
    assert_int_equal(mul(h, c, d, wide), KR_OK);
    host_has_ints(wide, INTS(INT64_MIN));
    kr_tensor *p = host_ints(h, KR_BOOL, SIZES(4), INTS(0, 0, 1, 1));
    kr_tensor *q = host_ints(h, KR_BOOL, SIZES(4), INTS(0, 1, 0, 1));
    kr_tensor *both = host_empty(h, KR_BOOL, 4);
    assert_int_equal(mul(h, p, q, both), KR_OK);
    host_has_ints(both, INTS(0, 0, 0, 1));
}

static void a_tensor_without_dims_does_not_widen(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT16, SIZES(3), REALS(1, 2, 60000));
    kr_tensor *half = host_reals(h, KR_FLOAT32, NO_SIZES, REALS(0.5));
    kr_tensor *out = host_empty(h, KR_FLOAT16, 3);
    assert_int_equal(mul(h, a, half, out), KR_OK);
    host_has_reals(out, REALS(0.5, 1, 30000));
}

static void float16_is_multiplied_by_any_number_but_not_by_any_tensor(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT16, SIZES(2), REALS(0.0009765625, 2));
    kr_tensor *number = host_number(h, KR_FLOAT64, 102400);
    kr_tensor *out = host_empty(h, KR_FLOAT16, 2);
    assert_int_equal(mul(h, a, number, out), KR_OK);
    host_has_reals(out, REALS(100, INFINITY));
    assert_int_equal(mul(h, number, a, out), KR_OK);
    host_has_reals(out, REALS(INFINITY, INFINITY));
    kr_tensor *many = host_ints(h, KR_INT32, SIZES(2), INTS(102400, 4));
    assert_int_equal(mul(h, a, many, out), KR_OK);
    host_has_reals(out, REALS(INFINITY, 8));
}

static void one_stretches_to_nothing(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT32, SIZES(2, 1), REALS(1, 2));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 0);
    assert_int_equal(mul(h, a, host_tensor(h, KR_FLOAT32, SIZES(0)), out), KR_OK);
    host_has_sizes(out, SIZES(2, 0));
}

static void zero_times_infinity_is_not_a_number(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT64, SIZES(3), REALS(0, -0.0, NAN));
    kr_tensor *b = host_reals(h, KR_FLOAT64, SIZES(3), REALS(INFINITY, 3, 0));
    assert_int_equal(mul(h, a, b, a), KR_OK);
    host_has_reals(a, REALS(NAN, -0.0, NAN));
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_tensor *a = host_reals(h, KR_FLOAT32, SIZES(2), REALS(1, 2));
    kr_tensor *b = host_ints(h, KR_INT32, SIZES(3), INTS(1, 2, 3));
    kr_value args[] = { tensor(a), tensor(b), tensor(host_empty(h, KR_FLOAT32, 9)) };
    host_refuses(h, name, args, KR_E_SHAPE, "The size of tensor a (2)");
    args[1] = tensor(a);
    args[2] = tensor(b);
    host_refuses(h, name, args, KR_E_CAST, "result type Float can't be cast");
}

static void a_scalar_promotes_as_a_number(void **state)
{
    host *h = *state;
    static const char scalar[] = "aten::mul.Scalar_out";
    kr_tensor *a = host_ints(h, KR_INT32, SIZES(3), INTS(1, -2, 3));
    kr_tensor *reals = host_empty(h, KR_FLOAT32, 3), *integers = host_empty(h, KR_INT32, 3);
    kr_value args[] = { tensor(a), real(0.5), tensor(reals) };
    host_runs(h, scalar, args);
    host_has_reals(reals, REALS(0.5, -1, 1.5));
    args[1] = real(INFINITY);
    host_runs(h, scalar, args);
    host_has_reals(reals, REALS(INFINITY, -INFINITY, INFINITY));
    args[1] = integer(-4);
    args[2] = tensor(integers);
    host_runs(h, scalar, args);
    host_has_ints(integers, INTS(-4, 8, -12));
    args[1] = boolean(true);
    host_runs(h, scalar, args);
    host_has_ints(integers, INTS(1, -2, 3));
    args[1] = real(0.5); /* the result is float32, the default dtype */
    host_refuses(h, scalar, args, KR_E_CAST, "result type Float can't be cast");
    kr_tensor *halves = host_reals(h, KR_FLOAT16, SIZES(1), REALS(1000));
    kr_tensor *out = host_empty(h, KR_FLOAT16, 1);
    const kr_value small[] = { tensor(halves), real(0.5), tensor(out) };
    host_runs(h, scalar, small);
    host_has_reals(out, REALS(500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(each_dtype_multiplies),
        HOST_TEST(integers_wrap_and_bool_is_and),
        HOST_TEST(a_tensor_without_dims_does_not_widen),
        HOST_TEST(float16_is_multiplied_by_any_number_but_not_by_any_tensor),
        HOST_TEST(one_stretches_to_nothing),
        HOST_TEST(zero_times_infinity_is_not_a_number),
        HOST_TEST(what_does_not_fit_is_refused),
        HOST_TEST(a_scalar_promotes_as_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
