// SPDX-License-Identifier: Apache-2.0
/* The lock file beside the socket, and the socket itself. */
#ifndef LISTENER_LOCK_H
#define LISTENER_LOCK_H

#include <kernrig/err.h>
#include <sys/types.h>

/* Takes the lock of a socket path and returns its descriptor; the lock lasts as long as that. The
 * error names the daemon that has it. */
KR_CHECK int listener_lock(const char *path, int *ret_fd, kr_error *err);
/* Binds and listens, having removed a dead daemon's socket; a socket that somebody
 * listens on is an error. Call it with the lock held. */
KR_CHECK int listener_bind(const char *path, mode_t mode, int *ret_fd, kr_error *err);
/* Removes socket and lock file; both must be ours. */
void listener_unlink(const char *path);
/* Removes the lock file only: the path is somebody else's. */
void listener_unlink_lock(const char *path);

#endif
