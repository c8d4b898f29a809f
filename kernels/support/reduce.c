// SPDX-License-Identifier: Apache-2.0
/* The two ways to fold dims, and the choice between them. */
#include "reduce.h"

#include "dtype.h"
#include "elements.h"
#include "shape.h"

enum {
    SHORT_ROW = 16, /* rows of outputs below this are not worth a call each */
    SHORT_RUN = 64, /* runs below this are not worth being opened one by one */
};

typedef union totals {
    double f64[CHUNK];
    int64_t i64[CHUNK];
} totals;

typedef struct reduction {
    kr_tensor kept, folded; /* the dims of the input that stay, and those that go */
    kr_tensor out;          /* of kept's shape */
    kr_dtype via, as;
    const reduce_loops *loops;
} reduction;

int reduced_shape(const kr_tensor *self, uint32_t mask, bool keepdim, int64_t *ret_sizes)
{
    int dim = 0;
    for (int d = 0; d < self->dim; d++) {
        if (!(mask >> d & 1))
            ret_sizes[dim++] = self->sizes[d];
        else if (keepdim)
            ret_sizes[dim++] = 1;
    }
    return dim;
}

static void start_totals(const reduction *r, totals *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (r->as == KR_FLOAT64)
            t->f64[i] = r->loops->f64_start;
        else
            t->i64[i] = r->loops->i64_start;
    }
}

/* One output after the other. */
static void fold_runs(const reduction *r)
{
    const int64_t count = numel(&r->out);
    reader in;
    totals t;

    reader_open(&in, &r->folded, r->via, r->as);
    for (int64_t i = 0; i < count; i++) {
        start_totals(r, &t, 1);
        for (reader_restart(&in, element_at(&r->kept, i)); reader_next(&in, CHUNK);) {
            if (r->as == KR_FLOAT64)
                t.f64[0] = r->loops->f64_run(in.n, t.f64[0], in.values);
            else
                t.i64[0] = r->loops->i64_run(in.n, t.i64[0], in.values);
        }
        store_elements((kr_dtype) r->out.dtype, element_at(&r->out, i), 1, 1, r->as, &t);
    }
}

/* n neighbouring outputs along dim d of the kept dims, from the i-th of the other dims on. */
static void fold_row(const reduction *r, int d, int64_t n, void *from, void *to)
{
    kr_tensor rows = r->folded;
    reader in;
    totals t;

    rows.data = from;
    rows.sizes[rows.dim] = n;
    rows.strides[rows.dim++] = r->kept.strides[d];
    start_totals(r, &t, n);
    for (reader_open(&in, &rows, r->via, r->as); reader_next(&in, n);) {
        if (r->as == KR_FLOAT64)
            r->loops->f64_row(n, t.f64, in.values);
        else
            r->loops->i64_row(n, t.i64, in.values);
    }
    store_elements((kr_dtype) r->out.dtype, to, r->out.strides[d], n, r->as, &t);
}

/* Rows of outputs along dim d of the kept dims, one after the other. */
static void fold_rows(const reduction *r, int d)
{
    const uint32_t others = ~(UINT32_C(1) << d);
    const kr_tensor kept = select_dims(&r->kept, others), out = select_dims(&r->out, others);
    const size_t in_size = dtype_size((kr_dtype) kept.dtype);
    const size_t out_size = dtype_size((kr_dtype) out.dtype);
    const int64_t count = numel(&kept), length = r->kept.sizes[d];

    for (int64_t i = 0; i < count; i++) {
        kr_tensor from = kept, to = out;
        from.data = element_at(&kept, i);
        to.data = element_at(&out, i);
        for (int64_t begin = 0; begin < length; begin += CHUNK)
            fold_row(r, d, length - begin < CHUNK ? length - begin : CHUNK,
                     element_offset(&from, begin * r->kept.strides[d], in_size),
                     element_offset(&to, begin * r->out.strides[d], out_size));
    }
}

/* The dim of the kept ones along which to take rows, or -1 to take runs. */
static int row_dim(const reduction *r)
{
    int best = -1;
    for (int d = 0; d < r->kept.dim; d++)
        if (r->kept.sizes[d] >= SHORT_ROW &&
            (best < 0 || r->kept.strides[d] < r->kept.strides[best]))
            best = d;
    if (best < 0 || numel(&r->folded) < SHORT_RUN)
        return best;
    for (int d = 0; d < r->folded.dim; d++)
        if (r->folded.sizes[d] > 1 && r->folded.strides[d] < r->kept.strides[best])
            return -1;
    return best;
}

void reduce(const kr_tensor *self, uint32_t mask, bool keepdim, kr_dtype via, kr_tensor *out,
            const reduce_loops *loops)
{
    reduction r = { .kept = select_dims(self, ~mask),
                    .folded = select_dims(self, mask),
                    .out = keepdim ? select_dims(out, ~mask) : *out,
                    .via = via,
                    .as = dtype_accumulate(via),
                    .loops = loops };
    if (numel(out) == 0)
        return;
    /* A tensor without elements may have no memory, so that no place in it may be computed. */
    for (int d = 0; d < r.kept.dim && numel(self) == 0; d++)
        r.kept.strides[d] = 0;
    const int d = row_dim(&r);
    if (d < 0)
        fold_runs(&r);
    else
        fold_rows(&r, d);
}
