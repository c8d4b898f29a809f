// SPDX-License-Identifier: Apache-2.0
/* aten::addmm.out: beta, alpha, and every layout of the four matrices. */
#include "host.h"

static const char name[] = "aten::addmm.out";

static void addmm(host *h, kr_tensor *self, kr_tensor *mat1, kr_tensor *mat2, kr_value beta,
                  kr_value alpha, kr_tensor *out)
{
    const kr_value args[] = { tensor(self), tensor(mat1), tensor(mat2), beta, alpha, tensor(out) };
    host_runs(h, name, args);
}

static void every_dtype_and_layout_gives_the_product(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_INT8,    KR_UINT8,    KR_INT32,   KR_INT64,
                                       KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 8; d++) {
        const kr_dtype dtype = dtypes[d];
        kr_tensor *a = host_ints(h, dtype, SIZES(2, 3), INTS(1, 2, 3, 4, 5, 6));
        kr_tensor *b = host_ints(h, dtype, SIZES(3, 2), INTS(1, 0, 2, 1, 0, 3));
        kr_tensor *s = host_ints(h, dtype, SIZES(2, 2), INTS(1, 2, 3, 4));
        kr_tensor *as[] = { a, host_spread(h, a, 2), host_ordered(h, a, (const int[]){ 1, 0 }) };
        kr_tensor *bs[] = { b, host_spread(h, b, 2), host_ordered(h, b, (const int[]){ 1, 0 }) };
        for (int i = 0; i < 9; i++) {
            kr_tensor *out = host_empty(h, dtype, 4);
            addmm(h, s, as[i % 3], bs[i / 3], integer(1), integer(1), out);
            host_has_sizes(out, SIZES(2, 2));
            /* 1 + 5, 2 + 11, 3 + 14, 4 + 23 */
            host_has_reals(out, REALS(6, 13, 17, 27));
            kr_tensor *column_major = host_ordered(h, out, (const int[]){ 1, 0 });
            addmm(h, s, as[i % 3], bs[i / 3], integer(3), integer(2), column_major);
            host_has_reals(column_major, REALS(13, 28, 37, 58));
        }
        host_forget(h);
    }
}

static void self_is_expanded(void **state)
{
    host *h = *state;
    kr_tensor *one = host_ints(h, KR_FLOAT32, SIZES(2, 1), INTS(1, 1));
    kr_tensor *row = host_ints(h, KR_FLOAT32, SIZES(1, 3), INTS(1, 2, 3));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 6);
    addmm(h, host_ints(h, KR_FLOAT32, SIZES(3), INTS(10, 20, 30)), one, row, integer(1), integer(1),
          out);
    host_has_reals(out, REALS(11, 22, 33, 11, 22, 33));
    addmm(h, host_ints(h, KR_FLOAT32, SIZES(2, 1), INTS(10, 20)), one, row, integer(1), integer(1),
          out);
    host_has_reals(out, REALS(11, 12, 13, 21, 22, 23));
    addmm(h, host_ints(h, KR_FLOAT32, NO_SIZES, INTS(5)), one, row, integer(1), integer(1), out);
    host_has_reals(out, REALS(6, 7, 8, 6, 7, 8));
}

static void without_beta_self_is_not_looked_at(void **state)
{
    host *h = *state;
    kr_tensor *self = host_reals(h, KR_FLOAT32, SIZES(2), REALS(NAN, INFINITY));
    kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(2, 2), INTS(1, 2, 3, 4));
    kr_tensor *unit = host_ints(h, KR_FLOAT32, SIZES(2, 2), INTS(1, 0, 0, 1));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 4);
    addmm(h, self, a, unit, integer(0), integer(2), out);
    host_has_reals(out, REALS(2, 4, 6, 8));
    addmm(h, self, a, unit, real(-0.0), integer(1), out);
    host_has_reals(out, REALS(1, 2, 3, 4));
    addmm(h, self, a, unit, integer(1), integer(1), out);
    host_has_reals(out, REALS(NAN, INFINITY, NAN, INFINITY));
}

