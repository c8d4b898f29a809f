// SPDX-License-Identifier: Apache-2.0
/* A CALL frame as the runner reads it. Whatever is accepted can be walked without harm: lists have
 * their items, texts end, tensors that are numbers have their memory. */
#include "wire/call.h"

static volatile int64_t sink;

static void walk(const kr_value *v)
{
    switch (v->tag) {
    case KR_TAG_TENSOR: sink += v->as.tensor->dim; break;
    case KR_TAG_STRING: sink += (int64_t) strlen(v->as.string); break;
    case KR_TAG_BOOL: sink += v->as.boolean; break;
    case KR_TAG_BOOLS:
        for (uint32_t i = 0; i < v->count; i++)
            sink += v->as.booleans[i];
        break;
    case KR_TAG_DOUBLES:
        for (uint32_t i = 0; i < v->count; i++)
            sink += v->as.reals[i] > 0;
        break;
    case KR_TAG_INTS:
        for (uint32_t i = 0; i < v->count; i++)
            sink ^= v->as.integers[i];
        break;
    case KR_TAG_TENSORS:
    case KR_TAG_OPTIONAL_TENSORS:
        for (uint32_t i = 0; i < v->count; i++)
            if (v->as.tensors[i])
                sink += v->as.tensors[i]->dim;
            else if (v->tag == KR_TAG_TENSORS)
                abort();
        break;
    case KR_TAG_SCALARS:
        for (uint32_t i = 0; i < v->count; i++)
            walk(&v->as.scalars[i]);
        break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_frame frame = {
        .type = WIRE_CALL, .bytes = data, .size = size, .body = { .next = data, .end = data + size }
    };
    struct wire_call_head head;
    struct wire_call call;
    kr_arena arena;
    kr_error err;
    kr_arena_init(&arena, 8 << 20);
    const int peeked = wire_peek_call(&frame, &head, &err);
    if (wire_get_call(&frame, &arena, &call, &err) == 0) {
        if (peeked < 0 || head.id != call.head.id)
            abort(); /* the monitor and the runner must agree on which call it is */
        for (uint32_t i = 0; i < call.n_tensors; i++) {
            const kr_tensor *t = &call.tensors[i];
            if (t->dim > KR_MAX_DIMS || (!call.places[i].buffer && !t->data))
                abort();
            if (t->data)
                sink += *(const uint8_t *) t->data;
        }
        for (uint32_t i = 0; i < call.n_values; i++)
            walk(&call.values[i]);
    }
    kr_arena_done(&arena);
    return 0;
}
