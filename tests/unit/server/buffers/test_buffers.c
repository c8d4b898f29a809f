// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "buffers/buffers.h"
#include "no_memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct limits limits;
static struct buffers *buffers;
static uint64_t last_gone;

static void on_gone(void *cookie, const struct buffer *buffer)
{
    (void) cookie;
    last_gone = buffer->handle;
}

static int prepare(void **state)
{
    (void) state;
    limits_init(&limits);
    last_gone = 0;
    buffers = buffers_new(&limits, on_gone, NULL);
    return buffers ? 0 : -1;
}

static int clean(void **state)
{
    (void) state;
    buffers = buffers_free(buffers);
    return 0;
}

static struct buffer *make(uint64_t owner, uint64_t size)
{
    struct buffer *buffer = NULL;
    kr_error err;
    assert_int_equal(buffer_create(buffers, owner, size, &buffer, &err), 0);
    return buffer;
}

static void a_buffer_has_whole_pages_and_cannot_change_its_size(void **state)
{
    struct stat stat;
    (void) state;
    const struct buffer *b = make(1, 5000);
    assert_int_equal(b->size, 8192);
    assert_int_equal(fstat(b->fd, &stat), 0);
    assert_int_equal(stat.st_size, 8192);
    assert_int_equal(ftruncate(b->fd, 4096), -1);
    assert_int_equal(ftruncate(b->fd, 16384), -1);
    assert_int_equal(fcntl(b->fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    assert_int_equal(make(1, 0)->size, 4096); /* a tensor without elements still has a place */
}

static void a_read_only_descriptor_cannot_be_mapped_writable(void **state)
{
    int fd = -1;
    kr_error err;
    const struct buffer *b = make(1, 4096);
    (void) state;
    assert_int_equal(buffer_open_read_only(b, &fd, &err), 0);
    void *address = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(address, MAP_FAILED);
    assert_int_equal(mprotect(address, 4096, PROT_READ | PROT_WRITE), -1);
    munmap(address, 4096);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    close(fd);
}

static void a_buffer_is_found_by_its_owner_alone(void **state)
{
    kr_error err;
    struct buffer *b = make(1, 4096);
    (void) state;
    assert_ptr_equal(buffer_find(buffers, 1, b->handle, &err), b);
    assert_null(buffer_find(buffers, 2, b->handle, &err));
    assert_int_equal(err.code, KR_CODE_NO_BUFFER);
    assert_null(buffer_find(buffers, 1, b->handle + 1, &err));
}

static void a_handle_is_never_used_twice(void **state)
{
    kr_error err;
    struct buffer *b = make(1, 4096);
    const uint64_t first = b->handle;
    (void) state;
    buffer_release(buffers, b);
    assert_int_equal(last_gone, first);
    assert_int_not_equal(make(1, 4096)->handle, first);
    assert_null(buffer_find(buffers, 1, first, &err));
}

static void a_buffer_in_use_goes_with_its_last_user(void **state)
{
    kr_error err;
    struct buffer *b = make(1, 4096);
    const uint64_t handle = b->handle;
    (void) state;
    buffer_use(b);
    buffer_use(b);
    buffer_release(buffers, b);
    assert_null(buffer_find(buffers, 1, handle, &err)); /* for new calls it is gone */
    buffer_unuse(buffers, b);
    assert_int_equal(last_gone, 0);
    buffer_unuse(buffers, b);
    assert_int_equal(last_gone, handle);
}

static void each_limit_is_reached_and_named(void **state)
{
    struct buffer *b;
    kr_error err;
    (void) state;
    limits.buffer_bytes = 8192;
    assert_int_equal(buffer_create(buffers, 1, 8193, &b, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'buffer_bytes'"));
    assert_int_equal(buffer_create(buffers, 1, UINT64_MAX, &b, &err), KR_CODE_LIMIT);
    limits.buffers = 2;
    make(1, 4096);
    make(1, 4096);
    assert_int_equal(buffer_create(buffers, 1, 4096, &b, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'buffers'"));
    limits.session_bytes = 4096;
    assert_int_equal(buffer_create(buffers, 2, 8192, &b, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'session_bytes'"));
    limits.total_bytes = 12288;
    make(2, 4096);
    assert_int_equal(buffer_create(buffers, 3, 4096, &b, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'total_bytes'"));
    /* What is freed counts no more. */
    buffers_release_all(buffers, 1);
    make(3, 4096);
}

static void all_of_an_owner_go_and_nobody_else_s(void **state)
{
    kr_error err;
    struct buffer *theirs = make(2, 4096);
    (void) state;
    for (int i = 0; i < 10; i++)
        make(1, 4096);
    const int before = dup(0);
    close(before);
    buffers_release_all(buffers, 1);
    const int after = dup(0);
    close(after);
    assert_true(after < before); /* their descriptors are closed */
    assert_ptr_equal(buffer_find(buffers, 2, theirs->handle, &err), theirs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
/* At each of its allocations: the buffer, its owner's account, and two tables. */
static void a_buffer_without_memory_is_refused_whole(void **state)
{
    kr_error err;
    (void) state;
    const int before = dup(0);
    close(before);
    for (int n = 0;; n++) {
        struct buffer *buffer = NULL;
        allocations_left = n;
        const int r = buffer_create(buffers, 1, 4096, &buffer, &err);
        allocations_left = -1;
        if (r == 0) {
            assert_int_equal(n, 6);
            assert_ptr_equal(buffer_find(buffers, 1, buffer->handle, &err), buffer);
            buffer_release(buffers, buffer);
            break;
        }
        assert_int_equal(r, KR_CODE_SYSTEM);
        assert_null(buffer);
    }
    const int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_buffer_has_whole_pages_and_cannot_change_its_size),
        TEST(a_read_only_descriptor_cannot_be_mapped_writable),
        TEST(a_buffer_is_found_by_its_owner_alone),
        TEST(a_handle_is_never_used_twice),
        TEST(a_buffer_in_use_goes_with_its_last_user),
        TEST(each_limit_is_reached_and_named),
        TEST(all_of_an_owner_go_and_nobody_else_s),
        TEST(a_buffer_without_memory_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
