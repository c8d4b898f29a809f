// SPDX-License-Identifier: Apache-2.0
/* The daemon's event loop: libuv, with the three things that everybody needs of it.
 *
 * One thread runs it and owns all state, so nothing above takes a lock. Only loop_post may be
 * called from another thread. Watches and timers live on the heap and die in libuv's close
 * callback; after watch_close or timer_cancel returns, theirs is never called again. */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <kernrig/err.h>
#include <uv.h>

struct loop;

KR_CHECK struct loop *loop_new(kr_error *err);
/* Closes what is still open, runs the close callbacks, and frees; accepts NULL. */
struct loop *loop_free(struct loop *loop);
uv_loop_t *loop_uv(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* From other threads. */
/* A task is a member of what it is about; whoever posts it gives it to the loop's thread. */
struct loop_task {
    struct loop_task *next;
    void (*run)(struct loop_task *task);
};
/* Tasks of one thread run in the order in which they were posted. */
void loop_post(struct loop *loop, struct loop_task *task);

/* Descriptors. */
struct watch;
/* events: UV_READABLE, UV_WRITABLE, UV_DISCONNECT; a negative status of libuv in error. */
typedef void (*watch_fn)(void *cookie, int events, int error);
/* Takes fd, on failure too. */
KR_CHECK int loop_watch(struct loop *loop, int fd, int events, watch_fn fn, void *cookie,
                        struct watch **ret, kr_error *err);
int watch_fd(const struct watch *watch);
void watch_set_events(struct watch *watch, int events);
/* Closes the descriptor once libuv has let go of it. Accepts NULL and returns NULL. */
struct watch *watch_close(struct watch *watch);
/* Ends the watch and gives the descriptor back. */
int watch_release(struct watch *watch);

/* Timers. */
struct timer;
typedef void (*timer_fn)(void *cookie);
/* Fires once, after ms at the least; NULL without memory. It must be cancelled all the same. */
KR_CHECK struct timer *loop_timer(struct loop *loop, uint64_t ms, timer_fn fn, void *cookie);
/* Has it fire after ms from now, whether it has fired already or not. */
void timer_restart(struct timer *timer, uint64_t ms);
/* Accepts NULL and returns NULL. */
struct timer *timer_cancel(struct timer *timer);

#endif
