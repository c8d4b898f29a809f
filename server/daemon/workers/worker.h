// SPDX-License-Identifier: Apache-2.0
/* One worker process, as the daemon sees it: started, spoken to, and outlived.
 *
 * A worker loads one library and runs one call at a time. The daemon sends it frames and hears
 * from its monitor alone. Everything that can become of it is told by a handler, and after died,
 * or after worker_kill, nothing more is. */
#ifndef WORKERS_WORKER_H
#define WORKERS_WORKER_H

#include "base/limits.h"
#include "loop/loop.h"
#include "wire/call.h"
#include "wire/worker.h"

struct worker;

/* What all workers of a daemon share. */
struct workers {
    struct loop *loop;
    const struct limits *limits;
    const char *binary; /* kernrig-worker */
    uint64_t n_running; /* monitors, dying ones included */
    uint64_t n_used;    /* of these, those of sessions: what the limit 'workers' is about */
    /* Called when the last one has ended, if set. */
    void (*on_none)(void *cookie);
    void *cookie;
};

struct worker_handlers {
    void *cookie;
    /* The table of the library, kernel by kernel, and its end. */
    void (*kernel)(void *cookie, const struct wire_kernel *kernel);
    void (*ready)(void *cookie);
    /* It cannot be loaded, and why; died follows. */
    void (*failed)(void *cookie, const char *text);
    void (*answered)(void *cookie, const struct wire_answer *answer);
    /* It is ending; this is the last handler that is called. */
    void (*died)(void *cookie, const struct wire_died *died);
};

KR_CHECK int worker_start(struct workers *workers, const char *library,
                          const struct worker_handlers *handlers, struct worker **ret,
                          kr_error *err);
/* For a worker that was started by one and is used by another. */
void worker_set_handlers(struct worker *worker, const struct worker_handlers *handlers);
/* Counts it among those of sessions, until it is gone. */
void worker_use(struct worker *worker);
/* Fails with a LIMIT error where sessions have as many workers as they may. */
KR_CHECK int workers_check(const struct workers *workers, kr_error *err);
bool worker_is_ready(const struct worker *worker);
pid_t worker_pid(const struct worker *worker); /* of the monitor */

/* Whether calls may refer to the buffer in this way already. */
bool worker_has_mapped(const struct worker *worker, uint64_t buffer, bool writable);
/* Has it map a buffer before the next call. Takes fd, on failure too. */
KR_CHECK int worker_map(struct worker *worker, const struct wire_map *map, int fd, kr_error *err);
/* The buffer is gone: it is unmapped, after the call that is under way. */
void worker_forget(struct worker *worker, uint64_t buffer);
/* Sends a call; answered or died follows. One at a time. */
KR_CHECK int worker_call(struct worker *worker, const struct wire_call_head *head,
                         const kr_bound *bound, const uint64_t *capacities, const bool *aliased,
                         kr_error *err);

/* Whether something that was sent has been lost on the way: it is to be killed. */
bool worker_is_broken(const struct worker *worker);

/* Ends it, whatever it does: its monitor sees the connection close, kills the runner, waits for its
 * end and exits; if it has not within WORKER_PATIENCE_MS, it is killed itself, and its runner with
 * it. Accepts NULL and returns NULL. */
enum { WORKER_PATIENCE_MS = 1000 };
struct worker *worker_kill(struct worker *worker);
/* For a monitor that has been found not to do its work: without patience. */
struct worker *worker_kill_at_once(struct worker *worker);
/* Has gone called when no process of it is left that could write to a buffer: before that, being
 * killed or having died says nothing. To be said before it is killed, or in died; with NULL, it is
 * not called after all. */
void worker_on_gone(struct worker *worker, void (*gone)(void *cookie), void *cookie);

#endif
