// SPDX-License-Identifier: Apache-2.0
#include "worker/layout.h"

#include <kernrig/dtype.h>

static int64_t numel(const kr_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->dim; d++)
        n *= t->sizes[d];
    return n;
}

static bool is_contiguous(const kr_tensor *t)
{
    int64_t stride = 1;
    for (int d = t->dim - 1; d >= 0; d--) {
        if (t->sizes[d] != 1 && t->strides[d] != stride)
            return false;
        stride *= t->sizes[d];
    }
    return true;
}

static bool is_fine(const kr_tensor *t, enum kr_layout layout)
{
    return numel(t) == 0 || (layout == KR_DENSE && (t->flags & KR_TENSOR_DENSE)) ||
           is_contiguous(t);
}

/* Copies between a strided tensor and row-major memory; the direction by which side is written. */
static void copy_rows(const kr_tensor *strided, char *dense, bool to_dense)
{
    const size_t item = kr_dtype_size(strided->dtype);
    const int64_t n = numel(strided);
    int64_t position[KR_MAX_DIMS] = { 0 };
    int64_t offset = 0;
    for (int64_t i = 0; i < n; i++) {
        char *element = (char *) strided->data + offset * (int64_t) item;
        if (to_dense)
            memcpy(dense + i * (int64_t) item, element, item);
        else
            memcpy(element, dense + i * (int64_t) item, item);
        for (int d = strided->dim - 1; d >= 0; d--) {
            offset += strided->strides[d];
            if (++position[d] < strided->sizes[d])
                break;
            offset -= strided->strides[d] * strided->sizes[d];
            position[d] = 0;
        }
    }
}

kr_status layout_enter(struct context *context, enum kr_layout layout, struct layout_copy *copies)
{
    struct wire_call *call = context->call;
    for (uint32_t i = 0; i < call->n_tensors; i++) {
        kr_tensor *t = &call->tensors[i];
        copies[i].copy = NULL;
        if (layout == KR_STRIDED || is_fine(t, layout))
            continue;
        void *copy = context_scratch(context, (size_t) numel(t) * kr_dtype_size(t->dtype));
        if (!copy)
            return KR_E_MEMORY;
        copy_rows(t, copy, true);
        copies[i] = (struct layout_copy){ .original = *t, .copy = copy };
        t->data = copy;
        t->flags |= KR_TENSOR_DENSE;
        int64_t stride = 1;
        for (int d = t->dim - 1; d >= 0; d--) {
            t->strides[d] = stride;
            t->dim_order[d] = (uint8_t) d;
            stride *= t->sizes[d];
        }
    }
    return KR_OK;
}

void layout_leave(struct context *context, struct layout_copy *copies)
{
    for (uint32_t i = 0; i < context->call->n_tensors; i++) {
        /* An output that was given a new shape has been written where it lies. */
        if (copies[i].copy && context->call->places[i].is_output &&
            context->call->tensors[i].data == copies[i].copy)
            copy_rows(&copies[i].original, copies[i].copy, false);
    }
}
