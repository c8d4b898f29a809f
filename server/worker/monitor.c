// SPDX-License-Identifier: Apache-2.0
#include "worker/monitor.h"

#include "base/build.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "wire/call.h"
#include "wire/worker.h"
#include "worker/descendants.h"
#include "worker/spawn.h"

#include <errno.h>
#include <kernrig/arena.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* How long a runner that has closed its socket may take to end. */
#define DEAF_NS (100 * CLOCK_NS_PER_MS)

enum {
    LAST_FRAMES = 64, /* read of a runner that has ended: more than an honest one can have sent */
    ORPHANS = 64,     /* reaped in one turn */
};

static struct monitor {
    struct spawned runner;
    bool alive;   /* the runner has not been reaped */
    bool hung_up; /* it has closed its socket: its end follows, or the next call's */
    int signals;  /* signalfd for SIGCHLD, and for SIGTERM: the daemon has died */
    bool is_deaf; /* a frame found its socket closed */
    bool loading, ready;
    uint32_t n_kernels, max_kernels;
    uint64_t call;        /* the id of the call under way, or 0 */
    uint64_t deadline_ns; /* when the runner is killed; 0: never */
    uint64_t allowed_ns;  /* how long it was given, for the sentence */
    /* Why the monitor killed it; the first cause wins. */
    struct {
        bool is_set;
        enum wire_death death;
        kr_error why;
    } verdict;
    char printed[WIRE_PRINTED + 1]; /* the last of it, without zeros */
    size_t n_printed;
    kr_arena arena;
    uint8_t incoming[WIRE_FRAME_MAX], outgoing[WIRE_FRAME_MAX];
} m;

/* The daemon has gone, or cannot be told: there is nobody to work for. The runner goes first, with
 * all that it has started. */
static _Noreturn void leave(void)
{
    if (m.alive)
        kill(m.runner.pid, SIGKILL);
    descendants_end();
    _exit(0);
}

static void tell_daemon(const struct wire_writer *w)
{
    if (wire_send(WORKER_SOCKET, w, NULL, 0, NULL) < 0)
        leave();
}

static void condemn(enum wire_death death, const kr_error *why)
{
    if (!m.verdict.is_set) {
        m.verdict.is_set = true;
        m.verdict.death = death;
        m.verdict.why = *why;
    }
    m.deadline_ns = 0;
    if (m.alive)
        kill(m.runner.pid, SIGKILL); /* our own child, not reaped yet: the id cannot be another's */
}

static void tampered(const char *what)
{
    kr_error why;
    kr_error_set(&why, KR_CODE_TAMPERED, "%s", what);
    condemn(WIRE_DEATH_TAMPER, &why);
}

/* What the runner prints. */

static void read_printed(void)
{
    /* Bounded: whoever prints without end must not hold the loop. */
    for (int turn = 0; turn < 16 && m.runner.printed >= 0; turn++) {
        char chunk[1024];
        const ssize_t n = read(m.runner.printed, chunk, sizeof chunk);
        if (n == 0) {
            close(m.runner.printed);
            m.runner.printed = -1;
        }
        if (n <= 0)
            return;
        for (ssize_t i = 0; i < n; i++)
            if (chunk[i] == 0)
                chunk[i] = '?';
        const size_t keep = m.n_printed + (size_t) n > WIRE_PRINTED ? WIRE_PRINTED - (size_t) n
                                                                    : m.n_printed;
        memmove(m.printed, m.printed + m.n_printed - keep, keep);
        memcpy(m.printed + keep, chunk, (size_t) n);
        m.n_printed = keep + (size_t) n;
        m.printed[m.n_printed] = 0;
    }
}

/* Up: from the runner. */

static void pass_kernels(struct wire_frame *frame)
{
    struct wire_kernels_writer out;
    struct wire_kernel kernel;
    uint32_t count = 0, seen = 0;
    int r = wire_kernels_open(frame, &count, NULL);
    wire_kernels_begin(&out, m.outgoing, sizeof m.outgoing);
    while (r >= 0 && (r = wire_kernels_next(frame, &kernel, NULL)) == 1) {
        if (!wire_kernels_put(&out, &kernel))
            break;
        seen++;
    }
    if (r != 0 || seen != count)
        tampered("it sent a malformed table of kernels");
    else if ((m.n_kernels += count) > m.max_kernels)
        tampered("its table has more kernels than a library may have");
    else
        tell_daemon(wire_kernels_end(&out));
}

