// SPDX-License-Identifier: Apache-2.0
#include "wire/call.h"

#include <kernrig/dtype.h>
#include <kernrig/key.h>

/* Writing. */

static void put_value(struct wire_writer *w, const kr_bound_value *v)
{
    wire_put_u32(w, v->tag);
    wire_put_u32(w, v->count);
    switch (v->tag) {
    case KR_TAG_TENSOR: wire_put_u32(w, v->as.tensor); break;
    case KR_TAG_STRING: wire_put(w, v->as.string, (size_t) v->count + 1); break;
    case KR_TAG_DOUBLE: wire_put(w, &v->as.real, sizeof v->as.real); break;
    case KR_TAG_INT: wire_put(w, &v->as.integer, sizeof v->as.integer); break;
    case KR_TAG_BOOL: wire_put_u8(w, v->as.boolean); break;
    case KR_TAG_BOOLS: wire_put(w, v->as.booleans, v->count * sizeof *v->as.booleans); break;
    case KR_TAG_DOUBLES: wire_put(w, v->as.reals, v->count * sizeof *v->as.reals); break;
    case KR_TAG_INTS: wire_put(w, v->as.integers, v->count * sizeof *v->as.integers); break;
    case KR_TAG_TENSORS:
    case KR_TAG_OPTIONAL_TENSORS:
        wire_put(w, v->as.tensors, v->count * sizeof *v->as.tensors);
        break;
    case KR_TAG_SCALARS:
        for (uint32_t i = 0; i < v->count; i++)
            put_value(w, &v->as.scalars[i]);
        break;
    default: break; /* NONE */
    }
}

enum { TENSOR_OUTPUT = 1, TENSOR_ALIASED = 2, TENSOR_WRAPPED = 4 };

static void put_tensor(struct wire_writer *w, const kr_bound_tensor *t, uint64_t capacity,
                       bool is_aliased)
{
    const kr_tensor_ref *ref = &t->ref;
    wire_put_u64(w, ref->buffer);
    wire_put_u64(w, ref->offset);
    wire_put_u64(w, capacity);
    wire_put_u8(w, ref->dtype);
    wire_put_u8(w, ref->dim);
    wire_put_u8(w,
                (uint8_t) ((t->is_output ? TENSOR_OUTPUT : 0) | (is_aliased ? TENSOR_ALIASED : 0) |
                           (ref->wrapped ? TENSOR_WRAPPED : 0)));
    if (ref->wrapped)
        wire_put(w, &ref->number, sizeof ref->number);
    wire_put(w, ref->sizes, ref->dim * sizeof *ref->sizes);
    wire_put(w, ref->strides, ref->dim * sizeof *ref->strides);
}

static void put_head(struct wire_writer *w, const struct wire_call_head *head)
{
    wire_put_u64(w, head->id);
    wire_put_u32(w, head->kernel);
    wire_put_u32(w, head->n_returns);
    wire_put_u64(w, head->timeout_ns);
}

void wire_put_call(struct wire_writer *w, const struct wire_call_head *head, const kr_bound *bound,
                   const uint64_t *capacities, const bool *aliased)
{
    put_head(w, head);
    wire_put_u32(w, bound->n_tensors);
    for (uint32_t i = 0; i < bound->n_tensors; i++)
        put_tensor(w, &bound->tensors[i], capacities[i], aliased[i]);
    wire_put_u32(w, bound->n_values);
    for (uint32_t i = 0; i < bound->n_values; i++)
        put_value(w, &bound->values[i]);
}

/* Reading. */

static struct wire_call_head get_head(struct wire_reader *r)
{
    struct wire_call_head head = { .id = wire_get_u64(r) };
    head.kernel = wire_get_u32(r);
    head.n_returns = wire_get_u32(r);
    head.timeout_ns = wire_get_u64(r);
    if (head.id == 0 || head.n_returns > WIRE_CALL_RETURNS)
        r->bad = true;
    return head;
}

int wire_peek_call(const struct wire_frame *frame, struct wire_call_head *ret, kr_error *err)
{
    struct wire_reader reader = frame->body;
    const struct wire_call_head head = get_head(&reader);
    if (reader.bad)
        return kr_error_set(err, KR_CODE_MALFORMED, "a malformed CALL frame of %zu bytes",
                            frame->size);
    *ret = head;
    return 0;
}

