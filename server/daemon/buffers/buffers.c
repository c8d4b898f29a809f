// SPDX-License-Identifier: Apache-2.0
#include "buffers/buffers.h"

#include "base/cleanup.h"
#include "base/table.h"

#include <fcntl.h>
#include <sys/mman.h>

/* What an owner has, for its limits. */
struct account {
    uint64_t owner, n_buffers, bytes;
    UT_hash_handle hh;
};

struct entry {
    struct buffer buffer; /* first: a buffer is its entry */
    struct account *account;
    UT_hash_handle hh;
};

struct buffers {
    const struct limits *limits;
    buffer_gone_fn on_gone;
    void *cookie;
    uint64_t last_handle, bytes;
    struct entry *by_handle;
    struct account *accounts;
};

struct buffers *buffers_new(const struct limits *limits, buffer_gone_fn on_gone, void *cookie)
{
    struct buffers *buffers = calloc(1, sizeof *buffers);
    if (buffers)
        *buffers = (struct buffers){ .limits = limits, .on_gone = on_gone, .cookie = cookie };
    return buffers;
}

static struct account *account_of(struct buffers *buffers, uint64_t owner)
{
    struct account *account = NULL;
    HASH_FIND(hh, buffers->accounts, &owner, sizeof owner, account);
    return account;
}

static void free_if_empty(struct buffers *buffers, struct account *account)
{
    if (account->n_buffers > 0)
        return;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it does not follow uthash's links */
    HASH_DEL(buffers->accounts, account);
    free(account);
}

static void destroy(struct buffers *buffers, struct entry *entry)
{
    struct account *account = entry->account;
    buffers->on_gone(buffers->cookie, &entry->buffer);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it does not follow uthash's links */
    HASH_DEL(buffers->by_handle, entry);
    buffers->bytes -= entry->buffer.size;
    account->bytes -= entry->buffer.size;
    account->n_buffers--;
    free_if_empty(buffers, account);
    close(entry->buffer.fd);
    free(entry);
}

struct buffers *buffers_free(struct buffers *buffers)
{
    if (!buffers)
        return NULL;
    struct entry *entry, *next;
    HASH_ITER (hh, buffers->by_handle, entry, next)
        destroy(buffers, entry);
    free(buffers);
    return NULL;
}

static int check_limits(const struct buffers *buffers, const struct account *account, uint64_t size,
                        kr_error *err)
{
    const struct limits *limits = buffers->limits;
    const struct {
        const char *name;
        uint64_t have, more, most;
    } checks[] = {
        { "buffer_bytes", 0, size, limits->buffer_bytes },
        { "buffers", account ? account->n_buffers : 0, 1, limits->buffers },
        { "total_buffers", HASH_COUNT(buffers->by_handle), 1, limits->total_buffers },
        { "session_bytes", account ? account->bytes : 0, size, limits->session_bytes },
        { "total_bytes", buffers->bytes, size, limits->total_bytes },
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].more > checks[i].most || checks[i].have > checks[i].most - checks[i].more)
            return kr_error_set(err, KR_CODE_LIMIT,
                                "a buffer of %llu bytes exceeds the limit '%s' of %llu, of which "
                                "%llu are in use: free tensors, or start kernrigd with "
                                "--limit %s=N",
                                (unsigned long long) size, checks[i].name,
                                (unsigned long long) checks[i].most,
                                (unsigned long long) checks[i].have, checks[i].name);
    }
    return 0;
}

/* Nobody can shrink it, which would make whoever has mapped it die of SIGBUS. Writing cannot be
 * sealed: outputs are written. */
static int make_memory(uint64_t size, int *ret_fd, kr_error *err)
{
    auto_fd int fd = memfd_create("kernrig", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t) size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a buffer of %llu bytes: %s",
                            (unsigned long long) size, strerror(errno));
    *ret_fd = steal_fd(&fd);
    return 0;
}

int buffer_create(struct buffers *buffers, uint64_t owner, uint64_t size, struct buffer **ret,
                  kr_error *err)
{
    const uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    if (size > INT64_MAX - page)
        return kr_error_set(
            err, KR_CODE_LIMIT, "a buffer of %llu bytes exceeds the limit 'buffer_bytes' of %llu",
            (unsigned long long) size, (unsigned long long) buffers->limits->buffer_bytes);
    const uint64_t whole = size == 0 ? page : (size + page - 1) / page * page;
    struct account *account = account_of(buffers, owner);
    int r = check_limits(buffers, account, whole, err);
    if (r < 0)
        return r;
    auto_fd int fd = -1;
    r = make_memory(whole, &fd, err);
    if (r < 0)
        return r;
    auto_free struct entry *entry = calloc(1, sizeof *entry);
    auto_free struct account *fresh = account ? NULL : calloc(1, sizeof *fresh);
    if (!entry || (!account && !fresh))
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a buffer");
    if (fresh) {
        fresh->owner = owner;
        HASH_ADD(hh, buffers->accounts, owner, sizeof fresh->owner, fresh);
        if (!table_has(fresh))
            return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a buffer");
        account = steal_pointer(&fresh);
    }
    entry->buffer.handle = ++buffers->last_handle;
    HASH_ADD(hh, buffers->by_handle, buffer.handle, sizeof entry->buffer.handle, entry);
    if (!table_has(entry)) {
        free_if_empty(buffers, account);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a buffer");
    }
    entry->buffer.owner = owner;
    entry->buffer.size = whole;
    entry->buffer.fd = steal_fd(&fd);
    entry->account = account;
    account->n_buffers++;
    account->bytes += whole;
    buffers->bytes += whole;
    *ret = &steal_pointer(&entry)->buffer;
    return 0;
}

struct buffer *buffer_find(struct buffers *buffers, uint64_t owner, uint64_t handle, kr_error *err)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, buffers->by_handle, &handle, sizeof handle, entry);
    if (!entry || entry->buffer.owner != owner || entry->buffer.is_doomed) {
        kr_error_set(err, KR_CODE_NO_BUFFER,
                     "this session has no buffer %llu: it was freed, or is another session's",
                     (unsigned long long) handle);
        return NULL;
    }
    return &entry->buffer;
}

int buffer_open_read_only(const struct buffer *buffer, int *ret_fd, kr_error *err)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", buffer->fd);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "buffer %llu cannot be opened again: %s",
                            (unsigned long long) buffer->handle, strerror(errno));
    *ret_fd = fd;
    return 0;
}

void buffer_use(struct buffer *buffer) { buffer->n_users++; }

static void go_if_unused(struct buffers *buffers, struct buffer *buffer)
{
    if (buffer->is_doomed && buffer->n_users == 0)
        destroy(buffers, (struct entry *) buffer);
}

void buffer_unuse(struct buffers *buffers, struct buffer *buffer)
{
    buffer->n_users--;
    go_if_unused(buffers, buffer);
}

void buffer_release(struct buffers *buffers, struct buffer *buffer)
{
    buffer->is_doomed = true;
    go_if_unused(buffers, buffer);
}

void buffers_release_all(struct buffers *buffers, uint64_t owner)
{
    struct entry *entry, *next;
    HASH_ITER (hh, buffers->by_handle, entry, next)
        if (entry->buffer.owner == owner)
            buffer_release(buffers, &entry->buffer);
}
