// SPDX-License-Identifier: Apache-2.0
/* Returns what no kernel may return. */
#include <kernrig/kernel.h>

static kr_status lies(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return (kr_status) 42;
}
KR_KERNEL(lies, .schema = "test::lies.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
static kr_status lies_low(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return (kr_status) -32; /* the service's own code for a time-out */
}
KR_KERNEL(lies_low, .schema = "test::lies_low.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