static void without_alpha_the_matrices_are_not_looked_at(void **state)
{
    host *h = *state;
    for (int d = 0; d < 2; d++) {
        const kr_dtype dtype = d == 0 ? KR_FLOAT32 : KR_FLOAT64;
        kr_tensor *self = host_ints(h, dtype, SIZES(1), INTS(7));
        kr_tensor *a = host_reals(h, dtype, SIZES(1, 1), REALS(NAN));
        kr_tensor *out = host_empty(h, dtype, 1);
        addmm(h, self, a, a, integer(2), integer(0), out);
        host_has_reals(out, REALS(14));
    }
}

static void an_empty_product_is_zero(void **state)
{
    host *h = *state;
    kr_tensor *self = host_ints(h, KR_FLOAT32, SIZES(2, 2), INTS(1, 2, 3, 4));
    kr_tensor *a = host_tensor(h, KR_FLOAT32, SIZES(2, 0));
    kr_tensor *b = host_tensor(h, KR_FLOAT32, SIZES(0, 2));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 4);
    addmm(h, self, a, b, integer(2), real(NAN), out);
    host_has_reals(out, REALS(2, 4, 6, 8));
    kr_tensor *no_rows = host_empty(h, KR_FLOAT32, 0);
    addmm(h, host_ints(h, KR_FLOAT32, SIZES(2), INTS(1, 2)), b,
          host_tensor(h, KR_FLOAT32, SIZES(2, 2)), integer(1), integer(1), no_rows);
    host_has_sizes(no_rows, SIZES(0, 2));
    addmm(h, self, a, b, integer(0), integer(1), out);
    host_has_reals(out, REALS(0, 0, 0, 0));
}

static void integers_wrap_and_scalars_are_cut(void **state)
{
    host *h = *state;
    kr_tensor *a = host_ints(h, KR_INT8, SIZES(1, 2), INTS(100, 100));
    kr_tensor *b = host_ints(h, KR_INT8, SIZES(2, 1), INTS(1, 1));
    kr_tensor *self = host_ints(h, KR_INT8, SIZES(1), INTS(1));
    kr_tensor *out = host_empty(h, KR_INT8, 1);
    addmm(h, self, a, b, integer(1), integer(1), out);
    host_has_ints(out, INTS(-55));
    addmm(h, self, a, b, real(2.9), real(1.9), out);
    host_has_ints(out, INTS(-54));
}

static void float16_is_rounded_once(void **state)
{
    host *h = *state;
    /* The products exceed float16, the result does not. */
    kr_tensor *a = host_ints(h, KR_FLOAT16, SIZES(1, 2), INTS(1000, -1000));
    kr_tensor *b = host_ints(h, KR_FLOAT16, SIZES(2, 1), INTS(1000, 999));
    kr_tensor *self = host_ints(h, KR_FLOAT16, SIZES(1), INTS(24));
    kr_tensor *out = host_empty(h, KR_FLOAT16, 1);
    addmm(h, self, a, b, integer(1), integer(1), out);
    host_has_reals(out, REALS(1024));
}

static void a_large_product_crosses_every_block(void **state)
{
    host *h = *state;
    enum { N = 130 };
    kr_tensor *a = host_tensor(h, KR_FLOAT32, SIZES(N, N));
    kr_tensor *b = host_tensor(h, KR_FLOAT32, SIZES(N, N));
    float *x = a->data, *y = b->data;
    for (int i = 0; i < N * N; i++) {
        x[i] = (float) (i % 7 - 3);
        y[i] = (float) (i % 5 - 2);
    }
    kr_tensor *out = host_empty(h, KR_FLOAT32, N * N);
    addmm(h, host_ints(h, KR_FLOAT32, NO_SIZES, INTS(1)), a, b, integer(1), integer(1), out);
    for (int i = 0; i < N; i += 13) {
        for (int j = 0; j < N; j++) {
            int sum = 1;
            for (int k = 0; k < N; k++)
                sum += ((i * N + k) % 7 - 3) * ((k * N + j) % 5 - 2);
            assert_true(((float *) out->data)[i * N + j] == (float) sum);
        }
    }
}

