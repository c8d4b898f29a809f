// SPDX-License-Identifier: Apache-2.0
/* Whether two strided tensors of one buffer share a byte.
 *
 * Only the daemon can tell: a kernel sees two mappings of a buffer at two addresses. Ranges that
 * meet are not enough to refuse, since base[::2] and base[1::2] interleave without sharing. So the
 * question is answered exactly, as an equation in bounded integers: there are i and j with
 * addressA(i) = addressB(j). The search is cut short by a budget of steps; a pair that exhausts it
 * counts as sharing. */
#ifndef SERVICE_OVERLAP_H
#define SERVICE_OVERLAP_H

#include <kernrig/value.h>

enum overlap {
    OVERLAP_NONE,
    OVERLAP_EXACT,   /* the same elements in the same order */
    OVERLAP_PARTIAL, /* some byte is shared */
};

/* The tensors' extents have been checked, so that nothing here overflows. *budget is the number of
 * steps left, for all pairs of a call. */
enum overlap overlap_of(const kr_tensor_ref *a, const kr_tensor_ref *b, uint64_t *budget);

/* Whether elements of one tensor share memory in a way that shows at once: a dim of stride 0. */
bool overlap_within(const kr_tensor_ref *t);

#endif