static void pass_failed(struct wire_frame *frame)
{
    const char *text = "";
    if (wire_get_failed(frame, &text, NULL) < 0) {
        tampered("it sent a malformed frame while loading");
        return;
    }
    struct wire_writer w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_FAILED);
    wire_put_failed(&w, text);
    m.deadline_ns = 0;
    tell_daemon(&w);
}

static void pass_answer(struct wire_frame *frame)
{
    struct wire_answer answer;
    if (wire_get_answer(frame, &m.arena, &answer, NULL) < 0) {
        tampered("it sent a malformed answer");
    } else if (m.call == 0 || answer.id != m.call) {
        tampered("it answered a call that is not under way");
    } else {
        struct wire_writer w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_DONE);
        wire_put_answer(&w, &answer);
        m.call = 0;
        m.deadline_ns = 0;
        tell_daemon(&w);
    }
    kr_arena_done(&m.arena);
}

/* One frame a turn, so that a flood cannot hold the deadline up. False when nothing was there. */
static bool from_runner(void)
{
    struct wire_frame frame;
    bool eof = false;
    const int r = wire_recv(m.runner.socket, MSG_DONTWAIT, m.incoming, &frame, &eof, NULL);
    m.hung_up |= eof;
    if (r < 0) {
        tampered("it sent a frame that is empty, cut or too large");
        return false;
    }
    if (r == 0)
        return false;
    if (m.verdict.is_set) {
        /* Condemned: nothing that it still says counts. */
    } else if (frame.n_fds) {
        tampered("it sent descriptors");
    } else if (frame.type == WIRE_KERNELS && m.loading) {
        pass_kernels(&frame);
    } else if (frame.type == WIRE_READY && m.loading) {
        struct wire_writer w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_READY);
        m.loading = false;
        m.ready = true;
        m.deadline_ns = 0;
        tell_daemon(&w);
    } else if (frame.type == WIRE_FAILED && m.loading) {
        pass_failed(&frame);
    } else if (frame.type == WIRE_DONE && m.ready) {
        pass_answer(&frame);
    } else {
        tampered("it sent a frame that nobody waits for");
    }
    wire_frame_done(&frame);
    return true;
}

/* Down: from the daemon. */

static void arm(uint64_t allowed_ns)
{
    m.allowed_ns = allowed_ns;
    m.deadline_ns = clock_now_ns() + allowed_ns;
}

/* A runner whose socket is closed is dead and soon reaped, which tells why; or it lives and has
 * closed it itself, and is given up after a moment. A call that did not reach it is not under way.
 */
static void pass_down(const struct wire_frame *frame)
{
    if (wire_send_bytes(m.runner.socket, frame->bytes, frame->size, frame->fds, frame->n_fds,
                        NULL) == 0)
        return;
    m.call = 0;
    m.is_deaf = true;
    arm(DEAF_NS);
}

static void from_daemon(void)
{
    struct wire_frame frame;
    struct wire_call_head call;
    struct wire_load load;
    bool eof = false;
    const int r = wire_recv(WORKER_SOCKET, MSG_DONTWAIT, m.incoming, &frame, &eof, NULL);
    if (r < 0 || eof)
        leave();
    if (r == 0)
        return;
    switch (frame.type) {
    case WIRE_LOAD: {
        struct wire_frame copy = frame;
        if (wire_get_load(&copy, &load, NULL) < 0)
            leave();
        m.loading = true;
        m.max_kernels = load.max_kernels;
        arm(load.load_ms * CLOCK_NS_PER_MS);
        pass_down(&frame);
        break;
    }
    case WIRE_CALL:
        if (wire_peek_call(&frame, &call, NULL) < 0)
            leave();
        m.call = call.id;
        m.n_printed = 0;
        m.printed[0] = 0;
        arm(call.timeout_ns);
        pass_down(&frame);
        break;
    case WIRE_MAP:
    case WIRE_UNMAP: pass_down(&frame); break;
    default: leave();
    }
    wire_frame_done(&frame);
}

/* The end of the runner. */

