// SPDX-License-Identifier: Apache-2.0
/* The dim order of tensors, compared with its definition for all small tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/key.h>

static void check_order(int dim, const int64_t *sizes, const int64_t *strides, const char *expected)
{
    uint8_t order[KR_MAX_DIMS];
    memset(order, 0xee, sizeof order);
    bool dense = kr_dim_order(dim, sizes, strides, order);
    assert_int_equal(dense, expected != NULL);
    for (int i = 0; i < dim; i++)
        assert_int_equal(order[i], expected ? expected[i] - '0' : 0xee);
}

static void dense_tensors_have_a_dim_order(void **state)
{
    (void) state;
    static const struct {
        int dim;
        int64_t sizes[5], strides[5];
        const char *order;
    } cases[] = {
        { 0, { 0 }, { 0 }, "" },
        { 1, { 5 }, { 1 }, "0" },
        { 2, { 2, 3 }, { 3, 1 }, "01" },
        { 2, { 2, 3 }, { 1, 2 }, "10" },
        { 4, { 2, 3, 4, 5 }, { 60, 20, 5, 1 }, "0123" },
        { 4, { 2, 3, 4, 5 }, { 60, 1, 15, 3 }, "0231" },
        /* Size 1 has no say, whatever its stride. */
        { 1, { 1 }, { 7 }, "0" },
        { 4, { 2, 1, 4, 5 }, { 20, 1, 5, 1 }, "0123" },
        { 4, { 2, 1, 4, 5 }, { 20, 999, 5, 1 }, "0123" },
        { 3, { 4, 1, 3 }, { 1, 0, 4 }, "210" },
        { 3, { 1, 4, 3 }, { -5, 1, 4 }, "021" },
        { 2, { 1, 1 }, { 9, 9 }, "01" },
        /* Without elements. */
        { 3, { 2, 0, 3 }, { 1, 1, 1 }, "012" },
        { 2, { 0, 0 }, { -1, -7 }, "01" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_order(cases[i].dim, cases[i].sizes, cases[i].strides, cases[i].order);
}

static void other_tensors_have_none(void **state)
{
    (void) state;
    static const struct {
        int dim;
        int64_t sizes[3], strides[3];
    } cases[] = {
        { 1, { 5 }, { 2 } },       /* gaps */
        { 1, { 5 }, { 0 } },       /* repeats */
        { 1, { 5 }, { -1 } },      /* backwards */
        { 2, { 2, 3 }, { 4, 1 } }, /* gaps between rows */
        { 2, { 2, 3 }, { 1, 1 } }, /* overlap */
        { 2, { 2, 3 }, { 0, 1 } }, /* a row repeated */
        { 2, { 2, 2 }, { 1, 1 } }, /* a tie */
        { 2, { 2, 3 }, { 2, 2 } },
        { 1, { -1 }, { 1 } },
        { 2, { 0, -1 }, { 1, 1 } },
        { 3, { INT64_MAX, INT64_MAX, 2 }, { INT64_MAX, 1, 1 } },
        { 2, { INT64_MAX, INT64_MAX }, { INT64_MAX, 1 } }, /* more elements than can be */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_order(cases[i].dim, cases[i].sizes, cases[i].strides, NULL);
    uint8_t order[KR_MAX_DIMS];
    int64_t ones[KR_MAX_DIMS + 1];
    for (int i = 0; i <= KR_MAX_DIMS; i++)
        ones[i] = 1;
    assert_true(kr_dim_order(KR_MAX_DIMS, ones, ones, order));
    assert_false(kr_dim_order(KR_MAX_DIMS + 1, ones, ones, order));
    assert_false(kr_dim_order(-1, ones, ones, order));
}

/* Every permutation of every small shape comes back as the permutation. */
static void a_permuted_contiguous_tensor_gives_its_permutation(void **state)
{
    (void) state;
    enum { DIM = 4 };
    for (int shape = 0; shape < 81; shape++) {
        int64_t sizes[DIM];
        for (int i = 0, rest = shape; i < DIM; i++, rest /= 3)
            sizes[i] = rest % 3 + 1;
        for (int code = 0; code < 256; code++) {
            uint8_t order[DIM], seen = 0;
            for (int i = 0; i < DIM; i++) {
                order[i] = (uint8_t) (code >> (2 * i) & 3);
                seen |= (uint8_t) (1 << order[i]);
            }
            if (seen != 15)
                continue;
            int64_t strides[DIM], stride = 1;
            for (int i = DIM - 1; i >= 0; i--) {
                strides[order[i]] = stride;
                stride *= sizes[order[i]];
            }
            /* Dims of size 1 stand at their own place, the others keep their sequence. */
            uint8_t expected[DIM], found[DIM];
            for (int i = 0, next = 0; i < DIM; i++) {
                if (sizes[i] == 1) {
                    expected[i] = (uint8_t) i;
                    continue;
                }
                while (sizes[order[next]] == 1)
                    next++;
                expected[i] = order[next++];
            }
            assert_true(kr_dim_order(DIM, sizes, strides, found));
            assert_memory_equal(found, expected, DIM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_tensors_have_a_dim_order),
        cmocka_unit_test(other_tensors_have_none),
        cmocka_unit_test(a_permuted_contiguous_tensor_gives_its_permutation),
    };
    return cmocka_run_group_tests_name("dim_order", tests, NULL, NULL);
}
