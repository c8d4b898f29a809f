// SPDX-License-Identifier: Apache-2.0
/* The local protocol's server: binds connections to sessions, and hands out descriptors.
 *
 * The protocol is in wire/local.h. A session lives as long as the connection that has bound it. A
 * peer that begins a message and stalls, binds nothing, or does not read its replies is dropped;
 * it holds up nobody meanwhile, since nothing here waits. */
#ifndef LOCAL_LOCAL_H
#define LOCAL_LOCAL_H

#include "listener/listener.h"
#include "service/service.h"

struct local;

KR_CHECK struct local *local_new(struct loop *loop, const struct limits *limits,
                                 struct service *service);
/* Sessions must have ended. Accepts NULL and returns NULL. */
struct local *local_free(struct local *local);
/* Where places of closed connections are given back; NULL once it is closed. */
void local_set_listener(struct local *local, struct listener *listener);
/* Takes fd. */
void local_accept(struct local *local, int fd, const struct peer *peer);

#endif
