// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "base/log.h"
#include "listener/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* What accept4 answers instead of accepting; 0: it accepts. */
static int failure, n_failures;

/* In place of libc's: no test can have the system run out of memory. */
int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    if (failure) {
        n_failures++;
        errno = failure;
        return -1;
    }
    return (int) syscall(SYS_accept4, fd, address, length, flags);
}

static char folder[64], path[128];
static struct loop *loop;
static struct limits limits;
static struct listener *listener;
static int log_pipe[2], client;

static void on_http2(void *cookie, int fd)
{
    (void) cookie;
    close(fd);
    loop_stop(loop);
}

static void on_local(void *cookie, int fd, const struct peer *peer)
{
    (void) peer;
    on_http2(cookie, fd);
    listener_left(listener);
}

static int prepare(void **state)
{
    const struct listener_handlers handlers = { .http2 = on_http2, .local = on_local };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    kr_error err;
    (void) state;
    snprintf(folder, sizeof folder, "/tmp/kernrig-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/s", folder);
    const struct listener_options options = { .path = path, .mode = 0600, .limits = &limits };
    limits_init(&limits);
    failure = n_failures = 0;
    loop = loop_new(&err);
    if (!loop || pipe2(log_pipe, O_NONBLOCK) != 0)
        return -1;
    log_open(log_pipe[1], LOG_INFO);
    if (listener_open(loop, &options, &handlers, &listener, &err) < 0)
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(client, (const struct sockaddr *) &address, sizeof address) == 0 &&
                   write(client, "KR", 2) == 2
               ? 0
               : -1;
}

static int clean(void **state)
{
    (void) state;
    listener = listener_close(listener);
    loop = loop_free(loop);
    log_open(-1, LOG_OFF);
    close(log_pipe[0]);
    close(log_pipe[1]);
    close(client);
    return rmdir(folder);
}

static void stop_failing(void *cookie)
{
    (void) cookie;
    failure = 0;
}

/* Connections are accepted when the system is able to again; until then nobody is kept busy, and
 * the log says it once. */
static void an_accept_that_fails_is_tried_again_later(void **state)
{
    static const int failures[] = { ENOMEM, ENOBUFS, EMFILE, ENFILE };
    (void) state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        char text[4096];
        if (i > 0) {
            assert_int_equal(clean(NULL), 0);
            assert_int_equal(prepare(NULL), 0);
        }
        failure = failures[i];
        struct timer *end = loop_timer(loop, 250, stop_failing, NULL);
        loop_run(loop);
        timer_cancel(end);
        assert_in_range(n_failures, 2, 8);
        const ssize_t n = read(log_pipe[0], text, sizeof text - 1);
        text[n > 0 ? n : 0] = 0;
        const char *line = strstr(text, "connection.accept");
        assert_non_null(line);
        assert_null(strstr(line + 1, "connection.accept"));
    }
}

static void stop_loop(void *cookie)
{
    (void) cookie;
    loop_stop(loop);
}

static void a_listener_can_be_closed_while_it_pauses(void **state)
{
    (void) state;
    failure = ENOMEM;
    struct timer *end = loop_timer(loop, 20, stop_loop, NULL);
    loop_run(loop);
    timer_cancel(end);
    assert_int_equal(n_failures, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_accept_that_fails_is_tried_again_later),
        TEST(a_listener_can_be_closed_while_it_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
