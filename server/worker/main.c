// SPDX-License-Identifier: Apache-2.0
/* kernrig-worker: one library of kernels, for one session, in two processes.
 *
 * The daemon starts it as the monitor, with a socket as descriptor 3. The monitor starts the same
 * binary again as the runner, which loads the library and runs the kernels. Kernel code never
 * shares a process with anything that is believed. */
#include "worker/monitor.h"
#include "worker/runner.h"

/* A sanitizer that handles signals would turn a kernel's crash into an exit. */
#define SIGNALS_ARE_OURS \
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
__attribute__((visibility("default"), used)) const char *__asan_default_options(void)
{
    return SIGNALS_ARE_OURS;
}
#elif defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_options(void)
{
    return SIGNALS_ARE_OURS;
}
#endif

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], MONITOR_ROLE) == 0)
        return monitor_main();
    if (argc == 3 && strcmp(argv[1], RUNNER_ROLE) == 0)
        return runner_main(argv[2]);
    fprintf(stderr, "kernrig-worker is started by kernrigd; see `kernrig serve --help`.\n");
    return 2;
}
