// SPDX-License-Identifier: Apache-2.0
/* gRPC's health service: whoever gets an answer is served, until the daemon stops. Check answers at
 * once; Watch says it once, and ends with the daemon. */
#include "rpc/state.h"

#include "grpc/health/v1/health.pb-c.h"

enum { ARMED = 2, METHODS = 2 };

struct health {
    struct rpc_tag tag;
    struct rpc *rpc;
    void *registered;
    bool is_watch;
    grpc_call *call;
    grpc_metadata_array metadata;
    grpc_byte_buffer *payload;
    gpr_timespec deadline;
};

struct health_call {
    struct rpc_tag sent_tag, closed_tag;
    struct rpc *rpc;
    grpc_call *call;
    bool is_watch;
    int references, was_cancelled;
};

static void unref(struct health_call *call)
{
    if (--call->references > 0)
        return;
    grpc_call_unref(call->call);
    rpc_leave(call->rpc, call->is_watch);
    free(call);
}

static void on_sent(struct rpc_tag *tag, bool ok)
{
    (void) ok;
    unref(tag_owner(tag, struct health_call, sent_tag));
}

static void on_closed(struct rpc_tag *tag, bool ok)
{
    (void) ok;
    unref(tag_owner(tag, struct health_call, closed_tag));
}

static bool is_known(const char *service)
{
    return service[0] == 0 || strcmp(service, "kernrig.v1.Kernrig") == 0;
}

/* Which service the request is about; false if it cannot be decoded. */
static bool status_of(grpc_byte_buffer *payload, bool *ret_known)
{
    kr_arena arena;
    kr_arena_init(&arena, 65536);
    const Grpc__Health__V1__HealthCheckRequest *request = (const void *) rpc_unpack(
        &grpc__health__v1__health_check_request__descriptor, payload, &arena);
    *ret_known = request && is_known(request->service);
    kr_arena_done(&arena);
    return request != NULL;
}

static void serve(const struct health *health)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    struct health_call *call = calloc(1, sizeof *call);
    bool known = false;
    if (!call) {
        grpc_call_cancel_with_status(health->call, GRPC_STATUS_RESOURCE_EXHAUSTED, "no memory",
                                     NULL);
        grpc_call_unref(health->call);
        return;
    }
    const bool decoded = status_of(health->payload, &known);
    *call = (struct health_call){ .sent_tag = { on_sent },
                                  .closed_tag = { on_closed },
                                  .rpc = health->rpc,
                                  .call = health->call,
                                  .is_watch = health->is_watch,
                                  .references = 2 };
    response.status =
        known ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
              : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    const bool fails = !decoded || (!known && !call->is_watch);
    grpc_byte_buffer *reply = rpc_pack(&response.base);
    grpc_slice details = grpc_slice_from_static_string(
        fails ? (decoded ? "no service has this name" : "the request cannot be decoded") : "");
    grpc_op ops[3] = { { .op = GRPC_OP_SEND_INITIAL_METADATA } };
    size_t n = 1;
    if (!fails) {
        ops[n].op = GRPC_OP_SEND_MESSAGE;
        ops[n++].data.send_message.send_message = reply;
    }
    if (fails || !call->is_watch) {
        ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
        ops[n].data.send_status_from_server.status = !fails    ? GRPC_STATUS_OK
                                                     : decoded ? GRPC_STATUS_NOT_FOUND
                                                               : GRPC_STATUS_INVALID_ARGUMENT;
        ops[n++].data.send_status_from_server.status_details = &details;
    }
    const grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                            .data.recv_close_on_server.cancelled = &call->was_cancelled };
    rpc_enter(health->rpc, call->is_watch);
    if (!rpc_batch(call->call, &close, 1, &call->closed_tag))
        unref(call);
    if (!rpc_batch(call->call, ops, n, &call->sent_tag))
        unref(call);
    grpc_byte_buffer_destroy(reply);
}

static void on_request(struct rpc_tag *tag, bool ok);

static void arm(struct health *health)
{
    health->tag.fn = on_request;
    health->call = NULL;
    health->payload = NULL;
    grpc_metadata_array_init(&health->metadata);
    tsan_release(&health->tag);
    grpc_server_request_registered_call(health->rpc->server, health->registered, &health->call,
                                        &health->deadline, &health->metadata, &health->payload,
                                        health->rpc->queue, health->rpc->queue, &health->tag);
}

static void on_request(struct rpc_tag *tag, bool ok)
{
    struct health *health = tag_owner(tag, struct health, tag);
    grpc_metadata_array_destroy(&health->metadata);
    if (!ok)
        return;
    serve(health);
    if (health->payload)
        grpc_byte_buffer_destroy(health->payload);
    if (!atomic_load(&health->rpc->is_stopping))
        arm(health);
}

void health_register(struct rpc *rpc)
{
    static const char *const paths[METHODS] = { "/grpc.health.v1.Health/Check",
                                                "/grpc.health.v1.Health/Watch" };
    rpc->health = calloc(METHODS * ARMED, sizeof *rpc->health);
    for (size_t m = 0; rpc->health && m < METHODS; m++) {
        void *registered = rpc_register(rpc, paths[m], true);
        for (size_t i = 0; i < ARMED; i++)
            rpc->health[m * ARMED + i] =
                (struct health){ .rpc = rpc, .registered = registered, .is_watch = m == 1 };
    }
}

void health_arm(struct rpc *rpc)
{
    for (size_t i = 0; rpc->health && i < (size_t) METHODS * ARMED; i++)
        arm(&rpc->health[i]);
}

void health_free(struct rpc *rpc) { free(rpc->health); }
