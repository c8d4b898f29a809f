// SPDX-License-Identifier: Apache-2.0
/* Readers and writers: a walk through a tensor, one run of its last dim after the other. */
#include "elements.h"

#include <math.h>
#include <string.h>

#include "context.h"
#include "dtype.h"
#include "shape.h"

/* How many elements follow the `first` in the last dim, up to max. */
static int64_t range_run(const kr_tensor *t, int64_t first, int64_t max)
{
    const int64_t last = t->sizes[t->dim - 1], run = t->dim > 1 ? last - first % last : max;
    return run < max ? run : max;
}

void load_range(const kr_tensor *t, int64_t first, int64_t n, kr_dtype as, void *to)
{
    const int64_t stride = t->strides[t->dim - 1];
    char *values = to;
    for (int64_t done = 0, run = 0; done < n; done += run) {
        run = range_run(t, first + done, n - done);
        load_elements((kr_dtype) t->dtype, element_at(t, first + done), stride, run, as,
                      values + (size_t) done * dtype_size(as));
    }
}

void store_range(const kr_tensor *t, int64_t first, int64_t n, kr_dtype as, const void *from)
{
    const int64_t stride = t->strides[t->dim - 1];
    const char *values = from;
    for (int64_t done = 0, run = 0; done < n; done += run) {
        run = range_run(t, first + done, n - done);
        store_elements((kr_dtype) t->dtype, element_at(t, first + done), stride, run, as,
                       values + (size_t) done * dtype_size(as));
    }
}

static void cursor_start(cursor *at)
{
    at->left = numel(&at->t);
    for (int d = 0; d < at->t.dim; d++)
        at->position[d] = 0;
}

static void cursor_open(cursor *at, const kr_tensor *t)
{
    at->t = coalesce(t);
    cursor_start(at);
}

static char *cursor_place(const cursor *at)
{
    int64_t offset = 0;
    for (int d = 0; d < at->t.dim; d++)
        offset += at->position[d] * at->t.strides[d];
    return element_offset(&at->t, offset, dtype_size((kr_dtype) at->t.dtype));
}

/* How many elements follow in the last dim, up to max. */
static int64_t cursor_run(const cursor *at, int64_t max)
{
    const int last = at->t.dim - 1;
    const int64_t run = at->t.sizes[last] - at->position[last];
    return run < max ? run : max;
}

/* Steps over n elements of the last dim. */
static void cursor_advance(cursor *at, int64_t n)
{
    int d = at->t.dim - 1;
    at->position[d] += n;
    at->left -= n;
    while (d > 0 && at->position[d] == at->t.sizes[d]) {
        at->position[d] = 0;
        at->position[--d]++;
    }
}

static int64_t cursor_stride(const cursor *at) { return at->t.strides[at->t.dim - 1]; }

/* Whether the next n elements are an array of `as` in memory. */
static bool cursor_direct(const cursor *at, kr_dtype via, kr_dtype as, int64_t n)
{
    return at->t.dtype == as && via == as && cursor_run(at, n) == n &&
           (cursor_stride(at) == 1 || n == 1);
}

void reader_open(reader *r, const kr_tensor *t, kr_dtype via, kr_dtype as)
{
    cursor_open(&r->at, t);
    r->via = via;
    r->as = as;
    r->half_range = false;
    r->repeats = false;
    r->n = 0;
    r->values = NULL;
}

void reader_restart(reader *r, void *data)
{
    r->at.t.data = data;
    r->repeats = false;
    cursor_start(&r->at);
}

/* 65520 is the least number that rounds to infinity in float16. */
static void limit_to_half(int64_t n, float *values)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = fabsf(values[i]) >= 65520 ? copysignf(INFINITY, values[i]) : values[i];
}

/* Loads n elements that are `stride` apart, through the dtype that they have to go via. */
static void load_via(const reader *r, const void *from, int64_t stride, int64_t n, char *to)
{
    const kr_dtype dtype = (kr_dtype) r->at.t.dtype, natural = dtype_compute(dtype);
    if (r->via == dtype || r->via == r->as) {
        load_elements(dtype, from, stride, n, r->as, to);
        if (r->half_range)
            limit_to_half(n, (float *) (void *) to);
        return;
    }
    /* Both steps start from the element's own type of arithmetic: -0.5 is true as a bool, though
     * as an integer it is 0. */
    _Alignas(64) char widened[CHUNK * sizeof(int64_t)], rounded[CHUNK * sizeof(int64_t)];
    load_elements(dtype, from, stride, n, natural, widened);
    store_elements(r->via, rounded, 1, n, natural, widened);
    load_elements(r->via, rounded, 1, n, r->as, to);
}

