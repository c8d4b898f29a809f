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
    bool known = false;
    struct rpc_side *side = side_begin(health->rpc, health->call, health->is_watch);
    if (!side)
        return;
    const bool decoded = status_of(health->payload, &known);
    response.status =
        known ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
              : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN;
    if (!decoded)
        side_end(side, NULL, GRPC_STATUS_INVALID_ARGUMENT, "the request cannot be decoded");
    else if (health->is_watch)
        side_send(side, rpc_pack(&response.base));
    else if (known)
        side_end(side, rpc_pack(&response.base), GRPC_STATUS_OK, "");
    else
        side_end(side, NULL, GRPC_STATUS_NOT_FOUND, "no service has this name");
    side_release(side);
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
