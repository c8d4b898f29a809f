// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "service/state.h"

static void on_session_end(void *cookie, struct session *session)
{
    struct service *service = cookie;
    kr_error why;
    kr_error_set(&why, KR_CODE_NO_SESSION, "the session has ended while the call waited or ran");
    lanes_close(service, session);
    executions_end(session, &why);
    lanes_free(service, session);
    buffers_release_all(service->buffers, session->id);
}

static void on_buffer_gone(void *cookie, const struct buffer *buffer)
{
    lanes_forget(cookie, buffer);
}

static void on_no_workers(void *cookie)
{
    struct service *service = cookie;
    if (service->is_stopping && service->stopped) {
        const service_stopped_fn stopped = service->stopped;
        service->stopped = NULL;
        stopped(service->stopped_cookie);
    }
}

static int init(struct service *service, const struct service_options *options)
{
    service->options = *options;
    service->workers = (struct workers){ .loop = options->loop,
                                         .limits = options->limits,
                                         .binary = options->worker_binary,
                                         .on_none = on_no_workers,
                                         .cookie = service };
    service->registry = kr_registry_new();
    service->sessions = sessions_new(options->loop, options->limits, on_session_end, service);
    service->buffers = buffers_new(options->limits, on_buffer_gone, service);
    return service->registry && service->sessions && service->buffers ? 0 : -1;
}

struct service *service_new(const struct service_options *options, kr_error *err)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service || init(service, options) < 0) {
        kr_error_set(err, KR_CODE_SYSTEM, "no memory for the service");
        return service_free(service);
    }
    return service;
}

struct service *service_free(struct service *service)
{
    if (!service)
        return NULL;
    sessions_free(service->sessions);
    buffers_free(service->buffers);
    libraries_free(service);
    kr_registry_free(service->registry);
    free(service);
    return NULL;
}

void service_stop(struct service *service, service_stopped_fn done, void *cookie)
{
    service->is_stopping = true;
    service->stopped = done;
    service->stopped_cookie = cookie;
    service->sessions = sessions_free(service->sessions);
    libraries_stop(service);
    if (service->workers.n_running == 0)
        on_no_workers(service);
}

kr_registry *service_registry(const struct service *service) { return service->registry; }
uint64_t service_sessions(const struct service *service)
{
    return service->sessions ? sessions_count(service->sessions) : 0;
}

/* Sessions. */

static int refuse_if_stopping(const struct service *service, kr_error *err)
{
    return service->is_stopping ? kr_error_set(err, KR_CODE_STOPPING, "the daemon is shutting down")
                                : 0;
}

int service_open_session(struct service *service, uid_t uid, pid_t pid, const char *client,
                         struct session **ret, kr_error *err)
{
    int r = refuse_if_stopping(service, err);
    if (r == 0)
        r = session_open(service->sessions, uid, pid, ret, err);
    if (r == 0)
        log_info("session.opened", log_u64("session", (*ret)->id), log_i64("pid", pid),
                 log_u64("uid", uid), log_text("client", client));
    return r;
}

struct session *service_session(struct service *service, const uint8_t *token, size_t size,
                                kr_error *err)
{
    if (refuse_if_stopping(service, err) < 0)
        return NULL;
    return session_find(service->sessions, token, size, err);
}

void service_end_session(struct service *service, struct session *session, const char *why)
{
    if (service->sessions)
        session_end(service->sessions, session, why);
}

/* Buffers. */

int service_create_buffers(struct service *service, const struct session *session,
                           const uint64_t *sizes, size_t n, struct buffer **ret, kr_error *err)
{
    if (n > service->options.limits->buffers)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%zu buffers in one request exceed the limit 'buffers' of %llu", n,
                            (unsigned long long) service->options.limits->buffers);
    for (size_t i = 0; i < n; i++) {
        const int r = buffer_create(service->buffers, session->id, sizes[i], &ret[i], err);
        if (r < 0) {
            while (i-- > 0)
                buffer_release(service->buffers, ret[i]);
            return r;
        }
    }
    return 0;
}

int service_free_buffers(struct service *service, const struct session *session,
                         const uint64_t *handles, size_t n, kr_error *err)
{
    kr_error why;
    int r = 0;
    for (size_t i = 0; i < n; i++) {
        struct buffer *buffer = buffer_find(service->buffers, session->id, handles[i], &why);
        if (buffer)
            buffer_release(service->buffers, buffer);
        else if (r == 0)
            r = kr_error_set(err, why.code, "%s", why.text);
    }
    return r;
}

struct buffer *service_buffer(struct service *service, const struct session *session,
                              uint64_t handle, kr_error *err)
{
    return buffer_find(service->buffers, session->id, handle, err);
}
