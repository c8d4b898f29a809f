// SPDX-License-Identifier: Apache-2.0
/* Who has how many calls under way, and whether one more is taken.
 *
 * What holds a place for long is an Execute that waits, and a call whose client does not read its
 * answer: a client can fill all places. So the limit is for those who have some already. Every
 * connection has a share, small against the whole, that it gets however busy the others are;
 * nobody's calls keep somebody else's first ones out. Streams, which last as long as their clients
 * want, take no places of calls: their limit is each connection's own. */
#include "rpc/state.h"

#include <inttypes.h>
#include <sys/resource.h>

enum {
    SHARES = 64,               /* of a connection: this part of all calls, and at least one */
    MOST_CONNECTIONS = 1 << 20 /* by descriptor; what lies beyond shares one entry */
};

/* Calls are counted in the lower half and streams in the upper, so that whoever changes one of them
 * sees both as they are then. One call is the server itself. */
#define ONE_STREAM   (UINT64_C(1) << 32)
#define N_CALLS(n)   ((uint32_t) (n))
#define N_STREAMS(n) ((uint32_t) ((n) >> 32))

struct rpc_share {
    atomic_uint n_calls, n_streams;
};

int places_init(struct rpc *rpc, kr_error *err)
{
    struct rlimit limit;
    atomic_init(&rpc->under_way, 1);
    rpc->n_shares = MOST_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MOST_CONNECTIONS)
        rpc->n_shares = (uint32_t) limit.rlim_cur + 1;
    rpc->shares = calloc(rpc->n_shares, sizeof *rpc->shares);
    return rpc->shares ? 0 : kr_error_set(err, KR_CODE_SYSTEM, "no memory for the RPC server");
}

/* The core calls a connection by its descriptor: "fd:17". Of one that has just closed, the number
 * may be another's already, which then has a little less for a moment. */
static struct rpc_share *share_of(struct rpc *rpc, grpc_call *call)
{
    char *peer = grpc_call_get_peer(call);
    const unsigned long number = strncmp(peer, "fd:", 3) == 0 ? strtoul(peer + 3, NULL, 10)
                                                              : rpc->n_shares;
    gpr_free(peer);
    return &rpc->shares[number < rpc->n_shares ? number : rpc->n_shares - 1];
}

void place_take(struct rpc *rpc, grpc_call *call, bool is_stream, struct rpc_place *ret)
{
    *ret = (struct rpc_place){ .rpc = rpc, .share = share_of(rpc, call), .is_stream = is_stream };
    atomic_fetch_add(is_stream ? &ret->share->n_streams : &ret->share->n_calls, 1);
    atomic_fetch_add(&rpc->under_way, is_stream ? ONE_STREAM : 1);
}

int place_check(const struct rpc_place *place, kr_error *err)
{
    const struct limits *limits = place->rpc->options.limits;
    if (place->is_stream) {
        const unsigned own = atomic_load(&place->share->n_streams);
        return own <= limits->streams
                   ? 0
                   : kr_error_set(err, KR_CODE_LIMIT,
                                  "%u streams are open on this connection, and the limit 'streams' "
                                  "is %" PRIu64,
                                  own - 1, limits->streams);
    }
    const uint32_t others = N_CALLS(atomic_load(&place->rpc->under_way)) - 2; /* nor the server */
    const uint64_t share = limits->rpcs / SHARES > 1 ? limits->rpcs / SHARES : 1;
    if (others < limits->rpcs || atomic_load(&place->share->n_calls) <= share)
        return 0;
    return kr_error_set(err, KR_CODE_LIMIT,
                        "%u RPCs are under way, and the limit 'rpcs' is %" PRIu64
                        ": try again later",
                        others, limits->rpcs);
}

static void finish_on_loop(struct loop_task *task)
{
    struct rpc *rpc = tag_owner(task, struct rpc, stopped_task);
    rpc->finish(rpc);
}

/* While stopping, streams have nothing to wait for once they are alone with the server. */
static void end_lone_streams(struct rpc *rpc, uint64_t under_way)
{
    if (atomic_load(&rpc->is_stopping) && N_CALLS(under_way) == 1 && N_STREAMS(under_way) > 0)
        grpc_server_cancel_all_calls(rpc->server);
}

static void leave(struct rpc *rpc, uint64_t what)
{
    const uint64_t left = atomic_fetch_sub(&rpc->under_way, what) - what;
    if (left == 0) {
        rpc->stopped_task.run = finish_on_loop;
        loop_post(rpc->options.loop, &rpc->stopped_task);
    } else if (what == 1) {
        end_lone_streams(rpc, left);
    }
}

void place_leave(const struct rpc_place *place)
{
    atomic_fetch_sub(place->is_stream ? &place->share->n_streams : &place->share->n_calls, 1);
    leave(place->rpc, place->is_stream ? ONE_STREAM : 1);
}

void places_stop(struct rpc *rpc) { end_lone_streams(rpc, atomic_load(&rpc->under_way)); }
void places_leave_server(struct rpc *rpc) { leave(rpc, 1); }
uint32_t places_taken(const struct rpc *rpc) { return N_CALLS(atomic_load(&rpc->under_way)) - 1; }
