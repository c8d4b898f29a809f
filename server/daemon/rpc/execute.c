// SPDX-License-Identifier: Apache-2.0
/* Execute: a list of calls, in order, each with an outcome. */
#include "service/execute.h"
#include "rpc/codec.h"
#include "rpc/state.h"

/* What begin needs again when the results come. */
struct work {
    struct execution *execution; /* NULL once it is over */
    struct call_request *requests;
};

static int put_results(const struct work *work, const struct call_result *results, uint32_t n,
                       kr_arena *arena, Kernrig__V1__ExecuteResponse *ret, kr_error *err)
{
    Kernrig__V1__CallResult **list = kr_arena_array(arena, n, sizeof *list);
    bool fits = list != NULL;
    for (uint32_t i = 0; fits && i < n; i++) {
        list[i] = codec_put_result(&results[i], work->requests[i].operator_, arena);
        fits = list[i] != NULL;
    }
    if (!fits)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for the results of %u calls", n);
    ret->results = list;
    ret->n_results = n;
    return 0;
}

/* The calls have run, and what they have written cannot be taken back: their outcomes must not
 * depend on the room that the request has left in its arena. So the reply has one of its own,
 * without a limit, since a result is no larger than its call. */
static void done(void *cookie, const kr_error *refusal, const struct call_result *results,
                 uint32_t n)
{
    struct rpc_call *call = cookie;
    struct work *work = call->work;
    Kernrig__V1__ExecuteResponse reply = KERNRIG__V1__EXECUTE_RESPONSE__INIT;
    kr_arena arena;
    kr_error err;
    work->execution = NULL;
    if (refusal) {
        call_refuse(call, refusal);
        return;
    }
    reply.generation = kr_registry_generation(service_registry(call->rpc->options.service));
    kr_arena_init(&arena, SIZE_MAX);
    if (put_results(work, results, n, &arena, &reply, &err) < 0)
        call_refuse(call, &err);
    else
        call_reply(call, &reply.base);
    kr_arena_done(&arena);
}

static int prepare(struct rpc_call *call, const Kernrig__V1__ExecuteRequest *request, kr_error *err)
{
    const struct limits *limits = call->rpc->options.limits;
    if (request->n_calls > limits->calls)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%zu calls in one Execute exceed the limit 'calls' of %llu",
                            request->n_calls, (unsigned long long) limits->calls);
    struct work *work = kr_arena_alloc(&call->arena, sizeof *work);
    if (work)
        work->requests = kr_arena_array(&call->arena, request->n_calls, sizeof *work->requests);
    if (!work || !work->requests)
        return kr_error_set(err, KR_CODE_LIMIT, "the request takes too much memory");
    call->work = work;
    for (size_t i = 0; i < request->n_calls; i++) {
        const int r = codec_get_call(request->calls[i], &call->arena, &work->requests[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void begin(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Kernrig__V1__ExecuteRequest *request = (const void *) message;
    kr_error err;
    struct session *session = call_session(call, request->session);
    if (!session)
        return;
    int r = prepare(call, request, &err);
    if (r == 0) {
        struct work *work = call->work;
        r = service_execute(call->rpc->options.service, session, work->requests,
                            (uint32_t) request->n_calls, &call->arena, done, call, &work->execution,
                            &err);
    }
    if (r < 0)
        call_refuse(call, &err);
}

static void cancel(struct rpc_call *call)
{
    struct work *work = call->work;
    if (work && work->execution)
        service_cancel(work->execution);
}

RPC_METHOD(Execute, .request = &kernrig__v1__execute_request__descriptor, .begin = begin,
           .cancel = cancel);
