// SPDX-License-Identifier: Apache-2.0
/* The gRPC door: the only folder that sees grpc and generated messages.
 *
 * One completion queue, drained by one thread of its own. That thread decodes requests and hands
 * them to the loop's thread, which does the work and starts the reply; it owns no state that the
 * loop's thread touches, but the calls that they pass to each other. Connections come from the
 * listener as descriptors. */
#ifndef RPC_RPC_H
#define RPC_RPC_H

#include "listener/listener.h"
#include "service/service.h"

struct rpc;

/* What ServerInfo says and nobody else knows. */
struct rpc_about {
    const char *binary; /* path of the daemon */
    bool is_embedded;
    const char *sandbox_level; /* of its runners */
};

struct rpc_options {
    struct loop *loop;
    const struct limits *limits;
    struct service *service;
    struct rpc_about about;
};

KR_CHECK int rpc_start(const struct rpc_options *options, struct rpc **ret, kr_error *err);
/* Who a call comes from is asked of it; NULL once it is closed. */
void rpc_set_listener(struct rpc *rpc, const struct listener *listener);
/* Takes fd. */
void rpc_accept(struct rpc *rpc, int fd);

/* Takes no more calls; gives those under way grace_ms to end, then cancels them. done comes on the
 * loop's thread, and rpc is freed before it does. */
typedef void (*rpc_stopped_fn)(void *cookie);
void rpc_stop(struct rpc *rpc, uint64_t grace_ms, rpc_stopped_fn done, void *cookie);

#endif
