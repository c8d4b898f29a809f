// SPDX-License-Identifier: Apache-2.0
/* The server: methods registered and armed, the thread that drains the queue, and the way down. */
#include "rpc/state.h"

#include "base/log.h"

#include "kernrig/v1/kernrig.pb-c.h"

#include <limits.h>

enum {
    ARMED = 8,                    /* requests waited for, per method */
    KEEPALIVE_MS = 10000,         /* a silent connection is asked whether it is there, */
    KEEPALIVE_TIMEOUT_MS = 10000, /* and closed if it does not answer */
    STREAMS = 128,                /* calls at once on one connection */
    METADATA = 16384,             /* bytes of headers */
};

extern const struct rpc_method *const __start_rpc_methods[];
extern const struct rpc_method *const __stop_rpc_methods[];

/* A request that the core may bring. */
struct method_slot {
    struct rpc_tag tag;
    struct rpc *rpc;
    const struct rpc_method *method;
    void *registered;
    grpc_call *call;
    grpc_metadata_array metadata;
    grpc_byte_buffer *payload;
    gpr_timespec deadline;
};

bool rpc_batch(grpc_call *call, const grpc_op *ops, size_t n, struct rpc_tag *tag)
{
    tsan_release(tag);
    const grpc_call_error error = grpc_call_start_batch(call, ops, n, tag, NULL);
    if (error != GRPC_CALL_OK)
        log_error("rpc.batch", log_text("error", grpc_call_error_to_string(error)));
    return error == GRPC_CALL_OK;
}

/* Requests. */

static void on_request(struct rpc_tag *tag, bool ok);

static void arm(struct method_slot *slot)
{
    slot->tag.fn = on_request;
    slot->call = NULL;
    slot->payload = NULL;
    grpc_metadata_array_init(&slot->metadata);
    tsan_release(&slot->tag);
    const grpc_call_error error = grpc_server_request_registered_call(
        slot->rpc->server, slot->registered, &slot->call, &slot->deadline, &slot->metadata,
        &slot->payload, slot->rpc->queue, slot->rpc->queue, &slot->tag);
    if (error != GRPC_CALL_OK)
        log_error("rpc.arm", log_text("error", grpc_call_error_to_string(error)));
}

static void on_request(struct rpc_tag *tag, bool ok)
{
    struct method_slot *slot = tag_owner(tag, struct method_slot, tag);
    grpc_call *call = slot->call;
    grpc_byte_buffer *payload = slot->payload;
    grpc_metadata_array_destroy(&slot->metadata);
    if (!ok)
        return; /* the server stops: nothing more comes here */
    if (!atomic_load(&slot->rpc->is_stopping))
        arm(slot);
    call_begin(slot->rpc, slot->method, call, payload);
    if (payload)
        grpc_byte_buffer_destroy(payload);
}

void *rpc_register(struct rpc *rpc, const char *path, bool has_payload)
{
    return grpc_server_register_method(
        rpc->server, path, NULL,
        has_payload ? GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER : GRPC_SRM_PAYLOAD_NONE, 0);
}

static size_t n_methods(void) { return (size_t) (__stop_rpc_methods - __start_rpc_methods); }

static const struct rpc_method *find_method(const char *name)
{
    for (size_t i = 0; i < n_methods(); i++)
        if (strcmp(__start_rpc_methods[i]->name, name) == 0)
            return __start_rpc_methods[i];
    return NULL;
}

/* Every method of the service has its file and every file a method: a mistake of ours, found at the
 * first start. */
static int register_methods(struct rpc *rpc, kr_error *err)
{
    const ProtobufCServiceDescriptor *service = &kernrig__v1__kernrig__descriptor;
    rpc->slots = calloc(n_methods() * ARMED, sizeof *rpc->slots);
    if (!rpc->slots)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for the RPC server");
    if (service->n_methods != n_methods())
        return kr_error_set(err, KR_CODE_INTERNAL, "%u RPCs are declared, %zu implemented",
                            service->n_methods, n_methods());
    for (unsigned i = 0; i < service->n_methods; i++) {
        const struct rpc_method *method = find_method(service->methods[i].name);
        char path[128];
        if (!method || method->request != service->methods[i].input)
            return kr_error_set(err, KR_CODE_INTERNAL, "RPC %s has no file, or a wrong request",
                                service->methods[i].name);
        snprintf(path, sizeof path, "/%s/%s", service->name, method->name);
        void *registered = rpc_register(rpc, path, true);
        for (size_t k = 0; k < ARMED; k++)
            rpc->slots[i * ARMED + k] =
                (struct method_slot){ .rpc = rpc, .method = method, .registered = registered };
    }
    health_register(rpc);
    reflection_register(rpc);
    return 0;
}

/* The thread. */

