// SPDX-License-Identifier: Apache-2.0
#include "workers/worker.h"

#include "base/build.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/table.h"
#include "workers/outgoing.h"

#include <kernrig/schema.h>
#include <signal.h>
#include <sys/socket.h>

enum { LOAD_SLACK_MS = 2000 }; /* for starting two processes, on a busy machine */

/* A buffer as this worker has it. */
struct mapped {
    uint64_t buffer;
    bool readable, writable; /* which mappings there are */
    UT_hash_handle hh;
};

struct worker {
    struct workers *workers;
    struct worker_handlers handlers;
    uv_process_t process;
    struct watch *watch;    /* of its socket; NULL once the conversation is over */
    struct timer *patience; /* until it is ready, and again when it is to end */
    char *library;
    enum { STARTING, LOADING, READY, OVER } state;
    struct mapped *mapped;
    struct outgoing outgoing;
    /* MAPs that have not been sent. */
    struct wire_map maps[WIRE_FDS_MAX];
    int map_fds[WIRE_FDS_MAX];
    uint32_t n_maps;
    /* Handles to unmap before the next call. */
    uint64_t *forgotten;
    uint32_t n_forgotten, forgotten_size;
    bool is_busy;    /* with a call */
    bool is_broken;  /* a frame could not be sent */
    bool is_used;    /* by a session */
    bool has_exited; /* the process; what it sent may still be unread */
    void (*gone)(void *cookie);
    void *gone_cookie;
    kr_arena arena;
};

/* Frames are big, and the loop's thread handles one at a time. */
static uint8_t incoming[WIRE_FRAME_MAX], outgoing_bytes[WIRE_FRAME_MAX];

/* The end. */

static void drop_maps(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->n_maps; i++)
        close(worker->map_fds[i]);
    worker->n_maps = 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct worker *worker = handle->data;
    struct workers *workers = worker->workers;
    void (*gone)(void *) = worker->gone;
    void *cookie = worker->gone_cookie;
    workers->n_used -= worker->is_used;
    free(worker->library);
    kr_arena_done(&worker->arena);
    free(worker);
    workers->n_running--;
    if (gone)
        gone(cookie);
    if (workers->n_running == 0 && workers->on_none)
        workers->on_none(workers->cookie);
}

/* Ends the conversation. The worker is freed when its process has ended as well. */
static void hang_up(struct worker *worker)
{
    struct mapped *mapped, *next;
    worker->state = OVER;
    worker->watch = watch_close(worker->watch);
    outgoing_done(&worker->outgoing);
    drop_maps(worker);
    HASH_ITER (hh, worker->mapped, mapped, next) {
        HASH_DEL(worker->mapped, mapped);
        free(mapped);
    }
    free(steal_pointer(&worker->forgotten));
    worker->n_forgotten = worker->forgotten_size = 0;
    if (worker->has_exited)
        uv_close((uv_handle_t *) &worker->process, on_closed);
}

static void lost(struct worker *worker, const char *why);

/* The monitor holds the deadline of loading; this is for a monitor that does not. */
static void on_not_ready(void *cookie) { lost(cookie, "it did not become ready in time"); }

static void on_impatient(void *cookie)
{
    struct worker *worker = cookie;
    log_warning("worker.killed", log_i64("pid", worker->process.pid));
    uv_process_kill(&worker->process, SIGKILL);
}

/* Ends the conversation, if it has not ended yet; whether there is a process left to end. */
static bool give_up(struct worker *worker)
{
    if (!worker || worker->state == OVER)
        return false;
    hang_up(worker);
    worker->patience = timer_cancel(worker->patience);
    return !worker->has_exited;
}

struct worker *worker_kill(struct worker *worker)
{
    if (!give_up(worker))
        return NULL;
    worker->patience = loop_timer(worker->workers->loop, WORKER_PATIENCE_MS, on_impatient, worker);
    if (!worker->patience)
        on_impatient(worker);
    return NULL;
}

struct worker *worker_kill_at_once(struct worker *worker)
{
    if (give_up(worker))
        on_impatient(worker);
    return NULL;
}

void worker_on_gone(struct worker *worker, void (*gone)(void *cookie), void *cookie)
{
    worker->gone = gone;
    worker->gone_cookie = cookie;
}

/* Tells how it ended, once, and lets go of it. */
static void report_death(struct worker *worker, const struct wire_died *died)
{
    const struct worker_handlers handlers = worker->handlers;
    log_info("worker.died", log_i64("pid", worker->process.pid), log_text("how", died->text),
             log_text("library", worker->library));
    worker_kill(worker);
    handlers.died(handlers.cookie, died);
}

static void lost(struct worker *worker, const char *why)
{
    report_death(worker,
                 &(struct wire_died){ .death = WIRE_DEATH_LOST, .text = why, .printed = "" });
}

