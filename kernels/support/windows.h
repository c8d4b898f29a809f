// SPDX-License-Identifier: Apache-2.0
/* Windows that slide over a tensor: the geometry of pooling and convolution along one dim.
 *
 * Along each dim there is a small and a large side: window o of the small side covers, with its tap
 * k, position o * stride - padding + k * dilation of the large one, unless that is in the padding.
 * The small side is the output of pooling and convolution, and the input of a transposed
 * convolution. */
#ifndef KR_SUPPORT_WINDOWS_H
#define KR_SUPPORT_WINDOWS_H

#include <kernrig/kernel.h>

typedef struct window {
    int64_t small, large, kernel, stride, padding, dilation;
} window;

static inline int64_t window_position(const window *w, int64_t o, int64_t tap)
{
    return o * w->stride - w->padding + tap * w->dilation;
}

/* The windows whose tap is not in the padding: [begin, end). */
void window_range(const window *w, int64_t tap, int64_t *ret_begin, int64_t *ret_end);

/* The extent of a window, with the gaps that dilation leaves in it. */
static inline int64_t window_extent(int64_t kernel, int64_t dilation)
{
    return dilation * (kernel - 1) + 1;
}

/* The number of windows. With ceil_mode the last one may reach beyond the padding, if it starts
 * before that. */
int64_t window_count(int64_t large, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode);

#endif