/* Whether a dense view of these sizes and strides stays within bytes; strides are not negative. */
static bool fits(const kr_tensor *t, uint64_t bytes)
{
    const size_t size = kr_dtype_size(t->dtype);
    uint64_t last = 0;
    for (int d = 0; d < t->dim; d++) {
        uint64_t step;
        if (t->sizes[d] == 0)
            return true;
        if (__builtin_mul_overflow((uint64_t) t->sizes[d] - 1, (uint64_t) t->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, size, &last) &&
           last <= bytes;
}

static void get_tensor(struct wire_reader *r, kr_tensor *t, struct wire_tensor *place,
                       kr_number *number)
{
    place->buffer = wire_get_u64(r);
    place->offset = wire_get_u64(r);
    place->capacity = wire_get_u64(r);
    t->dtype = wire_get_u8(r);
    t->dim = wire_get_u8(r);
    const uint8_t flags = wire_get_u8(r);
    place->is_output = flags & TENSOR_OUTPUT;
    place->is_aliased = flags & TENSOR_ALIASED;
    if (t->dim > KR_MAX_DIMS || kr_dtype_size(t->dtype) == 0) {
        r->bad = true;
        return;
    }
    if (flags & TENSOR_WRAPPED) {
        wire_get(r, number, sizeof *number);
        t->flags |= KR_TENSOR_WRAPPED_NUMBER;
        t->data = number;
        place->capacity = sizeof *number;
        if (place->buffer != 0 || place->is_output || t->dim != 0)
            r->bad = true;
    } else if (place->buffer == 0) {
        r->bad = true;
    }
    wire_get(r, t->sizes, t->dim * sizeof *t->sizes);
    wire_get(r, t->strides, t->dim * sizeof *t->strides);
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] < 0 || t->strides[d] < 0)
            r->bad = true;
    if (r->bad || !fits(t, place->capacity)) {
        r->bad = true;
        return;
    }
    if (kr_dim_order(t->dim, t->sizes, t->strides, t->dim_order))
        t->flags |= KR_TENSOR_DENSE;
}

/* Items of a list are copied out of the frame, where nothing is aligned. */
static void *get_items(struct wire_reader *r, kr_arena *arena, uint32_t count, size_t size)
{
    if (count > WIRE_CALL_ITEMS) {
        r->bad = true;
        return NULL;
    }
    void *items = kr_arena_array(arena, count, size);
    if (items)
        wire_get(r, items, count * size);
    else
        r->bad = true;
    return items;
}

static kr_tensor *get_tensor_index(struct wire_reader *r, const struct wire_call *call,
                                   bool may_be_absent)
{
    const uint32_t index = wire_get_u32(r);
    if (index < call->n_tensors)
        return &call->tensors[index];
    if (!may_be_absent || index != KR_NO_TENSOR)
        r->bad = true;
    return NULL;
}

static void get_tensors(struct wire_reader *r, kr_arena *arena, const struct wire_call *call,
                        kr_value *v)
{
    kr_tensor **tensors = v->count <= WIRE_CALL_TENSORS
                              ? kr_arena_array(arena, v->count, sizeof(kr_tensor *))
                              : NULL;
    if (!tensors) {
        r->bad = true;
        return;
    }
    for (uint32_t i = 0; i < v->count; i++)
        tensors[i] = get_tensor_index(r, call, v->tag == KR_TAG_OPTIONAL_TENSORS);
    v->as.tensors = tensors;
}

static void get_scalar(struct wire_reader *r, kr_value *v)
{
    switch (v->tag) {
    case KR_TAG_DOUBLE: wire_get(r, &v->as.real, sizeof v->as.real); break;
    case KR_TAG_INT: wire_get(r, &v->as.integer, sizeof v->as.integer); break;
    case KR_TAG_BOOL: v->as.boolean = wire_get_u8(r) != 0; break;
    default: r->bad = true;
    }
}

