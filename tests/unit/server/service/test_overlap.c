// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "service/overlap.h"

#include <kernrig/dtype.h>
#include <stdlib.h>
#include <string.h>

static kr_tensor_ref view(uint64_t offset, int dim, const int64_t *sizes, const int64_t *strides)
{
    kr_tensor_ref ref = {
        .buffer = 1, .offset = offset, .dtype = KR_FLOAT32, .dim = (uint8_t) dim
    };
    memcpy(ref.sizes, sizes, (size_t) dim * sizeof *sizes);
    memcpy(ref.strides, strides, (size_t) dim * sizeof *strides);
    return ref;
}
#define VIEW(offset, dim, sizes, strides) \
    view(offset, dim, (const int64_t[]) sizes, (const int64_t[]) strides)
#define L(...)      \
    {               \
        __VA_ARGS__ \
    }

static enum overlap overlap(const kr_tensor_ref *a, const kr_tensor_ref *b)
{
    uint64_t budget = 100000;
    const enum overlap forth = overlap_of(a, b, &budget);
    const enum overlap back = overlap_of(b, a, &budget);
    assert_int_equal(forth, back);
    return forth;
}

static void interleaved_views_do_not_overlap(void **state)
{
    /* base[::2] and base[1::2] */
    const kr_tensor_ref even = VIEW(0, 1, L(8), L(2)), odd = VIEW(4, 1, L(8), L(2));
    /* columns 0-1 and 2-3 of a 4x4 matrix */
    const kr_tensor_ref left = VIEW(0, 2, L(4, 2), L(4, 1)), right = VIEW(8, 2, L(4, 2), L(4, 1));
    (void) state;
    assert_int_equal(overlap(&even, &odd), OVERLAP_NONE);
    assert_int_equal(overlap(&left, &right), OVERLAP_NONE);
}

static void shifted_views_overlap(void **state)
{
    const kr_tensor_ref a = VIEW(0, 1, L(8), L(1)), b = VIEW(4, 1, L(8), L(1));
    const kr_tensor_ref left = VIEW(0, 2, L(4, 3), L(4, 1)), right = VIEW(8, 2, L(4, 2), L(4, 1));
    (void) state;
    assert_int_equal(overlap(&a, &b), OVERLAP_PARTIAL);
    assert_int_equal(overlap(&left, &right), OVERLAP_PARTIAL);
}

static void the_same_view_is_exact_and_its_transpose_is_not(void **state)
{
    const kr_tensor_ref a = VIEW(0, 2, L(3, 3), L(3, 1)), t = VIEW(0, 2, L(3, 3), L(1, 3));
    const kr_tensor_ref same = VIEW(0, 2, L(3, 3), L(3, 1));
    (void) state;
    assert_int_equal(overlap(&a, &same), OVERLAP_EXACT);
    assert_int_equal(overlap(&a, &t), OVERLAP_PARTIAL);
}

static void strides_of_dims_of_one_do_not_matter(void **state)
{
    const kr_tensor_ref a = VIEW(0, 2, L(1, 3), L(3, 1)), b = VIEW(0, 2, L(1, 3), L(77, 1));
    (void) state;
    assert_int_equal(overlap(&a, &b), OVERLAP_EXACT);
}

static void other_buffers_and_empty_tensors_never_overlap(void **state)
{
    const kr_tensor_ref a = VIEW(0, 1, L(8), L(1)), empty = VIEW(0, 2, L(8, 0), L(1, 1));
    kr_tensor_ref b = a;
    (void) state;
    b.buffer = 2;
    assert_int_equal(overlap(&a, &b), OVERLAP_NONE);
    assert_int_equal(overlap(&a, &empty), OVERLAP_NONE);
}

static void elements_of_other_sizes_overlap_by_bytes(void **state)
{
    /* A float64 at bytes 0-7 and an int8 at byte 7, then at byte 8. */
    kr_tensor_ref wide = VIEW(0, 0, L(0), L(0)), narrow = VIEW(7, 0, L(0), L(0));
    (void) state;
    wide.dtype = KR_FLOAT64;
    narrow.dtype = KR_INT8;
    assert_int_equal(overlap(&wide, &narrow), OVERLAP_PARTIAL);
    narrow.offset = 8;
    assert_int_equal(overlap(&wide, &narrow), OVERLAP_NONE);
}

