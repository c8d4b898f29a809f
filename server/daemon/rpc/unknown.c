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

static void refuse(struct rpc *rpc, grpc_call *call, grpc_slice method)
{
    char text[256];
    const size_t length = GRPC_SLICE_LENGTH(method) < 160 ? GRPC_SLICE_LENGTH(method) : 160;
    struct rpc_side *side = side_begin(rpc, call, false);
    if (!side)
        return;
    snprintf(text, sizeof text,
             "kernrigd has no method %.*s: is the client of a newer version than the daemon?",
             (int) length, (const char *) GRPC_SLICE_START_PTR(method));
    side_end(side, NULL, GRPC_STATUS_UNIMPLEMENTED, text);
    side_release(side);
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
