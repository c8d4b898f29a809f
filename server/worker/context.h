// SPDX-License-Identifier: Apache-2.0
/* The kr_context behind a call: what a kernel may ask of its worker.
 *
 * One call's state lives here: the error text, the log, the scratch memory, and which outputs have
 * a new shape. Scratch memory is kept for the next call up to a size, since fresh pages cost more
 * than most kernels. */
#ifndef WORKER_CONTEXT_H
#define WORKER_CONTEXT_H

#include "wire/call.h"

enum { CONTEXT_KEEP = 64 << 20 }; /* bytes of scratch memory kept between calls */

struct context_block;

struct context {
    kr_context face; /* what the kernel sees; its worker member points here */
    struct wire_call *call;
    const void *const *origins; /* where each tensor lies, before any copy (worker/layout.h) */
    uint64_t scratch_limit, scratch_used;
    struct context_block *blocks; /* of this call, the newest first */
    struct context_block *kept;
    char text[WIRE_TEXT];
    char log[WIRE_LOG + 1];
    size_t log_used;
    /* Outputs with a new shape, or with status RESIZE the one that lacks room. */
    struct wire_reshaped *reshaped;
    uint32_t n_reshaped;
    bool needs_room;
};

void context_init(struct context *context, uint64_t scratch_limit);
/* Begins a call; reshaped has room for every tensor of it. */
void context_begin(struct context *context, struct wire_call *call, const void *const *origins,
                   struct wire_reshaped *reshaped);
/* Frees the call's scratch memory. */
void context_end(struct context *context);
/* Scratch memory for the worker itself, under the same limit. */
void *context_scratch(struct context *context, size_t bytes);

#endif