static void get_scalars(struct wire_reader *r, kr_arena *arena, kr_value *v)
{
    kr_value *scalars = v->count <= WIRE_CALL_ITEMS
                            ? kr_arena_array(arena, v->count, sizeof *scalars)
                            : NULL;
    if (!scalars) {
        r->bad = true;
        return;
    }
    for (uint32_t i = 0; i < v->count && !r->bad; i++) {
        scalars[i].tag = wire_get_u32(r);
        scalars[i].count = wire_get_u32(r);
        get_scalar(r, &scalars[i]);
    }
    v->as.scalars = scalars;
}

static void get_booleans(struct wire_reader *r, kr_arena *arena, kr_value *v)
{
    /* A bool that is neither 0 nor 1 is undefined behaviour in whoever reads it. */
    uint8_t *bytes = get_items(r, arena, v->count, sizeof(bool));
    for (uint32_t i = 0; bytes && i < v->count; i++)
        bytes[i] = bytes[i] != 0;
    v->as.booleans = (const bool *) bytes;
}

static void get_string(struct wire_reader *r, kr_arena *arena, kr_value *v)
{
    if (v->count > WIRE_CALL_STRING || v->count >= (size_t) (r->end - r->next) ||
        r->next[v->count] != 0) {
        r->bad = true;
        return;
    }
    v->as.string = kr_arena_text(arena, (const char *) r->next, v->count);
    if (!v->as.string)
        r->bad = true;
    r->next += (size_t) v->count + 1;
}

static void get_value(struct wire_reader *r, kr_arena *arena, const struct wire_call *call,
                      kr_value *v)
{
    v->tag = wire_get_u32(r);
    v->count = wire_get_u32(r);
    switch (v->tag) {
    case KR_TAG_NONE: break;
    case KR_TAG_TENSOR: v->as.tensor = get_tensor_index(r, call, false); break;
    case KR_TAG_STRING: get_string(r, arena, v); break;
    case KR_TAG_DOUBLE:
    case KR_TAG_INT:
    case KR_TAG_BOOL: get_scalar(r, v); break;
    case KR_TAG_BOOLS: get_booleans(r, arena, v); break;
    case KR_TAG_DOUBLES: v->as.reals = get_items(r, arena, v->count, sizeof(double)); break;
    case KR_TAG_INTS: v->as.integers = get_items(r, arena, v->count, sizeof(int64_t)); break;
    case KR_TAG_TENSORS:
    case KR_TAG_OPTIONAL_TENSORS: get_tensors(r, arena, call, v); break;
    case KR_TAG_SCALARS: get_scalars(r, arena, v); break;
    default: r->bad = true;
    }
}

int wire_get_call(struct wire_frame *frame, kr_arena *arena, struct wire_call *ret, kr_error *err)
{
    struct wire_reader *r = &frame->body;
    struct wire_call call = { .head = get_head(r) };
    call.n_tensors = wire_get_u32(r);
    if (r->bad || call.n_tensors > WIRE_CALL_TENSORS)
        goto malformed;
    call.tensors = kr_arena_array(arena, call.n_tensors, sizeof *call.tensors);
    call.places = kr_arena_array(arena, call.n_tensors, sizeof *call.places);
    call.numbers = kr_arena_array(arena, call.n_tensors, sizeof *call.numbers);
    if (!call.tensors || !call.places || !call.numbers)
        return kr_error_set(err, KR_CODE_MEMORY, "no memory for a call of %u tensors",
                            call.n_tensors);
    for (uint32_t i = 0; i < call.n_tensors && !r->bad; i++)
        get_tensor(r, &call.tensors[i], &call.places[i], &call.numbers[i]);
    call.n_values = wire_get_u32(r);
    if (r->bad || call.n_values > WIRE_CALL_VALUES)
        goto malformed;
    call.values = kr_arena_array(arena, call.n_values, sizeof *call.values);
    if (!call.values)
        return kr_error_set(err, KR_CODE_MEMORY, "no memory for a call of %u values",
                            call.n_values);
    for (uint32_t i = 0; i < call.n_values && !r->bad; i++)
        get_value(r, arena, &call, &call.values[i]);
    if (!wire_done(r))
        goto malformed;
    *ret = call;
    return 0;
malformed:
    return kr_error_set(err, KR_CODE_MALFORMED, "a malformed CALL frame of %zu bytes", frame->size);
}

