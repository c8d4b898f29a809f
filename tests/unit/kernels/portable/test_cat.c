// SPDX-License-Identifier: Apache-2.0
/* aten::cat.out: layouts, the tensors that are skipped, and mixed dtypes. */
#include "host.h"

static const char name[] = "aten::cat.out";

/* The tensors of a call. */
typedef struct parts {
    uint32_t count;
    kr_tensor *tensors[4];
} parts;

static kr_value of(const parts *p)
{
    return (kr_value){ .tag = KR_TAG_TENSORS, .count = p->count, .as.tensors = p->tensors };
}

static void cat(host *h, parts p, int64_t dim, kr_tensor *out)
{
    const kr_value args[] = { of(&p), integer(dim), tensor(out) };
    host_runs(h, name, args);
}

static void refuses(host *h, parts p, int64_t dim, kr_tensor *out, kr_status status,
                    const char *text)
{
    const kr_value args[] = { of(&p), integer(dim), tensor(out) };
    host_refuses(h, name, args, status, text);
}

static void tensors_follow_each_other_along_each_dim(void **state)
{
    host *h = *state;
    static const kr_dtype dtypes[] = { KR_BOOL,    KR_INT8,    KR_INT16,
                                       KR_FLOAT16, KR_FLOAT32, KR_FLOAT64 };
    for (int d = 0; d < 6; d++) {
        kr_tensor *a = host_ints(h, dtypes[d], SIZES(2, 2), INTS(1, 0, 0, 1));
        kr_tensor *b = host_spread(h, host_ints(h, dtypes[d], SIZES(2, 2), INTS(0, 0, 1, 1)), 2);
        kr_tensor *out = host_empty(h, dtypes[d], 8);
        cat(h, (parts){ 2, { a, b } }, 0, out);
        host_has_sizes(out, SIZES(4, 2));
        host_has_reals(out, REALS(1, 0, 0, 1, 0, 0, 1, 1));
        cat(h, (parts){ 2, { a, b } }, -1, out);
        host_has_sizes(out, SIZES(2, 4));
        host_has_reals(out, REALS(1, 0, 0, 0, 0, 1, 1, 1));
        host_forget(h);
    }
}

static void channels_last_is_a_layout_like_any_other(void **state)
{
    host *h = *state;
    const int channels_last[] = { 0, 2, 3, 1 };
    kr_tensor *a = host_ordered(
        h, host_ints(h, KR_FLOAT32, SIZES(1, 2, 2, 2), INTS(0, 1, 2, 3, 4, 5, 6, 7)),
        channels_last);
    kr_tensor *b = host_ints(h, KR_FLOAT32, SIZES(1, 1, 2, 2), INTS(50, 51, 52, 53));
    kr_tensor *out = host_ordered(h, host_tensor(h, KR_FLOAT32, SIZES(1, 3, 2, 2)), channels_last);
    cat(h, (parts){ 2, { a, b } }, 1, out);
    host_has_reals(out, REALS(0, 1, 2, 3, 4, 5, 6, 7, 50, 51, 52, 53));
}

static void empty_vectors_are_skipped_whatever_the_rank_of_the_others(void **state)
{
    host *h = *state;
    kr_tensor *nothing = host_tensor(h, KR_FLOAT32, SIZES(0));
    kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(2, 2), INTS(0, 1, 2, 3));
    kr_tensor *b = host_ints(h, KR_FLOAT32, SIZES(2, 1), INTS(9, 10));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 6);
    cat(h, (parts){ 4, { nothing, a, nothing, b } }, -1, out);
    host_has_sizes(out, SIZES(2, 3));
    host_has_reals(out, REALS(0, 1, 9, 2, 3, 10));
    /* Of nothing else, not even dim matters. */
    cat(h, (parts){ 2, { nothing, nothing } }, 5, out);
    host_has_sizes(out, SIZES(0));
    /* But their dtype counts. */
    kr_tensor *integers = host_ints(h, KR_INT32, SIZES(1), INTS(1));
    refuses(h, (parts){ 2, { integers, nothing } }, 0, host_empty(h, KR_INT32, 1), KR_E_CAST,
            "torch.cat(): input types can't be cast to the desired output type Int");
}

