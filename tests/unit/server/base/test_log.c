// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int pipe_fds[2];

static int open_pipe(void **state)
{
    (void) state;
    if (pipe2(pipe_fds, O_NONBLOCK) != 0)
        return -1;
    log_open(pipe_fds[1], LOG_INFO);
    return 0;
}

static int close_pipe(void **state)
{
    (void) state;
    log_open(-1, LOG_OFF);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return 0;
}

static const char *read_line(char *line, size_t size)
{
    const ssize_t n = read(pipe_fds[0], line, size - 1);
    line[n > 0 ? n : 0] = 0;
    return line;
}

static void an_event_is_one_line_of_json(void **state)
{
    char line[8192];
    (void) state;
    log_info("session.opened", log_u64("session", UINT64_MAX), log_i64("pid", -1),
             log_text("client", "a \"b\"\\\n\x01"));
    read_line(line, sizeof line);
    assert_non_null(strstr(line, "\"level\":\"info\",\"event\":\"session.opened\","
                                 "\"session\":18446744073709551615,\"pid\":-1,"
                                 "\"client\":\"a \\\"b\\\"\\\\\\u000a\\u0001\"}\n"));
    assert_int_equal(line[0], '{');
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void what_is_below_the_level_is_not_written(void **state)
{
    char line[8192];
    (void) state;
    log_debug("quiet", log_u64("n", 1));
    assert_string_equal(read_line(line, sizeof line), "");
    assert_false(log_is_on(LOG_DEBUG));
}

static void a_field_that_does_not_fit_is_left_out_and_the_line_says_so(void **state)
{
    static char huge[10000];
    char line[8192];
    (void) state;
    memset(huge, 'x', sizeof huge - 1);
    log_info("big", log_text("text", huge), log_u64("n", 1));
    read_line(line, sizeof line);
    assert_non_null(strstr(line, "\"n\":1,\"cut\":true}\n"));
    assert_null(strstr(line, "xxx"));
}

/* The pipe is shared with whoever reads it, and blocks: the log has a description of its own. */
static void a_reader_that_does_not_read_stops_nobody(void **state)
{
    static char text[2000], chunk[4096];
    char line[8192];
    const int flags = fcntl(pipe_fds[1], F_GETFL);
    ssize_t n;
    (void) state;
    assert_int_equal(fcntl(pipe_fds[1], F_SETFL, flags & ~O_NONBLOCK), 0);
    log_open(pipe_fds[1], LOG_INFO);
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 100; i++)
        log_info("many", log_text("text", text));
    assert_int_equal(fcntl(pipe_fds[1], F_GETFL) & O_NONBLOCK, 0);
    size_t bytes = 0, lines = 0;
    while ((n = read(pipe_fds[0], chunk, sizeof chunk)) > 0) {
        bytes += (size_t) n;
        for (ssize_t i = 0; i < n; i++)
            lines += chunk[i] == '\n';
    }
    assert_true(lines > 10 && lines < 100);
    assert_true(bytes / lines > sizeof text); /* none was cut */
    log_info("next", log_u64("n", 1));
    snprintf(chunk, sizeof chunk, "\"n\":1,\"dropped\":%zu}\n", 100 - lines);
    assert_non_null(strstr(read_line(line, sizeof line), chunk));
    log_info("next", log_u64("n", 2));
    assert_non_null(strstr(read_line(line, sizeof line), "\"n\":2}\n"));
}

static void a_socket_is_not_waited_for_either(void **state)
{
    static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
    char text[2000], line[8192];
    (void) state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, types[i], 0, pair), 0);
        log_open(pair[0], LOG_INFO);
        for (int k = 0; k < 1000; k++)
            log_info("many", log_text("text", text));
        while (recv(pair[1], line, sizeof line, MSG_DONTWAIT) > 0) {
        }
        log_info("next", log_u64("n", 1));
        const ssize_t n = recv(pair[1], line, sizeof line - 1, MSG_DONTWAIT);
        line[n > 0 ? n : 0] = 0;
        assert_non_null(strstr(line, "\"n\":1,\"dropped\":"));
        close(pair[1]);
        log_info("nobody", log_u64("n", 2)); /* no SIGPIPE */
        close(pair[0]);
    }
    log_open(pipe_fds[1], LOG_INFO);
    log_info("flush", log_u64("n", 1)); /* what was lost above is told here */
    assert_non_null(strstr(read_line(line, sizeof line), "\"dropped\":1}\n"));
}

static void what_is_not_utf8_becomes_utf8(void **state)
{
    char line[8192];
    (void) state;
    log_info("x", log_text("client", "a\xff\xc3\xa9\xe2\x82\"\xf0\x9f\x98\x80\xc3"));
    assert_non_null(strstr(read_line(line, sizeof line),
                           "\"client\":\"a?\xc3\xa9??\\\"\xf0\x9f\x98\x80?\"}\n"));
}

static void levels_are_read_by_name(void **state)
{
    enum log_level level = LOG_ERROR;
    (void) state;
    assert_true(log_parse_level("warning", &level));
    assert_int_equal(level, LOG_WARNING);
    assert_false(log_parse_level("loud", &level));
    assert_int_equal(level, LOG_WARNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_one_line_of_json, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(what_is_below_the_level_is_not_written, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(a_field_that_does_not_fit_is_left_out_and_the_line_says_so,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(a_reader_that_does_not_read_stops_nobody, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(a_socket_is_not_waited_for_either, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(what_is_not_utf8_becomes_utf8, open_pipe, close_pipe),
        cmocka_unit_test(levels_are_read_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
