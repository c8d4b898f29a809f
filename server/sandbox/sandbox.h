// SPDX-License-Identifier: Apache-2.0
/* What a runner gives up before it loads a library. One file per mechanism; each function is one
 * step, and the runner calls them in the order of this header. A step that fails ends the runner:
 * nothing is loaded with less than was promised.
 *
 * The level is the sum of what is engaged. These steps alone are level "none": they keep a kernel
 * from the daemon's descriptors and from new privileges, and bound what it can use up, but it may
 * still call the system as the user that runs it. So level "none" does not hold a kernel that means
 * harm to that user: it can read the user's files, use the network, and signal or trace the user's
 * other processes, the monitor and the daemon among them. What it forks ends with the monitor,
 * unless it kills the monitor first; and how many processes it forks, only the system limits. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <kernrig/err.h>

#define SANDBOX_LEVEL "none"

/* Closes every descriptor from first on. */
KR_CHECK int sandbox_close_descriptors(unsigned first, kr_error *err);

/* No core dumps, few descriptors, no files written, memory_bytes of private memory. */
KR_CHECK int sandbox_limit_resources(uint64_t memory_bytes, kr_error *err);

/* Ends with its parent: the signal is sent when the thread that forked us dies. parent is who that
 * is, since it may be dead already. The monitor uses it as well. */
KR_CHECK int sandbox_end_with_parent(int parent, int signal, kr_error *err);

/* No program that it executes can gain privileges. For good. */
KR_CHECK int sandbox_no_new_privileges(kr_error *err);

#endif
