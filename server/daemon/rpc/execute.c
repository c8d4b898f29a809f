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

static void done(void *cookie, const kr_error *refusal, const struct call_result *results,
                 uint32_t n)
{
    struct rpc_call *call = cookie;
    struct work *work = call->work;
    Kernrig__V1__ExecuteResponse reply = KERNRIG__V1__EXECUTE_RESPONSE__INIT;
    kr_error err;
    work->execution = NULL;
    if (refusal) {
        call_refuse(call, refusal);
        return;
    }
    reply.results = kr_arena_array(&call->arena, n, sizeof *reply.results);
    while (reply.results && reply.n_results < n) {
        Kernrig__V1__CallResult *result = codec_put_result(
            &results[reply.n_results], work->requests[reply.n_results].operator_, &call->arena);
        if (!result)
            break;
        reply.results[reply.n_results++] = result;
    }
    if (!reply.results || reply.n_results < n) {
        kr_error_set(&err, KR_CODE_LIMIT, "the results of %u calls take too much memory", n);
        call_refuse(call, &err);
        return;
    }
    reply.generation = kr_registry_generation(service_registry(call->rpc->options.service));
    call_reply(call, &reply.base);
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