static void on_exit_(uv_process_t *process, int64_t status, int signal)
{
    struct worker *worker = process->data;
    log_debug("worker.exited", log_i64("pid", process->pid), log_i64("status", status),
              log_i64("signal", signal));
    worker->patience = timer_cancel(worker->patience);
    worker->has_exited = true;
    /* Otherwise what it sent before it ended is still in the socket, and its end of file comes
     * last. */
    if (worker->state == OVER)
        uv_close((uv_handle_t *) process, on_closed);
}

/* What it says. */

static int send_frame(struct worker *worker, const struct wire_writer *w, const int *fds,
                      uint32_t n_fds, kr_error *err)
{
    const int r = outgoing_send(&worker->outgoing, watch_fd(worker->watch), w, fds, n_fds, err);
    worker->is_broken |= r < 0;
    if (r == 0 && !outgoing_is_empty(&worker->outgoing))
        watch_set_events(worker->watch, UV_READABLE | UV_WRITABLE);
    return r;
}

static int flush_maps(struct worker *worker, kr_error *err)
{
    if (worker->n_maps == 0)
        return 0;
    struct wire_writer w = wire_begin(outgoing_bytes, sizeof outgoing_bytes, WIRE_MAP);
    wire_put_map(&w, worker->maps, worker->n_maps);
    const int r = send_frame(worker, &w, worker->map_fds, worker->n_maps, err);
    drop_maps(worker);
    return r;
}

/* Has it unmap what is gone, unless it is busy: its socket could fill up. */
static int flush_forgotten(struct worker *worker, kr_error *err)
{
    enum { IN_A_FRAME = 4096 };
    uint32_t sent = 0;
    if (worker->is_busy || worker->n_forgotten == 0)
        return 0;
    /* A buffer whose call never came about may be among those that wait to be mapped. */
    const int mapped = flush_maps(worker, err);
    if (mapped < 0)
        return mapped;
    while (sent < worker->n_forgotten) {
        uint32_t n = worker->n_forgotten - sent;
        if (n > IN_A_FRAME)
            n = IN_A_FRAME;
        struct wire_writer w = wire_begin(outgoing_bytes, sizeof outgoing_bytes, WIRE_UNMAP);
        wire_put_unmap(&w, worker->forgotten + sent, n);
        const int r = send_frame(worker, &w, NULL, 0, err);
        if (r < 0)
            return r;
        sent += n;
    }
    worker->n_forgotten = 0;
    return 0;
}

static void on_hello(struct worker *worker, struct wire_frame *frame)
{
    struct wire_hello hello = { .build_id = "unknown" };
    kr_error err;
    char text[WIRE_TEXT];
    const struct limits *limits = worker->workers->limits;
    if (wire_get_hello(frame, &hello, &err) < 0 || strcmp(hello.build_id, build_id) != 0) {
        snprintf(text, sizeof text,
                 "the worker %s is of build %s, this daemon of build %s: build both from the same "
                 "sources",
                 worker->workers->binary, hello.build_id, build_id);
        lost(worker, text);
        return;
    }
    struct wire_writer w = wire_begin(outgoing_bytes, sizeof outgoing_bytes, WIRE_LOAD);
    wire_put_load(&w, &(struct wire_load){ .library = worker->library,
                                           .load_ms = limits->load_ms,
                                           .memory = limits->worker_memory,
                                           .scratch = limits->scratch_bytes,
                                           .max_kernels = (uint32_t) limits->library_kernels });
    worker->state = LOADING;
    /* A monitor that is gone already has said why, and that is read next. */
    const int r = send_frame(worker, &w, NULL, 0, &err);
    if (r < 0 && r != KR_CODE_WORKER)
        lost(worker, err.text);
}

static void on_kernels(struct worker *worker, struct wire_frame *frame)
{
    struct wire_kernel kernel;
    uint32_t count;
    kr_error err;
    int r = wire_kernels_open(frame, &count, &err);
    while (r >= 0 && (r = wire_kernels_next(frame, &kernel, &err)) == 1)
        worker->handlers.kernel(worker->handlers.cookie, &kernel);
    if (r < 0)
        lost(worker, err.text);
}

static void on_failed(struct worker *worker, struct wire_frame *frame)
{
    const char *text;
    kr_error err;
    if (wire_get_failed(frame, &text, &err) < 0) {
        lost(worker, err.text);
        return;
    }
    worker->handlers.failed(worker->handlers.cookie, text);
    lost(worker, "its library cannot be loaded");
}

static void on_done(struct worker *worker, struct wire_frame *frame)
{
    struct wire_answer answer;
    kr_error err;
    const int r = wire_get_answer(frame, &worker->arena, &answer, &err);
    worker->is_busy = false;
    if (r < 0)
        lost(worker, err.text);
    else
        worker->handlers.answered(worker->handlers.cookie, &answer);
    if (worker->state == READY && flush_forgotten(worker, &err) < 0)
        lost(worker, err.text);
}

