// SPDX-License-Identifier: Apache-2.0
/* One unary call from its arrival to its end, over two threads.
 *
 * gRPC thread: decode, watch for the end.    Loop's thread: begin, answer, cancel.
 *
 * Two references: of the watch for the end, and of whoever is to answer. */
#include "rpc/state.h"

#include "base/log.h"

#include <inttypes.h>

static void unref(struct rpc_call *call)
{
    if (atomic_fetch_sub_explicit(&call->references, 1, memory_order_acq_rel) != 1)
        return;
    grpc_call_unref(call->call);
    kr_arena_done(&call->arena);
    const struct rpc_place place = call->place;
    free(call);
    place_leave(&place);
}

/* The end. */

static void cancel_on_loop(struct loop_task *task)
{
    struct rpc_call *call = tag_owner(task, struct rpc_call, cancel_task);
    if (!call->is_answered) {
        call->is_answered = true;
        if (call->method->cancel)
            call->method->cancel(call);
        unref(call); /* of whoever was to answer */
    }
    unref(call);
}

static void on_closed(struct rpc_tag *tag, bool ok)
{
    struct rpc_call *call = tag_owner(tag, struct rpc_call, closed_tag);
    (void) ok;
    if (!call->was_cancelled) {
        unref(call);
        return;
    }
    call->cancel_task.run = cancel_on_loop;
    loop_post(call->rpc->options.loop, &call->cancel_task);
}

static void watch_for_end(struct rpc_call *call)
{
    const grpc_op op = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                         .data.recv_close_on_server.cancelled = &call->was_cancelled };
    call->closed_tag.fn = on_closed;
    if (!rpc_batch(call->call, &op, 1, &call->closed_tag))
        unref(call);
}

/* The answer. */

static void on_sent(struct rpc_tag *tag, bool ok)
{
    (void) ok; /* the client may be gone, and the reply with it */
    unref(tag_owner(tag, struct rpc_call, sent_tag));
}

static void send_answer(struct rpc_call *call, grpc_byte_buffer *reply, grpc_status_code status,
                        const char *text)
{
    grpc_op ops[3];
    size_t n = 0;
    grpc_slice details = text ? grpc_slice_from_copied_string(text) : grpc_empty_slice();
    memset(ops, 0, sizeof ops);
    ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
    if (reply) {
        ops[n].op = GRPC_OP_SEND_MESSAGE;
        ops[n++].data.send_message.send_message = reply;
    }
    ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[n].data.send_status_from_server.status = status;
    if (text) {
        ops[n].data.send_status_from_server.status_details = &details;
        ops[n].data.send_status_from_server.trailing_metadata = &call->trailer;
        ops[n].data.send_status_from_server.trailing_metadata_count = 1;
    }
    n++;
    call->sent_tag.fn = on_sent;
    const bool is_started = rpc_batch(call->call, ops, n, &call->sent_tag);
    grpc_slice_unref(details);
    if (reply)
        grpc_byte_buffer_destroy(reply);
    if (!is_started)
        unref(call);
}

void call_reply(struct rpc_call *call, const ProtobufCMessage *reply)
{
    call->is_answered = true;
    send_answer(call, rpc_pack(reply), GRPC_STATUS_OK, NULL);
}

/* The exact number travels beside gRPC's own code, which has few. */
static void refuse(struct rpc_call *call, int code, const char *text)
{
    call->is_answered = true;
    snprintf(call->status_text, sizeof call->status_text, "%d", code);
    call->trailer.key = grpc_slice_from_static_string("kernrig-status");
    call->trailer.value = grpc_slice_from_static_string(call->status_text);
    send_answer(call, NULL, (grpc_status_code) kr_code_grpc(code), text);
}

void call_refuse(struct rpc_call *call, const kr_error *why)
{
    log_info("rpc.refused", log_text("method", call->method->name), log_i64("code", why->code),
             log_text("why", why->text));
    refuse(call, why->code, why->text);
}

struct session *call_session(struct rpc_call *call, ProtobufCBinaryData token)
{
    kr_error err;
    struct session *session = service_session(call->rpc->options.service, token.data, token.len,
                                              &err);
    if (!session)
        call_refuse(call, &err);
    return session;
}

/* The beginning. */

static void begin_on_loop(struct loop_task *task)
{
    struct rpc_call *call = tag_owner(task, struct rpc_call, begin_task);
    call->method->begin(call, call->request);
}

void call_begin(struct rpc *rpc, const struct rpc_method *method, grpc_call *grpc,
                grpc_byte_buffer *payload)
{
    const struct limits *limits = rpc->options.limits;
    struct rpc_call *call = calloc(1, sizeof *call);
    if (!call) {
        grpc_call_cancel_with_status(grpc, GRPC_STATUS_RESOURCE_EXHAUSTED, "no memory", NULL);
        grpc_call_unref(grpc);
        return;
    }
    call->rpc = rpc;
    call->method = method;
    call->call = grpc;
    atomic_init(&call->references, 2);
    kr_arena_init(&call->arena, limits->decoded_bytes);
    place_take(rpc, grpc, false, &call->place);
    watch_for_end(call);
    kr_error err;
    if (place_check(&call->place, &err) < 0) {
        refuse(call, err.code, err.text);
        return;
    }
    call->request = rpc_unpack(method->request, payload, &call->arena);
    if (!call->request) {
        char text[192];
        snprintf(text, sizeof text,
                 "the request of %s cannot be decoded, or takes more than the limit "
                 "'decoded_bytes' of %" PRIu64,
                 method->name, limits->decoded_bytes);
        refuse(call, KR_CODE_MALFORMED, text);
        return;
    }
    call->begin_task.run = begin_on_loop;
    loop_post(rpc->options.loop, &call->begin_task);
}
