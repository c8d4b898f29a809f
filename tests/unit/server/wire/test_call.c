// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "wire/call.h"

#include <math.h>

static uint8_t bytes[WIRE_FRAME_MAX];

static struct wire_frame received(const struct wire_writer *w)
{
    struct wire_frame frame = { .bytes = w->data, .size = w->used };
    assert_false(w->full);
    memcpy(&frame.type, w->data, sizeof frame.type);
    frame.body = (struct wire_reader){ .next = w->data + 4, .end = w->data + w->used };
    return frame;
}

static kr_bound_tensor tensor(uint64_t buffer, int64_t rows, int64_t columns)
{
    return (kr_bound_tensor){ .ref = { .buffer = buffer,
                                       .offset = 64,
                                       .dtype = KR_FLOAT32,
                                       .dim = 2,
                                       .sizes = { rows, columns },
                                       .strides = { columns, 1 } } };
}

/* A call that has a value of every tag. */
static struct wire_writer full_call(void)
{
    static const int64_t integers[3] = { 1, -2, INT64_MAX };
    static const double reals[2] = { 0.5, -INFINITY };
    static const bool booleans[3] = { true, false, true };
    static const uint32_t list[2] = { 0, 2 }, optionals[2] = { KR_NO_TENSOR, 1 };
    static const kr_bound_value scalars[3] = {
        { .tag = KR_TAG_INT, .as.integer = 4 },
        { .tag = KR_TAG_DOUBLE, .as.real = 2.5 },
        { .tag = KR_TAG_BOOL, .as.boolean = true },
    };
    kr_bound_value values[] = {
        { .tag = KR_TAG_NONE },
        { .tag = KR_TAG_TENSOR, .as.tensor = 1 },
        { .tag = KR_TAG_STRING, .count = 5, .as.string = "round" },
        { .tag = KR_TAG_DOUBLE, .as.real = 1e300 },
        { .tag = KR_TAG_INT, .as.integer = INT64_MIN },
        { .tag = KR_TAG_BOOL, .as.boolean = true },
        { .tag = KR_TAG_BOOLS, .count = 3, .as.booleans = booleans },
        { .tag = KR_TAG_DOUBLES, .count = 2, .as.reals = reals },
        { .tag = KR_TAG_INTS, .count = 3, .as.integers = integers },
        { .tag = KR_TAG_TENSORS, .count = 2, .as.tensors = list },
        { .tag = KR_TAG_SCALARS, .count = 3, .as.scalars = scalars },
        { .tag = KR_TAG_OPTIONAL_TENSORS, .count = 2, .as.tensors = optionals },
    };
    kr_bound_tensor tensors[] = {
        tensor(7, 2, 3),
        tensor(8, 4, 1),
        { .ref = { .dtype = KR_FLOAT64, .wrapped = true, .number.real = 3.25 } },
    };
    const uint64_t capacities[] = { 24, 4096, 0 };
    const bool aliased[] = { false, true, false };
    tensors[1].is_output = true;
    const kr_bound bound = { .n_values = sizeof values / sizeof *values,
                             .n_tensors = 3,
                             .values = values,
                             .tensors = tensors };
    const struct wire_call_head head = { .id = 5, .kernel = 3, .n_returns = 2, .timeout_ns = 999 };
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_CALL);
    wire_put_call(&w, &head, &bound, capacities, aliased);
    return w;
}

static void values_of_every_tag_are_read_back(void **state)
{
    struct wire_call call;
    kr_arena arena;
    kr_error err;
    const struct wire_writer w = full_call();
    struct wire_frame frame = received(&w);
    (void) state;
    kr_arena_init(&arena, 1 << 20);
    assert_int_equal(wire_get_call(&frame, &arena, &call, &err), 0);
    assert_int_equal(call.head.id, 5);
    assert_int_equal(call.head.kernel, 3);
    assert_int_equal(call.head.n_returns, 2);
    assert_int_equal(call.head.timeout_ns, 999);
    assert_int_equal(call.n_values, 12);
    const kr_value *v = call.values;
    assert_true(kr_is_none(&v[0]) && kr_in(&v[0]) == NULL);
    assert_ptr_equal(kr_in(&v[1]), &call.tensors[1]);
    assert_string_equal(kr_string(&v[2]), "round");
    assert_true(kr_double(&v[3]) == 1e300);
    assert_true(kr_int(&v[4]) == INT64_MIN);
    assert_true(kr_bool(&v[5]));
    assert_true(kr_bools(&v[6])[0] && !kr_bools(&v[6])[1] && kr_bools(&v[6])[2]);
    assert_true(kr_doubles(&v[7])[0] == 0.5 && isinf(kr_doubles(&v[7])[1]));
    assert_true(kr_ints(&v[8])[1] == -2 && kr_ints(&v[8])[2] == INT64_MAX);
    assert_ptr_equal(kr_item(&v[9], 1), &call.tensors[2]);
    assert_int_equal(kr_int(&kr_scalars(&v[10])[0]), 4);
    assert_true(kr_double(&kr_scalars(&v[10])[1]) == 2.5);
    assert_int_equal(kr_count(&v[10]), 3);
    assert_null(kr_item(&v[11], 0));
    assert_ptr_equal(kr_item(&v[11], 1), &call.tensors[1]);
    kr_arena_done(&arena);
}

