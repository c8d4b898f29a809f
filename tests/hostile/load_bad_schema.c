// SPDX-License-Identifier: Apache-2.0
/* Describes itself with a schema that does not parse. */
#include <kernrig/kernel.h>

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine, .schema = "test::x.out(Tensr self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