static void on_died(struct worker *worker, struct wire_frame *frame)
{
    struct wire_died died;
    kr_error err;
    if (wire_get_died(frame, &died, &err) < 0)
        lost(worker, err.text);
    else
        report_death(worker, &died);
}

static void on_frame(struct worker *worker, struct wire_frame *frame)
{
    if (frame->type == WIRE_HELLO && worker->state == STARTING) {
        on_hello(worker, frame);
    } else if (frame->type == WIRE_KERNELS && worker->state == LOADING) {
        on_kernels(worker, frame);
    } else if (frame->type == WIRE_READY && worker->state == LOADING) {
        worker->state = READY;
        worker->patience = timer_cancel(worker->patience);
        worker->handlers.ready(worker->handlers.cookie);
    } else if (frame->type == WIRE_FAILED && worker->state == LOADING) {
        on_failed(worker, frame);
    } else if (frame->type == WIRE_DONE && worker->state == READY) {
        on_done(worker, frame);
    } else if (frame->type == WIRE_DIED) {
        on_died(worker, frame);
    } else {
        lost(worker, "its monitor sent a frame that nobody waits for");
    }
}

static void on_readable(struct worker *worker)
{
    struct wire_frame frame;
    bool eof = false;
    kr_error err;
    const int r = wire_recv(watch_fd(worker->watch), MSG_DONTWAIT, incoming, &frame, &eof, &err);
    if (r < 0)
        lost(worker, err.text);
    else if (eof)
        lost(worker, "its monitor ended without a word");
    else if (r == 1) {
        on_frame(worker, &frame);
        wire_frame_done(&frame);
    }
    kr_arena_done(&worker->arena);
}

static void on_socket(void *cookie, int events, int error)
{
    struct worker *worker = cookie;
    kr_error err;
    /* An error is a monitor that ended with frames of ours unread. What it said last is still
     * there, and its end comes after it. */
    while (error && worker->state != OVER)
        on_readable(worker);
    if (worker->state != OVER && (events & UV_WRITABLE)) {
        const int r = outgoing_flush(&worker->outgoing, watch_fd(worker->watch), &err);
        if (r < 0)
            lost(worker, err.text);
        else if (r == 1)
            watch_set_events(worker->watch, UV_READABLE);
    }
    if (worker->state != OVER && (events & UV_READABLE))
        on_readable(worker);
}

/* Starting. */

static int spawn(struct worker *worker, int socket, kr_error *err)
{
    const struct workers *workers = worker->workers;
    char *args[] = { (char *) (uintptr_t) workers->binary, (char *) (uintptr_t) "monitor", NULL };
    /* Nothing of the daemon's environment reaches a kernel. */
    char *environment[4] = { (char *) (uintptr_t) "PATH=/usr/bin:/bin", NULL };
#if defined(__SANITIZE_ADDRESS__)
    char options[512];
    if (getenv("ASAN_OPTIONS") &&
        snprintf(options, sizeof options, "ASAN_OPTIONS=%s", getenv("ASAN_OPTIONS")) > 0)
        environment[1] = options;
#endif
    uv_stdio_container_t stdio[4] = { { .flags = UV_IGNORE },
                                      { .flags = UV_IGNORE },
                                      { .flags = UV_IGNORE },
                                      { .flags = UV_INHERIT_FD, .data.fd = socket } };
    const uv_process_options_t options_ = { .exit_cb = on_exit_,
                                            .file = workers->binary,
                                            .args = args,
                                            .env = environment,
                                            .stdio = stdio,
                                            .stdio_count = 4 };
    const int r = uv_spawn(loop_uv(workers->loop), &worker->process, &options_);
    if (r < 0)
        return kr_error_set(err, KR_CODE_WORKER, "the worker %s cannot be started: %s",
                            workers->binary, uv_strerror(r));
    return 0;
}

int worker_start(struct workers *workers, const char *library,
                 const struct worker_handlers *handlers, struct worker **ret, kr_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "socketpair: %s", strerror(errno));
    auto_fd int ours = pair[0], theirs = pair[1];
    struct worker *worker = calloc(1, sizeof *worker);
    char *path = strdup(library);
    if (!worker || !path) {
        free(worker);
        free(path);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a worker");
    }
    worker->workers = workers;
    worker->handlers = *handlers;
    worker->library = path;
    worker->process.data = worker;
    kr_arena_init(&worker->arena, 4 * WIRE_FRAME_MAX);
    workers->n_running++;
    int r = spawn(worker, theirs, err);
    if (r < 0) {
        worker->has_exited = true;
        hang_up(worker);
        return r;
    }
    r = loop_watch(workers->loop, steal_fd(&ours), UV_READABLE, on_socket, worker, &worker->watch,
                   err);
    if (r < 0) {
        worker_kill(worker);
        return r;
    }
    worker->patience = loop_timer(workers->loop, workers->limits->load_ms + LOAD_SLACK_MS,
                                  on_not_ready, worker);
    if (!worker->patience) {
        worker_kill(worker);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a timer");
    }
    log_debug("worker.started", log_i64("pid", worker->process.pid), log_text("library", library));
    *ret = worker;
    return 0;
}

