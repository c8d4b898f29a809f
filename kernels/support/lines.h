// SPDX-License-Identifier: Apache-2.0
/* A tensor as lines along one of its dims, for operators such as softmax that need them whole.
 *
 * Lines are numbered in row-major order of the other dims. Several are loaded and stored at once,
 * each then a plain array: where lines lie interleaved in memory, that goes across them. */
#ifndef KR_SUPPORT_LINES_H
#define KR_SUPPORT_LINES_H

#include <kernrig/kernel.h>

typedef struct lines {
    kr_tensor others; /* the other dims, coalesced */
    int64_t count, length, stride;
} lines;

/* Of a tensor without dims, one line of one element. */
lines lines_along(const kr_tensor *t, int dim);

/* How many lines of which n elements are wanted should be loaded at once: enough to go across
 * them, but not more than fit a cache. */
int64_t lines_at_once(const lines *l, int64_t n);

/* Elements [begin, begin + n) of `count` lines, which become one array of n after the other. */
void lines_load(const lines *l, int64_t first, int64_t count, int64_t begin, int64_t n, kr_dtype as,
                void *to);
void lines_store(const lines *l, int64_t first, int64_t count, int64_t begin, int64_t n,
                 kr_dtype as, const void *from);

#endif
