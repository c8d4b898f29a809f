// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "service/state.h"

#include <fcntl.h>
#include <unistd.h>
#include <utlist.h>

static void go_on(struct lane *lane);

/* The end of a worker. */

/* Whether a kernel that has been given up may still write to buffers of the session. */
static bool is_held_up(const struct service *service, const struct session *session)
{
    const struct lane *lane;
    DL_FOREACH (service->lanes, lane) {
        if (lane->session == session && lane->dying)
            return true;
    }
    return false;
}

static void on_gone(void *cookie)
{
    struct lane *lane = cookie;
    const struct session *session = lane->session;
    struct service *service = lane->library->service;
    struct execution *held = steal_pointer(&lane->held);
    lane->dying = NULL;
    if (held)
        execution_over(held);
    DL_FOREACH (service->lanes, lane) {
        if (lane->session == session)
            go_on(lane);
    }
}

/* The worker has ended, or is to be killed. */
static void let_die(struct lane *lane)
{
    if (!lane->worker)
        return;
    lane->dying = steal_pointer(&lane->worker);
    worker_on_gone(lane->dying, on_gone, lane);
}

static void kill_worker(struct lane *lane)
{
    let_die(lane);
    worker_kill(lane->dying);
}

/* What the worker says. */

static void on_kernel(void *cookie, const struct wire_kernel *kernel)
{
    /* The registry knows the table already; a worker that now describes another one is only asked
     * for kernels by index, and answers for itself. */
    (void) cookie;
    (void) kernel;
}

static void on_ready(void *cookie) { go_on(cookie); }

static void on_failed(void *cookie, const char *text)
{
    struct lane *lane = cookie;
    snprintf(lane->load_failure, sizeof lane->load_failure, "%s", text);
}

static void on_answered(void *cookie, const struct wire_answer *answer)
{
    struct lane *lane = cookie;
    struct execution *execution = lane->running;
    kr_error why;
    if (!execution || execution->call != answer->id)
        return; /* of a call that was withdrawn; its worker is on its way out */
    if (!outcome_is_honest(execution, answer, &why)) {
        outcome_failed(execution, &why);
        lane_abort(lane, false);
        return;
    }
    lane->running = NULL;
    go_on(lane); /* the next call need not wait for what we make of this answer */
    execution_answered(execution, answer);
}

/* A worker that dies between two calls – of what an earlier one has left behind – is not the fault
 * of the next: that gets another worker, once. False if it has had its second try. */
static bool try_again(struct lane *lane, struct execution *execution)
{
    if (execution->is_second_try)
        return false;
    execution->is_second_try = true;
    execution->is_started = false;
    DL_PREPEND(lane->waiting, execution);
    return true;
}

static void on_died(void *cookie, const struct wire_died *died)
{
    struct lane *lane = cookie;
    struct execution *execution = lane->running;
    let_die(lane);
    lane->running = NULL;
    if (execution && died->death != WIRE_DEATH_LOST && died->call != execution->call &&
        try_again(lane, execution)) {
        go_on(lane);
        return;
    }
    if (!execution && lane->waiting) {
        /* It died before it was ready: whoever has waited longest learns why. The others try
         * again, with a new worker. */
        execution = lane->waiting;
        DL_DELETE(lane->waiting, execution);
    }
    if (execution)
        execution_died(execution, died, lane->load_failure);
    lane->load_failure[0] = 0;
    go_on(lane);
}

/* The queue. */