static void *drain(void *argument)
{
    struct rpc *rpc = argument;
    for (;;) {
        const grpc_event event = grpc_completion_queue_next(
            rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        if (event.type == GRPC_OP_COMPLETE) {
            struct rpc_tag *tag = event.tag;
            tsan_acquire(tag);
            tag->fn(tag, event.success != 0);
        }
    }
}

static grpc_arg integer(const char *key, uint64_t value)
{
    return (grpc_arg){ .key = (char *) (uintptr_t) key,
                       .type = GRPC_ARG_INTEGER,
                       .value.integer = value < INT_MAX ? (int) value : INT_MAX };
}

/* Compressed messages are refused: the core applies its limit of a message's size before it
 * decompresses, and a small message can become a large one. The quota is for what no limit of a
 * message sees: thousands of messages that have begun and do not end. */
static grpc_server *create_server(const struct limits *limits)
{
    grpc_resource_quota *quota = grpc_resource_quota_create("kernrigd");
    grpc_resource_quota_resize(quota, limits->rpc_bytes);
    const grpc_arg args[] = {
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits->message_bytes),
        integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, INT_MAX),
        integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE),
        integer(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        integer(GRPC_ARG_MAX_METADATA_SIZE, METADATA),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, STREAMS),
        integer(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
        integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS),
        integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        { .key = (char *) (uintptr_t) GRPC_ARG_RESOURCE_QUOTA,
          .type = GRPC_ARG_POINTER,
          .value.pointer = { .p = quota, .vtable = grpc_resource_quota_arg_vtable() } },
    };
    const grpc_channel_args channel_args = { .num_args = sizeof args / sizeof *args,
                                             .args = (grpc_arg *) (uintptr_t) args };
    grpc_server *server = grpc_server_create(&channel_args, NULL);
    grpc_resource_quota_unref(quota); /* the server has its own reference */
    return server;
}

static void destroy(struct rpc *rpc)
{
    grpc_server_destroy(rpc->server);
    grpc_completion_queue_destroy(rpc->queue);
    health_free(rpc);
    reflection_free(rpc);
    unknown_free(rpc);
    grpc_shutdown();
    free(rpc->shares);
    free(rpc->slots);
    free(rpc);
}

int rpc_start(const struct rpc_options *options, struct rpc **ret, kr_error *err)
{
    struct rpc *rpc = calloc(1, sizeof *rpc);
    if (!rpc)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for the RPC server");
    rpc->options = *options;
    int r = places_init(rpc, err);
    if (r < 0)
        return r;
    /* The core's own log goes to stderr, where nothing of ours is printed. */
    setenv("GRPC_VERBOSITY", "NONE", 1);
    grpc_init();
    rpc->queue = grpc_completion_queue_create_for_next(NULL);
    rpc->server = create_server(options->limits);
    grpc_server_register_completion_queue(rpc->server, rpc->queue, NULL);
    r = register_methods(rpc, err);
    if (r == 0) {
        grpc_server_start(rpc->server);
        for (size_t i = 0; i < n_methods() * ARMED; i++)
            arm(&rpc->slots[i]);
        health_arm(rpc);
        reflection_arm(rpc);
        unknown_arm(rpc);
        if (pthread_create(&rpc->thread, NULL, drain, rpc) == 0) {
            *ret = rpc;
            return 0;
        }
        r = kr_error_set(err, KR_CODE_SYSTEM, "the RPC thread cannot be started");
    }
    return r; /* the daemon does not start; what the core holds goes with the process */
}

void rpc_set_listener(struct rpc *rpc, const struct listener *listener)
{
    rpc->listener = listener;
}

void rpc_accept(struct rpc *rpc, int fd)
{
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    grpc_server_add_channel_from_fd(rpc->server, fd, credentials);
    grpc_server_credentials_release(credentials);
}

/* The way down. */

static void finish(struct rpc *rpc)
{
    const rpc_stopped_fn stopped = rpc->stopped;
    void *cookie = rpc->stopped_cookie;
    rpc->grace = timer_cancel(rpc->grace);
    grpc_completion_queue_shutdown(rpc->queue);
    pthread_join(rpc->thread, NULL);
    destroy(rpc);
    stopped(cookie);
}

/* For the core all calls have ended; some may still be on their way through the loop. */
static void on_stopped(struct rpc_tag *tag, bool ok)
{
    (void) ok;
    places_leave_server(tag_owner(tag, struct rpc, stopped_tag));
}

static void on_grace_over(void *cookie)
{
    struct rpc *rpc = cookie;
    log_info("rpc.cancelling", log_u64("calls", places_taken(rpc)));
    grpc_server_cancel_all_calls(rpc->server);
}

void rpc_stop(struct rpc *rpc, uint64_t grace_ms, rpc_stopped_fn done, void *cookie)
{
    rpc->finish = finish;
    rpc->stopped = done;
    rpc->stopped_cookie = cookie;
    atomic_store(&rpc->is_stopping, true);
    rpc->stopped_tag.fn = on_stopped;
    tsan_release(&rpc->stopped_tag);
    grpc_server_shutdown_and_notify(rpc->server, rpc->queue, &rpc->stopped_tag);
    rpc->grace = loop_timer(rpc->options.loop, grace_ms, on_grace_over, rpc);
    if (!rpc->grace)
        on_grace_over(rpc);
    places_stop(rpc);
}
