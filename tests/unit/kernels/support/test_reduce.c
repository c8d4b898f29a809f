// SPDX-License-Identifier: Apache-2.0
/* Folding over every set of dims, along both of its ways, with loops of the test's own. */
#include "reduce.h"

#include "host.h"
#include "shape.h"

REDUCE_LOOPS(add_up, 0, a + b);
REDUCE_LOOPS(greatest, -1000000, a > b ? a : b);

static void reduced_shape_drops_dims_or_keeps_them_as_1(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_tensor(h, KR_INT8, SIZES(2, 3, 4));
    int64_t sizes[KR_MAX_DIMS];
    assert_int_equal(reduced_shape(t, 2, false, sizes), 2);
    assert_memory_equal(sizes, ((const int64_t[]){ 2, 4 }), 2 * sizeof *sizes);
    assert_int_equal(reduced_shape(t, 5, true, sizes), 3);
    assert_memory_equal(sizes, ((const int64_t[]){ 1, 3, 1 }), 3 * sizeof *sizes);
    assert_int_equal(reduced_shape(t, 7, false, sizes), 0);
}

/* Sums t over a set of dims and compares with sums that are made one element at a time. */
static void sums_agree(host *h, const kr_tensor *t, uint32_t mask)
{
    int64_t sizes[KR_MAX_DIMS];
    const int64_t count = numel(t);
    kr_tensor *wanted = host_tensor(h, KR_INT64, reduced_shape(t, mask, true, sizes), sizes);
    memset(wanted->data, 0, (size_t) numel(wanted) * sizeof(int64_t));
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, offset = 0;
        for (int d = t->dim - 1; d >= 0; d--) {
            offset += mask >> d & 1 ? 0 : rest % t->sizes[d] * wanted->strides[d];
            rest /= t->sizes[d];
        }
        ((int64_t *) wanted->data)[offset] += host_int(t, i);
    }
    for (int keepdim = 0; keepdim < 2; keepdim++) {
        kr_tensor *out = host_tensor(h, KR_INT64, reduced_shape(t, mask, keepdim, sizes), sizes);
        kr_tensor *spread = host_spread(h, out, 2);
        reduce(t, mask, keepdim, (kr_dtype) t->dtype, out, &add_up);
        host_has_ints(out, numel(wanted), wanted->data);
        reduce(t, mask, keepdim, (kr_dtype) t->dtype, spread, &add_up);
        host_has_ints(spread, numel(wanted), wanted->data);
    }
}

static void every_set_of_dims_of_every_layout_gives_the_same_sums(void **state)
{
    host *h = *state;
    /* Extents on both sides of those that decide which way is taken. */
    static const int64_t shapes[][3] = { { 3, 4, 5 }, { 2, 70, 3 }, { 20, 3, 17 }, { 5, 90, 20 } };
    int64_t values[9000];
    for (int i = 0; i < 9000; i++)
        values[i] = i * 7 % 101 - 50;
    for (int s = 0; s < 4; s++) {
        for (uint32_t mask = 0; mask < 8; mask++) {
            const int64_t *sizes = shapes[s];
            const kr_tensor *t = host_ints(h, KR_INT8, 3, sizes, sizes[0] * sizes[1] * sizes[2],
                                           values);
            sums_agree(h, t, mask);
            sums_agree(h, host_spread(h, t, 2), mask);
            sums_agree(h, host_ordered(h, t, (const int[]){ 2, 0, 1 }), mask);
            sums_agree(h, host_ordered(h, t, (const int[]){ 1, 2, 0 }), mask);
            host_forget(h);
        }
    }
}

static void rows_longer_than_a_chunk_are_cut(void **state)
{
    host *h = *state;
    kr_tensor *t = host_tensor(h, KR_FLOAT32, SIZES(3, 1500));
    float *values = t->data;
    for (int i = 0; i < 4500; i++)
        values[i] = (float) (i % 1500);
    kr_tensor *out = host_spread(h, host_tensor(h, KR_FLOAT32, SIZES(1500)), 2);
    reduce(t, 1, false, KR_FLOAT32, out, &add_up);
    for (int i = 0; i < 1500; i++)
        assert_true(host_real(out, i) == 3 * i);
}

static void any_associative_expression_can_be_folded(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_reals(
        h, KR_FLOAT32, SIZES(2, 10),
        REALS(1, 2, 9, 4, 5, 6, 7, 8, 3, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -0.5));
    kr_tensor *rows = host_tensor(h, KR_FLOAT32, SIZES(2));
    kr_tensor *columns = host_tensor(h, KR_FLOAT32, SIZES(10));
    reduce(t, 2, false, KR_FLOAT32, rows, &greatest);
    host_has_reals(rows, REALS(9, -0.5));
    reduce(t, 1, false, KR_FLOAT32, columns, &greatest);
    host_has_reals(columns, REALS(1, 2, 9, 4, 5, 6, 7, 8, 3, 0));
}

static void floats_are_folded_in_double(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_reals(h, KR_FLOAT32, SIZES(3), REALS(0x1p30, 1, -0x1p30));
    kr_tensor *out = host_tensor(h, KR_FLOAT32, NO_SIZES);
    reduce(t, 1, false, KR_FLOAT32, out, &add_up);
    host_has_reals(out, REALS(1));
}

static void elements_are_converted_before_they_are_folded(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_reals(h, KR_FLOAT32, SIZES(2), REALS(2.75, 0.5));
    kr_tensor *integer_out = host_tensor(h, KR_INT32, NO_SIZES);
    reduce(t, 1, false, KR_INT32, integer_out, &add_up);
    host_has_ints(integer_out, INTS(2));
    kr_tensor *bool_out = host_tensor(h, KR_BOOL, NO_SIZES);
    reduce(t, 1, false, KR_BOOL, bool_out, &add_up);
    host_has_ints(bool_out, INTS(1));
}

static void nothing_folds_to_the_start(void **state)
{
    host *h = *state;
    kr_tensor *out = host_tensor(h, KR_FLOAT32, SIZES(20));
    reduce(host_tensor(h, KR_FLOAT32, SIZES(20, 0)), 2, false, KR_FLOAT32, out, &add_up);
    for (int i = 0; i < 20; i++)
        assert_true(((float *) out->data)[i] == 0);
    kr_tensor *few = host_tensor(h, KR_FLOAT32, SIZES(2));
    reduce(host_tensor(h, KR_FLOAT32, SIZES(2, 0)), 2, false, KR_FLOAT32, few, &add_up);
    host_has_reals(few, REALS(0, 0));
    reduce(host_tensor(h, KR_FLOAT32, SIZES(2, 0)), 1, false, KR_FLOAT32,
           host_tensor(h, KR_FLOAT32, SIZES(0)), &add_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(reduced_shape_drops_dims_or_keeps_them_as_1),
        HOST_TEST(every_set_of_dims_of_every_layout_gives_the_same_sums),
        HOST_TEST(rows_longer_than_a_chunk_are_cut),
        HOST_TEST(any_associative_expression_can_be_folded),
        HOST_TEST(floats_are_folded_in_double),
        HOST_TEST(elements_are_converted_before_they_are_folded),
        HOST_TEST(nothing_folds_to_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
