// SPDX-License-Identifier: Apache-2.0
/* Counting windows, and those that a tap lies inside the tensor for. */
#include "windows.h"

/* Rounded down and up, for any a and a positive b. */
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

static int64_t clamp(int64_t value, int64_t max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

void window_range(const window *w, int64_t tap, int64_t *ret_begin, int64_t *ret_end)
{
    const int64_t start = tap * w->dilation - w->padding;
    *ret_begin = clamp(ceil_div(-start, w->stride), w->small);
    *ret_end = clamp(ceil_div(w->large - start, w->stride), w->small);
}

int64_t window_count(int64_t large, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode)
{
    const int64_t room = large + 2 * padding - window_extent(kernel, dilation);
    const int64_t count = (ceil_mode ? ceil_div(room, stride) : floor_div(room, stride)) + 1;
    return ceil_mode && (count - 1) * stride >= large + padding ? count - 1 : count;
}
