// SPDX-License-Identifier: Apache-2.0
/* The buffers that a runner has mapped, by handle and access.
 *
 * Mappings stay until the daemon says UNMAP: a fresh mapping of 64 MiB costs milliseconds, a cached
 * one nothing. A buffer may be mapped twice, read-only from a read-only descriptor for inputs and
 * writable for outputs. On both sides of each lies a guard region without access, wide enough that
 * a kernel that runs off one tensor does not land in another. */
#ifndef WORKER_MAPPINGS_H
#define WORKER_MAPPINGS_H

#include "wire/worker.h"

enum { MAPPINGS_GUARD = 65536 }; /* bytes on each side */

struct mappings;

KR_CHECK struct mappings *mappings_new(void);
/* Maps fd, which stays the caller's. Mapping what is mapped already is an error. */
KR_CHECK int mappings_add(struct mappings *mappings, const struct wire_map *map, int fd,
                          kr_error *err);
/* Unmaps both kinds; a handle that is not mapped is ignored. */
void mappings_remove(struct mappings *mappings, uint64_t buffer);
/* The address of the buffer's first byte; NULL if it is not mapped so. */
void *mappings_find(const struct mappings *mappings, uint64_t buffer, bool writable,
                    uint64_t *ret_size);

#endif
