// SPDX-License-Identifier: Apache-2.0
/* Lines are loaded along themselves or across them, whichever gives the longer runs in memory. */
#include "lines.h"

#include <string.h>

#include "dtype.h"
#include "elements.h"
#include "shape.h"

enum {
    FEW = 16,          /* elements that are too few for a conversion loop of their own */
    BLOCK = 16 * 1024, /* elements of all lines at once */
    LONG = 64 * 1024,  /* a line of this length is loaded alone */
};

lines lines_along(const kr_tensor *t, int dim)
{
    const uint32_t mask = t->dim > 0 ? UINT32_C(1) << dim : 0;
    const kr_tensor others = select_dims(t, ~mask);
    return (lines){ .others = coalesce(&others),
                    .count = numel(&others),
                    .length = t->dim > 0 ? t->sizes[dim] : 1,
                    .stride = t->dim > 0 ? t->strides[dim] : 0 };
}

int64_t lines_at_once(const lines *l, int64_t n)
{
    int64_t count = n > 0 ? BLOCK / n : BLOCK;
    if (count < FEW)
        count = n < LONG ? FEW : 1;
    return count < l->count ? count : l->count;
}

/* How many lines from `first` on are a constant stride apart. */
static int64_t neighbours(const lines *l, int64_t first, int64_t count)
{
    const int64_t last = l->others.sizes[l->others.dim - 1], left = last - first % last;
    return left < count ? left : count;
}

static bool goes_across(const lines *l, int64_t count, int64_t n)
{
    const int64_t step = l->others.strides[l->others.dim - 1];
    return count >= FEW && (n < FEW || step < l->stride);
}

static char *line_place(const lines *l, int64_t line, int64_t begin)
{
    const kr_tensor start = { .data = element_at(&l->others, line) };
    return element_offset(&start, begin * l->stride, dtype_size((kr_dtype) l->others.dtype));
}

/* Copies n values of one size between arrays whose items are that many values apart. */
static void spread(size_t size, char *to, int64_t to_step, const char *from, int64_t from_step,
                   int64_t n)
{
    if (size == sizeof(uint32_t))
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step * 4, from + i * from_step * 4, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step * 8, from + i * from_step * 8, 8);
}

void lines_load(const lines *l, int64_t first, int64_t count, int64_t begin, int64_t n, kr_dtype as,
                void *to)
{
    const kr_dtype dtype = (kr_dtype) l->others.dtype;
    const size_t size = dtype_size(as);
    const int64_t step = l->others.strides[l->others.dim - 1];
    char *values = to;

    for (int64_t done = 0, run = 0; done < count; done += run) {
        run = neighbours(l, first + done, count - done);
        char *place = line_place(l, first + done, begin);
        if (!goes_across(l, run, n)) {
            run = 1;
            load_elements(dtype, place, l->stride, n, as, values + (size_t) (done * n) * size);
            continue;
        }
        run = run < CHUNK ? run : CHUNK;
        _Alignas(64) char across[CHUNK * sizeof(int64_t)];
        for (int64_t j = 0; j < n; j++, place += l->stride * (int64_t) dtype_size(dtype)) {
            load_elements(dtype, place, step, run, as, across);
            spread(size, values + (size_t) (done * n + j) * size, n, across, 1, run);
        }
    }
}

void lines_store(const lines *l, int64_t first, int64_t count, int64_t begin, int64_t n,
                 kr_dtype as, const void *from)
{
    const kr_dtype dtype = (kr_dtype) l->others.dtype;
    const size_t size = dtype_size(as);
    const int64_t step = l->others.strides[l->others.dim - 1];
    const char *values = from;

    for (int64_t done = 0, run = 0; done < count; done += run) {
        run = neighbours(l, first + done, count - done);
        char *place = line_place(l, first + done, begin);
        if (!goes_across(l, run, n)) {
            run = 1;
            store_elements(dtype, place, l->stride, n, as, values + (size_t) (done * n) * size);
            continue;
        }
        run = run < CHUNK ? run : CHUNK;
        _Alignas(64) char across[CHUNK * sizeof(int64_t)];
        for (int64_t j = 0; j < n; j++, place += l->stride * (int64_t) dtype_size(dtype)) {
            spread(size, across, 1, values + (size_t) (done * n + j) * size, n, run);
            store_elements(dtype, place, step, run, as, across);
        }
    }
}
