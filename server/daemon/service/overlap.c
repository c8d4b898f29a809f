// SPDX-License-Identifier: Apache-2.0
#include "service/overlap.h"

#include <kernrig/dtype.h>

/* One bounded integer variable: 0 <= x <= most, counting in steps of stride units. */
struct term {
    uint64_t stride, most;
};

/* What is left to be solved from a term on. */
struct rest {
    uint64_t reach;   /* the largest sum that these terms can make */
    uint64_t divisor; /* of every sum that they can make */
};

enum { MAX_TERMS = 2 * (KR_MAX_DIMS + 1) };

static bool is_empty(const kr_tensor_ref *t)
{
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] == 0)
            return true;
    return false;
}

/* Units from the first element to the last unit of the last one. */
static uint64_t span(const kr_tensor_ref *t, uint64_t item)
{
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

static size_t add_terms(struct term *terms, size_t n, const kr_tensor_ref *t, uint64_t item)
{
    for (int d = 0; d < t->dim; d++)
        if (t->sizes[d] > 1 && t->strides[d] > 0)
            terms[n++] = (struct term){ .stride = (uint64_t) t->strides[d] * item,
                                        .most = (uint64_t) t->sizes[d] - 1 };
    if (item > 1)
        terms[n++] = (struct term){ .stride = 1, .most = item - 1 }; /* units of an element */
    return n;
}

static int by_descending_stride(const void *a, const void *b)
{
    const uint64_t x = ((const struct term *) a)->stride, y = ((const struct term *) b)->stride;
    return (x < y) - (x > y);
}

/* Whether the sum of stride * x over the terms from i on can be target. The largest stride first
 * leaves few choices to each term. */
static bool solve(const struct term *terms, const struct rest *rest, size_t n, size_t i,
                  uint64_t target, uint64_t *budget)
{
    if (target > rest[i].reach)
        return false;
    if (target == 0)
        return true;
    if (i == n || target % rest[i].divisor != 0)
        return false;
    if (*budget == 0)
        return true;
    --*budget;
    const uint64_t others = rest[i + 1].reach, stride = terms[i].stride;
    const uint64_t low = target > others ? (target - others + stride - 1) / stride : 0;
    const uint64_t high = target / stride < terms[i].most ? target / stride : terms[i].most;
    for (uint64_t x = high + 1; x-- > low;)
        if (solve(terms, rest, n, i + 1, target - x * stride, budget))
            return true;
    return false;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t c = a % b;
        a = b;
        b = c;
    }
    return a;
}

enum overlap overlap_of(const kr_tensor_ref *a, const kr_tensor_ref *b, uint64_t *budget)
{
    struct term terms[MAX_TERMS];
    struct rest rest[MAX_TERMS + 1];
    if (a->buffer != b->buffer || is_empty(a) || is_empty(b))
        return OVERLAP_NONE;
    if (is_same(a, b))
        return OVERLAP_EXACT;
    /* Elements of one size that lie on one grid share all of their bytes or none: then a unit is an
     * element, else a byte. */
    const uint64_t size_a = kr_dtype_size(a->dtype), size_b = kr_dtype_size(b->dtype);
    const bool is_grid = size_a == size_b && a->offset % size_a == b->offset % size_a;
    const uint64_t unit = is_grid ? size_a : 1;
    const uint64_t item_a = size_a / unit, item_b = size_b / unit;
    const uint64_t begin_a = a->offset / unit, begin_b = b->offset / unit;
    const uint64_t span_a = span(a, item_a), span_b = span(b, item_b);
    if (begin_a + span_a <= begin_b || begin_b + span_b <= begin_a)
        return OVERLAP_NONE;
    /* a.begin + sum(a) = b.begin + sum(b). With y counted from the end of b, both sums add up:
     * sum(a) + sum(b) = b.begin + (span_b - 1) - a.begin. */
    const uint64_t target = begin_b + (span_b - 1) - begin_a;
    size_t n = add_terms(terms, 0, a, item_a);
    n = add_terms(terms, n, b, item_b);
    qsort(terms, n, sizeof *terms, by_descending_stride);
    rest[n] = (struct rest){ 0 };
    for (size_t i = n; i-- > 0;) {
        rest[i].reach = rest[i + 1].reach + terms[i].stride * terms[i].most;
        rest[i].divisor = greatest_divisor(terms[i].stride, rest[i + 1].divisor);
    }
    return solve(terms, rest, n, 0, target, budget) ? OVERLAP_PARTIAL : OVERLAP_NONE;
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