/* The answer. */

void wire_put_answer(struct wire_writer *w, const struct wire_answer *answer)
{
    wire_put_u64(w, answer->id);
    wire_put_i32(w, answer->status);
    wire_put_u64(w, answer->kernel_ns);
    wire_put_text(w, answer->text);
    wire_put_text(w, answer->log);
    wire_put_u32(w, answer->n_reshaped);
    for (uint32_t i = 0; i < answer->n_reshaped; i++) {
        const struct wire_reshaped *s = &answer->reshaped[i];
        wire_put_u32(w, s->tensor);
        wire_put_u8(w, s->dim);
        wire_put(w, s->sizes, s->dim * sizeof *s->sizes);
        wire_put(w, s->strides, s->dim * sizeof *s->strides);
    }
    wire_put_u32(w, answer->n_returns);
    for (uint32_t i = 0; i < answer->n_returns; i++) {
        wire_put_u32(w, answer->returns[i].tag);
        wire_put(w, &answer->returns[i].value, sizeof answer->returns[i].value);
    }
}

static const struct wire_reshaped *get_reshaped(struct wire_reader *r, kr_arena *arena, uint32_t n)
{
    struct wire_reshaped *list = n <= WIRE_CALL_TENSORS ? kr_arena_array(arena, n, sizeof *list)
                                                        : NULL;
    if (!list)
        r->bad = true;
    for (uint32_t i = 0; list && i < n && !r->bad; i++) {
        list[i].tensor = wire_get_u32(r);
        list[i].dim = wire_get_u8(r);
        if (list[i].dim > KR_MAX_DIMS) {
            r->bad = true;
            break;
        }
        wire_get(r, list[i].sizes, list[i].dim * sizeof *list[i].sizes);
        wire_get(r, list[i].strides, list[i].dim * sizeof *list[i].strides);
        for (int d = 0; d < list[i].dim; d++)
            if (list[i].sizes[d] < 0 || list[i].strides[d] < 0)
                r->bad = true;
    }
    return list;
}

static const struct wire_return *get_returns(struct wire_reader *r, kr_arena *arena, uint32_t n)
{
    struct wire_return *list = n <= WIRE_CALL_RETURNS ? kr_arena_array(arena, n, sizeof *list)
                                                      : NULL;
    if (!list)
        r->bad = true;
    for (uint32_t i = 0; list && i < n && !r->bad; i++) {
        list[i].tag = wire_get_u32(r);
        wire_get(r, &list[i].value, sizeof list[i].value);
        if (list[i].tag != KR_TAG_NONE && list[i].tag != KR_TAG_DOUBLE &&
            list[i].tag != KR_TAG_INT && list[i].tag != KR_TAG_BOOL)
            r->bad = true;
        if (list[i].tag == KR_TAG_BOOL) {
            uint8_t byte;
            memcpy(&byte, &list[i].value, sizeof byte);
            list[i].value = (kr_number){ .boolean = byte != 0 };
        }
    }
    return list;
}

int wire_get_answer(struct wire_frame *frame, kr_arena *arena, struct wire_answer *ret,
                    kr_error *err)
{
    struct wire_reader *r = &frame->body;
    struct wire_answer answer = { .id = wire_get_u64(r) };
    answer.status = wire_get_i32(r);
    answer.kernel_ns = wire_get_u64(r);
    answer.text = wire_get_text(r, WIRE_TEXT);
    answer.log = wire_get_text(r, WIRE_LOG);
    answer.n_reshaped = wire_get_u32(r);
    if (!r->bad)
        answer.reshaped = get_reshaped(r, arena, answer.n_reshaped);
    answer.n_returns = wire_get_u32(r);
    if (!r->bad)
        answer.returns = get_returns(r, arena, answer.n_returns);
    if (!wire_done(r))
        return kr_error_set(err, KR_CODE_MALFORMED, "a malformed DONE frame of %zu bytes",
                            frame->size);
    *ret = answer;
    return 0;
}
