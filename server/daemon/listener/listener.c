// SPDX-License-Identifier: Apache-2.0
#include "listener/listener.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "listener/lock.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <utlist.h>

enum { PAUSE_MS = 100 }; /* after the system could not give us a connection */

/* A connection from its acceptance to its end. While it has said nothing, we watch it for its
 * first byte. When gRPC has it, we watch a duplicate, only for the end: gRPC shuts a connection
 * down before it closes it, so both ends show. */
struct connection {
    struct connection *prev, *next;
    struct listener *listener;
    struct watch *watch;
    struct timer *timer; /* until the first byte */
    struct peer peer;
    int grpc_fd; /* the number by which gRPC names it; -1 before */
};

struct listener {
    struct loop *loop;
    struct listener_options options;
    struct listener_handlers handlers;
    char *path;
    int lock;
    int spare; /* given up to accept and close a connection when descriptors have run out */
    struct watch *watch;
    struct timer *pause; /* while we do not watch for connections */
    bool is_failing;     /* the last attempt to accept one failed: that has been logged */
    struct connection *connections;
    uint64_t n_open; /* of all kinds */
};

static void forget(struct connection *connection)
{
    DL_DELETE(connection->listener->connections, connection);
    connection->watch = watch_close(connection->watch);
    connection->timer = timer_cancel(connection->timer);
    free(connection);
}

static void drop(struct connection *connection)
{
    connection->listener->n_open--;
    forget(connection);
}

static void on_silent(void *cookie)
{
    struct connection *connection = cookie;
    log_info("connection.silent", log_i64("pid", connection->peer.pid),
             log_u64("after_ms", connection->listener->options.limits->hello_ms));
    drop(connection);
}

static void on_grpc_end(void *cookie, int events, int error)
{
    (void) events;
    (void) error;
    drop(cookie);
}

static void give_to_grpc(struct connection *connection)
{
    struct listener *listener = connection->listener;
    const int fd = watch_release(connection->watch);
    connection->watch = NULL;
    const int twin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    connection->grpc_fd = fd;
    if (twin < 0 || loop_watch(listener->loop, twin, UV_DISCONNECT, on_grpc_end, connection,
                               &connection->watch, NULL) < 0) {
        close(fd);
        drop(connection);
        return;
    }
    listener->handlers.http2(listener->handlers.cookie, fd);
}

static void give_to_local(struct connection *connection)
{
    struct listener *listener = connection->listener;
    const int fd = watch_release(connection->watch);
    const struct peer peer = connection->peer;
    connection->watch = NULL;
    forget(connection); /* its place stays taken until listener_left */
    listener->handlers.local(listener->handlers.cookie, fd, &peer);
}

static void on_first_byte(void *cookie, int events, int error)
{
    struct connection *connection = cookie;
    char first;
    (void) events;
    const ssize_t n = error ? 0
                            : recv(watch_fd(connection->watch), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(connection);
        return;
    }
    connection->timer = timer_cancel(connection->timer);
    if (first == 'P')
        give_to_grpc(connection);
    else
        give_to_local(connection);
}

static void welcome(struct listener *listener, int fd)
{
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
        listener->n_open >= listener->options.limits->connections) {
        log_warning("connection.refused", log_u64("open", listener->n_open));
        free(connection);
        close(fd);
        return;
    }
    *connection = (struct connection){
        .listener = listener,
        .peer = { .pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid },
        .grpc_fd = -1,
    };
    DL_APPEND(listener->connections, connection);
    listener->n_open++;
    connection->timer = loop_timer(listener->loop, listener->options.limits->hello_ms, on_silent,
                                   connection);
    if (loop_watch(listener->loop, fd, UV_READABLE, on_first_byte, connection, &connection->watch,
                   NULL) < 0 ||
        !connection->timer)
        drop(connection);
}

