// SPDX-License-Identifier: Apache-2.0
/* The dim order of a tensor, as key.h defines it. */
#include <kernrig/key.h>

bool kr_dim_order(int dim, const int64_t *sizes, const int64_t *strides, uint8_t *ret_order)
{
    if (dim < 0 || dim > KR_MAX_DIMS)
        return false;
    /* The dims that have a say, outermost first: an insertion sort, which keeps ties in order. */
    uint8_t order[KR_MAX_DIMS];
    int count = 0;
    bool empty = false;
    for (int i = 0; i < dim; i++) {
        if (sizes[i] < 0)
            return false;
        empty |= sizes[i] == 0;
        if (sizes[i] == 1)
            continue;
        int at = count++;
        for (; at > 0 && strides[order[at - 1]] < strides[i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t) i;
    }
    if (empty) {
        for (int i = 0; i < dim; i++)
            ret_order[i] = (uint8_t) i;
        return true;
    }
    int64_t dense = 1;
    for (int i = count - 1; i >= 0; i--)
        if (strides[order[i]] != dense || __builtin_mul_overflow(dense, sizes[order[i]], &dense))
            return false;
    /* A dim of size 1 stands at its own place, and the others fill what is left. */
    for (int i = 0, next = 0; i < dim; i++)
        ret_order[i] = sizes[i] == 1 ? (uint8_t) i : order[next++];
    return true;
}
