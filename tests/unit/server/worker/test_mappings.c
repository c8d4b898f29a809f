// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "no_memory.h"
#include "worker/mappings.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mappings *mappings;
static int fd;

static int prepare(void **state)
{
    (void) state;
    mappings = mappings_new();
    fd = memfd_create("test", MFD_CLOEXEC);
    return mappings && fd >= 0 && ftruncate(fd, 8192) == 0 ? 0 : -1;
}

static int clean(void **state)
{
    (void) state;
    for (uint64_t buffer = 1; buffer < 4; buffer++)
        mappings_remove(mappings, buffer);
    free(mappings);
    return close(fd);
}

static void add(uint64_t buffer, bool writable)
{
    const struct wire_map map = { .buffer = buffer, .size = 8192, .writable = writable };
    kr_error err;
    assert_int_equal(mappings_add(mappings, &map, fd, &err), 0);
}

static void both_kinds_of_a_buffer_are_found_apart(void **state)
{
    uint64_t size = 0;
    (void) state;
    add(1, false);
    assert_null(mappings_find(mappings, 1, true, &size));
    add(1, true);
    char *reading = mappings_find(mappings, 1, false, &size);
    char *writing = mappings_find(mappings, 1, true, &size);
    assert_int_equal(size, 8192);
    assert_ptr_not_equal(reading, writing);
    writing[5000] = 'x';
    assert_int_equal(reading[5000], 'x');
}

static void the_same_twice_is_an_error(void **state)
{
    const struct wire_map map = { .buffer = 1, .size = 8192, .writable = false };
    kr_error err;
    (void) state;
    add(1, false);
    assert_int_equal(mappings_add(mappings, &map, fd, &err), KR_CODE_MALFORMED);
}

static void impossible_sizes_are_errors(void **state)
{
    kr_error err;
    struct wire_map map = { .buffer = 2, .size = 0 };
    (void) state;
    assert_int_equal(mappings_add(mappings, &map, fd, &err), KR_CODE_MALFORMED);
    map.size = UINT64_MAX - 100;
    assert_int_equal(mappings_add(mappings, &map, fd, &err), KR_CODE_MALFORMED);
    map.size = UINT64_C(1) << 60;
    assert_int_equal(mappings_add(mappings, &map, fd, &err), KR_CODE_SYSTEM);
}

static void what_is_removed_is_gone(void **state)
{
    uint64_t size;
    (void) state;
    add(3, false);
    add(3, true);
    mappings_remove(mappings, 3);
    assert_null(mappings_find(mappings, 3, false, &size));
    assert_null(mappings_find(mappings, 3, true, &size));
    mappings_remove(mappings, 3); /* once more does nothing */
}

static sigjmp_buf back;
static void on_fault(int signal) { siglongjmp(back, signal); }

/* Which signal touching an address raises, or 0. */
static int touch(volatile char *address)
{
    struct sigaction action = { .sa_handler = on_fault }, old;
    sigaction(SIGSEGV, &action, &old);
    const int signal = sigsetjmp(back, 1);
    if (signal == 0)
        *address = 1;
    sigaction(SIGSEGV, &old, NULL);
    return signal;
}

static void guards_stand_on_both_sides(void **state)
{
    uint64_t size;
    (void) state;
    add(1, true);
    char *base = mappings_find(mappings, 1, true, &size);
    assert_int_equal(touch(base), 0);
    assert_int_equal(touch(base + 8191), 0);
    assert_int_equal(touch(base - 1), SIGSEGV);
    assert_int_equal(touch(base - MAPPINGS_GUARD), SIGSEGV);
    assert_int_equal(touch(base + 8192), SIGSEGV);
    assert_int_equal(touch(base + 8192 + MAPPINGS_GUARD - 1), SIGSEGV);
}

static void an_input_cannot_be_written(void **state)
{
    uint64_t size;
    (void) state;
    add(1, false);
    assert_int_equal(touch(mappings_find(mappings, 1, false, &size)), SIGSEGV);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
static void a_mapping_without_memory_is_refused_whole(void **state)
{
    const struct wire_map map = { .buffer = 1, .size = 8192 };
    kr_error err;
    uint64_t size;
    (void) state;
    for (int n = 0; n < 3; n++) {
        allocations_left = n;
        const int r = mappings_add(mappings, &map, fd, &err);
        allocations_left = -1;
        assert_int_equal(r, KR_CODE_MEMORY);
        assert_null(mappings_find(mappings, 1, false, &size));
    }
    add(1, false);
    assert_non_null(mappings_find(mappings, 1, false, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_kinds_of_a_buffer_are_found_apart),
        TEST(the_same_twice_is_an_error),
        TEST(impossible_sizes_are_errors),
        TEST(what_is_removed_is_gone),
        TEST(guards_stand_on_both_sides),
        TEST(an_input_cannot_be_written),
        TEST(a_mapping_without_memory_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
