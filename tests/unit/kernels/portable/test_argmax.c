// SPDX-License-Identifier: Apache-2.0
/* aten::argmax.out: ties, NaN, layouts, and dims without elements. */
#include "host.h"

static const char name[] = "aten::argmax.out";

static void argmax(host *h, kr_tensor *self, kr_value dim, bool keepdim, kr_tensor *out)
{
    const kr_value args[] = { tensor(self), dim, boolean(keepdim), tensor(out) };
    host_runs(h, name, args);
}

static void the_first_of_equals_and_the_first_nan_win(void **state)
{
    host *h = *state;
    kr_tensor *self = host_reals(h, KR_FLOAT32, SIZES(4, 4),
                                 REALS(1, NAN, 3, NAN, 5, 5, 2, 5, -INFINITY, -INFINITY, -INFINITY,
                                       -INFINITY, -0.0, 0, 0, -1));
    kr_tensor *out = host_empty(h, KR_INT64, 4);
    argmax(h, self, integer(1), false, out);
    host_has_ints(out, INTS(1, 0, 0, 0));
    argmax(h, self, integer(-2), true, out);
    host_has_sizes(out, SIZES(1, 4));
    host_has_ints(out, INTS(1, 0, 0, 0));
    argmax(h, self, none(), false, out);
    host_has_ints(out, INTS(1));
}

static void each_dtype_is_compared_in_full(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_UINT8,   KR_INT8,     KR_INT16,   KR_INT32,  KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 9; d++) {
        kr_tensor *out = host_empty(h, KR_INT64, 1);
        argmax(h, host_ints(h, dtypes[d], SIZES(5), INTS(3, 1, 7, 7, 2)), integer(0), false, out);
        host_has_ints(out, INTS(2));
        host_forget(h);
    }
    kr_tensor *out = host_empty(h, KR_INT64, 1);
    argmax(h,
           host_ints(h, KR_INT64, SIZES(2),
                     INTS(INT64_C(9007199254740992), INT64_C(9007199254740993))),
           none(), false, out);
    host_has_ints(out, INTS(1));
    argmax(h, host_reals(h, KR_FLOAT64, SIZES(2), REALS(1, 1 + 0x1p-50)), none(), false, out);
    host_has_ints(out, INTS(1));
}

static void the_index_of_all_counts_in_row_major_order(void **state)
{
    host *h = *state;
    kr_tensor *dense = host_ints(h, KR_FLOAT32, SIZES(1, 2, 2, 2), INTS(0, 1, 9, 3, 4, 5, 6, 7));
    kr_tensor *out = host_empty(h, KR_INT64, 1);
    argmax(h, host_ordered(h, dense, (const int[]){ 0, 2, 3, 1 }), none(), true, out);
    host_has_sizes(out, SIZES(1, 1, 1, 1));
    host_has_ints(out, INTS(2));
}

static void long_lines_are_looked_at_in_pieces(void **state)
{
    host *h = *state;
    kr_tensor *self = host_tensor(h, KR_INT16, SIZES(2, 5000));
    memset(self->data, 0, 20000);
    ((int16_t *) self->data)[4321] = 1;
    ((int16_t *) self->data)[5000 + 1023] = 5;
    ((int16_t *) self->data)[5000 + 1024] = 6;
    ((int16_t *) self->data)[5000 + 4999] = 6;
    kr_tensor *out = host_spread(h, host_tensor(h, KR_INT64, SIZES(2)), 2);
    argmax(h, self, integer(1), false, out);
    host_has_ints(out, INTS(4321, 1024));
    argmax(h, self, none(), false, host_empty(h, KR_INT64, 1));
    kr_tensor *columns = host_empty(h, KR_INT64, 5000);
    argmax(h, self, integer(0), false, columns);
    assert_int_equal(host_int(columns, 4321), 0);
    assert_int_equal(host_int(columns, 1023), 1);
    assert_int_equal(host_int(columns, 7), 0);
}

static void a_tensor_without_dims_has_index_0(void **state)
{
    host *h = *state;
    kr_tensor *self = host_reals(h, KR_FLOAT32, NO_SIZES, REALS(NAN));
    kr_tensor *out = host_empty(h, KR_INT64, 1);
    argmax(h, self, integer(-1), true, out);
    host_has_sizes(out, NO_SIZES);
    host_has_ints(out, INTS(0));
    argmax(h, self, none(), false, out);
    host_has_ints(out, INTS(0));
}

static void only_a_dim_with_elements_has_a_greatest(void **state)
{
    host *h = *state;
    kr_tensor *self = host_tensor(h, KR_FLOAT32, SIZES(2, 0));
    kr_tensor *out = host_empty(h, KR_INT64, 2);
    argmax(h, self, integer(0), false, out);
    host_has_sizes(out, SIZES(0));
    kr_value args[] = { tensor(self), integer(1), boolean(false), tensor(out) };
    host_refuses(h, name, args, KR_E_INDEX,
                 "argmax(): Expected reduction dim 1 to have non-zero size.");
    args[1] = none();
    host_refuses(h, name, args, KR_E_INDEX,
                 "argmax(): Expected reduction dim to be specified for input.numel() == 0.");
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_value args[] = { tensor(host_tensor(h, KR_FLOAT32, SIZES(2, 3))), integer(2), boolean(false),
                        tensor(host_empty(h, KR_INT64, 3)) };
    host_refuses(h, name, args, KR_E_INDEX, "expected to be in range of [-2, 1], but got 2");
    args[1] = integer(0);
    args[3] = tensor(host_empty(h, KR_INT32, 3));
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype long int, but got int instead");
    args[3] = tensor(host_empty(h, KR_INT64, 2));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    args[3] = tensor(host_empty(h, KR_INT64, 3));
    h->scratch_limit = 8;
    host_refuses(h, name, args, KR_E_MEMORY, "no scratch memory");
    args[0] = tensor(host_tensor(h, KR_BOOL, SIZES(1)));
    host_refuses(h, name, args, KR_E_DTYPE, "argmax(): does not support bool input");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(the_first_of_equals_and_the_first_nan_win),
        HOST_TEST(each_dtype_is_compared_in_full),
        HOST_TEST(the_index_of_all_counts_in_row_major_order),
        HOST_TEST(long_lines_are_looked_at_in_pieces),
        HOST_TEST(a_tensor_without_dims_has_index_0),
        HOST_TEST(only_a_dim_with_elements_has_a_greatest),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
