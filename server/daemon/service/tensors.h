// SPDX-License-Identifier: Apache-2.0
/* What must hold of a call's tensors before any kernel sees them: each lies within a buffer of the
 * session, and outputs share memory with others only as a kernel may expect. */
#ifndef SERVICE_TENSORS_H
#define SERVICE_TENSORS_H

#include "base/limits.h"
#include "buffers/buffers.h"
#include <kernrig/schema.h>

struct call_tensors {
    uint32_t n;
    struct buffer **buffers; /* of each tensor; NULL for a wrapped number */
    uint64_t *capacities;    /* bytes that each may take, from its offset */
    bool *aliased;           /* an output that is exactly an input */
    /* Of such an output, if there is one, and of its input. */
    const char *alias_name, *aliased_name;
};

/* Arrays lie in the arena. Every error names the operator and the argument. The search for overlap
 * takes steps away from overlap_steps; what has none left is refused, since it is not known to be
 * right. */
KR_CHECK int tensors_check(const kr_bound *bound, struct buffers *buffers, uint64_t owner,
                           const struct limits *limits, kr_arena *arena, uint64_t *overlap_steps,
                           struct call_tensors *ret, kr_error *err);

/* "other", or "tensors[3]". */
const char *tensors_name(const kr_bound *bound, uint32_t index, char *text, size_t size);

#endif
