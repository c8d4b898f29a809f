// SPDX-License-Identifier: Apache-2.0
/* Sends frames that nobody asked for, without end. */
#include <kernrig/kernel.h>
#include <unistd.h>

static kr_status floods(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    static char junk[1000];
    while (1)
        if (write(3, junk, sizeof junk) < 0)
            return KR_E_VALUE;
    return KR_OK;
}
KR_KERNEL(floods, .schema = "test::floods.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
