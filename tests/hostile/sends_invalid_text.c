// SPDX-License-Identifier: Apache-2.0
/* Says things that are not UTF-8. */
#include <kernrig/kernel.h>

static kr_status sends_invalid_text(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) args;
    (void) rets;
    ctx->log(ctx, "log \xff\xfe");
    return ctx->fail(ctx, KR_E_VALUE, "text \xc3\x28 \xff");
}
KR_KERNEL(sends_invalid_text,
          .schema = "test::sends_invalid_text.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