static int map_tensor(struct worker *worker, const struct buffer *buffer, bool writable,
                      kr_error *err)
{
    if (worker_has_mapped(worker, buffer->handle, writable))
        return 0;
    int fd = -1;
    if (writable) {
        fd = fcntl(buffer->fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return kr_error_set(err, KR_CODE_SYSTEM, "no descriptor left: %s", strerror(errno));
    } else {
        const int r = buffer_open_read_only(buffer, &fd, err);
        if (r < 0)
            return r;
    }
    const struct wire_map map = { .buffer = buffer->handle,
                                  .size = buffer->size,
                                  .writable = writable };
    return worker_map(worker, &map, fd, err);
}

static int send_call(struct lane *lane, struct execution *e, kr_error *err)
{
    const uint64_t now = clock_now_ns();
    for (uint32_t i = 0; i < e->tensors.n; i++) {
        if (!e->tensors.buffers[i])
            continue;
        const int r = map_tensor(lane->worker, e->tensors.buffers[i], e->bound.tensors[i].is_output,
                                 err);
        if (r < 0)
            return r;
    }
    e->call = ++e->service->last_call;
    const struct wire_call_head head = {
        .id = e->call,
        .kernel = e->kernel.index,
        .n_returns = outcome_n_returns(e->bound.schema),
        .timeout_ns = e->deadline_ns > now ? e->deadline_ns - now : 1,
    };
    return worker_call(lane->worker, &head, &e->bound, e->tensors.capacities, e->tensors.aliased,
                       err);
}

static int ensure_worker(struct lane *lane, kr_error *err)
{
    if (lane->worker)
        return 0;
    const struct worker_handlers handlers = { .cookie = lane,
                                              .kernel = on_kernel,
                                              .ready = on_ready,
                                              .failed = on_failed,
                                              .answered = on_answered,
                                              .died = on_died };
    return library_worker(lane->library, &handlers, &lane->worker, err);
}

/* Gives the worker the waiting call; its failure is that call's. */
static void start(struct lane *lane, struct execution *next)
{
    kr_error err;
    DL_DELETE(lane->waiting, next);
    const int r = send_call(lane, next, &err);
    if (r == 0) {
        lane->running = next;
        execution_started(next);
        return;
    }
    /* What it was told in part, it is not to be asked again. */
    if (worker_is_broken(lane->worker))
        kill_worker(lane);
    if (r != KR_CODE_WORKER || !try_again(lane, next))
        execution_failed(next, &err);
}

/* Gives the worker the next call, if it can take one. A call that fails here may have the next one
 * of its list submitted from within, to this lane again: the loop below takes that up, so that the
 * stack does not grow with the number of calls. */
static void go_on(struct lane *lane)
{
    if (lane->is_going_on)
        return;
    lane->is_going_on = true;
    while (lane->waiting && !lane->running && !lane->is_closing &&
           !is_held_up(lane->library->service, lane->session)) {
        kr_error err;
        if (ensure_worker(lane, &err) < 0) {
            struct execution *next = lane->waiting;
            DL_DELETE(lane->waiting, next);
            execution_failed(next, &err);
        } else if (worker_is_ready(lane->worker)) {
            start(lane, lane->waiting);
        } else {
            break; /* on_ready comes here */
        }
    }
    lane->is_going_on = false;
}

int lane_of(struct service *service, struct session *session, struct library *library,
            struct lane **ret, kr_error *err)
{
    struct lane *lane;
    DL_FOREACH (service->lanes, lane) {
        if (lane->session == session && lane->library == library) {
            *ret = lane;
            return 0;
        }
    }
    lane = calloc(1, sizeof *lane);
    if (!lane)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a worker's queue");
    lane->session = session;
    lane->library = library;
    DL_APPEND(service->lanes, lane);
    *ret = lane;
    return 0;
}

int lane_submit(struct lane *lane, struct execution *execution, kr_error *err)
{
    /* A worker that cannot even be started is this call's failure, and found out here. */
    if (!is_held_up(lane->library->service, lane->session)) {
        const int r = ensure_worker(lane, err);
        if (r < 0)
            return r;
    }
    execution->lane = lane;
    DL_APPEND(lane->waiting, execution);
    go_on(lane);
    return 0;
}

void lane_abort(struct lane *lane, bool is_deaf)
{
    lane->held = steal_pointer(&lane->running);
    let_die(lane);
    if (is_deaf)
        worker_kill_at_once(lane->dying);
    else
        worker_kill(lane->dying);
}

void lane_withdraw(struct lane *lane, struct execution *execution)
{
    execution->lane = NULL;
    if (lane->held == execution) {
        lane->held = NULL;
    } else if (lane->running == execution) {
        lane->running = NULL;
        kill_worker(lane);
    } else {
        DL_DELETE(lane->waiting, execution);
    }
    go_on(lane);
}

void lanes_forget(struct service *service, const struct buffer *buffer)
{
    struct lane *lane;
    DL_FOREACH (service->lanes, lane) {
        if (lane->worker && lane->session->id == buffer->owner)
            worker_forget(lane->worker, buffer->handle);
    }
}

void lanes_close(struct service *service, const struct session *session)
{
    struct lane *lane;
    DL_FOREACH (service->lanes, lane) {
        if (lane->session != session)
            continue;
        lane->is_closing = true;
        kill_worker(lane);
    }
}

void lanes_free(struct service *service, const struct session *session)
{
    struct lane *lane, *next;
    DL_FOREACH_SAFE (service->lanes, lane, next) {
        if (lane->session != session)
            continue;
        if (lane->dying)
            worker_on_gone(lane->dying, NULL, NULL);
        DL_DELETE(service->lanes, lane);
        free(lane);
    }
}