static void describe_end(int status, struct wire_died *died, kr_error *text)
{
    if (m.verdict.is_set) {
        died->death = m.verdict.death;
        *text = m.verdict.why;
    } else if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        died->death = WIRE_DEATH_SIGNAL;
        died->number = WTERMSIG(status);
        kr_error_set(text, KR_CODE_CRASHED, "died of SIG%s (%s)", name ? name : "?",
                     strsignal(WTERMSIG(status)));
    } else {
        died->death = WEXITSTATUS(status) == 127 && !m.loading && !m.ready ? WIRE_DEATH_SETUP
                                                                           : WIRE_DEATH_EXIT;
        died->number = WEXITSTATUS(status);
        kr_error_set(text, KR_CODE_EXITED, "ended its process with exit code %d",
                     WEXITSTATUS(status));
    }
}

static void runner_ended(int status)
{
    m.alive = false;
    m.deadline_ns = 0;
    /* What it has started may hold its socket, and go on sending. */
    descendants_end();
    shutdown(m.runner.socket, SHUT_RD);
    /* What it said before it died still counts. */
    for (int i = 0; i < LAST_FRAMES && from_runner(); i++) {
    }
    read_printed();
    kr_error text;
    struct wire_died died = { .call = m.call, .printed = m.printed };
    describe_end(status, &died, &text);
    died.text = text.text;
    struct wire_writer w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_DIED);
    wire_put_died(&w, &died);
    tell_daemon(&w);
    leave();
}

/* Signals merge: only waitpid counts the dead. The runner comes first, whose orphans may be many.
 */
static void on_signal(void)
{
    struct signalfd_siginfo info;
    int status;
    while (read(m.signals, &info, sizeof info) > 0)
        if (info.ssi_signo == SIGTERM)
            leave();
    if (waitpid(m.runner.pid, &status, WNOHANG) == m.runner.pid)
        runner_ended(status);
    for (int i = 0; i < ORPHANS; i++) {
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == m.runner.pid)
            runner_ended(status);
        if (pid <= 0)
            return;
    }
}

static void on_deadline(void)
{
    kr_error why;
    if (m.is_deaf) {
        tampered("it takes no more frames");
        return;
    }
    kr_error_set(&why, KR_CODE_TIMEOUT, "did not end within %.3g s", (double) m.allowed_ns / 1e9);
    condemn(WIRE_DEATH_TIMEOUT, &why);
}

static void wait_for_something(struct pollfd polls[4])
{
    struct timespec timeout = { 0 };
    if (m.deadline_ns) {
        const uint64_t now = clock_now_ns();
        const uint64_t left = m.deadline_ns > now ? m.deadline_ns - now : 0;
        timeout.tv_sec = (time_t) (left / 1000000000);
        timeout.tv_nsec = (long) (left % 1000000000);
    }
    ppoll(polls, 4, m.deadline_ns ? &timeout : NULL, NULL);
}

static _Noreturn void serve(void)
{
    for (;;) {
        struct pollfd polls[4] = {
            { .fd = m.hung_up ? -1 : m.runner.socket, .events = POLLIN },
            { .fd = WORKER_SOCKET, .events = POLLIN },
            { .fd = m.signals, .events = POLLIN },
            { .fd = m.runner.printed, .events = POLLIN },
        };
        wait_for_something(polls);
        if (polls[0].revents)
            from_runner();
        if (polls[2].revents)
            on_signal();
        if (polls[3].revents)
            read_printed();
        if (m.deadline_ns && clock_now_ns() >= m.deadline_ns)
            on_deadline();
        if (polls[1].revents)
            from_daemon();
    }
}

static int start(kr_error *err)
{
    sigset_t watched;
    setsid(); /* the terminal's Ctrl-C is not for us; fails harmlessly for a group leader */
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    m.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (m.signals < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "signalfd: %s", strerror(errno));
    /* A signal that we can act upon: whom KILL ends cannot take its runner's processes along. */
    int r = sandbox_end_with_parent(getppid(), SIGTERM, err);
    if (r == 0)
        r = descendants_adopt(err);
    return r < 0 ? r : spawn_runner(&m.runner, err);
}

int monitor_main(void)
{
    kr_error err;
    kr_arena_init(&m.arena, WIRE_FRAME_MAX * 4);
    const int r = start(&err);
    struct wire_writer w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_HELLO);
    wire_put_hello(&w, &(struct wire_hello){ .build_id = build_id, .pid = (uint32_t) getpid() });
    m.alive = r == 0;
    tell_daemon(&w);
    if (r < 0) {
        w = wire_begin(m.outgoing, sizeof m.outgoing, WIRE_DIED);
        wire_put_died(&w, &(struct wire_died){ .death = WIRE_DEATH_SETUP, .text = err.text });
        tell_daemon(&w);
        leave();
    }
    serve();
}
