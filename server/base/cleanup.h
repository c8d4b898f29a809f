// SPDX-License-Identifier: Apache-2.0
/* Locals that clean up after themselves, and the visible hand-over of what they hold.
 *
 *   auto_fd int fd = memfd_create(…);     closed on every way out of the block
 *   return steal_fd(&fd);                 unless it is handed on */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *slot)
{
    const int saved = errno;
    free(*(void **) slot);
    errno = saved;
}

static inline void cleanup_fd(const int *fd)
{
    const int saved = errno;
    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_fd   __attribute__((cleanup(cleanup_fd)))

static inline int steal_fd(int *fd)
{
    const int stolen = *fd;
    *fd = -1;
    return stolen;
}

static inline void *steal_pointer_(void *slot)
{
    void *stolen = *(void **) slot;
    *(void **) slot = NULL;
    return stolen;
}
/* Keeps the pointer's type. */
#define steal_pointer(slot) ((__typeof__(*(slot))) steal_pointer_(slot))

#endif
