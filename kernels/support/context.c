// SPDX-License-Identifier: Apache-2.0
/* Checks that several kernels make, so that all of them refuse with the same words. */
#include "context.h"

#include <limits.h>
#include <math.h>

#include "dtype.h"

void *scratch_array(kr_context *ctx, int64_t count, size_t size)
{
    size_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow((size_t) count, size, &bytes)) {
        ctx->fail(ctx, KR_E_MEMORY, "a kernel asked for scratch memory beyond the address space");
        return NULL;
    }
    return ctx->scratch(ctx, bytes);
}

kr_status resize_out(kr_context *ctx, kr_tensor *out, int dim, const int64_t *sizes)
{
    KR_TRY(ctx->resize(ctx, out, dim, sizes));
    for (int d = 0; d < out->dim; d++)
        if (out->sizes[d] == 0)
            return KR_OK;
    for (int d = 0; d < out->dim; d++)
        if (out->strides[d] == 0 && out->sizes[d] > 1)
            return ctx->fail(ctx, KR_E_OVERLAP,
                             "unsupported operation: more than one element of the written-to "
                             "tensor refers to a single memory location. Please clone() the "
                             "tensor before performing the operation.");
    return KR_OK;
}

kr_status check_dtype(kr_context *ctx, const kr_tensor *t, uint64_t set, const char *what)
{
    if (set & KR_SET(t->dtype))
        return KR_OK;
    return ctx->fail(ctx, KR_E_DTYPE, "\"%s\" not implemented for '%s'", what,
                     dtype_name((kr_dtype) t->dtype));
}

kr_status check_out_dtype(kr_context *ctx, const kr_tensor *out, kr_dtype dtype)
{
    if (out->dtype == dtype)
        return KR_OK;
    return ctx->fail(ctx, KR_E_DTYPE, "Expected out tensor to have dtype %s, but got %s instead",
                     dtype_c_name(dtype), dtype_c_name((kr_dtype) out->dtype));
}

kr_status check_scalar(kr_context *ctx, const kr_value *scalar, kr_dtype dtype)
{
    bool fits = true;
    if (dtype == KR_BOOL) {
        fits = true;
    } else if (dtype_is_float(dtype)) {
        const double value = kr_double(scalar);
        fits = !isfinite(value) || fabs(value) <= dtype_max(dtype);
    } else if (scalar->tag == KR_TAG_DOUBLE) {
        /* Both ends of int64_t's range become 2^63 as doubles, which the negative one may be. */
        const double value = scalar->as.real, max = dtype_max(dtype), min = dtype_min(dtype);
        fits = value >= (min < 0 ? min : -max) && (dtype == KR_INT64 ? value < max : value <= max);
    } else {
        const int64_t value = kr_int(scalar);
        const double max = dtype_max(dtype), min = dtype_min(dtype);
        fits = dtype == KR_INT64 ||
               ((double) value >= (min < 0 ? min : -max) && (double) value <= max);
    }
    if (fits)
        return KR_OK;
    return ctx->fail(ctx, KR_E_OVERFLOW, "value cannot be converted to type %s without overflow",
                     dtype_scalar_name(dtype));
}

kr_status check_int(kr_context *ctx, int64_t value)
{
    if (value >= INT_MIN && value <= INT_MAX)
        return KR_OK;
    return ctx->fail(ctx, KR_E_OVERFLOW, "value cannot be converted to type int without overflow");
}
