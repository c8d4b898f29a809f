// SPDX-License-Identifier: Apache-2.0
/* Waits for ever, without using the CPU. */
#include <kernrig/kernel.h>
#include <unistd.h>

static kr_status sleeps(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    while (1)
        pause();
    return KR_OK;
}
KR_KERNEL(sleeps, .schema = "test::sleeps.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
