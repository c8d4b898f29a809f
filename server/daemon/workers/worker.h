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
    uint64_t n_running; /* processes, dying ones included */
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
    /* It has ended. The worker is freed when this returns. */
    void (*died)(void *cookie, const struct wire_died *died);
};

KR_CHECK int worker_start(struct workers *workers, const char *library,
                          const struct worker_handlers *handlers, struct worker **ret,
                          kr_error *err);
/* For a worker that was started by one and is used by another. */
void worker_set_handlers(struct worker *worker, const struct worker_handlers *handlers);
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

/* Ends it, whatever it does: its monitor sees the connection close, kills the runner and exits;
 * if it has not within WORKER_PATIENCE_MS, it is killed itself, and its runner with it. Accepts
 * NULL and returns NULL. */
enum { WORKER_PATIENCE_MS = 30 };
struct worker *worker_kill(struct worker *worker);

#endif