static void have_spare(struct listener *listener)
{
    if (listener->spare < 0)
        listener->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Out of descriptors, a connection is accepted with the spare one, and closed: who waits is told.
 * False if there is none to spare, or somebody else was faster to take it. */
static bool turn_away(struct listener *listener)
{
    if (listener->spare < 0)
        return false;
    close(listener->spare);
    listener->spare = -1;
    const int fd = accept4(watch_fd(listener->watch), NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    have_spare(listener);
    if (fd >= 0)
        log_error("connection.no_descriptors", log_u64("open", listener->n_open));
    return fd >= 0;
}

static void on_pause_over(void *cookie)
{
    struct listener *listener = cookie;
    listener->pause = timer_cancel(listener->pause);
    have_spare(listener);
    watch_set_events(listener->watch, UV_READABLE);
}

/* A connection that cannot be accepted stays pending and would wake us without end. */
static void pause_accepting(struct listener *listener, int error)
{
    if (!listener->is_failing)
        log_error("connection.accept", log_text("error", strerror(error)));
    listener->is_failing = true;
    listener->pause = loop_timer(listener->loop, PAUSE_MS, on_pause_over, listener);
    if (listener->pause)
        watch_set_events(listener->watch, 0);
}

static void on_connect(void *cookie, int events, int error)
{
    struct listener *listener = cookie;
    (void) events;
    (void) error;
    for (;;) {
        const int fd = accept4(watch_fd(listener->watch), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        const int failure = fd < 0 ? errno : 0;
        if (failure == EINTR || failure == ECONNABORTED)
            continue;
        if (failure == EAGAIN)
            return;
        if (failure) {
            const bool is_short = failure == EMFILE || failure == ENFILE;
            if (!is_short || !turn_away(listener))
                pause_accepting(listener, failure);
            return;
        }
        listener->is_failing = false;
        welcome(listener, fd);
    }
}

int listener_open(struct loop *loop, const struct listener_options *options,
                  const struct listener_handlers *handlers, struct listener **ret, kr_error *err)
{
    auto_fd int lock = -1, fd = -1;
    struct listener *listener = calloc(1, sizeof *listener);
    char *path = strdup(options->path);
    int r = listener && path ? 0 : kr_error_set(err, KR_CODE_SYSTEM, "no memory for a listener");
    if (r == 0)
        r = listener_lock(path, &lock, err);
    if (r == 0)
        r = listener_bind(path, options->mode, &fd, err);
    if (r == 0) {
        *listener = (struct listener){
            .loop = loop, .options = *options, .handlers = *handlers, .path = path
        };
        r = loop_watch(loop, steal_fd(&fd), UV_READABLE, on_connect, listener, &listener->watch,
                       err);
    }
    if (r < 0) {
        if (lock >= 0)
            listener_unlink_lock(path);
        free(path);
        free(listener);
        return r;
    }
    listener->options.path = path;
    listener->lock = steal_fd(&lock);
    listener->spare = -1;
    have_spare(listener);
    *ret = listener;
    return 0;
}

struct listener *listener_close(struct listener *listener)
{
    if (!listener)
        return NULL;
    struct connection *connection, *next;
    listener->watch = watch_close(listener->watch);
    listener->pause = timer_cancel(listener->pause);
    DL_FOREACH_SAFE (listener->connections, connection, next)
        drop(connection);
    listener_unlink(listener->path);
    close(listener->lock);
    if (listener->spare >= 0)
        close(listener->spare);
    free(listener->path);
    free(listener);
    return NULL;
}

void listener_left(struct listener *listener) { listener->n_open--; }

bool listener_peer(const struct listener *listener, const char *grpc_peer, struct peer *ret)
{
    char *end = NULL;
    bool found = false;
    if (strncmp(grpc_peer, "fd:", 3) != 0)
        return false;
    const long number = strtol(grpc_peer + 3, &end, 10);
    if (*end || end == grpc_peer + 3)
        return false;
    const struct connection *connection;
    DL_FOREACH (listener->connections, connection) {
        /* The newest with this number: an older one has closed, and we have not noticed yet. */
        if (connection->grpc_fd == number) {
            *ret = connection->peer;
            found = true;
        }
    }
    return found;
}
