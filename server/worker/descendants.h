// SPDX-License-Identifier: Apache-2.0
/* What a runner has started: processes that are not ours to run, and ours to end.
 *
 * A kernel may fork, and a process of its own session outlives its parent. The monitor is the
 * subreaper of everything below it: an orphan becomes its child, whatever it has done to get away,
 * and so there is a list of whom to kill. */
#ifndef WORKER_DESCENDANTS_H
#define WORKER_DESCENDANTS_H

#include <kernrig/err.h>

/* Adopts, from now on, every orphan below this process. */
KR_CHECK int descendants_adopt(kr_error *err);

/* Kills and reaps all children, and theirs, until none is left. SIGCHLD must be blocked. Bounded: a
 * process that the kernel does not let die is given up after a moment. */
void descendants_end(void);

#endif
