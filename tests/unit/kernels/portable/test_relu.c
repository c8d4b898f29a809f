// SPDX-License-Identifier: Apache-2.0
/* aten::relu.out: what is below zero, and what is not. */
#include "host.h"

static const char name[] = "aten::relu.out";

static void nan_and_negative_zero_are_not_below_zero(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 4; d++) {
        kr_tensor *self = host_reals(h, dtypes[d], SIZES(8),
                                     REALS(NAN, -1, 2, -0.0, 0, INFINITY, -INFINITY, -1e-3));
        kr_tensor *out = host_empty(h, dtypes[d], 8);
        const kr_value args[] = { tensor(self), tensor(out) };
        host_runs(h, name, args);
        host_has_reals(out, REALS(NAN, 0, 2, -0.0, 0, INFINITY, 0, 0));
        host_forget(h);
    }
}

static void integers_are_taken_too(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_INT8, SIZES(2, 2), INTS(-128, -1, 0, 127));
    kr_tensor *out = host_spread(h, host_tensor(h, KR_INT8, SIZES(2, 2)), 3);
    kr_value args[] = { tensor(self), tensor(out) };
    host_runs(h, name, args);
    host_has_ints(out, INTS(0, 0, 0, 127));
    args[0] = args[1] = tensor(host_ints(h, KR_INT64, SIZES(2), INTS(INT64_MIN, INT64_MAX)));
    host_runs(h, name, args);
    host_has_ints(args[1].as.tensor, INTS(0, INT64_MAX));
    args[0] = args[1] = tensor(host_ints(h, KR_UINT8, NO_SIZES, INTS(255)));
    host_runs(h, name, args);
    host_has_ints(args[1].as.tensor, INTS(255));
}

static void bool_and_other_dtypes_of_out_are_refused(void **state)
{
    host *h = *state;
    kr_tensor *truth = host_ints(h, KR_BOOL, SIZES(1), INTS(1));
    kr_value args[] = { tensor(truth), tensor(truth) };
    host_refuses(h, name, args, KR_E_DTYPE, "Boolean inputs not supported for relu");
    args[0] = tensor(host_reals(h, KR_FLOAT32, SIZES(1), REALS(1)));
    args[1] = tensor(host_tensor(h, KR_FLOAT64, SIZES(1)));
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype float, but got double instead");
    args[1] = tensor(host_empty(h, KR_FLOAT32, 0));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    assert_int_equal(host_kernel(name)->dtypes, KR_REAL_TYPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(nan_and_negative_zero_are_not_below_zero),
        HOST_TEST(integers_are_taken_too),
        HOST_TEST(bool_and_other_dtypes_of_out_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
