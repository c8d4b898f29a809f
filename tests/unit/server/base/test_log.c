// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "base/log.h"

#include <fcntl.h>
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
        cmocka_unit_test(levels_are_read_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
