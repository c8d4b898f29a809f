// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder share: the server, tags, and calls. */
#ifndef RPC_STATE_H
#define RPC_STATE_H

#include "rpc/rpc.h"
#include "rpc/tsan.h"

#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <protobuf-c/protobuf-c.h>
#include <pthread.h>
#include <stdatomic.h>
#if __has_include(<grpc/credentials.h>)
#include <grpc/credentials.h>
#endif

/* What comes back from the completion queue: one for each batch that may be outstanding. fn is set
 * before the core gets the tag, since it may come back before that call returns. */
struct rpc_tag {
    void (*fn)(struct rpc_tag *tag, bool ok);
};
#define tag_owner(tag, type, member) ((type *) (void *) ((char *) (tag) -offsetof(type, member)))

struct rpc {
    struct rpc_options options;
    const struct listener *listener;
    grpc_server *server;
    grpc_completion_queue *queue;
    pthread_t thread;
    struct method_slot *slots; /* armed requests */
    struct health *health;
    struct reflection *reflection;
    struct unknown *unknown;
    atomic_bool is_stopping;
    /* Calls under way, streams included, and one for the server itself: who brings it to zero has
     * seen the last of everything that could still touch the queue. */
    atomic_uint n_calls;
    atomic_uint n_streams; /* of them, those that end only when their client or we end them */
    /* Stopping. */
    struct rpc_tag stopped_tag;
    struct loop_task stopped_task;
    struct timer *grace;
    rpc_stopped_fn stopped;
    void *stopped_cookie;
};

/* Starts a batch; the tag comes back whatever happens. False if the core refuses it, which only a
 * wrong batch makes it do; then the tag does not come. */
bool rpc_batch(grpc_call *call, const grpc_op *ops, size_t n, struct rpc_tag *tag);

/* A call has begun; a call, or the server, has ended. */
unsigned rpc_enter(struct rpc *rpc, bool is_stream);
void rpc_leave(struct rpc *rpc, bool is_stream);

/* Unary methods. */
struct rpc_call;

/* One RPC. A file that has one ends with RPC_METHOD(Name, ...): the linker collects them, and
 * rpc_start compares them with the service that protoc-c has generated. */
struct rpc_method {
    const char *name; /* "Execute" */
    const ProtobufCMessageDescriptor *request;
    /* On the loop's thread: answers by call_reply or call_refuse, now or later. */
    void (*begin)(struct rpc_call *call, const ProtobufCMessage *request);
    /* On the loop's thread: the client has gone before the answer; NULL if nothing need stop. */
    void (*cancel)(struct rpc_call *call);
};
#define RPC_METHOD(method_name, ...)                                                             \
    static const struct rpc_method method_##method_name = { .name = #method_name, __VA_ARGS__ }; \
    __attribute__((used, retain, section("rpc_methods"))) static const struct rpc_method         \
        *const entry_##method_name = &method_##method_name

/* A unary call. It lives until both its end has come from the core and it has been answered, or
 * given up. */
struct rpc_call {
    struct rpc *rpc;
    const struct rpc_method *method;
    grpc_call *call;
    grpc_metadata_array metadata;
    atomic_int references;
    struct rpc_tag closed_tag, sent_tag;
    struct loop_task begin_task, cancel_task;
    int was_cancelled; /* by the core, for closed_tag */
    bool is_answered;  /* of the loop's thread, once the call has been handed to it */
    kr_arena arena;    /* the request, and what its answer is made of */
    ProtobufCMessage *request;
    void *work; /* of the method */
    grpc_metadata trailer;
    char status_text[16];
};

/* Answers. Either way the call is not the method's any more. */
void call_reply(struct rpc_call *call, const ProtobufCMessage *reply);
void call_refuse(struct rpc_call *call, const kr_error *why);
/* The session that a request names, or NULL, having refused the call. */
struct session *call_session(struct rpc_call *call, ProtobufCBinaryData token);

/* Takes the request that the core has brought; on the gRPC thread. */
void call_begin(struct rpc *rpc, const struct rpc_method *method, grpc_call *call,
                grpc_byte_buffer *payload);

grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message);
/* Unpacks into the arena; NULL if the bytes make no sense, or the arena is too small for them. */
ProtobufCMessage *rpc_unpack(const ProtobufCMessageDescriptor *descriptor,
                             grpc_byte_buffer *payload, kr_arena *arena);

/* Services that never leave the gRPC thread. */
/* Registers a path with the server; before it starts. */
void *rpc_register(struct rpc *rpc, const char *path, bool has_payload);
void health_register(struct rpc *rpc);
void reflection_register(struct rpc *rpc);
/* Each waits for its first calls; afterwards it goes on by itself. */
void health_arm(struct rpc *rpc);
void reflection_arm(struct rpc *rpc);
/* Answers every call that no method is registered for. */
void unknown_arm(struct rpc *rpc);
/* Frees what the three hold. */
void health_free(struct rpc *rpc);
void reflection_free(struct rpc *rpc);
void unknown_free(struct rpc *rpc);

#endif
