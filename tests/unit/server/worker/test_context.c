// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "worker/context.h"
#include "worker/layout.h"

#include <string.h>

static struct context context;
static struct wire_call call;
static kr_tensor tensors[2];
static struct wire_tensor places[2];
static struct wire_reshaped reshaped[2];
static struct layout_copy copies[2];
static const void *origins[2];
static float memory[2][64];

/* An input and an output of 2x3, with room for 16 elements in the output. */
static int prepare(void **state)
{
    (void) state;
    memset(tensors, 0, sizeof tensors);
    memset(places, 0, sizeof places);
    for (int i = 0; i < 2; i++) {
        tensors[i] = (kr_tensor){ .data = memory[i],
                                  .dtype = KR_FLOAT32,
                                  .dim = 2,
                                  .sizes = { 2, 3 },
                                  .strides = { 3, 1 },
                                  .flags = KR_TENSOR_DENSE };
        origins[i] = memory[i];
        for (int k = 0; k < 64; k++)
            memory[i][k] = (float) k;
    }
    places[1] = (struct wire_tensor){ .buffer = 2, .capacity = 64, .is_output = true };
    call = (struct wire_call){ .n_tensors = 2, .tensors = tensors, .places = places };
    context_init(&context, 4096);
    context_begin(&context, &call, origins, reshaped);
    return 0;
}

static int clean(void **state)
{
    (void) state;
    context_end(&context);
    free(context.kept);
    return 0;
}

static kr_context *face(void) { return &context.face; }

static void the_same_shape_changes_nothing(void **state)
{
    (void) state;
    tensors[1].strides[0] = 7; /* an output may be strided: it keeps that */
    assert_int_equal(face()->resize(face(), &tensors[1], 2, (int64_t[]){ 2, 3 }), KR_OK);
    assert_int_equal(tensors[1].strides[0], 7);
    assert_int_equal(context.n_reshaped, 0);
}

static void a_new_shape_that_fits_is_given(void **state)
{
    (void) state;
    assert_int_equal(face()->resize(face(), &tensors[1], 3, (int64_t[]){ 2, 2, 4 }), KR_OK);
    assert_int_equal(tensors[1].dim, 3);
    assert_int_equal(tensors[1].strides[0], 8);
    assert_int_equal(tensors[1].strides[2], 1);
    assert_int_equal(context.n_reshaped, 1);
    assert_int_equal(reshaped[0].tensor, 1);
    assert_int_equal(reshaped[0].sizes[2], 4);
    /* The last shape counts, and is told once. */
    assert_int_equal(face()->resize(face(), &tensors[1], 1, (int64_t[]){ 5 }), KR_OK);
    assert_int_equal(context.n_reshaped, 1);
    assert_int_equal(reshaped[0].dim, 1);
}

static void a_shape_without_room_says_what_it_needs(void **state)
{
    (void) state;
    assert_int_equal(face()->resize(face(), &tensors[1], 1, (int64_t[]){ 17 }), KR_E_RESIZE);
    assert_true(context.needs_room);
    assert_int_equal(context.n_reshaped, 1);
    assert_int_equal(reshaped[0].sizes[0], 17);
    assert_int_equal(tensors[1].dim, 2); /* untouched */
    assert_non_null(strstr(context.text, "[17]"));
}

static void impossible_shapes_are_refused(void **state)
{
    (void) state;
    assert_int_equal(face()->resize(face(), &tensors[1], 1, (int64_t[]){ -1 }), KR_E_SHAPE);
    assert_int_equal(face()->resize(face(), &tensors[1], 2, (int64_t[]){ INT64_MAX, INT64_MAX }),
                     KR_E_SHAPE);
    assert_int_equal(face()->resize(face(), &tensors[1], 17, (int64_t[17]){ 0 }), KR_E_SHAPE);
    assert_int_equal(context.n_reshaped, 0);
}

static void what_is_no_output_cannot_be_resized(void **state)
{
    kr_tensor copy = tensors[1];
    (void) state;
    assert_int_equal(face()->resize(face(), &tensors[0], 1, (int64_t[]){ 1 }), KR_E_VALUE);
    assert_int_equal(face()->resize(face(), &copy, 1, (int64_t[]){ 1 }), KR_E_VALUE);
}

static void an_output_that_is_an_input_keeps_its_shape(void **state)
{
    (void) state;
    places[1].is_aliased = true;
    assert_int_equal(face()->resize(face(), &tensors[1], 1, (int64_t[]){ 2 }), KR_E_SHAPE);
    assert_non_null(strstr(context.text, "doesn't match the broadcast shape"));
    assert_int_equal(face()->resize(face(), &tensors[1], 2, (int64_t[]){ 2, 3 }), KR_OK);
}

static void scratch_memory_is_aligned_and_limited_per_call(void **state)
{
    (void) state;
    void *first = face()->scratch(face(), 1000);
    assert_non_null(first);
    assert_int_equal((uintptr_t) first % 64, 0);
    memset(first, 1, 1000);
    assert_null(face()->scratch(face(), 4000));
    assert_non_null(strstr(context.text, "4000 bytes"));
    context_end(&context);
    context_begin(&context, &call, origins, reshaped);
    void *again = face()->scratch(face(), 4000);
    assert_non_null(again);
    memset(again, 2, 4000);
}

