// SPDX-License-Identifier: Apache-2.0
/* Sessions: who is here, known by 16 random bytes.
 *
 * A session begins unbound; its client binds a local connection to it within session_bind_ms, or
 * it ends. With the local connection it ends as well. What a session owns – buffers, workers,
 * waiting calls – hangs on its id; the end handler takes it all down. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/limits.h"
#include "loop/loop.h"
#include <sys/types.h>

enum { SESSION_TOKEN = 16 };

struct sessions;

struct session {
    uint64_t id; /* small and countable, for the log and for owners; never used twice */
    uint8_t token[SESSION_TOKEN];
    uid_t uid;
    pid_t pid;
    bool is_bound;
    /* Of the local connection that has bound it: told when the session ends. */
    void (*on_end)(void *cookie);
    void *cookie;
    /* Of the service: work that waits or runs. */
    void *work;
    uint64_t n_executing;
};

typedef void (*session_end_fn)(void *cookie, struct session *session);

KR_CHECK struct sessions *sessions_new(struct loop *loop, const struct limits *limits,
                                       session_end_fn on_end, void *cookie);
/* Ends all sessions. Accepts NULL and returns NULL. */
struct sessions *sessions_free(struct sessions *sessions);

KR_CHECK int session_open(struct sessions *sessions, uid_t uid, pid_t pid, struct session **ret,
                          kr_error *err);
/* The session with this token, or NULL with a NO_SESSION error: also for a token of a wrong size.
 */
struct session *session_find(struct sessions *sessions, const uint8_t *token, size_t size,
                             kr_error *err);
/* Ties the session to a local connection of the same user; once. on_end is called when the session
 * ends, whyever it does. */
KR_CHECK int session_bind(struct session *session, uid_t uid, void (*on_end)(void *cookie),
                          void *cookie, kr_error *err);
void session_end(struct sessions *sessions, struct session *session, const char *why);
uint64_t sessions_count(const struct sessions *sessions);

#endif
