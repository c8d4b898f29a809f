// SPDX-License-Identifier: Apache-2.0
#include "worker/descendants.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PATIENCE_MS = 500, WAIT_MS = 5 };

int descendants_adopt(kr_error *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "PR_SET_CHILD_SUBREAPER: %s", strerror(errno));
    return 0;
}

/* Ids of children that nobody but us reaps cannot be another's. What does not fit into one reading
 * comes in the next round. */
static void kill_children(void)
{
    char text[4096];
    auto_fd int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    const ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    char *next = text;
    for (;;) {
        char *end;
        const long pid = strtol(next, &end, 10);
        if (*end != ' ' ||
            pid <= 1) /* the last one may have been cut: each is followed by a blank */
            return;
        kill((pid_t) pid, SIGKILL);
        next = end;
    }
}

/* As long as a descendant lives, we have a child: its parent, or itself once that has died. */
void descendants_end(void)
{
    const uint64_t end = clock_now_ns() + PATIENCE_MS * CLOCK_NS_PER_MS;
    const struct timespec moment = { .tv_nsec = WAIT_MS * CLOCK_NS_PER_MS };
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    do {
        pid_t reaped;
        kill_children();
        while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0 && clock_now_ns() < end) {
        }
        if (reaped < 0)
            return;
        sigtimedwait(&child, NULL, &moment);
    } while (clock_now_ns() < end);
}