bool reader_next(reader *r, int64_t max)
{
    cursor *at = &r->at;
    const int64_t want = max < at->left ? max : at->left;
    if (want == 0)
        return false;

    if (r->repeats) {
        cursor_advance(at, want);
    } else if (!r->half_range && cursor_direct(at, r->via, r->as, want)) {
        r->values = cursor_place(at);
        cursor_advance(at, want);
    } else if (at->t.dim == 1 && at->t.strides[0] == 0) {
        const int64_t all = at->left < CHUNK ? at->left : CHUNK;
        load_via(r, at->t.data, 0, all, r->buffer);
        r->values = r->buffer;
        r->repeats = true;
        cursor_advance(at, want);
    } else {
        const size_t size = dtype_size(r->as);
        for (int64_t done = 0, run = 0; done < want; done += run) {
            run = cursor_run(at, want - done);
            load_via(r, cursor_place(at), cursor_stride(at), run, r->buffer + (size_t) done * size);
            cursor_advance(at, run);
        }
        r->values = r->buffer;
    }
    r->n = want;
    return true;
}

void writer_open(writer *w, const kr_tensor *t, kr_dtype via, kr_dtype as)
{
    cursor_open(&w->at, t);
    w->via = via;
    w->as = as;
    w->direct = false;
    w->n = 0;
    w->values = NULL;
}

/* Stores the values of the current chunk and steps over it. */
static void writer_store(writer *w)
{
    cursor *at = &w->at;
    const kr_dtype dtype = (kr_dtype) at->t.dtype;
    if (w->direct) {
        cursor_advance(at, w->n);
        return;
    }
    if (w->via != dtype && w->via != w->as)
        round_elements(w->via, w->n, w->as, w->buffer);
    const size_t size = dtype_size(w->as);
    for (int64_t done = 0, run = 0; done < w->n; done += run) {
        run = cursor_run(at, w->n - done);
        store_elements(dtype, cursor_place(at), cursor_stride(at), run, w->as,
                       w->buffer + (size_t) done * size);
        cursor_advance(at, run);
    }
}

bool writer_next(writer *w, int64_t max)
{
    if (w->n > 0)
        writer_store(w);
    w->n = max < w->at.left ? max : w->at.left;
    if (w->n == 0)
        return false;
    w->direct = cursor_direct(&w->at, w->via, w->as, w->n);
    w->values = w->direct ? (void *) cursor_place(&w->at) : w->buffer;
    return true;
}

/* Copies n elements of one size as they are, so that even a NaN keeps its bits. */
static void copy_run(size_t size, char *to, int64_t to_stride, const char *from,
                     int64_t from_stride, int64_t n)
{
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t) n * size);
        return;
    }
    const int64_t to_step = to_stride * (int64_t) size, from_step = from_stride * (int64_t) size;
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) {
        switch (size) {
        case 1: memcpy(to, from, 1); break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        default: memcpy(to, from, 8); break;
        }
    }
}

static void copy_same(const kr_tensor *to, const kr_tensor *from)
{
    const size_t size = dtype_size((kr_dtype) to->dtype);
    cursor target, source;
    cursor_open(&target, to);
    cursor_open(&source, from);
    while (target.left > 0) {
        const int64_t n = cursor_run(&source, cursor_run(&target, target.left));
        copy_run(size, cursor_place(&target), cursor_stride(&target), cursor_place(&source),
                 cursor_stride(&source), n);
        cursor_advance(&target, n);
        cursor_advance(&source, n);
    }
}

void copy_elements(const kr_tensor *out, const kr_tensor *in)
{
    int order[KR_MAX_DIMS];
    order_by_stride(out, order);
    const kr_tensor to = permute(out, order), from = permute(in, order);
    const kr_dtype as = dtype_compute((kr_dtype) in->dtype);
    reader r;
    writer w;

    if (to.dtype == from.dtype) {
        copy_same(&to, &from);
        return;
    }
    reader_open(&r, &from, (kr_dtype) from.dtype, as);
    writer_open(&w, &to, (kr_dtype) to.dtype, as);
    while (writer_next(&w, CHUNK) && reader_next(&r, w.n))
        memcpy(w.values, r.values, (size_t) w.n * dtype_size(as));
}

const void *contiguous_elements(kr_context *ctx, const kr_tensor *t, kr_dtype as)
{
    const kr_tensor view = coalesce(t);
    const int64_t n = numel(t);
    if (view.dtype == as && view.dim == 1 && (view.strides[0] == 1 || n == 1))
        return view.data;
    char *values = scratch_array(ctx, n, dtype_size(as));
    char *to = values;
    reader r;
    if (!values)
        return NULL;
    for (reader_open(&r, t, (kr_dtype) t->dtype, as); reader_next(&r, CHUNK);) {
        memcpy(to, r.values, (size_t) r.n * dtype_size(as));
        to += (size_t) r.n * dtype_size(as);
    }
    return values;
}
