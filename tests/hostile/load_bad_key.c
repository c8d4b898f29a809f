// SPDX-License-Identifier: Apache-2.0
/* Has a key that can never match. */
#include <kernrig/kernel.h>

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine, .schema = "test::x.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED, .key = "v1/6;0,0|6;0,1");
