// SPDX-License-Identifier: Apache-2.0
/* Closes the worker's socket and goes on. */
#include <kernrig/kernel.h>
#include <unistd.h>

static kr_status hangs_up(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    close(3);
    while (1)
        pause();
    return KR_OK;
}
KR_KERNEL(hangs_up, .schema = "test::hangs_up.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
