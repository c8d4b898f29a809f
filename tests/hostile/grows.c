// SPDX-License-Identifier: Apache-2.0
/* Asks for impossible memory and shapes. */
#include <kernrig/kernel.h>

static kr_status grows(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) args;
    (void) rets;
    return ctx->scratch(ctx, (size_t) 1 << 60) ? KR_OK : KR_E_MEMORY;
}
KR_KERNEL(grows, .schema = "test::grows.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
static kr_status grows_out(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const int64_t huge[3] = { INT64_MAX, INT64_MAX, 2 };
    return ctx->resize(ctx, kr_out(&args[1]), 3, huge);
}
KR_KERNEL(grows_out, .schema = "test::grows_out.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
static kr_status grows_twice(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    /* Needs twice what it is given, whatever that is. */
    const int64_t size = kr_out(&args[1])->sizes[0] * 2 + 1;
    return ctx->resize(ctx, kr_out(&args[1]), 1, &size);
}
KR_KERNEL(grows_twice,
          .schema = "test::grows_twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
static kr_status resizes_input(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) rets;
    const int64_t one = 1;
    return ctx->resize(ctx, (kr_tensor *) (uintptr_t) kr_in(&args[0]), 1, &one);
}
KR_KERNEL(resizes_input,
          .schema = "test::resizes_input.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
