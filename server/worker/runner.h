// SPDX-License-Identifier: Apache-2.0
/* The runner: where kernels live. It locks itself in before it loads the library, because
 * constructors run there, and is never believed afterwards. */
#ifndef WORKER_RUNNER_H
#define WORKER_RUNNER_H

#define RUNNER_ROLE "runner"

/* parent: the monitor's process id, in decimal. */
int runner_main(const char *parent);

#endif
