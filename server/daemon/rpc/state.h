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
    /* Calls, streams, and one for the server itself (places.c): who brings it to zero has seen the
     * last of everything that could still touch the queue, and has finish called. */
    _Atomic(uint64_t) under_way;
    struct rpc_share *shares; /* by descriptor of a connection */
    uint32_t n_shares;
    /* Stopping. */
    void (*finish)(struct rpc *rpc);
    struct rpc_tag stopped_tag;
    struct loop_task stopped_task;
    struct timer *grace;
    rpc_stopped_fn stopped;
    void *stopped_cookie;
};

/* Starts a batch; the tag comes back whatever happens. False if the core refuses it, which only a
 * wrong batch makes it do; then the tag does not come. */
bool rpc_batch(grpc_call *call, const grpc_op *ops, size_t n, struct rpc_tag *tag);

/* Places: whoever has a call of the core's has one, from the beginning to its last event. */
struct rpc_place {
    struct rpc *rpc;
    struct rpc_share *share;
    bool is_stream; /* ends only when its client or we end it */
};
KR_CHECK int places_init(struct rpc *rpc, kr_error *err);
/* On the gRPC thread. */
void place_take(struct rpc *rpc, grpc_call *call, bool is_stream, struct rpc_place *ret);
/* Whether the limits let the call go on; one that is refused has its place until that is told. */
KR_CHECK int place_check(const struct rpc_place *place, kr_error *err);
/* The last thing that a call does: rpc may be gone afterwards. */
void place_leave(const struct rpc_place *place);
/* The server's own. */
void places_leave_server(struct rpc *rpc);
/* Ends streams that are alone, now and whenever they come to be. */
void places_stop(struct rpc *rpc);
uint32_t places_taken(const struct rpc *rpc);

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
    struct rpc_place place;
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

/* A call that never leaves the gRPC thread. Whoever begins it releases it when it has said what is
 * to be said now; it lives until its last batch and its end have come. */
struct rpc_side {
    struct rpc *rpc;
    grpc_call *call;
    struct rpc_place place;
    struct rpc_tag closed_tag, batch_tag;
    int references, was_cancelled;
    bool has_sent_metadata, is_over;
    grpc_byte_buffer *incoming;
    /* Set by who wants to read: called with each message, which it destroys, and with NULL when
     * there are no more. It answers by side_send, which reads the next, or side_end. */
    void (*on_read)(struct rpc_side *side, grpc_byte_buffer *message);
};
/* Takes the call. NULL if it has been refused, for want of memory or by a limit. */
struct rpc_side *side_begin(struct rpc *rpc, grpc_call *call, bool is_stream);
/* Sends a message, or only headers; each takes the message. One at a time. */
void side_send(struct rpc_side *side, grpc_byte_buffer *message);
void side_end(struct rpc_side *side, grpc_byte_buffer *message, grpc_status_code status,
              const char *text);
void side_release(struct rpc_side *side);

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