static void tensors_are_read_back_with_where_they_lie(void **state)
{
    struct wire_call call;
    kr_arena arena;
    kr_error err;
    const struct wire_writer w = full_call();
    struct wire_frame frame = received(&w);
    (void) state;
    kr_arena_init(&arena, 1 << 20);
    assert_int_equal(wire_get_call(&frame, &arena, &call, &err), 0);
    assert_int_equal(call.n_tensors, 3);
    assert_int_equal(call.places[0].buffer, 7);
    assert_int_equal(call.places[0].offset, 64);
    assert_false(call.places[0].is_output);
    assert_int_equal(call.places[1].capacity, 4096);
    assert_true(call.places[1].is_output && call.places[1].is_aliased);
    assert_int_equal(call.tensors[0].sizes[1], 3);
    assert_int_equal(call.tensors[0].strides[0], 3);
    assert_true(call.tensors[0].flags & KR_TENSOR_DENSE);
    assert_int_equal(call.tensors[0].dim_order[1], 1);
    assert_null(call.tensors[0].data);
    /* A wrapped number has its memory with it. */
    assert_true(call.tensors[2].flags & KR_TENSOR_WRAPPED_NUMBER);
    assert_true(*(const double *) call.tensors[2].data == 3.25);
    kr_arena_done(&arena);
}

static void every_cut_of_a_call_is_refused(void **state)
{
    const struct wire_writer w = full_call();
    (void) state;
    for (size_t cut = 4; cut < w.used; cut++) {
        struct wire_call call;
        kr_arena arena;
        kr_error err;
        struct wire_writer shorter = w;
        shorter.used = cut;
        struct wire_frame frame = received(&shorter);
        kr_arena_init(&arena, 1 << 20);
        assert_int_equal(wire_get_call(&frame, &arena, &call, &err), KR_CODE_MALFORMED);
        kr_arena_done(&arena);
    }
}

static int read_one_tensor(const kr_bound_tensor *given, uint64_t capacity)
{
    const bool aliased = false;
    const kr_bound bound = { .n_tensors = 1, .tensors = (kr_bound_tensor *) given };
    const struct wire_call_head head = { .id = 1 };
    struct wire_call call;
    kr_arena arena;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_CALL);
    wire_put_call(&w, &head, &bound, &capacity, &aliased);
    struct wire_frame frame = received(&w);
    kr_arena_init(&arena, 1 << 20);
    const int r = wire_get_call(&frame, &arena, &call, &err);
    kr_arena_done(&arena);
    return r;
}

static void a_tensor_beyond_its_capacity_is_refused(void **state)
{
    kr_bound_tensor t = tensor(7, 2, 3);
    (void) state;
    assert_int_equal(read_one_tensor(&t, 24), 0);
    assert_int_equal(read_one_tensor(&t, 23), KR_CODE_MALFORMED);
    t.ref.strides[0] = INT64_MAX;
    assert_int_equal(read_one_tensor(&t, UINT64_MAX), KR_CODE_MALFORMED);
    t.ref.sizes[0] = 0; /* without elements nothing lies anywhere */
    assert_int_equal(read_one_tensor(&t, 0), 0);
}

static void impossible_tensors_are_refused(void **state)
{
    (void) state;
    kr_bound_tensor t = tensor(7, -1, 3);
    assert_int_equal(read_one_tensor(&t, 4096), KR_CODE_MALFORMED);
    t = tensor(7, 2, 3);
    t.ref.strides[1] = -1;
    assert_int_equal(read_one_tensor(&t, 4096), KR_CODE_MALFORMED);
    t = tensor(0, 2, 3); /* no buffer */
    assert_int_equal(read_one_tensor(&t, 4096), KR_CODE_MALFORMED);
    t = tensor(7, 2, 3);
    t.ref.dtype = 9; /* complex64 */
    assert_int_equal(read_one_tensor(&t, 4096), KR_CODE_MALFORMED);
    t = (kr_bound_tensor){ .ref = { .dtype = KR_INT64, .wrapped = true }, .is_output = true };
    assert_int_equal(read_one_tensor(&t, 8), KR_CODE_MALFORMED);
}

