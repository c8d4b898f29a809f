// SPDX-License-Identifier: Apache-2.0
/* Views and the rules by which shapes fit each other. No element is touched here. */
#include "shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "context.h"
#include "dtype.h"

kr_tensor scalar_tensor(const kr_value *scalar, scalar_memory *memory)
{
    kr_tensor t = { .data = memory, .flags = KR_TENSOR_WRAPPED_NUMBER | KR_TENSOR_DENSE };
    if (scalar->tag == KR_TAG_DOUBLE) {
        t.dtype = KR_FLOAT64;
        memory->real = scalar->as.real;
    } else if (scalar->tag == KR_TAG_BOOL) {
        t.dtype = KR_BOOL;
        memory->boolean = scalar->as.boolean;
    } else {
        t.dtype = KR_INT64;
        memory->integer = scalar->as.integer;
    }
    return t;
}

int64_t numel(const kr_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->dim; d++)
        n *= t->sizes[d];
    return n;
}

void *element_at(const kr_tensor *t, int64_t linear)
{
    int64_t offset = 0;
    for (int d = t->dim - 1; d > 0 && linear > 0; d--) {
        offset += linear % t->sizes[d] * t->strides[d];
        linear /= t->sizes[d];
    }
    if (linear > 0)
        offset += linear * t->strides[0];
    return element_offset(t, offset, dtype_size((kr_dtype) t->dtype));
}

kr_status wrap_dim(kr_context *ctx, int64_t dim, int rank, int *ret)
{
    const int dims = rank > 0 ? rank : 1;
    if (dim < -dims || dim >= dims)
        return ctx->fail(ctx, KR_E_INDEX,
                         "Dimension out of range (expected to be in range of [%d, %d], "
                         "but got %" PRId64 ")",
                         -dims, dims - 1, dim);
    *ret = (int) (dim < 0 ? dim + dims : dim);
    return KR_OK;
}

kr_status dim_mask(kr_context *ctx, const kr_value *dims, int rank, uint32_t *ret)
{
    uint32_t mask = 0;
    if (kr_count(dims) == 0) {
        *ret = (UINT32_C(1) << rank) - 1;
        return KR_OK;
    }
    for (uint32_t i = 0; i < kr_count(dims); i++) {
        int dim = 0;
        KR_TRY(wrap_dim(ctx, kr_ints(dims)[i], rank, &dim));
        if (mask >> dim & 1)
            return ctx->fail(ctx, KR_E_VALUE, "dim %d appears multiple times in the list of dims",
                             dim);
        mask |= UINT32_C(1) << dim;
    }
    *ret = mask;
    return KR_OK;
}

/* The size along dim d of `dim`, where t is aligned to the last dim; 1 before its first. */
static int64_t aligned_size(const kr_tensor *t, int d, int dim)
{
    const int own = d - (dim - t->dim);
    return own < 0 ? 1 : t->sizes[own];
}

kr_status broadcast(kr_context *ctx, const kr_tensor *a, const kr_tensor *b, int *ret_dim,
                    int64_t *ret_sizes)
{
    const int dim = a->dim > b->dim ? a->dim : b->dim;
    int64_t sizes[KR_MAX_DIMS];

    for (int d = dim - 1; d >= 0; d--) {
        const int64_t x = aligned_size(a, d, dim), y = aligned_size(b, d, dim);
        if (x != y && x != 1 && y != 1)
            return ctx->fail(ctx, KR_E_SHAPE,
                             "The size of tensor a (%" PRId64 ") must match the size of tensor b "
                             "(%" PRId64 ") at non-singleton dimension %d",
                             x, y, d);
        sizes[d] = x == 1 ? y : x;
    }
    for (int d = 0; d < dim; d++)
        ret_sizes[d] = sizes[d];
    *ret_dim = dim;
    return KR_OK;
}

bool can_expand(const kr_tensor *t, int dim, const int64_t *sizes)
{
    if (t->dim > dim)
        return false;
    for (int d = 0; d < dim; d++) {
        const int64_t size = aligned_size(t, d, dim);
        if (size != 1 && size != sizes[d])
            return false;
    }
    return true;
}

kr_tensor expand(const kr_tensor *t, int dim, const int64_t *sizes)
{
    kr_tensor view = *t;
    view.dim = (uint8_t) dim;
    for (int d = 0; d < dim; d++) {
        const int own = d - (dim - t->dim);
        view.sizes[d] = sizes[d];
        view.strides[d] = own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
    }
    return view;
}

kr_tensor select_dims(const kr_tensor *t, uint32_t mask)
{
    kr_tensor view = *t;
    view.dim = 0;
    for (int d = 0; d < t->dim; d++) {
        if (!(mask >> d & 1))
            continue;
        view.sizes[view.dim] = t->sizes[d];
        view.strides[view.dim++] = t->strides[d];
    }
    return view;
}

kr_tensor permute(const kr_tensor *t, const int *order)
{
    kr_tensor view = *t;
    for (int d = 0; d < t->dim; d++) {
        view.sizes[d] = t->sizes[order[d]];
        view.strides[d] = t->strides[order[d]];
    }
    return view;
}

void order_by_stride(const kr_tensor *t, int *ret_order)
{
    for (int d = 0; d < t->dim; d++) {
        int place = d;
        for (; place > 0 && t->strides[ret_order[place - 1]] < t->strides[d]; place--)
            ret_order[place] = ret_order[place - 1];
        ret_order[place] = d;
    }
}

kr_tensor coalesce(const kr_tensor *t)
{
    kr_tensor view = *t;
    int n = 0;
    for (int d = 0; d < t->dim; d++) {
        if (t->sizes[d] == 1)
            continue;
        if (n > 0 && view.strides[n - 1] == t->strides[d] * t->sizes[d]) {
            view.sizes[n - 1] *= t->sizes[d];
            view.strides[n - 1] = t->strides[d];
        } else {
            view.sizes[n] = t->sizes[d];
            view.strides[n++] = t->strides[d];
        }
    }
    if (n == 0) {
        view.sizes[0] = 1;
        view.strides[0] = 0;
        n = 1;
    }
    view.dim = (uint8_t) n;
    return view;
}

const char *shape_text(char text[SHAPE_TEXT], int count, const int64_t *sizes)
{
    int length = snprintf(text, SHAPE_TEXT, "[");
    for (int i = 0; i < count && i < KR_MAX_DIMS; i++)
        length += snprintf(text + length, (size_t) (SHAPE_TEXT - length), "%s%" PRId64,
                           i > 0 ? ", " : "", sizes[i]);
    snprintf(text + length, (size_t) (SHAPE_TEXT - length), "]");
    return text;
}