static void a_block_is_used_again(void **state)
{
    (void) state;
    void *first = face()->scratch(face(), 2000);
    context_end(&context);
    context_begin(&context, &call, origins, reshaped);
    assert_ptr_equal(face()->scratch(face(), 1500), first);
}

static void a_log_that_is_too_long_is_cut(void **state)
{
    (void) state;
    for (int i = 0; i < 3000; i++)
        face()->log(face(), "line %d", i);
    assert_int_equal(strncmp(context.log, "line 0\nline 1\n", 14), 0);
    assert_true(strlen(context.log) <= WIRE_LOG);
}

static void failing_keeps_the_text(void **state)
{
    (void) state;
    assert_int_equal((face()->fail)(face(), KR_E_SHAPE, "size %d", 3), KR_E_SHAPE);
    assert_string_equal(context.text, "size 3");
}

static int64_t sum;
static void add_range(void *cookie, int64_t begin, int64_t end)
{
    assert_ptr_equal(cookie, &sum);
    for (int64_t i = begin; i < end; i++)
        sum += i;
}

static void parallel_for_covers_the_range_once(void **state)
{
    (void) state;
    sum = 0;
    face()->parallel_for(face(), 3, 103, 7, add_range, &sum);
    assert_int_equal(sum, 5250);
    face()->parallel_for(face(), 5, 5, 1, add_range, &sum);
    assert_int_equal(sum, 5250);
}

/* Copies for kernels that do not take strides. */

static void strided_tensors_are_copied_for_a_contiguous_kernel_and_back(void **state)
{
    (void) state;
    tensors[0].strides[0] = 1; /* transposed */
    tensors[0].strides[1] = 2;
    tensors[1].strides[0] = 20; /* with gaps */
    tensors[1].strides[1] = 2;
    tensors[1].flags = 0;
    assert_int_equal(layout_enter(&context, KR_CONTIGUOUS, copies), KR_OK);
    const float *in = tensors[0].data;
    float *out = tensors[1].data;
    assert_ptr_not_equal(in, memory[0]);
    assert_int_equal(tensors[1].strides[0], 3);
    assert_true(in[0] == 0 && in[1] == 2 && in[2] == 4 && in[3] == 1);
    for (int i = 0; i < 6; i++)
        out[i] = 100 + (float) i;
    layout_leave(&context, copies);
    assert_true(memory[1][0] == 100 && memory[1][2] == 101 && memory[1][4] == 102);
    assert_true(memory[1][20] == 103 && memory[1][24] == 105);
    assert_true(memory[1][1] == 1 && memory[1][21] == 21); /* the gaps are as they were */
}

static void a_dense_kernel_gets_any_dim_order_as_it_is(void **state)
{
    (void) state;
    tensors[0].strides[0] = 1;
    tensors[0].strides[1] = 2;
    assert_int_equal(layout_enter(&context, KR_DENSE, copies), KR_OK);
    assert_ptr_equal(tensors[0].data, memory[0]);
    assert_int_equal(tensors[0].strides[0], 1);
}

static void a_strided_kernel_gets_everything_as_it_is(void **state)
{
    (void) state;
    tensors[1].strides[0] = 20;
    tensors[1].flags = 0;
    assert_int_equal(layout_enter(&context, KR_STRIDED, copies), KR_OK);
    assert_ptr_equal(tensors[1].data, memory[1]);
}

static void a_copied_output_with_a_new_shape_is_written_in_place(void **state)
{
    (void) state;
    tensors[1].strides[0] = 20;
    tensors[1].flags = 0;
    assert_int_equal(layout_enter(&context, KR_CONTIGUOUS, copies), KR_OK);
    assert_int_equal(face()->resize(face(), &tensors[1], 1, (int64_t[]){ 2 }), KR_OK);
    assert_ptr_equal(tensors[1].data, memory[1]);
    ((float *) tensors[1].data)[1] = -5;
    layout_leave(&context, copies);
    assert_true(memory[1][1] == -5);
    assert_true(memory[1][20] == 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_same_shape_changes_nothing),
        TEST(a_new_shape_that_fits_is_given),
        TEST(a_shape_without_room_says_what_it_needs),
        TEST(impossible_shapes_are_refused),
        TEST(what_is_no_output_cannot_be_resized),
        TEST(an_output_that_is_an_input_keeps_its_shape),
        TEST(scratch_memory_is_aligned_and_limited_per_call),
        TEST(a_block_is_used_again),
        TEST(a_log_that_is_too_long_is_cut),
        TEST(failing_keeps_the_text),
        TEST(parallel_for_covers_the_range_once),
        TEST(strided_tensors_are_copied_for_a_contiguous_kernel_and_back),
        TEST(a_dense_kernel_gets_any_dim_order_as_it_is),
        TEST(a_strided_kernel_gets_everything_as_it_is),
        TEST(a_copied_output_with_a_new_shape_is_written_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
