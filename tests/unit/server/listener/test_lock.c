// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "listener/lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[64], path[128];

static int prepare(void **state)
{
    (void) state;
    snprintf(folder, sizeof folder, "/tmp/kernrig-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/s", folder);
    return 0;
}

static int clean(void **state)
{
    (void) state;
    listener_unlink(path);
    return rmdir(folder);
}

static void a_lock_is_held_by_one(void **state)
{
    int first = -1, second = -1;
    kr_error err;
    char pid[32];
    (void) state;
    assert_int_equal(listener_lock(path, &first, &err), 0);
    assert_int_equal(listener_lock(path, &second, &err), KR_CODE_DUPLICATE);
    snprintf(pid, sizeof pid, "process id %d", (int) getpid());
    assert_non_null(strstr(err.text, pid));
    assert_non_null(strstr(err.text, path));
    close(first);
    assert_int_equal(listener_lock(path, &second, &err), 0);
    close(second);
}

static void a_path_that_is_too_long_is_refused_with_its_length(void **state)
{
    char long_path[200];
    int fd;
    kr_error err;
    (void) state;
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    assert_int_equal(listener_lock(long_path, &fd, &err), KR_CODE_VALUE);
    assert_non_null(strstr(err.text, "199 bytes"));
    assert_non_null(strstr(err.text, "1 to 107"));
    assert_int_equal(listener_lock("", &fd, &err), KR_CODE_VALUE);
}

static void a_folder_that_does_not_exist_is_named(void **state)
{
    int fd;
    kr_error err;
    (void) state;
    assert_int_equal(listener_lock("/nonexistent-kernrig/s", &fd, &err), KR_CODE_SYSTEM);
    assert_non_null(strstr(err.text, "Does its folder exist?"));
}

static void a_socket_has_its_mode_from_the_start_and_replaces_a_dead_one(void **state)
{
    struct stat stat;
    int first = -1, second = -1;
    kr_error err;
    (void) state;
    assert_int_equal(listener_bind(path, 0660, &first, &err), 0);
    assert_int_equal(lstat(path, &stat), 0);
    assert_int_equal(stat.st_mode & 0777, 0660);
    close(first); /* its owner dies; the file stays */
    assert_int_equal(listener_bind(path, 0600, &second, &err), 0);
    assert_int_equal(lstat(path, &stat), 0);
    assert_int_equal(stat.st_mode & 0777, 0600);
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(connect(client, (const struct sockaddr *) &address, sizeof address), 0);
    close(client);
    close(second);
}

/* Of another program, which has no lock: of our type or another, it stays where it is. */
static void a_socket_that_somebody_listens_on_is_left_alone(void **state)
{
    static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void) state;
    memcpy(address.sun_path, path, strlen(path));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct stat before, after;
        kr_error err;
        int fd;
        const int theirs = socket(AF_UNIX, types[i], 0);
        assert_int_equal(bind(theirs, (const struct sockaddr *) &address, sizeof address), 0);
        if (types[i] != SOCK_DGRAM)
            assert_int_equal(listen(theirs, 1), 0);
        assert_int_equal(lstat(path, &before), 0);
        assert_int_equal(listener_bind(path, 0600, &fd, &err), KR_CODE_DUPLICATE);
        assert_non_null(strstr(err.text, "in use by another program"));
        assert_int_equal(lstat(path, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        close(theirs);
        /* Its owner has ended: now the path is free. */
        assert_int_equal(listener_bind(path, 0600, &fd, &err), 0);
        close(fd);
        unlink(path);
    }
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    kr_error err;
    (void) state;
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    assert_int_equal(listener_bind(path, 0600, &fd, &err), KR_CODE_DUPLICATE);
    struct stat stat;
    assert_int_equal(lstat(path, &stat), 0);
    assert_int_equal(stat.st_size, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lock_is_held_by_one),
        TEST(a_path_that_is_too_long_is_refused_with_its_length),
        TEST(a_folder_that_does_not_exist_is_named),
        TEST(a_socket_has_its_mode_from_the_start_and_replaces_a_dead_one),
        TEST(a_socket_that_somebody_listens_on_is_left_alone),
        TEST(a_file_that_is_no_socket_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
