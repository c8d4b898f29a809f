// SPDX-License-Identifier: Apache-2.0
/* Calls that the gRPC thread answers by itself: health, reflection, and what does not exist.
 *
 * One reference for the watch for the end, and one for each batch under way. */
#include "rpc/state.h"

static void unref(struct rpc_side *side)
{
    if (--side->references > 0)
        return;
    const struct rpc_place place = side->place;
    grpc_call_unref(side->call);
    free(side);
    place_leave(&place);
}

static void on_closed(struct rpc_tag *tag, bool ok)
{
    (void) ok;
    unref(tag_owner(tag, struct rpc_side, closed_tag));
}

static void on_batch(struct rpc_tag *tag, bool ok)
{
    struct rpc_side *side = tag_owner(tag, struct rpc_side, batch_tag);
    (void) ok;
    if (side->on_read && !side->is_over)
        side->on_read(side, side->incoming); /* NULL at the end, and of a call that has failed */
    unref(side);
}

static void start(struct rpc_side *side, const grpc_op *ops, size_t n)
{
    side->references++;
    side->batch_tag.fn = on_batch;
    if (!rpc_batch(side->call, ops, n, &side->batch_tag))
        unref(side);
}

/* The beginnings of every batch: headers, once, and a message, if there is one. */
static size_t begin_batch(struct rpc_side *side, grpc_op *ops, grpc_byte_buffer *message)
{
    size_t n = 0;
    if (!side->has_sent_metadata)
        ops[n++].op = GRPC_OP_SEND_INITIAL_METADATA;
    side->has_sent_metadata = true;
    if (message) {
        ops[n].op = GRPC_OP_SEND_MESSAGE;
        ops[n++].data.send_message.send_message = message;
    }
    return n;
}

void side_send(struct rpc_side *side, grpc_byte_buffer *message)
{
    grpc_op ops[3] = { { 0 } };
    size_t n = begin_batch(side, ops, message);
    if (side->on_read) {
        side->incoming = NULL;
        ops[n].op = GRPC_OP_RECV_MESSAGE;
        ops[n++].data.recv_message.recv_message = &side->incoming;
    }
    start(side, ops, n);
    if (message)
        grpc_byte_buffer_destroy(message);
}

void side_end(struct rpc_side *side, grpc_byte_buffer *message, grpc_status_code status,
              const char *text)
{
    grpc_op ops[3] = { { 0 } };
    grpc_slice details = grpc_slice_from_copied_string(text);
    size_t n = begin_batch(side, ops, message);
    side->is_over = true;
    ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[n].data.send_status_from_server.status = status;
    ops[n++].data.send_status_from_server.status_details = &details;
    start(side, ops, n);
    grpc_slice_unref(details);
    if (message)
        grpc_byte_buffer_destroy(message);
}

struct rpc_side *side_begin(struct rpc *rpc, grpc_call *call, bool is_stream)
{
    struct rpc_side *side = calloc(1, sizeof *side);
    kr_error err;
    if (!side) {
        grpc_call_cancel_with_status(call, GRPC_STATUS_RESOURCE_EXHAUSTED, "no memory", NULL);
        grpc_call_unref(call);
        return NULL;
    }
    const grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                            .data.recv_close_on_server.cancelled = &side->was_cancelled };
    side->rpc = rpc;
    side->call = call;
    side->closed_tag.fn = on_closed;
    side->references = 2; /* of the watch, and ours until here is done */
    place_take(rpc, call, is_stream, &side->place);
    if (!rpc_batch(call, &close, 1, &side->closed_tag))
        side->references--;
    if (place_check(&side->place, &err) < 0) {
        side_end(side, NULL, (grpc_status_code) kr_code_grpc(err.code), err.text);
        unref(side);
        return NULL;
    }
    return side;
}

void side_release(struct rpc_side *side) { unref(side); }
