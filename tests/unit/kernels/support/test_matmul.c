// SPDX-License-Identifier: Apache-2.0
/* The blocked product against three plain loops, on both sides of every block boundary. */
#include "matmul.h"

#include "dtype.h"
#include "host.h"

/* Small integers as elements: sums of their products are exact in every type. */
static int64_t a_of(int64_t row, int64_t k) { return (row * 5 + k * 3) % 11 - 5; }
static int64_t b_of(int64_t k, int64_t column) { return (k * 7 + column * 2) % 13 - 6; }

typedef struct product {
    int64_t columns;
    kr_dtype as;
    double *values;
    int64_t written;
} product;

static void put(kr_dtype as, void *to, int64_t i, int64_t value)
{
    if (as == KR_FLOAT32)
        ((float *) to)[i] = (float) value;
    else if (as == KR_FLOAT64)
        ((double *) to)[i] = (double) value;
    else
        ((int64_t *) to)[i] = value;
}

static void read_a(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const product *p = cookie;
    for (int64_t i = 0; i < n; i++)
        put(p->as, to, i, a_of(row, column + i));
}

static void read_b(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    const product *p = cookie;
    assert_true(n <= MATMUL_COLUMNS);
    for (int64_t i = 0; i < n; i++)
        put(p->as, to, i, b_of(row, column + i));
}

static void write(const void *cookie, int64_t row, int64_t column, int64_t n, void *values)
{
    product *p = (product *) cookie;
    assert_true(n <= MATMUL_COLUMNS);
    for (int64_t i = 0; i < n; i++)
        p->values[row * p->columns + column + i] = p->as == KR_INT64
                                                       ? (double) ((int64_t *) values)[i]
                                                       : ((double *) values)[i];
    p->written += n;
}

static void agrees(host *h, kr_dtype as, int64_t rows, int64_t columns, int64_t depth)
{
    kr_tensor *values = host_tensor(h, KR_FLOAT64, SIZES(rows, columns));
    product p = { columns, as, values->data, 0 };
    matmul m = { .rows = rows,
                 .columns = columns,
                 .depth = depth,
                 .as = as,
                 .read_a = read_a,
                 .read_b = read_b,
                 .write = write,
                 .cookie = &p };
    h->scratch_used = 0;
    assert_int_equal(matmul_open(&h->context, &m), KR_OK);
    for (int again = 0; again < 2; again++) {
        p.written = 0;
        matmul_run(&m);
        assert_int_equal(p.written, rows * columns);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += a_of(i, k) * b_of(k, j);
            assert_true(p.values[i * columns + j] == (double) sum);
        }
    }
    host_forget(h);
}

static void a_product_is_right_for_every_rest_of_its_blocks(void **state)
{
    host *h = *state;
    static const kr_dtype types[] = { KR_FLOAT32, KR_FLOAT64, KR_INT64 };
    for (int t = 0; t < 3; t++) {
        for (int64_t rows = 1; rows <= 13; rows += 3)
            for (int64_t columns = 1; columns <= 17; columns++)
                agrees(h, types[t], rows, columns, rows * columns % 70 + 1);
        agrees(h, types[t], 259, 5, 3);
        agrees(h, types[t], 3, 519, 5);
        agrees(h, types[t], 7, 9, 547);
    }
}

static void a_product_of_no_depth_is_zero(void **state)
{
    host *h = *state;
    agrees(h, KR_FLOAT32, 3, 4, 0);
    agrees(h, KR_INT64, 300, 300, 0);
}

static void an_empty_product_writes_nothing(void **state)
{
    host *h = *state;
    agrees(h, KR_FLOAT64, 0, 4, 5);
    agrees(h, KR_FLOAT64, 4, 0, 5);
}

static void read_ones(const void *cookie, int64_t row, int64_t column, int64_t n, void *to)
{
    (void) cookie;
    (void) row;
    (void) column;
    for (int64_t i = 0; i < n; i++)
        ((float *) to)[i] = 0.1f;
}

static void keep_first(const void *cookie, int64_t row, int64_t column, int64_t n, void *values)
{
    (void) row;
    (void) column;
    (void) n;
    *(double *) cookie = *(double *) values;
}

static void long_sums_of_floats_lose_little(void **state)
{
    host *h = *state;
    double sum = 0;
    matmul m = { 1, 1, 100000, KR_FLOAT32, read_ones, read_ones, keep_first, &sum, NULL };
    assert_int_equal(matmul_open(&h->context, &m), KR_OK);
    matmul_run(&m);
    /* Added one after the other in float, this is wrong by 1e-4 of its value. */
    const double exact = 100000 * (double) 0.1f * (double) 0.1f;
    assert_true(fabs(sum - exact) < 1e-6 * exact);
}

static void small_products_of_floats_are_computed_in_double(void **state)
{
    (void) state;
    assert_int_equal(matmul_type(KR_FLOAT32, 64, 64, 64), KR_FLOAT64);
    assert_int_equal(matmul_type(KR_FLOAT32, 256, 256, 256), KR_FLOAT32);
    assert_int_equal(matmul_type(KR_BFLOAT16, 256, 256, 256), KR_FLOAT32);
    assert_int_equal(matmul_type(KR_FLOAT64, 256, 256, 256), KR_FLOAT64);
    assert_int_equal(matmul_type(KR_INT8, 2, 2, 2), KR_INT64);
    assert_int_equal(matmul_type(KR_FLOAT32, INT64_MAX, INT64_MAX, INT64_MAX), KR_FLOAT32);
}

static void without_scratch_memory_there_is_no_product(void **state)
{
    host *h = *state;
    matmul m = { 10, 10, 10, KR_FLOAT32, read_a, read_b, write, NULL, NULL };
    h->scratch_limit = 100;
    assert_int_equal(matmul_open(&h->context, &m), KR_E_MEMORY);
    assert_int_equal(h->fails, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(a_product_is_right_for_every_rest_of_its_blocks),
        HOST_TEST(a_product_of_no_depth_is_zero),
        HOST_TEST(an_empty_product_writes_nothing),
        HOST_TEST(long_sums_of_floats_lose_little),
        HOST_TEST(small_products_of_floats_are_computed_in_double),
        HOST_TEST(without_scratch_memory_there_is_no_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
