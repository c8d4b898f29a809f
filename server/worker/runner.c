// SPDX-License-Identifier: Apache-2.0
#include "worker/runner.h"

#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "wire/call.h"
#include "worker/context.h"
#include "worker/layout.h"
#include "worker/load.h"
#include "worker/mappings.h"
#include "worker/monitor.h"

#include <signal.h>
#include <unistd.h>

static struct runner {
    struct mappings *mappings;
    struct library library;
    struct context context;
    kr_arena arena;
    uint8_t incoming[WIRE_FRAME_MAX], outgoing[WIRE_FRAME_MAX];
} r;

/* What a runner says when it cannot go on is read by the monitor as what a kernel printed. */
static _Noreturn void give_up(const kr_error *err)
{
    fprintf(stderr, "kernrig-worker: %s\n", err->text);
    _exit(1);
}

/* Calls. */

/* Gives every tensor its address, or says what does not fit. */
static int place_tensors(struct wire_call *call, const void **origins, kr_error *err)
{
    for (uint32_t i = 0; i < call->n_tensors; i++) {
        const struct wire_tensor *place = &call->places[i];
        if (place->buffer != 0) {
            uint64_t size = 0, end;
            char *base = mappings_find(r.mappings, place->buffer, place->is_output, &size);
            if (!base || __builtin_add_overflow(place->offset, place->capacity, &end) || end > size)
                return kr_error_set(err, KR_CODE_EXTENT,
                                    "tensor %u is not within a mapped buffer (%llu)", i,
                                    (unsigned long long) place->buffer);
            call->tensors[i].data = base + place->offset;
        }
        origins[i] = call->tensors[i].data;
    }
    return 0;
}

static kr_status run(const kr_kernel *kernel, struct wire_call *call, kr_value *returns,
                     struct layout_copy *copies, uint64_t *ret_ns)
{
    /* A key says what layout its kernel gets, and only calls that have it come here. */
    const enum kr_layout layout = kernel->key && kernel->layout == KR_CONTIGUOUS
                                      ? KR_DENSE
                                      : (enum kr_layout) kernel->layout;
    kr_status status = layout_enter(&r.context, layout, copies);
    if (status != KR_OK)
        return status;
    const uint64_t begin = clock_now_ns();
    status = kernel->run(&r.context.face, call->values, returns);
    *ret_ns = clock_now_ns() - begin;
    /* It has been told that an output has no room, and cannot have written what belongs there. */
    if (status == KR_OK && r.context.needs_room)
        status = KR_E_RESIZE;
    if (status == KR_OK)
        layout_leave(&r.context, copies);
    return status;
}

static void answer(const struct wire_answer *answer)
{
    kr_error err;
    struct wire_writer w = wire_begin(r.outgoing, sizeof r.outgoing, WIRE_DONE);
    wire_put_answer(&w, answer);
    if (wire_send(WORKER_SOCKET, &w, NULL, 0, &err) < 0)
        give_up(&err);
}

/* A status that no kernel may return is turned into one that says so. */
static int32_t checked_status(kr_status status)
{
    const int code = (int) status;
    if (status == KR_OK || status == KR_DECLINE ||
        (code >= KR_LEAST_KERNEL_CODE && kr_code_name(code)))
        return code;
    r.context.face.fail(&r.context.face, KR_E_VALUE, "the kernel returned %d, which is no status",
                        code);
    return KR_E_VALUE;
}

