// SPDX-License-Identifier: Apache-2.0
/* Lines along each dim, loaded and stored along themselves and across. */
#include "lines.h"

#include "host.h"
#include "shape.h"

static void a_tensor_without_dims_is_one_line_of_one_element(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_ints(h, KR_INT16, NO_SIZES, INTS(-5));
    const lines l = lines_along(t, 0);
    double value = 0;
    assert_int_equal(l.count, 1);
    assert_int_equal(l.length, 1);
    lines_load(&l, 0, 1, 0, 1, KR_FLOAT64, &value);
    assert_true(value == -5);
}

/* The element j of line i, counted as the header says. */
static int64_t linear_of(const kr_tensor *t, int dim, int64_t i, int64_t j)
{
    int64_t inner = 1;
    for (int d = dim + 1; d < t->dim; d++)
        inner *= t->sizes[d];
    return i / inner * inner * t->sizes[dim] + j * inner + i % inner;
}

static void loads_and_stores(host *h, const kr_tensor *t, int dim, int64_t at_once)
{
    const lines l = lines_along(t, dim);
    int64_t sizes[KR_MAX_DIMS];
    memcpy(sizes, t->sizes, sizeof sizes);
    kr_tensor *out = host_spread(h, host_tensor(h, KR_INT32, t->dim, sizes), 2);
    const lines to = lines_along(out, dim);
    assert_int_equal(l.count * l.length, numel(t));
    for (int64_t first = 0; first < l.count; first += at_once) {
        const int64_t count = l.count - first < at_once ? l.count - first : at_once;
        float values[2048];
        assert_true(count * l.length <= 2048);
        /* Line by line in two pieces. */
        const int64_t half = l.length / 2, rest = l.length - half;
        lines_load(&l, first, count, 0, half, KR_FLOAT32, values);
        lines_store(&to, first, count, 0, half, KR_FLOAT32, values);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < half; j++)
                assert_int_equal(values[i * half + j],
                                 host_int(t, linear_of(t, dim, first + i, j)));
        lines_load(&l, first, count, half, rest, KR_FLOAT32, values);
        lines_store(&to, first, count, half, rest, KR_FLOAT32, values);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < rest; j++)
                assert_int_equal(values[i * rest + j],
                                 host_int(t, linear_of(t, dim, first + i, half + j)));
    }
    for (int64_t i = 0; i < numel(t); i++)
        assert_int_equal(host_int(out, i), host_int(t, i));
}

static void every_dim_of_every_layout_has_its_lines(void **state)
{
    host *h = *state;
    static const int64_t shapes[][3] = { { 3, 4, 5 }, { 30, 3, 20 }, { 2, 60, 3 }, { 40, 40, 1 } };
    int64_t values[2000];
    for (int i = 0; i < 2000; i++)
        values[i] = i;
    for (int s = 0; s < 4; s++) {
        for (int dim = 0; dim < 3; dim++) {
            const int64_t *sizes = shapes[s];
            const kr_tensor *t = host_ints(h, KR_INT16, 3, sizes, sizes[0] * sizes[1] * sizes[2],
                                           values);
            const kr_tensor *views[] = { t, host_spread(h, t, 2),
                                         host_ordered(h, t, (const int[]){ 2, 0, 1 }),
                                         host_ordered(h, t, (const int[]){ 1, 0, 2 }) };
            for (int v = 0; v < 4; v++) {
                loads_and_stores(h, views[v], dim, 1);
                loads_and_stores(h, views[v], dim, 23);
            }
            host_forget(h);
        }
    }
}

static void lines_of_eight_byte_values_go_across_too(void **state)
{
    host *h = *state;
    int64_t values[96];
    for (int i = 0; i < 96; i++)
        values[i] = INT64_C(1) << 40 | i;
    const kr_tensor *t = host_ints(h, KR_INT64, SIZES(3, 32), 96, values);
    kr_tensor *out = host_tensor(h, KR_INT64, SIZES(3, 32));
    const lines from = lines_along(t, 0), to = lines_along(out, 0);
    int64_t loaded[96];
    lines_load(&from, 0, 32, 0, 3, KR_INT64, loaded);
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 3; j++)
            assert_int_equal(loaded[i * 3 + j], values[j * 32 + i]);
    lines_store(&to, 0, 32, 0, 3, KR_INT64, loaded);
    host_has_ints(out, 96, values);
}

static void as_many_lines_at_once_as_fit_and_as_there_are(void **state)
{
    host *h = *state;
    const lines many = lines_along(
        host_repeated(h, host_tensor(h, KR_INT8, SIZES(1, 10)), 0, 1 << 20), 1);
    const int64_t short_ones = lines_at_once(&many, 10), long_ones = lines_at_once(&many, 5000);
    assert_in_range(short_ones * 10, 10000, 20000);
    assert_in_range(long_ones, 2, 100);
    assert_int_equal(lines_at_once(&many, 10000000), 1);
    const lines few = lines_along(host_tensor(h, KR_INT8, SIZES(3, 10)), 1);
    assert_int_equal(lines_at_once(&few, 10), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(a_tensor_without_dims_is_one_line_of_one_element),
        HOST_TEST(every_dim_of_every_layout_has_its_lines),
        HOST_TEST(lines_of_eight_byte_values_go_across_too),
        HOST_TEST(as_many_lines_at_once_as_fit_and_as_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
