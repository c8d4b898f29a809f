// SPDX-License-Identifier: Apache-2.0
/* How a monitor starts its runner. */
#ifndef WORKER_SPAWN_H
#define WORKER_SPAWN_H

#include <kernrig/err.h>
#include <sys/types.h>

struct spawned {
    pid_t pid;
    int socket;  /* to the runner; frames */
    int printed; /* what it writes to stdout and stderr; does not block */
};

KR_CHECK int spawn_runner(struct spawned *ret, kr_error *err);

#endif
