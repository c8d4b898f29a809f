// SPDX-License-Identifier: Apache-2.0
#include "service/overlap.h"

#include <kernrig/dtype.h>

/* One bounded integer variable: 0 <= x <= most, counting in steps of stride bytes. */
struct term {
    uint64_t stride, most;
};

enum { MAX_TERMS = 2 * (KR_MAX_DIMS + 1) };

static bool is_empty(const kr_tensor_ref *t)
{
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] == 0)
            return true;
    return false;
}

/* Bytes from the first element to the last byte of the last one. */
static uint64_t span(const kr_tensor_ref *t)
{
    const uint64_t item = kr_dtype_size(t->dtype);
    uint64_t last = 0;
    for (int d = 0; d < t->dim; d++)
        last += (uint64_t) (t->sizes[d] - 1) * (uint64_t) t->strides[d];
    return (last + 1) * item;
}

static bool is_same(const kr_tensor_ref *a, const kr_tensor_ref *b)
{
    if (a->offset != b->offset || a->dtype != b->dtype || a->dim != b->dim)
        return false;
    for (int d = 0; d < a->dim; d++)
        if (a->sizes[d] != b->sizes[d] || (a->sizes[d] > 1 && a->strides[d] != b->strides[d]))
            return false;
    return true;
}

static size_t add_terms(struct term *terms, size_t n, const kr_tensor_ref *t)
{
    const uint64_t item = kr_dtype_size(t->dtype);
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] > 1 && t->strides[d] > 0)
            terms[n++] = (struct term){ .stride = (uint64_t) t->strides[d] * item,
                                        .most = (uint64_t) t->sizes[d] - 1 };
    if (item > 1)
        terms[n++] = (struct term){ .stride = 1, .most = item - 1 }; /* bytes of an element */
    return n;
}

static int by_descending_stride(const void *a, const void *b)
{
    const uint64_t x = ((const struct term *) a)->stride, y = ((const struct term *) b)->stride;
    return (x < y) - (x > y);
}

/* Whether the sum of stride * x over the terms from i on can be target. reach[i] is the largest
 * sum that these terms can make. The largest stride first leaves few choices to each term. */
static bool solve(const struct term *terms, const uint64_t *reach, size_t n, size_t i,
                  uint64_t target, uint64_t *budget)
{
    if (target > reach[i])
        return false;
    if (target == 0)
        return true;
    if (i == n)
        return false;
    if (*budget == 0)
        return true;
    --*budget;
    const uint64_t rest = reach[i + 1], stride = terms[i].stride;
    const uint64_t low = target > rest ? (target - rest + stride - 1) / stride : 0;
    const uint64_t high = target / stride < terms[i].most ? target / stride : terms[i].most;
    for (uint64_t x = high + 1; x-- > low;)
        if (solve(terms, reach, n, i + 1, target - x * stride, budget))
            return true;
    return false;
}

enum overlap overlap_of(const kr_tensor_ref *a, const kr_tensor_ref *b, uint64_t *budget)
{
    struct term terms[MAX_TERMS];
    uint64_t reach[MAX_TERMS + 1];
    if (a->buffer != b->buffer || is_empty(a) || is_empty(b))
        return OVERLAP_NONE;
    if (is_same(a, b))
        return OVERLAP_EXACT;
    const uint64_t span_a = span(a), span_b = span(b);
    if (a->offset + span_a <= b->offset || b->offset + span_b <= a->offset)
        return OVERLAP_NONE;
    /* a.offset + sum(a) = b.offset + sum(b). With y counted from the end of b, both sums add up:
     * sum(a) + sum(b) = b.offset + (span_b - 1) - a.offset. */
    const uint64_t target = b->offset + (span_b - 1) - a->offset;
    size_t n = add_terms(terms, 0, a);
    n = add_terms(terms, n, b);
    qsort(terms, n, sizeof *terms, by_descending_stride);
    reach[n] = 0;
    for (size_t i = n; i-- > 0;)
        reach[i] = reach[i + 1] + terms[i].stride * terms[i].most;
    return solve(terms, reach, n, 0, target, budget) ? OVERLAP_PARTIAL : OVERLAP_NONE;
}

bool overlap_within(const kr_tensor_ref *t)
{
    if (is_empty(t))
        return false;
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] > 1 && t->strides[d] == 0)
            return true;
    return false;
}
