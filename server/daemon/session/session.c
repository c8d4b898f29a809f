// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include "base/log.h"
#include "base/table.h"

#include <errno.h>
#include <sys/random.h>

struct entry {
    struct session session; /* first: a session is its entry */
    struct sessions *sessions;
    struct timer *unbound; /* until it is bound */
    UT_hash_handle hh;
};

struct sessions {
    struct loop *loop;
    const struct limits *limits;
    session_end_fn on_end;
    void *cookie;
    uint64_t last_id;
    struct entry *by_token;
};

static struct entry *entry_of(struct session *session) { return (struct entry *) session; }

struct sessions *sessions_new(struct loop *loop, const struct limits *limits, session_end_fn on_end,
                              void *cookie)
{
    struct sessions *sessions = calloc(1, sizeof *sessions);
    if (sessions)
        *sessions =
            (struct sessions){ .loop = loop, .limits = limits, .on_end = on_end, .cookie = cookie };
    return sessions;
}

struct sessions *sessions_free(struct sessions *sessions)
{
    if (!sessions)
        return NULL;
    while (sessions->by_token)
        session_end(sessions, &sessions->by_token->session, "the daemon stops");
    free(sessions);
    return NULL;
}

static void on_unbound(void *cookie)
{
    struct entry *entry = cookie;
    session_end(entry->sessions, &entry->session, "no local connection has bound it");
}

int session_open(struct sessions *sessions, uid_t uid, pid_t pid, struct session **ret,
                 kr_error *err)
{
    if (sessions_count(sessions) >= sessions->limits->sessions)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%llu sessions are open, which is the limit 'sessions': end one, or "
                            "start kernrigd with --limit sessions=N",
                            (unsigned long long) sessions_count(sessions));
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a session");
    if (getrandom(entry->session.token, SESSION_TOKEN, 0) != SESSION_TOKEN) {
        free(entry);
        return kr_error_set(err, KR_CODE_SYSTEM, "getrandom: %s", strerror(errno));
    }
    entry->sessions = sessions;
    entry->session.id = ++sessions->last_id;
    entry->session.uid = uid;
    entry->session.pid = pid;
    entry->unbound = loop_timer(sessions->loop, sessions->limits->session_bind_ms, on_unbound,
                                entry);
    if (!entry->unbound) {
        free(entry);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a session");
    }
    HASH_ADD(hh, sessions->by_token, session.token, SESSION_TOKEN, entry);
    if (!table_has(entry)) {
        timer_cancel(entry->unbound);
        free(entry);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a session");
    }
    *ret = &entry->session;
    return 0;
}

struct session *session_find(struct sessions *sessions, const uint8_t *token, size_t size,
                             kr_error *err)
{
    struct entry *entry = NULL;
    if (size == SESSION_TOKEN)
        HASH_FIND(hh, sessions->by_token, token, SESSION_TOKEN, entry);
    if (!entry) {
        kr_error_set(err, KR_CODE_NO_SESSION,
                     "this session has ended, or belongs to a daemon that is gone: connect again");
        return NULL;
    }
    return &entry->session;
}

int session_bind(struct session *session, uid_t uid, void (*on_end)(void *cookie), void *cookie,
                 kr_error *err)
{
    struct entry *entry = entry_of(session);
    if (session->is_bound)
        return kr_error_set(err, KR_CODE_PERMISSION, "session %llu has a local connection already",
                            (unsigned long long) session->id);
    if (session->uid != uid)
        return kr_error_set(err, KR_CODE_PERMISSION,
                            "session %llu was opened by user %u and cannot be bound by user %u",
                            (unsigned long long) session->id, session->uid, uid);
    session->is_bound = true;
    session->on_end = on_end;
    session->cookie = cookie;
    entry->unbound = timer_cancel(entry->unbound);
    return 0;
}

void session_end(struct sessions *sessions, struct session *session, const char *why)
{
    struct entry *entry = entry_of(session);
    HASH_DEL(sessions->by_token, entry);
    entry->unbound = timer_cancel(entry->unbound);
    log_info("session.ended", log_u64("session", session->id), log_text("why", why));
    sessions->on_end(sessions->cookie, session);
    if (session->on_end)
        session->on_end(session->cookie);
    free(entry);
}

uint64_t sessions_count(const struct sessions *sessions) { return HASH_COUNT(sessions->by_token); }
