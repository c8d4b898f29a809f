// SPDX-License-Identifier: Apache-2.0
/* Readers and writers over strides, dtypes and detours, and copies. */
#include "elements.h"
#include "host.h"
#include "shape.h"

/* Reads t in chunks of at most max elements and compares with 0, 1, 2, …, modulo `period`. */
static void reads_counting(const kr_tensor *t, kr_dtype as, int64_t max, int64_t period)
{
    int64_t next = 0;
    reader r;
    for (reader_open(&r, t, (kr_dtype) t->dtype, as); reader_next(&r, max);) {
        assert_true(r.n > 0 && r.n <= max);
        for (int64_t i = 0; i < r.n; i++, next++) {
            const double value = as == KR_FLOAT32   ? (double) ((const float *) r.values)[i]
                                 : as == KR_FLOAT64 ? ((const double *) r.values)[i]
                                                    : (double) ((const int64_t *) r.values)[i];
            assert_true(value == (double) (next % period));
        }
    }
    assert_int_equal(next, numel(t));
}

static kr_tensor *counting(host *h, kr_dtype dtype, int dim, const int64_t *sizes)
{
    kr_tensor *t = host_tensor(h, dtype, dim, sizes);
    int64_t values[2048];
    const int64_t n = numel(t);
    for (int64_t i = 0; i < n; i++)
        values[i] = i % 100;
    return host_ints(h, dtype, dim, sizes, n, values);
}

static void a_reader_gives_each_element_once_in_row_major_order(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_UINT8, KR_INT32, KR_FLOAT16, KR_FLOAT32, KR_FLOAT64 };
    static const kr_dtype types[] = { KR_FLOAT32, KR_FLOAT64, KR_INT64 };
    static const int64_t chunks[] = { 1, 7, 100, CHUNK };
    for (int d = 0; d < 5; d++) {
        const kr_tensor *dense = counting(h, dtypes[d], SIZES(9, 5, 15));
        const kr_tensor *views[] = { dense, host_spread(h, dense, 2),
                                     host_ordered(h, dense, (const int[]){ 2, 0, 1 }),
                                     host_ordered(h, dense, (const int[]){ 0, 2, 1 }) };
        for (int v = 0; v < 4; v++)
            for (int t = 0; t < 3; t++)
                for (int c = 0; c < 4; c++)
                    reads_counting(views[v], types[t], chunks[c], 100);
        host_forget(h);
    }
}

static void a_reader_hands_out_memory_that_needs_no_conversion(void **state)
{
    host *h = *state;
    const kr_tensor *t = counting(h, KR_FLOAT32, SIZES(1000));
    reader r;
    reader_open(&r, t, KR_FLOAT32, KR_FLOAT32);
    assert_true(reader_next(&r, CHUNK));
    assert_ptr_equal(r.values, t->data);
    assert_true(reader_next(&r, CHUNK));
    assert_ptr_equal(r.values, (float *) t->data + CHUNK);
    assert_int_equal(r.n, 1000 - CHUNK);
    assert_false(reader_next(&r, CHUNK));
}

static void a_repeated_element_is_read_as_often_as_it_is_repeated(void **state)
{
    host *h = *state;
    kr_tensor *one = host_ints(h, KR_INT16, SIZES(1, 1), INTS(-3));
    const kr_tensor *all = host_repeated(h, host_repeated(h, one, 0, 40), 1, 50);
    int64_t count = 0;
    reader r;
    for (reader_open(&r, all, KR_INT16, KR_FLOAT64); reader_next(&r, 300); count += r.n)
        for (int64_t i = 0; i < r.n; i++)
            assert_true(((const double *) r.values)[i] == -3);
    assert_int_equal(count, 2000);

    const kr_tensor *column = host_repeated(h, host_ints(h, KR_FLOAT32, SIZES(3, 1), INTS(0, 1, 2)),
                                            1, 2);
    reader_open(&r, column, KR_FLOAT32, KR_FLOAT32);
    assert_true(reader_next(&r, CHUNK));
    assert_memory_equal(r.values, ((const float[]){ 0, 0, 1, 1, 2, 2 }), 6 * sizeof(float));
}

static void a_reader_of_nothing_gives_nothing(void **state)
{
    host *h = *state;
    reader r;
    reader_open(&r, host_tensor(h, KR_FLOAT32, SIZES(3, 0)), KR_FLOAT32, KR_FLOAT32);
    assert_false(reader_next(&r, CHUNK));
}

