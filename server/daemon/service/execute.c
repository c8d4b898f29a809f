// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/log.h"
#include "service/state.h"

#include <inttypes.h>
#include <kernrig/bind.h>
#include <utlist.h>

enum {
    DEFAULT_TIMEOUT_US = 60000000,
    OVERLAP_STEPS = 100000, /* of one request: about a millisecond of the loop's thread */
};

static void advance(struct execution *e);

/* One call: bound, checked, and given to a lane. */

static int check_request(const struct execution *e, const struct call_request *request,
                         kr_error *err)
{
    const struct limits *limits = e->service->options.limits;
    if (request->timeout_us / 1000 > limits->timeout_ms)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%s: a timeout of %.0f s exceeds the limit 'timeout_ms' of %" PRIu64,
                            request->operator_, (double) request->timeout_us / 1e6,
                            limits->timeout_ms);
    const uint64_t items = limits->list_items < WIRE_CALL_ITEMS ? limits->list_items
                                                                : WIRE_CALL_ITEMS;
    for (uint32_t i = 0; i < request->n_args; i++) {
        const kr_given *value = &request->args[i].value;
        if (value->kind == KR_KIND_LIST && value->count > items)
            return kr_error_set(err, KR_CODE_LIMIT,
                                "%s: a list of %u items exceeds the limit 'list_items' of %" PRIu64,
                                request->operator_, value->count, items);
        if (value->kind == KR_KIND_STRING && value->count > WIRE_CALL_STRING)
            return kr_error_set(err, KR_CODE_LIMIT,
                                "%s: a text of %u bytes is longer than a call can carry, %d",
                                request->operator_, value->count, WIRE_CALL_STRING);
    }
    return 0;
}

static bool was_tried(const struct execution *e, uint64_t kernel)
{
    for (uint32_t i = 0; i < e->n_tried; i++)
        if (e->tried[i] == kernel)
            return true;
    return false;
}

/* The dtype that a kernel declares is that of the first tensor; a number has none to speak of. */
static int first_dtype(const kr_bound *bound)
{
    for (uint32_t i = 0; i < bound->n_tensors; i++)
        if (!bound->tensors[i].ref.wrapped)
            return bound->tensors[i].ref.dtype;
    return -1;
}

/* The next kernel that has not been asked yet. Walked from the start each time, since the registry
 * may have changed while the last one was asked. */
static int choose_kernel(struct execution *e, kr_error *err)
{
    const struct call_request *request = &e->requests[e->index];
    kr_registry *registry = e->service->registry;
    kr_key key;
    const kr_query query = { .op = e->op,
                             .scope = KR_SCOPE_GLOBAL,
                             .key = kr_key_of_call(&e->bound, &key) ? &key : NULL,
                             .dtype = first_dtype(&e->bound),
                             .provider = request->provider };
    const kr_kernel_info *kernel = NULL;
    do {
        const int r = kr_registry_match(registry, &query, kernel, &kernel, err);
        if (r < 0)
            return e->n_tried
                       ? kr_error_wrap(err, "%u kernels declined this call, and no other is left",
                                       e->n_tried)
                       : r;
    } while (was_tried(e, kernel->id));
    if (e->n_tried == TRIED_MAX)
        return kr_error_set(err, KR_CODE_NO_KERNEL, "%s: %u kernels declined this call",
                            request->operator_, e->n_tried);
    e->tried[e->n_tried++] = kernel->id;
    e->kernel = *kernel;
    e->provider = kr_arena_text(e->arena, kernel->provider->name, strlen(kernel->provider->name));
    e->kernel.name = kr_arena_text(e->arena, kernel->name, strlen(kernel->name));
    if (!e->provider || !e->kernel.name)
        return kr_error_set(err, KR_CODE_LIMIT, "%s: the request takes too much memory",
                            request->operator_);
    return 0;
}

static int submit(struct execution *e, kr_error *err)
{
    struct lane *lane;
    int r = choose_kernel(e, err);
    if (r < 0)
        return r;
    if (e->tensors.alias_name && !e->kernel.in_place)
        return kr_error_set(err, KR_CODE_OVERLAP,
                            "%s: argument '%s' is the tensor that is passed as '%s', and kernel "
                            "'%s' of provider '%s' does not work in place: pass another one",
                            e->op->name, e->tensors.alias_name, e->tensors.aliased_name,
                            e->kernel.name, e->provider);
    r = lane_of(e->service, e->session, library_of(e->service, &e->kernel), &lane, err);
    return r < 0 ? r : lane_submit(lane, e, err);
}

static void on_timer(void *cookie);

static int arm(struct execution *e, uint64_t timeout_us, kr_error *err)
{
    const uint64_t ms = timeout_us / 1000 + 1;
    e->begun_ns = clock_now_ns();
    e->deadline_ns = e->begun_ns + timeout_us * CLOCK_NS_PER_US;
    if (e->timer)
        timer_restart(e->timer, ms);
    else
        e->timer = loop_timer(e->service->options.loop, ms, on_timer, e);
    return e->timer ? 0 : kr_error_set(err, KR_CODE_SYSTEM, "no memory for a timer");
}

