// SPDX-License-Identifier: Apache-2.0
/* A call on its way to a kernel, and what it comes back with.
 *
 * The daemon writes bound values (kernrig/value.h) and where tensors lie; the runner reads
 * them as kr_values over kr_tensors, whose addresses it fills in from its own mappings. The runner
 * believes nothing: every tag, index, count and size is checked while reading. */
#ifndef WIRE_CALL_H
#define WIRE_CALL_H

#include "wire/frame.h"
#include <kernrig/arena.h>
#include <kernrig/value.h>

enum {
    WIRE_CALL_VALUES = 64,
    WIRE_CALL_TENSORS = 1024,
    WIRE_CALL_ITEMS = 4096,
    WIRE_CALL_RETURNS = 16,
    WIRE_CALL_STRING = 65536,
    WIRE_LOG = 8192, /* bytes of a call's log */
};

/* What the daemon has found out about a tensor and its buffer. */
struct wire_tensor {
    uint64_t buffer;   /* 0: a wrapped number */
    uint64_t offset;   /* bytes */
    uint64_t capacity; /* bytes from offset that it may grow into; at least its extent */
    bool is_output;
    bool is_aliased; /* an output that is exactly an input: it must keep its shape */
};

/* Writing, in the daemon. */
struct wire_call_head {
    uint64_t id;     /* not 0 */
    uint32_t kernel; /* index in the library's table */
    uint32_t n_returns;
    uint64_t timeout_ns;
};
/* capacities[i] and aliased[i] go with bound->tensors[i]. */
void wire_put_call(struct wire_writer *w, const struct wire_call_head *head, const kr_bound *bound,
                   const uint64_t *capacities, const bool *aliased);
/* Only the head, which is all that the monitor looks at. */
KR_CHECK int wire_peek_call(const struct wire_frame *frame, struct wire_call_head *ret,
                            kr_error *err);

/* Reading, in the runner. */
struct wire_call {
    struct wire_call_head head;
    uint32_t n_values, n_tensors;
    kr_value *values;           /* they point to tensors */
    kr_tensor *tensors;         /* data is NULL until the runner places them */
    struct wire_tensor *places; /* of the same index */
    kr_number *numbers;         /* of wrapped ones: their memory */
};
/* Everything lies in the arena. Wrapped numbers are placed already. */
KR_CHECK int wire_get_call(struct wire_frame *frame, kr_arena *arena, struct wire_call *ret,
                           kr_error *err);

/* The answer. */
struct wire_reshaped {
    uint32_t tensor; /* index in the call */
    uint8_t dim;
    int64_t sizes[KR_MAX_DIMS], strides[KR_MAX_DIMS];
};
struct wire_return {
    uint32_t tag; /* NONE, DOUBLE, INT or BOOL */
    kr_number value;
};
struct wire_answer {
    uint64_t id;
    int32_t status; /* of the kernel: KR_OK, KR_DECLINE or negative */
    uint64_t kernel_ns;
    const char *text; /* what it said, "" if nothing */
    const char *log;
    /* With KR_OK the outputs that have a new shape; with KR_E_RESIZE the one that needs one. */
    uint32_t n_reshaped;
    const struct wire_reshaped *reshaped;
    uint32_t n_returns;
    const struct wire_return *returns;
};
void wire_put_answer(struct wire_writer *w, const struct wire_answer *answer);
KR_CHECK int wire_get_answer(struct wire_frame *frame, kr_arena *arena, struct wire_answer *ret,
                             kr_error *err);

#endif
