// SPDX-License-Identifier: Apache-2.0
/* Views, broadcasting and dims as people count them. */
#include "shape.h"

#include "host.h"

static void numel_counts_a_tensor_without_dims_as_one(void **state)
{
    host *h = *state;
    assert_int_equal(numel(host_tensor(h, KR_FLOAT32, NO_SIZES)), 1);
    assert_int_equal(numel(host_tensor(h, KR_FLOAT32, SIZES(2, 3, 4))), 24);
    assert_int_equal(numel(host_tensor(h, KR_FLOAT32, SIZES(2, 0, 4))), 0);
}

static void element_at_follows_row_major_order_whatever_the_strides(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_ordered(
        h, host_ints(h, KR_INT16, SIZES(2, 3), INTS(0, 1, 2, 3, 4, 5)), (const int[]){ 1, 0 });
    assert_int_equal(t->strides[0], 1);
    for (int i = 0; i < 6; i++)
        assert_int_equal(*(int16_t *) element_at(t, i), i);
    const kr_tensor *single = host_ints(h, KR_INT16, NO_SIZES, INTS(7));
    assert_ptr_equal(element_at(single, 0), single->data);
}

static void wrap_dim_counts_from_both_ends(void **state)
{
    host *h = *state;
    int dim = -9;
    assert_int_equal(wrap_dim(&h->context, -1, 3, &dim), KR_OK);
    assert_int_equal(dim, 2);
    assert_int_equal(wrap_dim(&h->context, 0, 3, &dim), KR_OK);
    assert_int_equal(dim, 0);
    assert_int_equal(wrap_dim(&h->context, -1, 0, &dim), KR_OK);
    assert_int_equal(dim, 0);
}

