// SPDX-License-Identifier: Apache-2.0
/* aten::cat.out: the tensors one after another along dim, each converted to out's dtype.
 *
 * A tensor of shape [0] is skipped whatever the rank of the others: PyTorch's legacy. */
#include <inttypes.h>

#include "context.h"
#include "dtype.h"
#include "elements.h"
#include "shape.h"

static bool is_skipped(const kr_tensor *t) { return t->dim == 1 && t->sizes[0] == 0; }

/* Whether t, the i-th tensor, can follow `first` along dim. */
static kr_status check_part(kr_context *ctx, const kr_tensor *first, const kr_tensor *t, int dim,
                            uint32_t i)
{
    if (t->dim != first->dim)
        return ctx->fail(ctx, KR_E_SHAPE,
                         "Tensors must have same number of dimensions: got %d and %d", first->dim,
                         t->dim);
    for (int d = 0; d < t->dim; d++) {
        if (d != dim && t->sizes[d] != first->sizes[d])
            return ctx->fail(ctx, KR_E_SHAPE,
                             "Sizes of tensors must match except in dimension %d. Expected size "
                             "%" PRId64 " but got size %" PRId64 " for tensor number %u in the "
                             "list.",
                             dim, first->sizes[d], t->sizes[d], i);
    }
    return KR_OK;
}

static kr_status cat_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const kr_value *tensors = &args[0];
    kr_tensor *out = kr_out(&args[2]);
    const kr_tensor *first = NULL;
    int64_t extent = 0;
    int dim = 0;

    if (tensors->count == 0)
        return ctx->fail(ctx, KR_E_VALUE, "torch.cat(): expected a non-empty list of Tensors");
    for (uint32_t i = 0; i < tensors->count; i++)
        if (kr_item(tensors, i)->dim == 0)
            return ctx->fail(ctx, KR_E_SHAPE,
                             "zero-dimensional tensor (at position %u) cannot be concatenated", i);
    const kr_dtype common = dtype_result(tensors->count,
                                         (const kr_tensor *const *) tensors->as.tensors);
    for (uint32_t i = 0; i < tensors->count; i++) {
        const kr_tensor *t = kr_item(tensors, i);
        if (is_skipped(t))
            continue;
        if (!first) {
            first = t;
            KR_TRY(wrap_dim(ctx, kr_int(&args[1]), t->dim, &dim));
        }
        KR_TRY(check_part(ctx, first, t, dim, i));
        extent += t->sizes[dim];
    }
    if (!dtype_can_cast(common, (kr_dtype) out->dtype))
        return ctx->fail(ctx, KR_E_CAST,
                         "torch.cat(): input types can't be cast to the desired output type %s",
                         dtype_name((kr_dtype) out->dtype));
    if (!first)
        return resize_out(ctx, out, 1, (const int64_t[]){ 0 });

    kr_tensor shape = *first;
    shape.sizes[dim] = extent;
    KR_TRY(resize_out(ctx, out, shape.dim, shape.sizes));
    if (numel(out) == 0)
        return KR_OK;
    kr_tensor place = *out; /* the part of out that the next tensor goes to */
    for (uint32_t i = 0; i < tensors->count; i++) {
        if (is_skipped(kr_item(tensors, i)))
            continue;
        place.sizes[dim] = kr_item(tensors, i)->sizes[dim];
        copy_elements(&place, kr_item(tensors, i));
        place.data = element_offset(&place, place.sizes[dim] * place.strides[dim],
                                    dtype_size((kr_dtype) place.dtype));
    }
    return KR_OK;
}
KR_KERNEL(cat_out,
          .schema = "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED);
