// SPDX-License-Identifier: Apache-2.0
/* aten::full.out: one value everywhere, if the dtype holds it. */
#include "host.h"

static const char name[] = "aten::full.out";

static void every_dtype_is_filled(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_UINT8,   KR_INT8,     KR_INT16,   KR_INT32,  KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    const int64_t sizes[] = { 2, 3 };
    for (int d = 0; d < 9; d++) {
        kr_tensor *out = host_empty(h, dtypes[d], 6);
        const kr_value args[] = { list(2, sizes), integer(7), tensor(out) };
        host_runs(h, name, args);
        assert_int_equal(out->dim, 2);
        host_has_reals(out, REALS(7, 7, 7, 7, 7, 7));
        host_forget(h);
    }
}

static void values_are_cast(void **state)
{
    host *h = *state;
    const int64_t one = 1;
    kr_value args[] = { list(1, &one), real(2.75), tensor(host_empty(h, KR_INT32, 1)) };
    host_runs(h, name, args);
    host_has_ints(args[2].as.tensor, INTS(2));
    args[2] = tensor(host_empty(h, KR_BOOL, 1));
    host_runs(h, name, args);
    host_has_ints(args[2].as.tensor, INTS(1));
    args[1] = real(NAN);
    args[2] = tensor(host_empty(h, KR_FLOAT16, 1));
    host_runs(h, name, args);
    host_has_reals(args[2].as.tensor, REALS(NAN));
    args[1] = integer(INT64_MIN);
    args[2] = tensor(host_empty(h, KR_INT64, 1));
    host_runs(h, name, args);
    host_has_ints(args[2].as.tensor, INTS(INT64_MIN));
}

static void any_shape_is_filled_also_a_strided_one(void **state)
{
    host *h = *state;
    const int64_t sizes[] = { 2, 0 }, two = 2;
    kr_value args[] = { list(0, NULL), boolean(true), tensor(host_empty(h, KR_FLOAT32, 1)) };
    host_runs(h, name, args);
    assert_int_equal(args[2].as.tensor->dim, 0);
    host_has_reals(args[2].as.tensor, REALS(1));
    args[0] = list(2, sizes);
    host_runs(h, name, args);
    assert_int_equal(args[2].as.tensor->sizes[1], 0);
    args[0] = list(1, &two);
    args[2] = tensor(host_spread(h, host_tensor(h, KR_INT16, SIZES(2)), 3));
    host_runs(h, name, args);
    host_has_ints(args[2].as.tensor, INTS(1, 1));
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    const int64_t one = 1, negative = -1, many[17] = { 0 };
    kr_value args[] = { list(1, &one), real(0x1p63), tensor(host_empty(h, KR_INT64, 1)) };
    host_refuses(h, name, args, KR_E_OVERFLOW, "type int64_t without overflow");
    args[1] = integer(300);
    args[2] = tensor(host_empty(h, KR_INT8, 1));
    host_refuses(h, name, args, KR_E_OVERFLOW, "type int8_t without overflow");
    args[1] = integer(1);
    args[0] = list(1, &negative);
    host_refuses(h, name, args, KR_E_VALUE, "negative dimension -1");
    args[0] = list(17, many);
    host_refuses(h, name, args, KR_E_SHAPE, "17 dims");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(every_dtype_is_filled),
        HOST_TEST(values_are_cast),
        HOST_TEST(any_shape_is_filled_also_a_strided_one),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
