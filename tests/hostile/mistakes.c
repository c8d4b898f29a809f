// SPDX-License-Identifier: Apache-2.0
/* Kernels whose authors have misread the manual, one mistake each. */
#include <kernrig/kernel.h>

#define OUT "(Tensor self, *, Tensor(a!) out) -> "

static kr_status unasked(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_E_RESIZE;
}
KR_KERNEL(unasked, .schema = "test::unasked.out" OUT "Tensor(a!)", .layout = KR_STRIDED);

static kr_status returns_bool(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    rets[0] = (kr_value){ .tag = KR_TAG_BOOL, .as.boolean = true };
    return KR_OK;
}
KR_KERNEL(returns_bool, .schema = "test::returns_bool.out" OUT "(Tensor(a!), int)",
          .layout = KR_STRIDED);

static kr_status returns_nothing(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(returns_nothing, .schema = "test::returns_nothing.out" OUT "(Tensor(a!), int)",
          .layout = KR_STRIDED);

static kr_status deaf(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    const int64_t size = 100;
    (void) rets;
    (void) ctx->resize(ctx, kr_out(&args[1]), 1, &size);
    return KR_OK;
}
KR_KERNEL(deaf, .schema = "test::deaf.out" OUT "Tensor(a!)", .layout = KR_STRIDED);