static int begin(struct execution *e, kr_error *err)
{
    const struct call_request *request = &e->requests[e->index];
    struct service *service = e->service;
    int r = check_request(e, request, err);
    if (r < 0)
        return r;
    e->op = kr_registry_operator(service->registry, request->operator_);
    if (!e->op)
        return kr_registry_unknown(service->registry, request->operator_, err);
    /* Nobody need get the arguments right of what cannot be called. */
    if (e->op->n_kernels == 0)
        return choose_kernel(e, err);
    const kr_bind_options options = { .numbers_as_tensors = e->op->allows_numbers };
    r = kr_bind(e->op->schema, &options, request->args, request->n_args, e->arena, &e->bound, err);
    if (r == 0)
        r = tensors_check(&e->bound, service->buffers, e->session->id, service->options.limits,
                          e->arena, &e->overlap_steps, &e->tensors, err);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < e->tensors.n; i++)
        if (e->tensors.buffers[i])
            buffer_use(e->tensors.buffers[i]);
    r = arm(e, request->timeout_us ? request->timeout_us : DEFAULT_TIMEOUT_US, err);
    return r < 0 ? r : submit(e, err);
}

/* The call is over: what it held is let go. */
static void end_call(struct execution *e)
{
    for (uint32_t i = 0; i < e->tensors.n; i++)
        if (e->tensors.buffers[i])
            buffer_unuse(e->service->buffers, e->tensors.buffers[i]);
    e->tensors = (struct call_tensors){ 0 };
    e->bound = (kr_bound){ 0 };
    e->lane = NULL;
    e->is_started = false;
    e->is_second_try = false;
    e->n_tried = 0;
    e->provider = NULL;
    e->op = NULL;
}

/* The list. */

static void forget(struct execution *e)
{
    struct execution *all = e->session->work;
    DL_DELETE2(all, e, session_prev, session_next);
    e->session->work = all;
    e->session->n_executing--;
    timer_cancel(e->timer);
    free(e);
}

static void finish(struct execution *e, const kr_error *refusal)
{
    e->done(e->cookie, refusal, e->results, refusal ? 0 : e->n);
    forget(e);
}

static void advance(struct execution *e)
{
    while (e->index < e->n) {
        kr_error err;
        if (begin(e, &err) == 0)
            return; /* it waits or runs; or is over already, and e is gone */
        outcome_failed(e, &err);
        end_call(e);
        e->index++;
    }
    finish(e, NULL);
}

static void next_call(struct execution *e)
{
    end_call(e);
    e->index++;
    advance(e);
}

int service_execute(struct service *service, struct session *session,
                    const struct call_request *requests, uint32_t n, kr_arena *arena,
                    execute_done_fn done, void *cookie, struct execution **ret, kr_error *err)
{
    const struct limits *limits = service->options.limits;
    if (n > limits->calls)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%u calls in one request exceed the limit 'calls' of %" PRIu64, n,
                            limits->calls);
    if (session->n_executing >= limits->queue)
        return kr_error_set(err, KR_CODE_BUSY,
                            "%" PRIu64 " requests of this session wait or run, which is the limit "
                            "'queue': wait for some to end",
                            session->n_executing);
    struct call_result *results = kr_arena_array(arena, n, sizeof *results);
    struct execution *e = calloc(1, sizeof *e);
    if (!results || !e) {
        free(e);
        return kr_error_set(err, KR_CODE_LIMIT, "a request of %u calls takes too much memory", n);
    }
    for (uint32_t i = 0; i < n; i++)
        results[i] = (struct call_result){ .message = "", .log = "", .printed = "" };
    *e = (struct execution){ .service = service,
                             .session = session,
                             .requests = requests,
                             .results = results,
                             .n = n,
                             .arena = arena,
                             .done = done,
                             .cookie = cookie,
                             .overlap_steps = OVERLAP_STEPS };
    struct execution *all = session->work;
    DL_APPEND2(all, e, session_prev, session_next);
    session->work = all;
    session->n_executing++;
    *ret = e;
    advance(e);
    return 0;
}

/* Takes the call out of its lane; the execution itself remains. */
static void withdraw(struct execution *e)
{
    if (e->lane)
        lane_withdraw(e->lane, e);
    end_call(e);
}

void service_cancel(struct execution *e)
{
    log_info("execute.cancelled", log_u64("session", e->session->id),
             log_text("operator", e->requests[e->index].operator_));
    withdraw(e);
    forget(e);
}

void executions_end(struct session *session, const kr_error *why)
{
    while (session->work) {
        struct execution *e = session->work;
        withdraw(e);
        finish(e, why);
    }
}

/* What becomes of the call. */

void execution_started(struct execution *e)
{
    const uint64_t now = clock_now_ns();
    const uint64_t left = e->deadline_ns > now ? (e->deadline_ns - now) / CLOCK_NS_PER_MS : 0;
    e->is_started = true;
    timer_restart(e->timer, left + BACKUP_MS);
}

static void on_timer(void *cookie)
{
    struct execution *e = cookie;
    if (e->lane->held == e)
        return; /* what became of it is known; only its worker is not gone yet */
    outcome_timed_out(e);
    if (e->is_started) {
        lane_abort(e->lane, true); /* its monitor should have been first */
        return;
    }
    lane_withdraw(e->lane, e);
    next_call(e);
}

void execution_over(struct execution *e) { next_call(e); }

void execution_failed(struct execution *e, const kr_error *why)
{
    outcome_failed(e, why);
    next_call(e);
}

void execution_died(struct execution *e, const struct wire_died *died, const char *load_failure)
{
    outcome_died(e, died, load_failure);
    next_call(e);
}

void execution_answered(struct execution *e, const struct wire_answer *answer)
{
    if (answer->status != KR_DECLINE) {
        outcome_answered(e, answer);
        next_call(e);
        return;
    }
    kr_error err;
    e->lane = NULL;
    e->is_started = false;
    e->results[e->index].declined++;
    if (submit(e, &err) < 0)
        execution_failed(e, &err);
}
