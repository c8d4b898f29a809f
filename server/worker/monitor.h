// SPDX-License-Identifier: Apache-2.0
/* The monitor: the small, trusted, single-threaded half of a worker.
 *
 * It starts the runner, passes frames down, checks and rewrites what comes up, holds the deadline,
 * kills, reaps and explains. Every call that the daemon sends gets exactly one answer: DONE, or
 * DIED with the call's id. It lives as long as the daemon's socket is open and its runner lives. */
#ifndef WORKER_MONITOR_H
#define WORKER_MONITOR_H

#define MONITOR_ROLE "monitor"

enum { WORKER_SOCKET = 3 }; /* of the monitor to the daemon, and of the runner to the monitor */

int monitor_main(void);

#endif
