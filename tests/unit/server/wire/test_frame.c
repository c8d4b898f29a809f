// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "wire/frame.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];
static uint8_t buffer[WIRE_FRAME_MAX];

static int open_pair(void **state)
{
    (void) state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
    (void) state;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static void a_frame_arrives_whole_with_its_descriptors(void **state)
{
    uint8_t bytes[64];
    struct wire_frame frame;
    bool eof;
    kr_error err;
    const int fds[2] = { pair[0], pair[1] };
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_MAP);
    (void) state;
    wire_put_u64(&w, 42);
    assert_int_equal(wire_send(pair[0], &w, fds, 2, &err), 0);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), 1);
    assert_int_equal(frame.type, WIRE_MAP);
    assert_int_equal(frame.n_fds, 2);
    assert_int_equal(wire_get_u64(&frame.body), 42);
    assert_true(wire_done(&frame.body));
    assert_int_equal(fcntl(frame.fds[0], F_GETFD), FD_CLOEXEC);
    const int first = frame.fds[0];
    wire_frame_done(&frame);
    assert_int_equal(fcntl(first, F_GETFD), -1);
}

static void a_frame_of_the_largest_size_fits_and_a_larger_one_is_not_sent(void **state)
{
    static uint8_t large[WIRE_FRAME_MAX];
    struct wire_frame frame;
    bool eof;
    kr_error err;
    struct wire_writer w = wire_begin(large, sizeof large, WIRE_CALL);
    (void) state;
    w.used = sizeof large;
    assert_int_equal(wire_send(pair[0], &w, NULL, 0, &err), 0);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), 1);
    assert_int_equal(frame.size, sizeof large);
    wire_put_u8(&w, 1);
    assert_true(w.full);
    assert_int_equal(wire_send(pair[0], &w, NULL, 0, &err), KR_CODE_LIMIT);
}

static void a_cut_frame_is_an_error_and_leaks_nothing(void **state)
{
    static uint8_t larger[WIRE_FRAME_MAX + 1];
    struct wire_frame frame;
    bool eof;
    kr_error err;
    const int fd = pair[0];
    (void) state;
    const int before = dup(0);
    close(before);
    /* SO_SNDBUF takes a little more than the largest frame. */
    assert_int_equal(wire_send_bytes(pair[0], larger, sizeof larger, &fd, 1, &err), 0);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), KR_CODE_MALFORMED);
    const int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void a_frame_without_a_type_is_an_error(void **state)
{
    struct wire_frame frame;
    bool eof;
    kr_error err;
    const uint8_t bytes[2] = { 1, 2 };
    (void) state;
    assert_int_equal(wire_send_bytes(pair[0], bytes, sizeof bytes, NULL, 0, &err), 0);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), KR_CODE_MALFORMED);
}

/* Not the end: there is more to come, and what came along is closed. */
static void an_empty_frame_is_an_error_and_leaks_nothing(void **state)
{
    struct wire_frame frame;
    bool eof = true;
    kr_error err;
    const int fd = pair[0];
    uint8_t bytes[4] = { WIRE_DONE };
    (void) state;
    const int before = dup(0);
    close(before);
    for (uint32_t n_fds = 0; n_fds < 2; n_fds++) {
        assert_int_equal(wire_send_bytes(pair[0], bytes, 0, &fd, n_fds, &err), 0);
        assert_int_equal(wire_send_bytes(pair[0], bytes, sizeof bytes, NULL, 0, &err), 0);
        assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), KR_CODE_MALFORMED);
        assert_false(eof);
        assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), 1);
        assert_int_equal(frame.type, WIRE_DONE);
    }
    /* From a peer that has ended since, it is still no end while it brings something. */
    assert_int_equal(wire_send_bytes(pair[0], bytes, 0, &fd, 1, &err), 0);
    shutdown(pair[0], SHUT_WR);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), KR_CODE_MALFORMED);
    assert_int_equal(wire_recv(pair[1], 0, buffer, &frame, &eof, &err), 0);
    assert_true(eof);
    const int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

static void the_end_and_nothing_are_told_apart(void **state)
{
    struct wire_frame frame;
    bool eof = true;
    kr_error err;
    (void) state;
    assert_int_equal(wire_recv(pair[1], MSG_DONTWAIT, buffer, &frame, &eof, &err), 0);
    assert_false(eof);
    shutdown(pair[0], SHUT_WR);
    assert_int_equal(wire_recv(pair[1], MSG_DONTWAIT, buffer, &frame, &eof, &err), 0);
    assert_true(eof);
}

static void a_full_socket_says_busy(void **state)
{
    static uint8_t bytes[WIRE_FRAME_MAX];
    struct wire_writer w = wire_begin(bytes, sizeof bytes, WIRE_CALL);
    kr_error err;
    int r = 0;
    (void) state;
    w.used = 60000;
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 100 && r == 0; i++)
        r = wire_send(pair[0], &w, NULL, 0, &err);
    assert_int_equal(r, KR_CODE_BUSY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frame_arrives_whole_with_its_descriptors),
        TEST(a_frame_of_the_largest_size_fits_and_a_larger_one_is_not_sent),
        TEST(a_cut_frame_is_an_error_and_leaks_nothing),
        TEST(a_frame_without_a_type_is_an_error),
        TEST(an_empty_frame_is_an_error_and_leaks_nothing),
        TEST(the_end_and_nothing_are_told_apart),
        TEST(a_full_socket_says_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