static void other_tensors_without_elements_count(void **state)
{
    host *h = *state;
    kr_tensor *wide = host_tensor(h, KR_FLOAT32, SIZES(0, 3));
    kr_tensor *a = host_ints(h, KR_FLOAT32, SIZES(1, 3), INTS(1, 2, 3));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 3);
    cat(h, (parts){ 2, { wide, a } }, 0, out);
    host_has_reals(out, REALS(1, 2, 3));
    cat(h, (parts){ 2, { wide, host_tensor(h, KR_FLOAT32, SIZES(0, 4)) } }, 1, out);
    host_has_sizes(out, SIZES(0, 7));
    refuses(h, (parts){ 2, { host_tensor(h, KR_FLOAT32, SIZES(2, 0)), a } }, 0, out, KR_E_SHAPE,
            "Sizes of tensors must match except in dimension 0. Expected size 0 but got size 3 "
            "for tensor number 1 in the list.");
}

static void each_tensor_is_cast_to_out_by_itself(void **state)
{
    host *h = *state;
    kr_tensor *integers = host_ints(h, KR_INT64, SIZES(2),
                                    INTS(16777217, INT64_C(9007199254740993)));
    kr_tensor *singles = host_reals(h, KR_FLOAT32, SIZES(1), REALS(0.5));
    kr_tensor *wide = host_empty(h, KR_FLOAT64, 3), *half = host_empty(h, KR_FLOAT16, 3);
    cat(h, (parts){ 2, { integers, singles } }, 0, wide);
    host_has_reals(wide, REALS(16777217, 9007199254740992, 0.5));
    cat(h, (parts){ 2, { singles, integers } }, 0, half);
    host_has_reals(half, REALS(0.5, INFINITY, INFINITY));
    kr_tensor *bytes = host_empty(h, KR_INT8, 3);
    cat(h,
        (parts){ 2,
                 { host_ints(h, KR_BOOL, SIZES(1), INTS(1)),
                   host_ints(h, KR_UINT8, SIZES(2), INTS(200, 7)) } },
        0, bytes);
    host_has_ints(bytes, INTS(1, -56, 7));
}

static void what_does_not_fit_is_refused(void **state)
{
    host *h = *state;
    kr_tensor *a = host_tensor(h, KR_FLOAT32, SIZES(2, 2));
    kr_tensor *out = host_empty(h, KR_FLOAT32, 8);
    refuses(h, (parts){ 0, { NULL } }, 0, out, KR_E_VALUE,
            "torch.cat(): expected a non-empty list of Tensors");
    refuses(h, (parts){ 2, { a, host_tensor(h, KR_FLOAT32, NO_SIZES) } }, 0, out, KR_E_SHAPE,
            "zero-dimensional tensor (at position 1) cannot be concatenated");
    refuses(h, (parts){ 2, { a, host_tensor(h, KR_FLOAT32, SIZES(2)) } }, 0, out, KR_E_SHAPE,
            "Tensors must have same number of dimensions: got 2 and 1");
    refuses(h, (parts){ 2, { a, host_tensor(h, KR_FLOAT32, SIZES(2, 3)) } }, 0, out, KR_E_SHAPE,
            "Expected size 2 but got size 3 for tensor number 1 in the list.");
    refuses(h, (parts){ 1, { a } }, 2, out, KR_E_INDEX,
            "expected to be in range of [-2, 1], but got 2");
    refuses(h, (parts){ 1, { a } }, 0, host_empty(h, KR_INT64, 4), KR_E_CAST, "type Long");
    refuses(h, (parts){ 1, { a } }, 0, host_empty(h, KR_FLOAT32, 3), KR_E_RESIZE, "no room");
    refuses(h, (parts){ 2, { a, a } }, 0,
            host_repeated(h, host_tensor(h, KR_FLOAT32, SIZES(1, 2)), 0, 4), KR_E_OVERLAP,
            "unsupported operation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(tensors_follow_each_other_along_each_dim),
        HOST_TEST(channels_last_is_a_layout_like_any_other),
        HOST_TEST(empty_vectors_are_skipped_whatever_the_rank_of_the_others),
        HOST_TEST(other_tensors_without_elements_count),
        HOST_TEST(each_tensor_is_cast_to_out_by_itself),
        HOST_TEST(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