void worker_set_handlers(struct worker *worker, const struct worker_handlers *handlers)
{
    worker->handlers = *handlers;
}

void worker_use(struct worker *worker)
{
    worker->is_used = true;
    worker->workers->n_used++;
}

int workers_check(const struct workers *workers, kr_error *err)
{
    if (workers->n_used < workers->limits->workers)
        return 0;
    return kr_error_set(err, KR_CODE_LIMIT,
                        "%llu workers are running, which is the limit 'workers': end sessions, or "
                        "start kernrigd with --limit workers=N",
                        (unsigned long long) workers->n_used);
}

bool worker_is_ready(const struct worker *worker) { return worker->state == READY; }
bool worker_is_broken(const struct worker *worker) { return worker->is_broken; }
pid_t worker_pid(const struct worker *worker) { return worker->process.pid; }

/* Buffers and calls. */

static struct mapped *find_mapped(const struct worker *worker, uint64_t buffer)
{
    struct mapped *mapped = NULL;
    HASH_FIND(hh, worker->mapped, &buffer, sizeof buffer, mapped);
    return mapped;
}

bool worker_has_mapped(const struct worker *worker, uint64_t buffer, bool writable)
{
    const struct mapped *mapped = find_mapped(worker, buffer);
    return mapped && (writable ? mapped->writable : mapped->readable);
}

int worker_map(struct worker *worker, const struct wire_map *map, int fd, kr_error *err)
{
    struct mapped *mapped = find_mapped(worker, map->buffer);
    if (worker->n_maps == WIRE_FDS_MAX) {
        const int r = flush_maps(worker, err);
        if (r < 0) {
            close(fd);
            return r;
        }
    }
    if (!mapped) {
        mapped = calloc(1, sizeof *mapped);
        if (!mapped) {
            close(fd);
            return kr_error_set(err, KR_CODE_SYSTEM, "no memory to map a buffer");
        }
        mapped->buffer = map->buffer;
        HASH_ADD(hh, worker->mapped, buffer, sizeof mapped->buffer, mapped);
        if (!table_has(mapped)) {
            free(mapped);
            close(fd);
            return kr_error_set(err, KR_CODE_SYSTEM, "no memory to map a buffer");
        }
    }
    if (map->writable)
        mapped->writable = true;
    else
        mapped->readable = true;
    worker->maps[worker->n_maps] = *map;
    worker->map_fds[worker->n_maps++] = fd;
    return 0;
}

void worker_forget(struct worker *worker, uint64_t buffer)
{
    struct mapped *mapped = find_mapped(worker, buffer);
    if (!mapped)
        return;
    if (worker->n_forgotten == worker->forgotten_size) {
        const uint32_t size = worker->forgotten_size ? 2 * worker->forgotten_size : 64;
        uint64_t *larger = realloc(worker->forgotten, size * sizeof *larger);
        if (!larger)
            return; /* it stays mapped there, and counted nowhere, until the worker ends */
        worker->forgotten = larger;
        worker->forgotten_size = size;
    }
    worker->forgotten[worker->n_forgotten++] = buffer;
    HASH_DEL(worker->mapped, mapped);
    free(mapped);
    /* A socket that is broken shows in its watch; whoever frees a buffer need not know. */
    if (worker->state == READY && flush_forgotten(worker, NULL) < 0)
        log_debug("worker.not_told", log_i64("pid", worker->process.pid));
}

int worker_call(struct worker *worker, const struct wire_call_head *head, const kr_bound *bound,
                const uint64_t *capacities, const bool *aliased, kr_error *err)
{
    int r = flush_maps(worker, err);
    if (r < 0)
        return r;
    const uint64_t most = worker->workers->limits->frame_bytes;
    const size_t room = most < sizeof outgoing_bytes ? most : sizeof outgoing_bytes;
    struct wire_writer w = wire_begin(outgoing_bytes, room, WIRE_CALL);
    wire_put_call(&w, head, bound, capacities, aliased);
    if (w.full)
        return kr_error_set(err, KR_CODE_LIMIT,
                            "%s: a call of %u tensors and %u values exceeds the limit "
                            "'frame_bytes' of %zu",
                            bound->schema->name, bound->n_tensors, bound->n_values, room);
    r = send_frame(worker, &w, NULL, 0, err);
    worker->is_busy = r == 0;
    return r;
}