static void a_spent_budget_counts_as_overlap(void **state)
{
    /* Elements 0 and 4 against 1 and 6. */
    const kr_tensor_ref a = VIEW(0, 1, L(2), L(4)), b = VIEW(4, 1, L(2), L(5));
    uint64_t budget = 0;
    (void) state;
    assert_int_equal(overlap_of(&a, &b, &budget), OVERLAP_PARTIAL);
    assert_int_equal(overlap(&a, &b), OVERLAP_NONE);
}

static void a_common_divisor_settles_what_counting_could_not(void **state)
{
    /* Sixteen dims of even strides, and the same between their elements. */
    kr_tensor_ref a = VIEW(0, 1, L(3), L(1));
    uint64_t budget = 1;
    (void) state;
    a.dim = KR_MAX_DIMS;
    for (int d = 0; d < KR_MAX_DIMS; d++) {
        a.sizes[d] = 3;
        a.strides[d] = 2 * (KR_MAX_DIMS - d);
    }
    kr_tensor_ref b = a;
    b.offset = 4;
    assert_int_equal(overlap_of(&a, &b, &budget), OVERLAP_NONE);
}

/* Against counting every byte. */

enum { BYTES = 4096 };

static void mark(const kr_tensor_ref *t, uint8_t *bytes)
{
    const size_t item = kr_dtype_size(t->dtype);
    int64_t position[KR_MAX_DIMS] = { 0 }, n = 1;
    for (int d = 0; d < t->dim; d++)
        n *= t->sizes[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = 0;
        for (int d = 0; d < t->dim; d++)
            offset += position[d] * t->strides[d];
        memset(bytes + t->offset + (size_t) offset * item, 1, item);
        for (int d = t->dim - 1; d >= 0 && ++position[d] == t->sizes[d]; d--)
            position[d] = 0;
    }
}

static kr_tensor_ref random_view(unsigned *seed)
{
    static const uint8_t dtypes[] = { KR_INT8, KR_INT16, KR_FLOAT32, KR_FLOAT64 };
    kr_tensor_ref t = { .buffer = 1, .dtype = dtypes[rand_r(seed) % 4] };
    t.dim = (uint8_t) (rand_r(seed) % 4);
    t.offset = (uint64_t) (rand_r(seed) % 40) * kr_dtype_size(t.dtype);
    for (int d = 0; d < t.dim; d++) {
        t.sizes[d] = rand_r(seed) % 5;
        t.strides[d] = rand_r(seed) % 9;
    }
    return t;
}

static void random_pairs_agree_with_counting_bytes(void **state)
{
    unsigned seed = 20261130;
    int seen[2] = { 0 };
    (void) state;
    for (int i = 0; i < 20000; i++) {
        static uint8_t of_a[BYTES], of_b[BYTES];
        const kr_tensor_ref a = random_view(&seed), b = random_view(&seed);
        bool want = false;
        memset(of_a, 0, sizeof of_a);
        memset(of_b, 0, sizeof of_b);
        mark(&a, of_a);
        mark(&b, of_b);
        for (int k = 0; k < BYTES; k++)
            want |= of_a[k] && of_b[k];
        assert_int_equal(overlap(&a, &b) != OVERLAP_NONE, want);
        seen[want]++;
    }
    assert_true(seen[0] > 1000 && seen[1] > 1000);
}

static void a_repeated_output_element_is_noticed(void **state)
{
    const kr_tensor_ref repeated = VIEW(0, 2, L(3, 2), L(0, 1)),
                        once = VIEW(0, 2, L(1, 2), L(0, 1));
    const kr_tensor_ref empty = VIEW(0, 2, L(3, 0), L(0, 1));
    (void) state;
    assert_true(overlap_within(&repeated));
    assert_false(overlap_within(&once));
    assert_false(overlap_within(&empty));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interleaved_views_do_not_overlap),
        cmocka_unit_test(shifted_views_overlap),
        cmocka_unit_test(the_same_view_is_exact_and_its_transpose_is_not),
        cmocka_unit_test(strides_of_dims_of_one_do_not_matter),
        cmocka_unit_test(other_buffers_and_empty_tensors_never_overlap),
        cmocka_unit_test(elements_of_other_sizes_overlap_by_bytes),
        cmocka_unit_test(a_spent_budget_counts_as_overlap),
        cmocka_unit_test(a_common_divisor_settles_what_counting_could_not),
        cmocka_unit_test(random_pairs_agree_with_counting_bytes),
        cmocka_unit_test(a_repeated_output_element_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
