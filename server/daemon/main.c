// SPDX-License-Identifier: Apache-2.0
/* kernrigd, from start to stop: reads as a table of contents.
 *
 * Options, log, loop, service, RPC; then the kernels are loaded, and only then the door opens. It
 * stops in the reverse order: no new calls, the last calls, the last worker. */
#include "base/build.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "listener/listener.h"
#include "local/local.h"
#include "options.h"
#include "rpc/rpc.h"
#include "sandbox/sandbox.h"
#include "service/service.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

static struct daemon {
    struct options options;
    struct loop *loop;
    struct service *service;
    struct local *local;
    struct rpc *rpc;
    struct listener *listener;
    struct watch *owner;   /* a pidfd; readable once the owner has ended */
    struct watch *signals; /* a signalfd */
    uint32_t n_loading;
    bool is_stopping;
    int status;
} d;

static void stop(const char *why);

static void fail(const kr_error *err)
{
    log_error("daemon.failed", log_text("why", err->text));
    fprintf(stderr, "kernrigd: %s\n", err->text);
    d.status = 1;
}

/* Preparations. */

static int open_log(kr_error *err)
{
    if (!d.options.log)
        return 0;
    int fd = STDERR_FILENO;
    if (strcmp(d.options.log, "-") != 0)
        fd = open(d.options.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "the log %s cannot be opened: %s", d.options.log,
                            strerror(errno));
    log_open(fd, d.options.log_level);
    return 0;
}

/* Every buffer is a descriptor, and one client's buffers must not leave none for another's
 * connection. A connection may take two (one of ours watches gRPC's), a worker a few while it is
 * started. Half of the rest is for buffers, the other for their twins on the way to workers. */
static void limit_buffers(struct limits *limits, uint64_t descriptors)
{
    enum { OURS = 128, OF_A_CONNECTION = 2, OF_A_WORKER = 4 };
    uint64_t reserve;
    if (__builtin_mul_overflow(limits->connections, OF_A_CONNECTION, &reserve) ||
        __builtin_add_overflow(reserve, OURS, &reserve) ||
        __builtin_add_overflow(reserve, limits->workers * OF_A_WORKER, &reserve) ||
        reserve > descriptors / 2)
        reserve = descriptors / 2;
    const uint64_t most = (descriptors - reserve) / 2;
    if (limits->total_buffers > most)
        limits->total_buffers = most;
}

/* What we were started with is for us: workers, which are started by fork and exec, inherit nothing
 * but what they are given. */
static void prepare_descriptors(void)
{
    struct rlimit limit;
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    limit_buffers(&d.options.limits,
                  setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before);
}

/* Ends. */

static void on_service_stopped(void *cookie)
{
    (void) cookie;
    loop_stop(d.loop);
}

static void on_rpc_stopped(void *cookie)
{
    (void) cookie;
    d.rpc = NULL;
    service_stop(d.service, on_service_stopped, NULL);
}

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/* New connections and new calls are refused from here on; calls under way have their grace. */
static void stop(const char *why)
{
    if (d.is_stopping)
        return;
    d.is_stopping = true;
    log_info("daemon.stopping", log_text("why", why));
    d.owner = watch_close(d.owner);
    /* A second signal ends us at once: whoever sends it does not want to wait. */
    const sigset_t signals = stop_signals();
    d.signals = watch_close(d.signals);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    local_set_listener(d.local, NULL);
    if (d.rpc)
        rpc_set_listener(d.rpc, NULL);
    d.listener = listener_close(d.listener);
    if (d.rpc)
        rpc_stop(d.rpc, d.options.limits.grace_ms, on_rpc_stopped, NULL);
    else
        on_rpc_stopped(NULL);
}

static void on_signal(void *cookie, int events, int error)
{
    struct signalfd_siginfo info;
    (void) cookie;
    (void) events;
    (void) error;
    if (read(watch_fd(d.signals), &info, sizeof info) == sizeof info)
        stop(info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
}

/* Nobody is left to wait for an answer: no grace. */
static void on_owner_end(void *cookie, int events, int error)
{
    (void) cookie;
    (void) events;
    (void) error;
    d.options.limits.grace_ms = 0;
    stop("the owner has ended");
}

static int watch_owner(kr_error *err)
{
    if (!d.options.is_embedded)
        return 0;
    /* A pidfd follows the process. PDEATHSIG would follow the thread that started us, and a pipe
     * stays open in the owner's forked children. */
    auto_fd int fd = (int) syscall(SYS_pidfd_open, d.options.owner, 0);
    if (fd < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "the owner, process %d: %s", d.options.owner,
                            strerror(errno));
    /* It may have ended before, and its number be another's. */
    if (getppid() != d.options.owner)
        return kr_error_set(err, KR_CODE_SYSTEM, "process %d, the owner, is not our parent",
                            d.options.owner);
    return loop_watch(d.loop, steal_fd(&fd), UV_READABLE, on_owner_end, NULL, &d.owner, err);
}

/* Read as data, so that it does not matter which thread a signal would interrupt. */
static int watch_signals(kr_error *err)
{
    const sigset_t set = stop_signals();
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    auto_fd int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "signalfd: %s", strerror(errno));
    return loop_watch(d.loop, steal_fd(&fd), UV_READABLE, on_signal, NULL, &d.signals, err);
}

