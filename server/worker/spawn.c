// SPDX-License-Identifier: Apache-2.0
#include "worker/spawn.h"

#include "base/cleanup.h"
#include "worker/monitor.h"
#include "worker/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { FIRST_FREE = 16 }; /* above the descriptors that the runner is given */

/* In the child. Moves the descriptors to where the runner expects them, and becomes the runner.
 * Only calls that are safe after fork; a failure shows as exit code 127. */
static _Noreturn void become_runner(int null, int printed, int socket, const char *parent)
{
    const int from[] = { null, printed, printed, socket };
    int moved[sizeof from / sizeof *from];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* the mask would survive exec */
    for (int i = 0; i < (int) (sizeof from / sizeof *from); i++)
        moved[i] = fcntl(from[i], F_DUPFD_CLOEXEC, FIRST_FREE);
    for (int i = 0; i < (int) (sizeof from / sizeof *from); i++)
        if (moved[i] < 0 || dup2(moved[i], i) != i)
            _exit(127);
    execl("/proc/self/exe", "kernrig-worker", RUNNER_ROLE, parent, (char *) NULL);
    _exit(127);
}

int spawn_runner(struct spawned *ret, kr_error *err)
{
    int pair[2], pipe[2];
    char parent[16];
    auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "/dev/null: %s", strerror(errno));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "socketpair: %s", strerror(errno));
    auto_fd int ours = pair[0], theirs = pair[1];
    /* A kernel that prints for ever must not block: its writes fail once the pipe is full. */
    if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "pipe: %s", strerror(errno));
    auto_fd int printed = pipe[0], printing = pipe[1];
    /* A runner that does not read is as good as dead; it must not hold the monitor. */
    const struct timeval patience = { .tv_sec = 2 };
    if (setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "SO_SNDTIMEO: %s", strerror(errno));
    snprintf(parent, sizeof parent, "%d", (int) getpid());

    const pid_t pid = fork();
    if (pid < 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "fork: %s", strerror(errno));
    if (pid == 0)
        become_runner(null, printing, theirs, parent);
    *ret = (struct spawned){ .pid = pid, .socket = steal_fd(&ours), .printed = steal_fd(&printed) };
    return 0;
}
