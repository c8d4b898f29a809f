// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <stdatomic.h>
#include <unistd.h>

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    /* Posted tasks, the newest first; taken all at once, so there is no ABA. */
    _Atomic(struct loop_task *) posted;
};

static void run_posted(uv_async_t *wake)
{
    struct loop *loop = wake->data;
    struct loop_task *newest = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
    struct loop_task *oldest = NULL;
    while (newest) {
        struct loop_task *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        struct loop_task *next = oldest->next; /* run may free the task */
        oldest->run(oldest);
        oldest = next;
    }
}

struct loop *loop_new(kr_error *err)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop) {
        kr_error_set(err, KR_CODE_SYSTEM, "no memory for the event loop");
        return NULL;
    }
    int r = uv_loop_init(&loop->uv);
    if (r < 0) {
        kr_error_set(err, KR_CODE_SYSTEM, "uv_loop_init: %s", uv_strerror(r));
        free(loop);
        return NULL;
    }
    loop->uv.data = loop;
    r = uv_async_init(&loop->uv, &loop->wake, run_posted);
    if (r < 0) {
        kr_error_set(err, KR_CODE_SYSTEM, "uv_async_init: %s", uv_strerror(r));
        uv_loop_close(&loop->uv);
        free(loop);
        return NULL;
    }
    loop->wake.data = loop;
    return loop;
}

static void close_stray(uv_handle_t *handle, void *cookie)
{
    (void) cookie;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

struct loop *loop_free(struct loop *loop)
{
    if (!loop)
        return NULL;
    run_posted(&loop->wake); /* the last messages: they own what they carry */
    uv_walk(&loop->uv, close_stray, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0) {
    }
    uv_loop_close(&loop->uv);
    free(loop);
    return NULL;
}

uv_loop_t *loop_uv(struct loop *loop) { return &loop->uv; }
void loop_run(struct loop *loop) { uv_run(&loop->uv, UV_RUN_DEFAULT); }
void loop_stop(struct loop *loop) { uv_stop(&loop->uv); }

void loop_post(struct loop *loop, struct loop_task *task)
{
    struct loop_task *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        task->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted, &head, task,
                                                    memory_order_release, memory_order_relaxed));
    uv_async_send(&loop->wake);
}

/* Descriptors. */

struct watch {
    uv_poll_t poll;
    int fd;
    watch_fn fn; /* NULL once closed */
    void *cookie;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct watch *watch = poll->data;
    if (watch->fn)
        watch->fn(watch->cookie, events, status < 0 ? status : 0);
}

int loop_watch(struct loop *loop, int fd, int events, watch_fn fn, void *cookie, struct watch **ret,
               kr_error *err)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        close(fd);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory to watch a descriptor");
    }
    *watch = (struct watch){ .fd = fd, .fn = fn, .cookie = cookie };
    int r = uv_poll_init(&loop->uv, &watch->poll, fd);
    if (r < 0) {
        close(fd);
        free(watch);
        return kr_error_set(err, KR_CODE_SYSTEM, "uv_poll_init: %s", uv_strerror(r));
    }
    watch->poll.data = watch;
    r = uv_poll_start(&watch->poll, events, on_poll);
    if (r < 0) {
        watch_close(watch);
        return kr_error_set(err, KR_CODE_SYSTEM, "uv_poll_start: %s", uv_strerror(r));
    }
    *ret = watch;
    return 0;
}

int watch_fd(const struct watch *watch) { return watch->fd; }

void watch_set_events(struct watch *watch, int events)
{
    uv_poll_start(&watch->poll, events, on_poll);
}

/* The descriptor is closed here and not before: libuv would otherwise forget the wrong one when
 * the number is used again. */
static void on_watch_closed(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    if (watch->fd >= 0)
        close(watch->fd);
    free(watch);
}

struct watch *watch_close(struct watch *watch)
{
    if (watch) {
        watch->fn = NULL;
        uv_poll_stop(&watch->poll);
        uv_close((uv_handle_t *) &watch->poll, on_watch_closed);
    }
    return NULL;
}

int watch_release(struct watch *watch)
{
    const int fd = watch->fd;
    watch->fd = -1;
    watch_close(watch);
    return fd;
}

/* Timers. */

struct timer {
    uv_timer_t uv;
    timer_fn fn;
    void *cookie;
};

static void on_timer(uv_timer_t *uv)
{
    const struct timer *timer = uv->data;
    timer->fn(timer->cookie);
}

struct timer *loop_timer(struct loop *loop, uint64_t ms, timer_fn fn, void *cookie)
{
    struct timer *timer = calloc(1, sizeof *timer);
    if (!timer)
        return NULL;
    *timer = (struct timer){ .fn = fn, .cookie = cookie };
    uv_timer_init(&loop->uv, &timer->uv);
    timer->uv.data = timer;
    timer_restart(timer, ms);
    return timer;
}

void timer_restart(struct timer *timer, uint64_t ms)
{
    uv_update_time(timer->uv.loop); /* else it counts from the begin of this turn of the loop */
    uv_timer_start(&timer->uv, on_timer, ms, 0);
}

static void on_timer_closed(uv_handle_t *handle) { free(handle->data); }

struct timer *timer_cancel(struct timer *timer)
{
    if (timer) {
        uv_timer_stop(&timer->uv);
        uv_close((uv_handle_t *) &timer->uv, on_timer_closed);
    }
    return NULL;
}
