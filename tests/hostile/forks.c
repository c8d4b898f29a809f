// SPDX-License-Identifier: Apache-2.0
/* Forks processes that try to outlive the call, the session and the daemon; self[0] says how. The
 * process id of the last one known is left in out[0]. */
#include <kernrig/kernel.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static _Noreturn void stay(void)
{
    setsid();
    for (int number = 1; number < 32; number++)
        signal(number, SIG_IGN);
    while (1)
        pause();
}

/* A child of nobody: its parent has ended. */
static void leave_orphan(volatile float *out, _Bool stays)
{
    int status;
    const pid_t between = fork();
    if (between == 0) {
        const pid_t orphan = fork();
        if (orphan == 0) {
            if (stays)
                stay();
            _exit(0);
        }
        *out = (float) orphan;
        _exit(0);
    }
    waitpid(between, &status, 0);
}

/* Never the same process for long: each ends as soon as it has a child. */
static void run_away(void)
{
    if (fork() != 0)
        return;
    setsid();
    while (1)
        if (fork() != 0)
            _exit(0);
}

/* Many that send frames in the runner's name, and go on when it has ended. */
static void flood(void)
{
    static char junk[64] = { 77 };
    for (int i = 0; i < 6; i++) {
        if (fork() == 0) {
            setsid();
            while (1)
                if (write(3, junk, sizeof junk) < 0)
                    usleep(100);
        }
    }
}

static kr_status forks(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const float how = *(const float *) args[0].as.tensor->data;
    volatile float *out = args[1].as.tensor->data;
    (void) ctx;
    (void) rets;
    if (how == 0) {
        const pid_t pid = fork();
        if (pid == 0)
            stay();
        *out = (float) pid;
    } else if (how == 1) {
        leave_orphan(out, 1);
    } else if (how == 2) {
        leave_orphan(out, 0);
    } else if (how == 3) {
        leave_orphan(out, 1);
        abort();
    } else if (how == 4) {
        run_away();
    } else {
        flood();
        _exit(3);
    }
    return KR_OK;
}
KR_KERNEL(forks, .schema = "test::forks.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
