// SPDX-License-Identifier: Apache-2.0
/* aten::full.out: a tensor of one value, cast to the dtype of out. */
#include "context.h"
#include "elements.h"
#include "shape.h"
#include <inttypes.h>

static kr_status full_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const int64_t *sizes = kr_ints(&args[0]);
    const uint32_t dim = kr_count(&args[0]);
    kr_tensor *out = kr_out(&args[2]);
    scalar_memory memory;
    const kr_tensor value = scalar_tensor(&args[1], &memory);
    (void) rets;

    if (dim > KR_MAX_DIMS)
        return ctx->fail(ctx, KR_E_SHAPE, "a tensor of %u dims; at most %d are supported", dim,
                         KR_MAX_DIMS);
    for (uint32_t d = 0; d < dim; d++)
        if (sizes[d] < 0)
            return ctx->fail(ctx, KR_E_VALUE,
                             "Trying to create tensor with negative dimension %" PRId64, sizes[d]);
    KR_TRY(check_scalar(ctx, &args[1], (kr_dtype) out->dtype));
    KR_TRY(resize_out(ctx, out, (int) dim, sizes));
    const kr_tensor repeated = expand(&value, (int) dim, sizes);
    copy_elements(out, &repeated);
    return KR_OK;
}
KR_KERNEL(full_out,
          .schema = "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> "
                    "Tensor(a!)",
          .dtypes = KR_ALL_TYPES, .layout = KR_STRIDED);
