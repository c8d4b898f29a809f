// SPDX-License-Identifier: Apache-2.0
#include "local/local.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "wire/frame.h"
#include "wire/local.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <utlist.h>

struct connection {
    struct connection *prev, *next;
    struct local *local;
    struct watch *watch;
    struct timer *idle; /* runs while a message is incomplete, or nothing is bound */
    struct peer peer;
    struct session *session; /* that it has bound */
    struct local_parser parser;
};

struct local {
    struct loop *loop;
    const struct limits *limits;
    struct service *service;
    struct listener *listener;
    struct connection *connections;
};

struct local *local_new(struct loop *loop, const struct limits *limits, struct service *service)
{
    struct local *local = calloc(1, sizeof *local);
    if (local)
        *local = (struct local){ .loop = loop, .limits = limits, .service = service };
    return local;
}

static void drop(struct connection *connection, const char *why)
{
    struct local *local = connection->local;
    DL_DELETE(local->connections, connection);
    log_debug("local.closed", log_i64("pid", connection->peer.pid), log_text("why", why));
    connection->watch = watch_close(connection->watch);
    connection->idle = timer_cancel(connection->idle);
    if (local->listener)
        listener_left(local->listener);
    if (connection->session) {
        connection->session->on_end = NULL;
        service_end_session(local->service, connection->session, why);
    }
    free(connection);
}

struct local *local_free(struct local *local)
{
    if (!local)
        return NULL;
    while (local->connections)
        drop(local->connections, "the daemon stops");
    free(local);
    return NULL;
}

void local_set_listener(struct local *local, struct listener *listener)
{
    local->listener = listener;
}

/* The session has ended by other means: CloseSession, or the daemon stops. */
static void on_session_end(void *cookie)
{
    struct connection *connection = cookie;
    connection->session = NULL;
    drop(connection, "its session has ended");
}

static void on_idle(void *cookie)
{
    struct connection *connection = cookie;
    log_info("local.stalled", log_i64("pid", connection->peer.pid),
             log_u64("after_ms", connection->local->limits->local_idle_ms));
    drop(connection, "it stalled");
}

/* Replies. */

/* Replies are small: a socket that does not take one whole belongs to a peer that does not read. */
static bool send_reply(struct connection *connection, struct wire_writer *w, const int *fds,
                       uint32_t n_fds)
{
    local_end(w);
    return wire_send(watch_fd(connection->watch), w, fds, n_fds, NULL) == 0;
}

static bool refuse(struct connection *connection, const kr_error *why)
{
    uint8_t bytes[LOCAL_HEAD + KR_ERROR_TEXT + 8];
    struct wire_writer w = local_begin(bytes, sizeof bytes, LOCAL_REFUSED);
    local_put_refused(&w, why);
    log_info("local.refused", log_i64("pid", connection->peer.pid), log_text("why", why->text));
    return send_reply(connection, &w, NULL, 0);
}

static bool bind_session(struct connection *connection, const struct local_request *request)
{
    struct local *local = connection->local;
    uint8_t bytes[LOCAL_HEAD];
    kr_error err;
    struct session *session = service_session(local->service, request->session,
                                              sizeof request->session, &err);
    int r = session ? 0 : err.code;
    if (r == 0 && connection->session)
        r = kr_error_set(&err, KR_CODE_PERMISSION, "this connection has bound a session already");
    if (r == 0)
        r = session_bind(session, connection->peer.uid, on_session_end, connection, &err);
    if (r < 0)
        return refuse(connection, &err);
    connection->session = session;
    struct wire_writer w = local_begin(bytes, sizeof bytes, LOCAL_BOUND);
    return send_reply(connection, &w, NULL, 0);
}

static bool fetch(struct connection *connection, const struct local_request *request)
{
    uint8_t bytes[LOCAL_HEAD + LOCAL_HANDLES * sizeof(uint64_t)];
    int fds[LOCAL_HANDLES];
    kr_error err;
    struct wire_writer w = local_begin(bytes, sizeof bytes, LOCAL_FETCHED);
    if (!connection->session) {
        kr_error_set(&err, KR_CODE_NO_SESSION, "this connection has bound no session");
        return refuse(connection, &err);
    }
    for (uint32_t i = 0; i < request->n_handles; i++) {
        const struct buffer *buffer = service_buffer(
            connection->local->service, connection->session, request->handles[i], &err);
        if (!buffer)
            return refuse(connection, &err);
        fds[i] = buffer->fd;
        wire_put_u64(&w, buffer->size);
    }
    return send_reply(connection, &w, fds, request->n_handles);
}

/* Requests. */

/* Serves what the bytes complete; false if the connection is to be dropped. */
static bool serve(struct connection *connection, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        struct local_request request;
        kr_error err;
        size_t taken = 0;
        const int r = local_parse(&connection->parser, bytes, n, &taken, &request, &err);
        if (r < 0) {
            refuse(connection, &err); /* the last word, whether it arrives or not */
            return false;
        }
        bytes += taken;
        n -= taken;
        if (r == 1 && !(request.type == LOCAL_BIND ? bind_session(connection, &request)
                                                   : fetch(connection, &request)))
            return false;
    }
    return true;
}

/* A message that has begun must end, and a connection must bind. */
static void watch_the_clock(struct connection *connection)
{
    const bool may_idle = connection->session && connection->parser.used == 0;
    if (may_idle)
        connection->idle = timer_cancel(connection->idle);
    else if (!connection->idle)
        connection->idle = loop_timer(
            connection->local->loop, connection->local->limits->local_idle_ms, on_idle, connection);
}

static void on_socket(void *cookie, int events, int error)
{
    struct connection *connection = cookie;
    uint8_t bytes[4096];
    (void) events;
    const ssize_t n = error ? 0
                            : recv(watch_fd(connection->watch), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        drop(connection, "its local connection has closed");
    else if (!serve(connection, bytes, (size_t) n))
        drop(connection, "it does not keep to the local protocol");
    else
        watch_the_clock(connection);
}

void local_accept(struct local *local, int fd, const struct peer *peer)
{
    kr_error err;
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        close(fd);
        listener_left(local->listener);
        return;
    }
    *connection = (struct connection){ .local = local, .peer = *peer };
    if (loop_watch(local->loop, fd, UV_READABLE, on_socket, connection, &connection->watch, &err) <
        0) {
        log_error("local.accept", log_text("error", err.text));
        listener_left(local->listener);
        free(connection);
        return;
    }
    DL_APPEND(local->connections, connection);
    watch_the_clock(connection);
}