static void a_bool_of_another_value_becomes_true(void **state)
{
    static const bool booleans[1] = { true };
    kr_bound_value value = { .tag = KR_TAG_BOOLS, .count = 1, .as.booleans = booleans };
    const kr_bound bound = { .n_values = 1, .values = &value };
    const struct wire_call_head head = { .id = 1 };
    struct wire_call call;
    kr_arena arena;
    kr_error err;
    uint8_t seen;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_CALL);
    (void) state;
    wire_put_call(&w, &head, &bound, NULL, NULL);
    bytes[w.used - 1] = 0x80;
    struct wire_frame frame = received(&w);
    kr_arena_init(&arena, 1 << 20);
    assert_int_equal(wire_get_call(&frame, &arena, &call, &err), 0);
    memcpy(&seen, call.values[0].as.booleans, 1);
    assert_int_equal(seen, 1);
    kr_arena_done(&arena);
}

static void a_call_of_id_zero_is_refused(void **state)
{
    const kr_bound bound = { 0 };
    const struct wire_call_head head = { .id = 0 };
    struct wire_call_head peeked;
    kr_error err;
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_CALL);
    (void) state;
    wire_put_call(&w, &head, &bound, NULL, NULL);
    const struct wire_frame frame = received(&w);
    assert_int_equal(wire_peek_call(&frame, &peeked, &err), KR_CODE_MALFORMED);
}

static struct wire_writer full_answer(void)
{
    static const struct wire_reshaped reshaped[1] = {
        { .tensor = 2, .dim = 2, .sizes = { 4, 5 }, .strides = { 5, 1 } }
    };
    static const struct wire_return returns[3] = {
        { .tag = KR_TAG_INT, .value.integer = -9 },
        { .tag = KR_TAG_DOUBLE, .value.real = 0.25 },
        { .tag = KR_TAG_BOOL, .value.boolean = true },
    };
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_DONE);
    wire_put_answer(&w, &(struct wire_answer){ .id = 11,
                                               .status = KR_E_RESIZE,
                                               .kernel_ns = 1234,
                                               .text = "no room",
                                               .log = "a line\n",
                                               .n_reshaped = 1,
                                               .reshaped = reshaped,
                                               .n_returns = 3,
                                               .returns = returns });
    return w;
}

static void an_answer_is_read_back(void **state)
{
    struct wire_answer answer;
    kr_arena arena;
    kr_error err;
    const struct wire_writer w = full_answer();
    struct wire_frame frame = received(&w);
    (void) state;
    kr_arena_init(&arena, 1 << 16);
    assert_int_equal(wire_get_answer(&frame, &arena, &answer, &err), 0);
    assert_int_equal(answer.id, 11);
    assert_int_equal(answer.status, KR_E_RESIZE);
    assert_int_equal(answer.kernel_ns, 1234);
    assert_string_equal(answer.text, "no room");
    assert_string_equal(answer.log, "a line\n");
    assert_int_equal(answer.reshaped[0].tensor, 2);
    assert_int_equal(answer.reshaped[0].sizes[1], 5);
    assert_int_equal(answer.reshaped[0].strides[0], 5);
    assert_int_equal(answer.returns[0].value.integer, -9);
    assert_true(answer.returns[1].value.real == 0.25);
    assert_true(answer.returns[2].value.boolean);
    kr_arena_done(&arena);
}

static void every_cut_of_an_answer_is_refused(void **state)
{
    const struct wire_writer w = full_answer();
    (void) state;
    for (size_t cut = 4; cut < w.used; cut++) {
        struct wire_answer answer;
        kr_arena arena;
        kr_error err;
        struct wire_writer shorter = w;
        shorter.used = cut;
        struct wire_frame frame = received(&shorter);
        kr_arena_init(&arena, 1 << 16);
        assert_int_equal(wire_get_answer(&frame, &arena, &answer, &err), KR_CODE_MALFORMED);
        kr_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_tag_are_read_back),
        cmocka_unit_test(tensors_are_read_back_with_where_they_lie),
        cmocka_unit_test(every_cut_of_a_call_is_refused),
        cmocka_unit_test(a_tensor_beyond_its_capacity_is_refused),
        cmocka_unit_test(impossible_tensors_are_refused),
        cmocka_unit_test(a_bool_of_another_value_becomes_true),
        cmocka_unit_test(a_call_of_id_zero_is_refused),
        cmocka_unit_test(an_answer_is_read_back),
        cmocka_unit_test(every_cut_of_an_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