static void matrices_must_fit(void **state)
{
    host *h = *state;
    kr_tensor *a = host_tensor(h, KR_FLOAT32, SIZES(2, 3));
    kr_tensor *b = host_tensor(h, KR_FLOAT32, SIZES(3, 4));
    kr_tensor *self = host_tensor(h, KR_FLOAT32, SIZES(4));
    kr_value args[] = { tensor(self), tensor(a),  tensor(a),
                        integer(1),   integer(1), tensor(host_empty(h, KR_FLOAT32, 8)) };
    host_refuses(h, name, args, KR_E_SHAPE,
                 "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
    args[2] = tensor(self);
    host_refuses(h, name, args, KR_E_SHAPE, "mat2 must be a matrix, got 1-D tensor");
    args[1] = tensor(self);
    args[2] = tensor(b);
    host_refuses(h, name, args, KR_E_SHAPE, "mat1 must be a matrix, got 1-D tensor");
    args[1] = tensor(a);
    args[0] = tensor(host_tensor(h, KR_FLOAT32, SIZES(3)));
    host_refuses(h, name, args, KR_E_SHAPE, "Target sizes: [2, 4]. Tensor sizes: [3]");
    args[0] = tensor(host_tensor(h, KR_FLOAT32, SIZES(1, 2, 4)));
    host_refuses(h, name, args, KR_E_SHAPE, "Tensor sizes: [1, 2, 4]");
    args[0] = tensor(self);
    args[5] = tensor(host_empty(h, KR_FLOAT32, 7));
    host_refuses(h, name, args, KR_E_RESIZE, "no room");
    args[5] = tensor(host_repeated(h, host_tensor(h, KR_FLOAT32, SIZES(1, 4)), 0, 2));
    host_refuses(h, name, args, KR_E_OVERLAP, "single memory location");
}

static void dtypes_and_scalars_must_fit(void **state)
{
    host *h = *state;
    kr_tensor *f = host_tensor(h, KR_FLOAT32, SIZES(1, 1));
    kr_tensor *d = host_tensor(h, KR_FLOAT64, SIZES(1, 1));
    kr_tensor *i = host_ints(h, KR_INT8, SIZES(1, 1), INTS(1));
    kr_value args[] = { tensor(d), tensor(f), tensor(f), integer(1), integer(1), tensor(f) };
    host_refuses(h, name, args, KR_E_DTYPE,
                 "self and mat2 must have the same dtype, but got Double and Float");
    args[0] = tensor(f);
    args[1] = tensor(d);
    host_refuses(h, name, args, KR_E_DTYPE,
                 "mat1 and mat2 must have the same dtype, but got Double and Float");
    args[1] = tensor(f);
    args[5] = tensor(d);
    host_refuses(h, name, args, KR_E_DTYPE, "Expected out tensor to have dtype float");
    args[4] = real(1e300);
    host_refuses(h, name, args, KR_E_OVERFLOW, "type float without overflow");
    args[0] = args[1] = args[2] = args[5] = tensor(i);
    args[4] = integer(1);
    args[3] = integer(128);
    host_refuses(h, name, args, KR_E_OVERFLOW, "type int8_t without overflow");
    args[1] = tensor(host_tensor(h, KR_INT8, SIZES(1, 0)));
    args[2] = tensor(host_tensor(h, KR_INT8, SIZES(0, 1)));
    args[3] = real(0.5);
    host_refuses(h, name, args, KR_E_CAST,
                 "result type Float can't be cast to the desired output type Char");
    args[0] = args[1] = args[2] = args[5] = tensor(host_tensor(h, KR_BOOL, SIZES(1, 1)));
    host_refuses(h, name, args, KR_E_DTYPE, "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

static void without_scratch_memory_there_is_no_product(void **state)
{
    host *h = *state;
    kr_tensor *f = host_tensor(h, KR_FLOAT32, SIZES(1, 1));
    const kr_value args[] = { tensor(f), tensor(f), tensor(f), integer(1), integer(1), tensor(f) };
    h->scratch_limit = 10;
    host_refuses(h, name, args, KR_E_MEMORY, "no scratch memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(every_dtype_and_layout_gives_the_product),
        HOST_TEST(self_is_expanded),
        HOST_TEST(without_beta_self_is_not_looked_at),
        HOST_TEST(without_alpha_the_matrices_are_not_looked_at),
        HOST_TEST(an_empty_product_is_zero),
        HOST_TEST(integers_wrap_and_scalars_are_cut),
        HOST_TEST(float16_is_rounded_once),
        HOST_TEST(a_large_product_crosses_every_block),
        HOST_TEST(matrices_must_fit),
        HOST_TEST(dtypes_and_scalars_must_fit),
        HOST_TEST(without_scratch_memory_there_is_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
