// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "service/tensors.h"

#include <string.h>

static struct limits limits;
static struct buffers *buffers;
static struct buffer *buffer;
static kr_schema *schema;
static kr_arena arena;
enum { OWNER = 7 };

static void ignore(void *cookie, const struct buffer *gone)
{
    (void) cookie;
    (void) gone;
}

static int prepare(void **state)
{
    static const char text[] =
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";
    kr_error err;
    (void) state;
    limits_init(&limits);
    buffers = buffers_new(&limits, ignore, NULL);
    kr_arena_init(&arena, 1 << 20);
    return buffer_create(buffers, OWNER, 4096, &buffer, &err) < 0 ||
                   kr_schema_parse(text, strlen(text), &schema, &err) < 0
               ? -1
               : 0;
}

static int clean(void **state)
{
    (void) state;
    kr_arena_done(&arena);
    schema = kr_schema_free(schema);
    buffers = buffers_free(buffers);
    return 0;
}

/* self, other, out: three 2x2 float32 tensors side by side. */
static kr_bound bound_add(kr_bound_tensor tensors[3])
{
    static const uint32_t arguments[3] = { 0, 1, 3 };
    for (int i = 0; i < 3; i++)
        tensors[i] = (kr_bound_tensor){ .ref = { .buffer = buffer->handle,
                                                 .offset = (uint64_t) i * 64,
                                                 .dtype = KR_FLOAT32,
                                                 .dim = 2,
                                                 .sizes = { 2, 2 },
                                                 .strides = { 2, 1 } },
                                        .argument = arguments[i],
                                        .is_output = i == 2 };
    return (kr_bound){ .schema = schema, .n_tensors = 3, .tensors = tensors };
}

static int check(const kr_bound *bound, struct call_tensors *ret, kr_error *err)
{
    uint64_t steps = 1000;
    return tensors_check(bound, buffers, OWNER, &limits, &arena, &steps, ret, err);
}

static void tensors_within_a_buffer_pass(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    assert_int_equal(check(&bound, &got, &err), 0);
    assert_ptr_equal(got.buffers[0], buffer);
    assert_int_equal(got.capacities[2], 16);
    assert_null(got.alias_name);
}

static void what_reaches_beyond_the_buffer_is_refused_also_by_overflow(void **state)
{
    static const struct {
        uint64_t offset, capacity;
        int64_t size, stride;
    } cases[] = {
        { 4096, 0, 2, 1 },      { 4092, 0, 2, 1 },        { UINT64_MAX - 3, 0, 1, 1 },
        { 0, 0, INT64_MAX, 1 }, { 0, 0, 2, INT64_MAX },   { 0, 0, INT64_MAX, INT64_MAX },
        { 64, 4096, 1, 1 },     { 64, UINT64_MAX, 1, 1 }, { 2, 0, 1, 1 }, /* not aligned */
    };
    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kr_bound_tensor t[3];
        struct call_tensors got;
        kr_error err;
        const kr_bound bound = bound_add(t);
        t[1].ref.offset = cases[i].offset;
        t[1].ref.capacity = cases[i].capacity;
        t[1].ref.sizes[0] = cases[i].size;
        t[1].ref.strides[0] = cases[i].stride;
        t[1].ref.dim = 1;
        assert_int_equal(check(&bound, &got, &err), KR_CODE_EXTENT);
        assert_non_null(strstr(err.text, "aten::add.out: argument 'other'"));
    }
}

static void the_last_byte_of_a_buffer_may_be_used(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[0].ref.offset = 4096 - 16;
    t[1].ref.offset = 4096; /* without elements, the end itself is fine */
    t[1].ref.sizes[0] = 0;
    assert_int_equal(check(&bound, &got, &err), 0);
}

static void another_owner_s_buffer_is_refused(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    uint64_t steps = 1000;
    const kr_bound bound = bound_add(t);
    (void) state;
    assert_int_equal(tensors_check(&bound, buffers, OWNER + 1, &limits, &arena, &steps, &got, &err),
                     KR_CODE_NO_BUFFER);
    assert_non_null(strstr(err.text, "argument 'self'"));
    t[2].ref.buffer = 12345;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_NO_BUFFER);
    assert_non_null(strstr(err.text, "argument 'out'"));
    assert_non_null(strstr(err.text, "12345"));
}

static void negative_sizes_strides_and_unknown_dtypes_are_refused(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[0].ref.sizes[1] = -1;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_VALUE);
    t[0].ref.sizes[1] = 2;
    t[0].ref.strides[1] = -1;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_VALUE);
    t[0].ref.strides[1] = 1;
    t[0].ref.dtype = 9;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_DTYPE);
    assert_non_null(strstr(err.text, "complex64"));
}

static void partial_overlap_of_an_output_is_refused(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[2].ref.offset = t[1].ref.offset + 4;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_OVERLAP);
    assert_non_null(strstr(err.text, "argument 'out'"));
    assert_non_null(strstr(err.text, "'other'"));
    assert_non_null(strstr(err.text, "refer to a single memory location"));
}

static void an_output_that_is_an_input_is_marked(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[2].ref.offset = t[0].ref.offset;
    assert_int_equal(check(&bound, &got, &err), 0);
    assert_true(got.aliased[2]);
    assert_string_equal(got.alias_name, "out");
    assert_string_equal(got.aliased_name, "self");
}

static void an_output_of_repeated_elements_is_refused(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[2].ref.strides[0] = 0;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_OVERLAP);
    assert_non_null(strstr(err.text, "more than one element of the written-to tensor"));
}

static void capacity_ends_where_another_tensor_begins(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    t[2].ref.offset = 1024;
    t[2].ref.capacity = 2048;
    assert_int_equal(check(&bound, &got, &err), 0);
    assert_int_equal(got.capacities[2], 2048);
    t[1].ref.offset = 2048; /* within what out might grow into */
    assert_int_equal(check(&bound, &got, &err), 0);
    assert_int_equal(got.capacities[2], 16);
}

static void of_two_empty_outputs_at_one_place_one_may_grow(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    for (int i = 1; i < 3; i++) {
        t[i].is_output = true;
        t[i].ref.offset = 1024;
        t[i].ref.capacity = 2048;
        t[i].ref.sizes[0] = 0;
    }
    assert_int_equal(check(&bound, &got, &err), 0);
    assert_int_equal(got.capacities[1] + got.capacities[2], 2048);
}

static void too_many_tensors_are_refused_by_name_of_the_limit(void **state)
{
    kr_bound_tensor t[3];
    struct call_tensors got;
    kr_error err;
    const kr_bound bound = bound_add(t);
    (void) state;
    limits.tensors = 2;
    assert_int_equal(check(&bound, &got, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'tensors'"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tensors_within_a_buffer_pass),
        TEST(what_reaches_beyond_the_buffer_is_refused_also_by_overflow),
        TEST(the_last_byte_of_a_buffer_may_be_used),
        TEST(another_owner_s_buffer_is_refused),
        TEST(negative_sizes_strides_and_unknown_dtypes_are_refused),
        TEST(partial_overlap_of_an_output_is_refused),
        TEST(an_output_that_is_an_input_is_marked),
        TEST(an_output_of_repeated_elements_is_refused),
        TEST(capacity_ends_where_another_tensor_begins),
        TEST(of_two_empty_outputs_at_one_place_one_may_grow),
        TEST(too_many_tensors_are_refused_by_name_of_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