/* The door. */

static void on_http2(void *cookie, int fd)
{
    (void) cookie;
    rpc_accept(d.rpc, fd);
}

static void on_local(void *cookie, int fd, const struct peer *peer)
{
    (void) cookie;
    local_accept(d.local, fd, peer);
}

static void say_ready(void)
{
    static const char line[] = "ready\n";
    log_info("daemon.ready", log_text("socket", d.options.socket),
             log_text("version", build_version), log_text("build", build_id));
    if (d.options.ready_fd < 0)
        return;
    if (write(d.options.ready_fd, line, sizeof line - 1) < 0)
        log_warning("daemon.ready_fd", log_text("error", strerror(errno)));
    close(d.options.ready_fd);
}

static int open_door(kr_error *err)
{
    const struct listener_options options = { .path = d.options.socket,
                                              .mode = d.options.mode,
                                              .limits = &d.options.limits };
    const struct listener_handlers handlers = { .http2 = on_http2, .local = on_local };
    const int r = listener_open(d.loop, &options, &handlers, &d.listener, err);
    if (r < 0)
        return r;
    rpc_set_listener(d.rpc, d.listener);
    local_set_listener(d.local, d.listener);
    say_ready();
    return 0;
}

static void on_loaded(void *cookie, const kr_error *err)
{
    kr_error why;
    (void) cookie;
    if (d.is_stopping)
        return;
    if (err) {
        fail(err);
        stop("a library cannot be loaded");
    } else if (--d.n_loading == 0 && open_door(&why) < 0) {
        fail(&why);
        stop("the socket cannot be opened");
    }
}

/* The kernels. */

/* A test library's provider is its file's name without folder and ending. */
static const char *provider_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    name[strcspn(name, ".")] = 0;
    return name;
}

static int load_kernels(kr_error *err)
{
    const struct service_library portable = { .path = d.options.library,
                                              .provider = "portable",
                                              .is_stock = true };
    d.n_loading = 1 + d.options.n_test_libraries;
    int r = service_load(d.service, &portable, on_loaded, NULL, err);
    for (uint32_t i = 0; r == 0 && i < d.options.n_test_libraries; i++) {
        char name[KR_KERNEL_NAME];
        const char *path = d.options.test_libraries[i];
        const struct service_library library = { .path = path,
                                                 .provider = provider_name(path, name, sizeof name),
                                                 .is_stock = false };
        r = service_load(d.service, &library, on_loaded, NULL, err);
    }
    return r;
}

/* Signals are for the loop's thread: those that gRPC starts have them blocked from their birth. */
static int start_rpc(kr_error *err)
{
    sigset_t all, before;
    const struct rpc_options options = { .loop = d.loop,
                                         .limits = &d.options.limits,
                                         .service = d.service,
                                         .about = { .binary = d.options.binary,
                                                    .is_embedded = d.options.is_embedded,
                                                    .sandbox_level = SANDBOX_LEVEL } };
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int r = rpc_start(&options, &d.rpc, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static int start(kr_error *err)
{
    d.loop = loop_new(err);
    if (!d.loop)
        return err->code;
    const struct service_options service = { .loop = d.loop,
                                             .limits = &d.options.limits,
                                             .worker_binary = d.options.worker };
    d.service = service_new(&service, err);
    if (!d.service)
        return err->code;
    d.local = local_new(d.loop, &d.options.limits, d.service);
    if (!d.local)
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for the local protocol");
    int r = watch_owner(err);
    if (r == 0)
        r = watch_signals(err);
    /* Workers are started before gRPC has threads, and at any time after: exec follows fork. */
    if (r == 0)
        r = load_kernels(err);
    return r < 0 ? r : start_rpc(err);
}

int main(int argc, char **argv)
{
    kr_error err;
    switch (options_parse(argc, argv, &d.options, &err)) {
    case OPTIONS_EXIT: return 0;
    case OPTIONS_WRONG: fprintf(stderr, "kernrigd: %s\n", err.text); return 2;
    case OPTIONS_RUN: break;
    }
    prepare_descriptors();
    if (open_log(&err) < 0 || start(&err) < 0) {
        fail(&err);
        return d.status; /* workers see their connection close, and end */
    }
    loop_run(d.loop);
    d.local = local_free(d.local);
    d.service = service_free(d.service);
    d.loop = loop_free(d.loop);
    log_info("daemon.stopped", log_i64("status", d.status));
    return d.status;
}
