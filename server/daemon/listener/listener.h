// SPDX-License-Identifier: Apache-2.0
/* The daemon's one door: a Unix socket for two protocols.
 *
 * The first byte of a connection decides: 'P' opens HTTP/2 and goes to gRPC, anything else is the
 * local protocol. Both see who connects, by SO_PEERCRED. The socket belongs to whoever holds the
 * lock on "<path>.lock": a second daemon is refused instead of stealing the path, and a socket
 * that a dead daemon left behind is replaced. */
#ifndef LISTENER_LISTENER_H
#define LISTENER_LISTENER_H

#include "base/limits.h"
#include "loop/loop.h"
#include <sys/types.h>

struct listener;

struct peer {
    pid_t pid; /* at the time of connecting; for the log */
    uid_t uid;
    gid_t gid;
};

struct listener_options {
    const char *path;
    mode_t mode; /* of the socket: 0600, or 0660 for a group */
    const struct limits *limits;
};

/* Each takes the descriptor, which does not block. Nothing has been read from it. */
struct listener_handlers {
    void *cookie;
    void (*http2)(void *cookie, int fd);
    void (*local)(void *cookie, int fd, const struct peer *peer);
};

KR_CHECK int listener_open(struct loop *loop, const struct listener_options *options,
                           const struct listener_handlers *handlers, struct listener **ret,
                           kr_error *err);
/* Takes no more connections, and removes the socket. Accepts NULL and returns NULL. */
struct listener *listener_close(struct listener *listener);

/* A local connection has ended: its place is free. HTTP/2 connections are noticed without. */
void listener_left(struct listener *listener);
/* Who opened the HTTP/2 connection that gRPC calls "fd:17"; false if that is not known any more. */
bool listener_peer(const struct listener *listener, const char *grpc_peer, struct peer *ret);

#endif