static void wrap_dim_refuses_what_is_out_of_range(void **state)
{
    host *h = *state;
    int dim = 42;
    assert_int_equal(wrap_dim(&h->context, 2, 2, &dim), KR_E_INDEX);
    assert_string_equal(h->text,
                        "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    assert_int_equal(wrap_dim(&h->context, -3, 2, &dim), KR_E_INDEX);
    assert_int_equal(wrap_dim(&h->context, 1, 0, &dim), KR_E_INDEX);
    assert_string_equal(h->text,
                        "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    assert_int_equal(wrap_dim(&h->context, INT64_MIN, 2, &dim), KR_E_INDEX);
    assert_int_equal(dim, 42);
}

static void an_empty_or_absent_list_names_all_dims(void **state)
{
    host *h = *state;
    const kr_value absent = none(), empty = list(0, NULL);
    uint32_t mask = 0;
    assert_int_equal(dim_mask(&h->context, &absent, 3, &mask), KR_OK);
    assert_int_equal(mask, 7);
    assert_int_equal(dim_mask(&h->context, &empty, 16, &mask), KR_OK);
    assert_int_equal(mask, 0xFFFF);
    assert_int_equal(dim_mask(&h->context, &absent, 0, &mask), KR_OK);
    assert_int_equal(mask, 0);
}

static void dim_mask_refuses_a_dim_that_is_named_twice(void **state)
{
    host *h = *state;
    const kr_value good = list(SIZES(-1, 0)), twice = list(SIZES(1, -2));
    uint32_t mask = 0;
    assert_int_equal(dim_mask(&h->context, &good, 3, &mask), KR_OK);
    assert_int_equal(mask, 5);
    assert_int_equal(dim_mask(&h->context, &twice, 3, &mask), KR_E_VALUE);
    assert_string_equal(h->text, "dim 1 appears multiple times in the list of dims");
    assert_int_equal(mask, 5);
}

static void broadcast_stretches_ones_and_aligns_last_dims(void **state)
{
    host *h = *state;
    int dim = 0;
    int64_t sizes[KR_MAX_DIMS];
    assert_int_equal(broadcast(&h->context, host_tensor(h, KR_INT8, SIZES(4, 1, 3)),
                               host_tensor(h, KR_INT8, SIZES(2, 1)), &dim, sizes),
                     KR_OK);
    assert_int_equal(dim, 3);
    assert_memory_equal(sizes, ((const int64_t[]){ 4, 2, 3 }), 3 * sizeof *sizes);
    assert_int_equal(broadcast(&h->context, host_tensor(h, KR_INT8, NO_SIZES),
                               host_tensor(h, KR_INT8, NO_SIZES), &dim, sizes),
                     KR_OK);
    assert_int_equal(dim, 0);
}

static void broadcast_stretches_one_to_nothing_but_not_three(void **state)
{
    host *h = *state;
    int dim = 0;
    int64_t sizes[KR_MAX_DIMS] = { -1 };
    const kr_tensor *nothing = host_tensor(h, KR_INT8, SIZES(0));
    assert_int_equal(
        broadcast(&h->context, host_tensor(h, KR_INT8, SIZES(2, 1)), nothing, &dim, sizes), KR_OK);
    assert_memory_equal(sizes, ((const int64_t[]){ 2, 0 }), 2 * sizeof *sizes);
    dim = 77;
    assert_int_equal(
        broadcast(&h->context, host_tensor(h, KR_INT8, SIZES(3)), nothing, &dim, sizes),
        KR_E_SHAPE);
    assert_string_equal(h->text, "The size of tensor a (3) must match the size of tensor b (0) at "
                                 "non-singleton dimension 0");
    assert_int_equal(dim, 77);
}

static void expand_repeats_with_stride_0(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_tensor(h, KR_INT8, SIZES(3, 1));
    const int64_t sizes[] = { 2, 3, 4 };
    assert_true(can_expand(t, 3, sizes));
    const kr_tensor view = expand(t, 3, sizes);
    host_has_sizes(&view, SIZES(2, 3, 4));
    assert_memory_equal(view.strides, ((const int64_t[]){ 0, 1, 0 }), 3 * sizeof(int64_t));
}

static void can_expand_asks_for_equal_sizes_or_one(void **state)
{
    host *h = *state;
    const int64_t sizes[] = { 2, 4 };
    assert_true(can_expand(host_tensor(h, KR_INT8, NO_SIZES), 2, sizes));
    assert_true(can_expand(host_tensor(h, KR_INT8, SIZES(4)), 2, sizes));
    assert_false(can_expand(host_tensor(h, KR_INT8, SIZES(3)), 2, sizes));
    assert_false(can_expand(host_tensor(h, KR_INT8, SIZES(1, 2, 4)), 2, sizes));
    assert_false(can_expand(host_tensor(h, KR_INT8, SIZES(4, 2)), 2, sizes));
}

static void select_dims_leaves_the_others_out(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_tensor(h, KR_INT8, SIZES(2, 3, 4));
    const kr_tensor view = select_dims(t, 5), scalar = select_dims(t, 0);
    host_has_sizes(&view, SIZES(2, 4));
    assert_memory_equal(view.strides, ((const int64_t[]){ 12, 1 }), 2 * sizeof(int64_t));
    assert_int_equal(scalar.dim, 0);
}

static void order_by_stride_makes_a_permuted_tensor_dense(void **state)
{
    host *h = *state;
    int order[KR_MAX_DIMS];
    const kr_tensor *channels_last = host_ordered(h, host_tensor(h, KR_INT8, SIZES(2, 3, 4, 5)),
                                                  (const int[]){ 0, 2, 3, 1 });
    order_by_stride(channels_last, order);
    assert_memory_equal(order, ((const int[]){ 0, 2, 3, 1 }), 4 * sizeof *order);
    const kr_tensor view = permute(channels_last, order), joined = coalesce(&view);
    host_has_sizes(&view, SIZES(2, 4, 5, 3));
    host_has_sizes(&joined, SIZES(120));
    assert_int_equal(joined.strides[0], 1);
}

static void coalesce_joins_what_lies_one_behind_the_other(void **state)
{
    host *h = *state;
    kr_tensor t = *host_tensor(h, KR_INT8, SIZES(2, 1, 3, 4));
    kr_tensor joined = coalesce(&t);
    host_has_sizes(&joined, SIZES(24));
    t.strides[0] = 100;
    joined = coalesce(&t);
    host_has_sizes(&joined, SIZES(2, 12));
    assert_memory_equal(joined.strides, ((const int64_t[]){ 100, 1 }), 2 * sizeof(int64_t));
    t = *host_tensor(h, KR_INT8, SIZES(1, 1));
    joined = coalesce(&t);
    host_has_sizes(&joined, SIZES(1));
    memset(t.strides, 0, sizeof t.strides);
    t.sizes[0] = 5;
    t.sizes[1] = 7;
    joined = coalesce(&t);
    host_has_sizes(&joined, SIZES(35));
    assert_int_equal(joined.strides[0], 0);
}

static void shape_text_is_as_pytorch_prints_it(void **state)
{
    (void) state;
    char text[SHAPE_TEXT];
    assert_string_equal(shape_text(text, 0, NULL), "[]");
    assert_string_equal(shape_text(text, SIZES(2, 30, 0)), "[2, 30, 0]");
    int64_t least[KR_MAX_DIMS];
    for (int d = 0; d < KR_MAX_DIMS; d++)
        least[d] = INT64_MIN;
    assert_int_equal(strlen(shape_text(text, KR_MAX_DIMS, least)), 16 * 20 + 15 * 2 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(numel_counts_a_tensor_without_dims_as_one),
        HOST_TEST(element_at_follows_row_major_order_whatever_the_strides),
        HOST_TEST(wrap_dim_counts_from_both_ends),
        HOST_TEST(wrap_dim_refuses_what_is_out_of_range),
        HOST_TEST(an_empty_or_absent_list_names_all_dims),
        HOST_TEST(dim_mask_refuses_a_dim_that_is_named_twice),
        HOST_TEST(broadcast_stretches_ones_and_aligns_last_dims),
        HOST_TEST(broadcast_stretches_one_to_nothing_but_not_three),
        HOST_TEST(expand_repeats_with_stride_0),
        HOST_TEST(can_expand_asks_for_equal_sizes_or_one),
        HOST_TEST(select_dims_leaves_the_others_out),
        HOST_TEST(order_by_stride_makes_a_permuted_tensor_dense),
        HOST_TEST(coalesce_joins_what_lies_one_behind_the_other),
        HOST_TEST(shape_text_is_as_pytorch_prints_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
