// SPDX-License-Identifier: Apache-2.0
/* aten::_softmax.out: lines along each dim, infinities, and dtypes. */
#include "host.h"

static const char name[] = "aten::_softmax.out";

static void softmax(host *h, kr_tensor *self, int64_t dim, kr_tensor *out)
{
    const kr_value args[] = { tensor(self), integer(dim), boolean(false), tensor(out) };
    host_runs(h, name, args);
}

static void infinities_give_what_the_limit_gives_or_nan(void **state)
{
    host *h = *state;
    kr_tensor *self = host_reals(h, KR_FLOAT32, SIZES(5, 3),
                                 REALS(0, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, 0,
                                       INFINITY, 1, 1000, 1000, -1000, 0, NAN, 0));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 15);
    softmax(h, self, 1, out);
    host_has_reals(out,
                   REALS(0.5, 0, 0.5, NAN, NAN, NAN, NAN, NAN, NAN, 0.5, 0.5, 0, NAN, NAN, NAN));
}

static void many_equal_logits_of_short_floats_add_up_to_one(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_FLOAT16, KR_BFLOAT16 };
    for (int d = 0; d < 2; d++) {
        int64_t threes[512];
        double wanted[512];
        for (int i = 0; i < 512; i++) {
            threes[i] = 3;
            wanted[i] = 1.0 / 512;
        }
        kr_tensor *out = host_empty(h, dtypes[d], 512);
        softmax(h, host_ints(h, dtypes[d], SIZES(512), 512, threes), 0, out);
        host_has_reals(out, 512, wanted);
    }
}

static void every_dim_and_layout_has_its_lines(void **state)
{
    host *h = *state;
    enum { A = 3, B = 20, C = 17 };
    double values[A * B * C];
    for (int i = 0; i < A * B * C; i++)
        values[i] = (i * 37 % 101) / 10.0;
    for (int dim = 0; dim < 3; dim++) {
        const int inner = dim == 0 ? B * C : dim == 1 ? C : 1;
        const int length = dim == 0 ? A : dim == 1 ? B : C;
        kr_tensor *dense = host_reals(h, KR_FLOAT64, SIZES(A, B, C), A * B * C, values);
        kr_tensor *views[] = { dense, host_spread(h, dense, 2),
                               host_ordered(h, dense, (const int[]){ 2, 0, 1 }) };
        for (int v = 0; v < 3; v++) {
            kr_tensor *out = host_ordered(h, host_tensor(h, KR_FLOAT64, SIZES(A, B, C)),
                                          (const int[]){ 1, 2, 0 });
            softmax(h, views[v], dim - 3, out);
            for (int i = 0; i < A * B * C; i++) {
                const int first = i / (inner * length) * (inner * length) + i % inner;
                double sum = 0;
                for (int j = 0; j < length; j++)
                    sum += exp(values[first + j * inner]);
                assert_true(fabs(host_real(out, i) - exp(values[i]) / sum) < 1e-15);
            }
        }
        host_forget(h);
    }
}

static void out_may_be_self(void **state)
{
    host *h = *state;
    kr_tensor *t = host_reals(h, KR_FLOAT32, SIZES(2, 2), REALS(0, 0, 5, 5));
    softmax(h, t, 1, t);
    host_has_reals(t, REALS(0.5, 0.5, 0.5, 0.5));
    assert_true(host_kernel(name)->in_place);
}

static void of_nothing_and_of_one_element(void **state)
{
    host *h = *state;
    kr_tensor *out = host_empty(h, KR_FLOAT32, 1);
    softmax(h, host_tensor(h, KR_FLOAT32, SIZES(0, 5)), 1, out);
    host_has_sizes(out, SIZES(0, 5));
    softmax(h, host_tensor(h, KR_FLOAT32, SIZES(5, 0)), 1, out);
    host_has_sizes(out, SIZES(5, 0));
    softmax(h, host_reals(h, KR_FLOAT32, NO_SIZES, REALS(-7)), -1, out);
    host_has_sizes(out, NO_SIZES);
    host_has_reals(out, REALS(1));
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_value args[] = { tensor(host_tensor(h, KR_FLOAT16, SIZES(2))), integer(1), boolean(false),
                        tensor(host_empty(h, KR_FLOAT16, 2)) };
    host_refuses(h, name, args, KR_E_INDEX, "expected to be in range of [-1, 0], but got 1");
    args[1] = integer(0);
    args[2] = boolean(true);
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype float, but got c10::Half instead");
    args[3] = tensor(host_empty(h, KR_FLOAT32, 2));
    host_refuses(h, name, args, KR_E_DTYPE,
                 "softmax with half to float conversion is not supported on CPU");
    args[2] = boolean(false);
    host_refuses(h, name, args, KR_E_DTYPE,
                 "Expected out tensor to have dtype c10::Half, but got float instead");
    args[3] = tensor(host_empty(h, KR_FLOAT16, 1));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    args[3] = tensor(host_empty(h, KR_FLOAT16, 2));
    h->scratch_limit = 8;
    host_refuses(h, name, args, KR_E_MEMORY, "no scratch memory");
    args[0] = args[3] = tensor(host_tensor(h, KR_INT64, SIZES(2)));
    host_refuses(h, name, args, KR_E_DTYPE, "\"softmax_kernel_impl\" not implemented for 'Long'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(infinities_give_what_the_limit_gives_or_nan),
        HOST_TEST(many_equal_logits_of_short_floats_add_up_to_one),
        HOST_TEST(every_dim_and_layout_has_its_lines),
        HOST_TEST(out_may_be_self),
        HOST_TEST(of_nothing_and_of_one_element),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