static void a_reader_starts_again_at_another_place(void **state)
{
    host *h = *state;
    const kr_tensor *a = host_ints(h, KR_INT8, SIZES(2), INTS(1, 2));
    const kr_tensor *b = host_ints(h, KR_INT8, SIZES(2), INTS(3, 4));
    reader r;
    reader_open(&r, a, KR_INT8, KR_INT64);
    assert_true(reader_next(&r, CHUNK));
    reader_restart(&r, b->data);
    assert_true(reader_next(&r, CHUNK));
    assert_memory_equal(r.values, ((const int64_t[]){ 3, 4 }), 2 * sizeof(int64_t));
    assert_false(reader_next(&r, CHUNK));
}

static void elements_go_via_another_dtype(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_reals(h, KR_FLOAT32, SIZES(4), REALS(0.5, 300, 70000, NAN));
    reader r;
    reader_open(&r, t, KR_BOOL, KR_INT64);
    assert_true(reader_next(&r, CHUNK));
    assert_memory_equal(r.values, ((const int64_t[]){ 1, 1, 1, 1 }), 4 * sizeof(int64_t));
    reader_open(&r, t, KR_INT8, KR_INT64);
    assert_true(reader_next(&r, CHUNK));
    assert_memory_equal(r.values, ((const int64_t[]){ 0, 44, 112, 0 }), 4 * sizeof(int64_t));
    reader_open(&r, t, KR_FLOAT16, KR_FLOAT64);
    assert_true(reader_next(&r, CHUNK));
    assert_true(((const double *) r.values)[1] == 300);
    assert_true(isinf(((const double *) r.values)[2]));
    assert_true(isnan(((const double *) r.values)[3]));
}

static void half_range_only_makes_infinite_what_float16_cannot_hold(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_reals(h, KR_FLOAT32, SIZES(4), REALS(0.1f, -65520, 65519, NAN));
    reader r;
    reader_open(&r, t, KR_FLOAT32, KR_FLOAT32);
    r.half_range = true;
    assert_true(reader_next(&r, CHUNK));
    const float *values = r.values;
    assert_true(values[0] == 0.1f && values[1] == -INFINITY && values[2] == 65519);
    assert_true(isnan(values[3]));
}

static void a_writer_fills_any_layout(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_INT8, KR_FLOAT32, KR_BFLOAT16, KR_INT64 };
    for (int d = 0; d < 4; d++) {
        const kr_tensor *dense = counting(h, dtypes[d], SIZES(9, 5, 15));
        const kr_tensor *outs[] = { host_tensor(h, dtypes[d], SIZES(9, 5, 15)),
                                    host_spread(h, host_tensor(h, dtypes[d], SIZES(9, 5, 15)), 3),
                                    host_ordered(h, host_tensor(h, dtypes[d], SIZES(9, 5, 15)),
                                                 (const int[]){ 1, 2, 0 }) };
        for (int o = 0; o < 3; o++) {
            int64_t next = 0;
            writer w;
            for (writer_open(&w, outs[o], dtypes[d], KR_FLOAT32); writer_next(&w, 100);)
                for (int64_t i = 0; i < w.n; i++, next++)
                    ((float *) w.values)[i] = (float) (next % 100);
            assert_int_equal(next, 9 * 5 * 15);
            reads_counting(outs[o], KR_FLOAT64, CHUNK, 100);
        }
        reads_counting(dense, KR_FLOAT64, CHUNK, 100);
        host_forget(h);
    }
}

static void a_writer_leaves_the_gaps_alone(void **state)
{
    host *h = *state;
    const kr_tensor *out = host_spread(h, host_tensor(h, KR_FLOAT32, SIZES(3)), 2);
    writer w;
    for (writer_open(&w, out, KR_FLOAT32, KR_FLOAT32); writer_next(&w, CHUNK);)
        for (int64_t i = 0; i < w.n; i++)
            ((float *) w.values)[i] = 1;
    const uint8_t *bytes = out->data;
    for (int i = 0; i < 4; i++)
        assert_int_equal(bytes[4 + i], 0x5B);
    host_has_reals(out, REALS(1, 1, 1));
}

static void values_are_rounded_before_they_are_stored(void **state)
{
    host *h = *state;
    const kr_tensor *out = host_tensor(h, KR_INT64, SIZES(1));
    writer w;
    writer_open(&w, out, KR_INT8, KR_INT64);
    assert_true(writer_next(&w, CHUNK));
    *(int64_t *) w.values = 200;
    assert_false(writer_next(&w, CHUNK));
    host_has_ints(out, INTS(-56));
}

