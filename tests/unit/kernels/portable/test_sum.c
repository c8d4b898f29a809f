// SPDX-License-Identifier: Apache-2.0
/* aten::sum.IntList_out: dims, keepdim, and the dtype in which is summed. */
#include "host.h"

static const char name[] = "aten::sum.IntList_out";

static void sum(host *h, kr_tensor *self, kr_value dims, bool keepdim, kr_value dtype,
                kr_tensor *out)
{
    const kr_value args[] = { tensor(self), dims, boolean(keepdim), dtype, tensor(out) };
    host_runs(h, name, args);
}

static void dims_are_named_from_either_end_or_not_at_all(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_FLOAT32, SIZES(2, 3), INTS(1, 2, 3, 4, 5, 6));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 3);
    sum(h, self, list(SIZES(0)), false, none(), out);
    host_has_reals(out, REALS(5, 7, 9));
    sum(h, self, list(SIZES(-1)), true, none(), out);
    host_has_sizes(out, SIZES(2, 1));
    host_has_reals(out, REALS(6, 15));
    sum(h, self, list(SIZES(1, 0)), false, none(), out);
    host_has_sizes(out, NO_SIZES);
    host_has_reals(out, REALS(21));
    sum(h, self, none(), true, none(), out);
    host_has_sizes(out, SIZES(1, 1));
    host_has_reals(out, REALS(21));
    sum(h, self, list(0, NULL), false, none(), out);
    host_has_reals(out, REALS(21));
    sum(h, host_ints(h, KR_FLOAT32, NO_SIZES, INTS(4)), list(SIZES(-1)), false, none(), out);
    host_has_reals(out, REALS(4));
}

static void the_dtype_of_out_is_that_of_the_sum(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_INT8, SIZES(2), INTS(100, 100));
    kr_tensor *narrow = host_empty(h, KR_INT8, 1), *wide = host_empty(h, KR_INT64, 1);
    kr_tensor *half = host_empty(h, KR_FLOAT16, 1);
    sum(h, self, none(), false, none(), narrow);
    host_has_ints(narrow, INTS(-56));
    sum(h, self, none(), false, none(), wide);
    host_has_ints(wide, INTS(200));
    sum(h, self, none(), false, integer(KR_FLOAT16), half);
    host_has_reals(half, REALS(200));
}

static void elements_are_converted_before_they_are_added(void **state)
{
    host *h = *state;
    kr_tensor *self = host_reals(h, KR_FLOAT32, SIZES(2), REALS(2.7, 0.6));
    kr_tensor *integers = host_empty(h, KR_INT64, 1), *truth = host_empty(h, KR_BOOL, 1);
    sum(h, self, none(), false, integer(KR_INT64), integers);
    host_has_ints(integers, INTS(2));
    sum(h, host_reals(h, KR_FLOAT32, SIZES(2), REALS(0.5, 0)), none(), false, integer(KR_BOOL),
        truth);
    host_has_ints(truth, INTS(1));
    sum(h, host_ints(h, KR_INT64, SIZES(2), INTS(256, 0)), none(), false, none(), truth);
    host_has_ints(truth, INTS(1));
    sum(h, host_ints(h, KR_INT64, SIZES(2), INTS(1, -1)), none(), false, none(), truth);
    host_has_ints(truth, INTS(1));
    kr_tensor *half = host_empty(h, KR_FLOAT16, 1);
    sum(h, host_reals(h, KR_FLOAT32, SIZES(2), REALS(70000, -70000)), none(), false,
        integer(KR_FLOAT16), half);
    host_has_reals(half, REALS(NAN));
}

static void bool_is_or_and_counts_in_integers(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_BOOL, SIZES(3), INTS(1, 1, 0));
    kr_tensor *truth = host_empty(h, KR_BOOL, 1), *count = host_empty(h, KR_INT64, 1);
    sum(h, self, none(), false, none(), truth);
    host_has_ints(truth, INTS(1));
    sum(h, self, none(), false, none(), count);
    host_has_ints(count, INTS(2));
}

static void large_and_small_numbers_are_added_without_loss(void **state)
{
    host *h = *state;
    kr_tensor *self = host_tensor(h, KR_FLOAT16, SIZES(4096));
    uint16_t *bits = self->data;
    for (int i = 0; i < 4096; i++)
        bits[i] = 0x3C00; /* 1, of which float16 can add no more than 2048 one by one */
    kr_tensor *out = host_empty(h, KR_FLOAT16, 1);
    sum(h, self, none(), false, none(), out);
    host_has_reals(out, REALS(4096));
    kr_tensor *f = host_reals(h, KR_FLOAT32, SIZES(3), REALS(1e8, 1, -1e8));
    kr_tensor *single = host_empty(h, KR_FLOAT32, 1);
    sum(h, f, none(), false, none(), single);
    host_has_reals(single, REALS(1));
}

static void the_sum_of_nothing_is_zero(void **state)
{
    host *h = *state;
    kr_tensor *out = host_empty(h, KR_FLOAT32, 2);
    sum(h, host_tensor(h, KR_FLOAT32, SIZES(2, 0)), list(SIZES(1)), false, none(), out);
    host_has_reals(out, REALS(0, 0));
    sum(h, host_tensor(h, KR_FLOAT32, SIZES(2, 0)), none(), false, none(), out);
    host_has_reals(out, REALS(0));
    sum(h, host_tensor(h, KR_FLOAT32, SIZES(2, 0)), list(SIZES(0)), false, none(), out);
    host_has_sizes(out, SIZES(0));
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_FLOAT32, SIZES(2, 2), INTS(1, 2, 3, 4));
    kr_value args[] = { tensor(self), list(SIZES(2)), boolean(false), none(),
                        tensor(host_empty(h, KR_FLOAT32, 2)) };
    host_refuses(h, name, args, KR_E_INDEX, "expected to be in range of [-2, 1], but got 2");
    args[1] = list(SIZES(0, -2));
    host_refuses(h, name, args, KR_E_VALUE, "dim 0 appears multiple times");
    args[1] = none();
    args[3] = integer(KR_INT64);
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype long int, but got float instead");
    args[3] = integer(9);
    host_refuses(h, name, args, KR_E_DTYPE, "dtype");
    args[3] = none();
    args[4] = tensor(host_empty(h, KR_FLOAT32, 0));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(dims_are_named_from_either_end_or_not_at_all),
        HOST_TEST(the_dtype_of_out_is_that_of_the_sum),
        HOST_TEST(elements_are_converted_before_they_are_added),
        HOST_TEST(bool_is_or_and_counts_in_integers),
        HOST_TEST(large_and_small_numbers_are_added_without_loss),
        HOST_TEST(the_sum_of_nothing_is_zero),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
