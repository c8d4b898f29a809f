// SPDX-License-Identifier: Apache-2.0
/* Buffers: memory for tensors, made and counted here, mapped by everybody but the daemon.
 *
 * A buffer is a memfd whose size is sealed. Its owner, a session, refers to it by a handle that is
 * never used twice, so a handle of an old daemon or another session is refused and not misread. A
 * buffer in use by a call stays until the call ends, whatever its owner says. */
#ifndef BUFFERS_BUFFERS_H
#define BUFFERS_BUFFERS_H

#include "base/limits.h"

struct buffers;

struct buffer {
    uint64_t handle, owner; /* owner: a session's id */
    uint64_t size;          /* bytes, whole pages */
    int fd;                 /* read-write; lent, not given */
    uint32_t n_users;       /* calls under way */
    bool is_doomed;         /* freed by its owner; goes with its last user */
};

/* Called before a buffer goes, whyever it does. */
typedef void (*buffer_gone_fn)(void *cookie, const struct buffer *buffer);

KR_CHECK struct buffers *buffers_new(const struct limits *limits, buffer_gone_fn on_gone,
                                     void *cookie);
struct buffers *buffers_free(struct buffers *buffers);

KR_CHECK int buffer_create(struct buffers *buffers, uint64_t owner, uint64_t size,
                           struct buffer **ret, kr_error *err);
/* The owner's buffer, or NULL with a NO_BUFFER error. */
struct buffer *buffer_find(struct buffers *buffers, uint64_t owner, uint64_t handle, kr_error *err);
/* A second descriptor of the same memory that can only be read and mapped read-only. A mapping
 * made from it cannot be made writable later, which one made from a read-write one could. */
KR_CHECK int buffer_open_read_only(const struct buffer *buffer, int *ret_fd, kr_error *err);

void buffer_use(struct buffer *buffer);
/* The end of a use; the buffer may be gone afterwards. */
void buffer_unuse(struct buffers *buffers, struct buffer *buffer);
/* Frees it, or has it go with its last user. */
void buffer_release(struct buffers *buffers, struct buffer *buffer);
void buffers_release_all(struct buffers *buffers, uint64_t owner);

#endif