static int serve_call(struct wire_frame *frame, kr_error *err)
{
    struct wire_call call;
    int result = wire_get_call(frame, &r.arena, &call, err);
    if (result < 0)
        return result;
    if (call.head.kernel >= r.library.count)
        return kr_error_set(err, KR_CODE_MALFORMED, "there is no kernel %u", call.head.kernel);
    const void **origins = kr_arena_array(&r.arena, call.n_tensors, sizeof *origins);
    struct wire_reshaped *reshaped = kr_arena_array(&r.arena, call.n_tensors, sizeof *reshaped);
    struct layout_copy *copies = kr_arena_array(&r.arena, call.n_tensors, sizeof *copies);
    if (!origins || !reshaped || !copies)
        return kr_error_set(err, KR_CODE_MEMORY, "no memory for a call");
    result = place_tensors(&call, origins, err);
    if (result < 0)
        return result;

    kr_value values[WIRE_CALL_RETURNS] = { 0 };
    struct wire_return returns[WIRE_CALL_RETURNS] = { 0 };
    uint64_t ns = 0;
    context_begin(&r.context, &call, origins, reshaped);
    const kr_status status = run(r.library.kernels[call.head.kernel], &call, values, copies, &ns);
    const int32_t said = checked_status(status);
    for (uint32_t i = 0; i < call.head.n_returns; i++) {
        returns[i].tag = values[i].tag;
        if (values[i].tag == KR_TAG_INT)
            returns[i].value.integer = values[i].as.integer;
        else if (values[i].tag == KR_TAG_DOUBLE)
            returns[i].value.real = values[i].as.real;
        else if (values[i].tag == KR_TAG_BOOL)
            returns[i].value.boolean = values[i].as.boolean;
        else
            returns[i].tag = KR_TAG_NONE;
    }
    const bool shapes = said == KR_OK || (said == KR_E_RESIZE && r.context.needs_room);
    answer(&(struct wire_answer){ .id = call.head.id,
                                  .status = said,
                                  .kernel_ns = ns,
                                  .text = r.context.text,
                                  .log = r.context.log,
                                  .n_reshaped = shapes ? r.context.n_reshaped : 0,
                                  .reshaped = reshaped,
                                  .n_returns = call.head.n_returns,
                                  .returns = returns });
    context_end(&r.context);
    return 0;
}

/* Everything else. */

static int serve_map(struct wire_frame *frame, kr_error *err)
{
    struct wire_map maps[WIRE_FDS_MAX];
    uint32_t n = 0;
    int result = wire_get_map(frame, maps, &n, err);
    for (uint32_t i = 0; result == 0 && i < n; i++)
        result = mappings_add(r.mappings, &maps[i], frame->fds[i], err);
    return result;
}

static int serve_unmap(struct wire_frame *frame, kr_error *err)
{
    uint64_t buffer;
    int result;
    while ((result = wire_get_unmap(frame, &buffer, err)) == 1)
        mappings_remove(r.mappings, buffer);
    return result;
}

static void serve_load(struct wire_frame *frame)
{
    struct wire_load load;
    kr_error err;
    if (wire_get_load(frame, &load, &err) < 0 || sandbox_limit_resources(load.memory, &err) < 0)
        give_up(&err);
    context_init(&r.context, load.scratch);
    struct wire_writer w = wire_begin(r.outgoing, sizeof r.outgoing, WIRE_READY);
    if (load_library(load.library, load.max_kernels, &r.library, &err) < 0 ||
        load_describe(&r.library, WORKER_SOCKET, r.outgoing, &err) < 0) {
        w = wire_begin(r.outgoing, sizeof r.outgoing, WIRE_FAILED);
        wire_put_failed(&w, err.text);
    } else {
        w = wire_begin(r.outgoing, sizeof r.outgoing, WIRE_READY);
    }
    if (wire_send(WORKER_SOCKET, &w, NULL, 0, &err) < 0)
        give_up(&err);
}

/* The runner believes its monitor as little as the reverse: what makes no sense ends it. */
static void serve_frame(struct wire_frame *frame)
{
    kr_error err;
    int result = 0;
    switch (frame->type) {
    case WIRE_LOAD: serve_load(frame); break;
    case WIRE_MAP: result = serve_map(frame, &err); break;
    case WIRE_UNMAP: result = serve_unmap(frame, &err); break;
    case WIRE_CALL:
        result = serve_call(frame, &err);
        kr_arena_done(&r.arena);
        break;
    default: result = kr_error_set(&err, KR_CODE_MALFORMED, "a frame of type %u", frame->type);
    }
    if (result < 0)
        give_up(&err);
}

int runner_main(const char *parent)
{
    kr_error err;
    if (sandbox_close_descriptors(WORKER_SOCKET + 1, &err) < 0 ||
        sandbox_end_with_parent((int) strtol(parent, NULL, 10), SIGKILL, &err) < 0 ||
        sandbox_no_new_privileges(&err) < 0)
        give_up(&err);
    kr_arena_init(&r.arena, 16 << 20);
    r.mappings = mappings_new();
    if (!r.mappings) {
        kr_error_set(&err, KR_CODE_MEMORY, "no memory");
        give_up(&err);
    }
    for (;;) {
        struct wire_frame frame;
        bool eof = false;
        const int result = wire_recv(WORKER_SOCKET, 0, r.incoming, &frame, &eof, &err);
        if (result < 0)
            give_up(&err);
        if (eof)
            _exit(0);
        if (result == 1) {
            serve_frame(&frame);
            wire_frame_done(&frame);
        }
    }
}
