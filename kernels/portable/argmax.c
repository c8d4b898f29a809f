// SPDX-License-Identifier: Apache-2.0
/* aten::argmax.out: the index of the greatest element along dim, or of all elements in row-major
 * order. The first of equal elements is taken, and the first NaN is greater than any number. */
#include <inttypes.h>

#include "context.h"
#include "dtype.h"
#include "elements.h"
#include "lines.h"
#include "reduce.h"
#include "shape.h"

enum { PIECE = 1024 }; /* elements of a line that are looked at at once */

typedef union number {
    float f32;
    double f64;
    int64_t i64;
} number;

/* The greatest element so far. */
typedef struct candidate {
    number value;
    int64_t index; /* -1 before the first */
} candidate;

/* Goes on with n elements, the first of which has index `base`. */
#define SCAN(T, member)                                                        \
    static void scan_##T(candidate *best, int64_t base, int64_t n, const T *x) \
    {                                                                          \
        T value = best->index < 0 ? x[0] : best->value.member;                 \
        int64_t index = best->index < 0 ? base : best->index;                  \
        for (int64_t i = 0; i < n; i++) {                                      \
            if (value == value && !(x[i] <= value)) {                          \
                value = x[i];                                                  \
                index = base + i;                                              \
            }                                                                  \
        }                                                                      \
        best->value.member = value;                                            \
        best->index = index;                                                   \
    }
SCAN(float, f32)
SCAN(double, f64)
SCAN(int64_t, i64)

static void scan(candidate *best, int64_t base, int64_t n, kr_dtype as, const void *x)
{
    switch (as) {
    case KR_FLOAT32: scan_float(best, base, n, x); break;
    case KR_FLOAT64: scan_double(best, base, n, x); break;
    default: scan_int64_t(best, base, n, x); break;
    }
}

static void argmax_all(const kr_tensor *self, kr_dtype as, const kr_tensor *out)
{
    candidate best = { .index = -1 };
    int64_t base = 0;
    reader in;
    for (reader_open(&in, self, (kr_dtype) self->dtype, as); reader_next(&in, CHUNK); base += in.n)
        scan(&best, base, in.n, as, in.values);
    store_elements(KR_INT64, out->data, 1, 1, KR_INT64, &best.index);
}

static kr_status argmax_along(kr_context *ctx, const kr_tensor *self, int dim, kr_dtype as,
                              const kr_tensor *out)
{
    const lines in = lines_along(self, dim);
    const int64_t piece = in.length < PIECE ? in.length : PIECE;
    const int64_t at_once = lines_at_once(&in, piece) < CHUNK ? lines_at_once(&in, piece) : CHUNK;
    const size_t size = dtype_size(as);
    char *values = scratch_array(ctx, at_once * piece, size);
    candidate best[CHUNK];
    int64_t first = 0;
    writer w;

    if (!values)
        return KR_E_MEMORY;
    for (writer_open(&w, out, KR_INT64, KR_INT64); writer_next(&w, at_once); first += w.n) {
        int64_t *indices = w.values;
        for (int64_t i = 0; i < w.n; i++)
            best[i].index = -1;
        for (int64_t begin = 0; begin < in.length; begin += piece) {
            const int64_t n = in.length - begin < piece ? in.length - begin : piece;
            lines_load(&in, first, w.n, begin, n, as, values);
            for (int64_t i = 0; i < w.n; i++)
                scan(&best[i], begin, n, as, values + (size_t) (i * n) * size);
        }
        for (int64_t i = 0; i < w.n; i++)
            indices[i] = best[i].index;
    }
    return KR_OK;
}

static kr_status argmax_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_tensor *self = kr_in(&args[0]);
    const bool all = kr_is_none(&args[1]), keepdim = kr_bool(&args[2]);
    kr_tensor *out = kr_out(&args[3]);
    const kr_dtype as = dtype_compute((kr_dtype) self->dtype);
    uint32_t mask = (UINT32_C(1) << self->dim) - 1;
    int64_t sizes[KR_MAX_DIMS];
    int dim = 0;

    if (self->dtype == KR_BOOL)
        return ctx->fail(ctx, KR_E_DTYPE, "argmax(): does not support bool input");
    KR_TRY(check_out_dtype(ctx, out, KR_INT64));
    if (!all) {
        KR_TRY(wrap_dim(ctx, kr_int(&args[1]), self->dim, &dim));
        if (self->dim > 0 && self->sizes[dim] == 0)
            return ctx->fail(ctx, KR_E_INDEX,
                             "argmax(): Expected reduction dim %" PRId64 " to have non-zero size.",
                             kr_int(&args[1]));
        mask = UINT32_C(1) << dim;
    } else if (numel(self) == 0) {
        return ctx->fail(ctx, KR_E_INDEX,
                         "argmax(): Expected reduction dim to be specified for input.numel() == "
                         "0.");
    }
    KR_TRY(resize_out(ctx, out, reduced_shape(self, mask, keepdim, sizes), sizes));
    if (numel(out) == 0)
        return KR_OK;
    if (!all)
        return argmax_along(ctx, self, dim, as, out);
    argmax_all(self, as, out);
    return KR_OK;
}
KR_KERNEL(argmax_out,
          .schema = "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, "
                    "Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_REAL_TYPES, .layout = KR_STRIDED);