static void ranges_begin_anywhere(void **state)
{
    host *h = *state;
    const kr_tensor *t = counting(h, KR_FLOAT32, SIZES(4, 5));
    kr_tensor view = *host_spread(h, t, 2);
    view.strides[0] = 10;
    view = coalesce(&view);
    double values[8];
    load_range(&view, 3, 8, KR_FLOAT64, values);
    for (int i = 0; i < 8; i++)
        assert_true(values[i] == 3 + i);
    /* Three dims that cannot be joined. */
    const kr_tensor *ordered = host_ordered(h, counting(h, KR_INT16, SIZES(3, 2, 4)),
                                            (const int[]){ 1, 0, 2 });
    const kr_tensor joined = coalesce(ordered);
    load_range(&joined, 2, 8, KR_FLOAT64, values);
    for (int i = 0; i < 8; i++)
        assert_true(values[i] == 2 + i);
    const double zeros[8] = { 0 };
    store_range(&joined, 2, 8, KR_FLOAT64, zeros);
    host_has_ints(ordered, INTS(0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                19, 20, 21, 22, 23));
}

static void copies_convert_and_follow_both_layouts(void **state)
{
    host *h = *state;
    const kr_tensor *from = host_ordered(
        h, host_reals(h, KR_FLOAT64, SIZES(2, 3), REALS(0.1, -2.5, 3, NAN, INFINITY, -0.0)),
        (const int[]){ 1, 0 });
    kr_tensor *same = host_spread(h, host_tensor(h, KR_FLOAT64, SIZES(2, 3)), 2);
    copy_elements(same, from);
    host_has_reals(same, REALS(0.1, -2.5, 3, NAN, INFINITY, -0.0));
    kr_tensor *narrow = host_tensor(h, KR_FLOAT16, SIZES(2, 3));
    copy_elements(narrow, from);
    host_has_reals(narrow, REALS(0.0999755859375, -2.5, 3, NAN, INFINITY, -0.0));
    kr_tensor *integers = host_tensor(h, KR_INT8, SIZES(2, 3));
    copy_elements(integers, from);
    host_has_ints(integers, INTS(0, -2, 3, 0, 0, 0));
}

static void a_copy_of_one_dtype_keeps_every_bit(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_BOOL, KR_FLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 4; d++) {
        /* Patterns that are a NaN with a payload, or a bool of neither 0 nor 1. */
        const kr_tensor *from = host_spread(h, host_tensor(h, dtypes[d], SIZES(3)), 2);
        memset(from->data, 0xFB, dtypes[d] == KR_BOOL ? 5 : 8);
        kr_tensor *to = host_tensor(h, dtypes[d], SIZES(3));
        copy_elements(to, from);
        for (int i = 0; i < 3; i++)
            assert_memory_equal(element_at(to, i), element_at(from, i),
                                dtypes[d] == KR_BOOL ? 1 : 2);
    }
}

static void contiguous_elements_copies_only_what_is_not_so_already(void **state)
{
    host *h = *state;
    const kr_tensor *t = counting(h, KR_FLOAT32, SIZES(4, 5));
    assert_ptr_equal(contiguous_elements(&h->context, t, KR_FLOAT32), t->data);
    assert_int_equal(h->scratch_used, 0);
    const kr_tensor *views[] = { host_spread(h, t, 2), counting(h, KR_INT16, SIZES(4, 5)) };
    for (int v = 0; v < 2; v++) {
        const float *values = contiguous_elements(&h->context, views[v], KR_FLOAT32);
        for (int i = 0; i < 20; i++)
            assert_true(values[i] == (float) i);
    }
    h->scratch_limit = 0;
    h->scratch_used = 0;
    assert_null(contiguous_elements(&h->context, views[0], KR_FLOAT64));
    assert_int_equal(h->fails, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(a_reader_gives_each_element_once_in_row_major_order),
        HOST_TEST(a_reader_hands_out_memory_that_needs_no_conversion),
        HOST_TEST(a_repeated_element_is_read_as_often_as_it_is_repeated),
        HOST_TEST(a_reader_of_nothing_gives_nothing),
        HOST_TEST(a_reader_starts_again_at_another_place),
        HOST_TEST(elements_go_via_another_dtype),
        HOST_TEST(half_range_only_makes_infinite_what_float16_cannot_hold),
        HOST_TEST(a_writer_fills_any_layout),
        HOST_TEST(a_writer_leaves_the_gaps_alone),
        HOST_TEST(values_are_rounded_before_they_are_stored),
        HOST_TEST(ranges_begin_anywhere),
        HOST_TEST(copies_convert_and_follow_both_layouts),
        HOST_TEST(a_copy_of_one_dtype_keeps_every_bit),
        HOST_TEST(contiguous_elements_copies_only_what_is_not_so_already),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
