// SPDX-License-Identifier: Apache-2.0
/* Calls of methods that do not exist: answered at once. The core would let them wait for their
 * deadline, which the caller may not have. */
#include "rpc/state.h"

enum { ARMED = 4 };

struct unknown {
    struct rpc_tag tag;
    struct rpc *rpc;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
};

struct answer {
    struct rpc_tag tag;
    struct rpc *rpc;
    grpc_call *call;
    int was_cancelled;
};

static void on_answered(struct rpc_tag *tag, bool ok)
{
    struct answer *answer = tag_owner(tag, struct answer, tag);
    (void) ok;
    grpc_call_unref(answer->call);
    rpc_leave(answer->rpc, false);
    free(answer);
}

static void refuse(struct rpc *rpc, grpc_call *call, grpc_slice method)
{
    struct answer *answer = calloc(1, sizeof *answer);
    char text[256];
    const size_t length = GRPC_SLICE_LENGTH(method) < 160 ? GRPC_SLICE_LENGTH(method) : 160;
    if (!answer) {
        grpc_call_cancel_with_status(call, GRPC_STATUS_UNIMPLEMENTED, "no such method", NULL);
        grpc_call_unref(call);
        return;
    }
    snprintf(text, sizeof text,
             "kernrigd has no method %.*s: is the client of a newer version than the daemon?",
             (int) length, (const char *) GRPC_SLICE_START_PTR(method));
    grpc_slice details = grpc_slice_from_copied_string(text);
    const grpc_op ops[] = {
        { .op = GRPC_OP_SEND_INITIAL_METADATA },
        { .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
          .data.send_status_from_server = { .status = GRPC_STATUS_UNIMPLEMENTED,
                                            .status_details = &details } },
        { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
          .data.recv_close_on_server.cancelled = &answer->was_cancelled },
    };
    *answer = (struct answer){ .tag = { on_answered }, .rpc = rpc, .call = call };
    rpc_enter(rpc, false);
    if (!rpc_batch(call, ops, sizeof ops / sizeof *ops, &answer->tag))
        on_answered(&answer->tag, false);
    grpc_slice_unref(details);
}

static void on_request(struct rpc_tag *tag, bool ok);

static void arm(struct unknown *unknown)
{
    unknown->tag.fn = on_request;
    unknown->call = NULL;
    grpc_call_details_init(&unknown->details);
    grpc_metadata_array_init(&unknown->metadata);
    tsan_release(&unknown->tag);
    grpc_server_request_call(unknown->rpc->server, &unknown->call, &unknown->details,
                             &unknown->metadata, unknown->rpc->queue, unknown->rpc->queue,
                             &unknown->tag);
}

static void on_request(struct rpc_tag *tag, bool ok)
{
    struct unknown *unknown = tag_owner(tag, struct unknown, tag);
    if (ok)
        refuse(unknown->rpc, unknown->call, unknown->details.method);
    grpc_call_details_destroy(&unknown->details);
    grpc_metadata_array_destroy(&unknown->metadata);
    if (ok && !atomic_load(&unknown->rpc->is_stopping))
        arm(unknown);
}

void unknown_arm(struct rpc *rpc)
{
    rpc->unknown = calloc(ARMED, sizeof *rpc->unknown);
    for (size_t i = 0; rpc->unknown && i < ARMED; i++) {
        rpc->unknown[i].rpc = rpc;
        arm(&rpc->unknown[i]);
    }
}

void unknown_free(struct rpc *rpc) { free(rpc->unknown); }
