// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "loop/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static struct loop *loop;

static int prepare(void **state)
{
    kr_error err;
    (void) state;
    loop = loop_new(&err);
    return loop ? 0 : -1;
}

static int clean(void **state)
{
    (void) state;
    loop = loop_free(loop);
    return 0;
}

/* Posted tasks. */

enum { THREADS = 4, TASKS = 5000 };
struct task {
    struct loop_task task;
    int thread, number;
};
static struct task tasks[THREADS][TASKS];
static int seen[THREADS], n_run;
static bool in_order;

static void run_task(struct loop_task *task)
{
    const struct task *t = (const struct task *) task;
    in_order &= seen[t->thread]++ == t->number;
    if (++n_run == THREADS * TASKS)
        loop_stop(loop);
}

static void *post_all(void *argument)
{
    const int thread = *(const int *) argument;
    for (int i = 0; i < TASKS; i++) {
        tasks[thread][i] = (struct task){ .task.run = run_task, .thread = thread, .number = i };
        loop_post(loop, &tasks[thread][i].task);
    }
    return NULL;
}

static void every_posted_task_runs_once_in_its_thread_s_order(void **state)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    (void) state;
    in_order = true;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &numbers[i]), 0);
    }
    loop_run(loop);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n_run, THREADS * TASKS);
    assert_true(in_order);
}

/* Watches. */

static int n_events;
static struct watch *watch;

static void on_event(void *cookie, int events, int error)
{
    (void) cookie;
    assert_int_equal(error, 0);
    assert_true(events & UV_READABLE);
    n_events++;
    watch = watch_close(watch);
    loop_stop(loop);
}

static void a_watch_fires_and_its_descriptor_is_closed_with_it(void **state)
{
    int pipe[2];
    kr_error err;
    (void) state;
    assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
    assert_int_equal(loop_watch(loop, pipe[0], UV_READABLE, on_event, NULL, &watch, &err), 0);
    assert_int_equal(write(pipe[1], "x", 1), 1);
    loop_run(loop);
    assert_int_equal(n_events, 1);
    uv_run(loop_uv(loop), UV_RUN_NOWAIT); /* close callbacks */
    assert_int_equal(fcntl(pipe[0], F_GETFD), -1);
    close(pipe[1]);
}

static void a_released_descriptor_stays_open(void **state)
{
    int pipe[2];
    kr_error err;
    struct watch *mine;
    (void) state;
    assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
    assert_int_equal(loop_watch(loop, pipe[0], UV_READABLE, on_event, NULL, &mine, &err), 0);
    assert_int_equal(watch_release(mine), pipe[0]);
    uv_run(loop_uv(loop), UV_RUN_NOWAIT);
    assert_int_equal(fcntl(pipe[0], F_GETFD), FD_CLOEXEC);
    close(pipe[0]);
    close(pipe[1]);
}

static void what_cannot_be_watched_is_an_error_and_closed(void **state)
{
    kr_error err;
    struct watch *mine;
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC); /* epoll takes no files */
    (void) state;
    assert_true(fd >= 0);
    assert_int_equal(loop_watch(loop, fd, UV_READABLE, on_event, NULL, &mine, &err),
                     KR_CODE_SYSTEM);
    uv_run(loop_uv(loop), UV_RUN_NOWAIT);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* Timers. */

static int n_fired;

static void on_timer(void *cookie)
{
    n_fired++;
    *(struct timer **) cookie = timer_cancel(*(struct timer **) cookie);
    loop_stop(loop);
}

static void a_timer_fires_once_and_a_cancelled_one_never(void **state)
{
    struct timer *first, *second;
    (void) state;
    n_fired = 0;
    second = loop_timer(loop, 0, on_timer, &second);
    second = timer_cancel(second);
    first = loop_timer(loop, 1, on_timer, &first);
    loop_run(loop);
    assert_int_equal(n_fired, 1);
    assert_null(first);
}

static void a_restarted_timer_counts_anew(void **state)
{
    struct timer *late;
    (void) state;
    n_fired = 0;
    late = loop_timer(loop, 3600000, on_timer, &late);
    timer_restart(late, 1);
    loop_run(loop);
    assert_int_equal(n_fired, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_posted_task_runs_once_in_its_thread_s_order),
        TEST(a_watch_fires_and_its_descriptor_is_closed_with_it),
        TEST(a_released_descriptor_stays_open),
        TEST(what_cannot_be_watched_is_an_error_and_closed),
        TEST(a_timer_fires_once_and_a_cancelled_one_never),
        TEST(a_restarted_timer_counts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
