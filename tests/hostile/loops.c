// SPDX-License-Identifier: Apache-2.0
/* Computes for ever. */
#include <kernrig/kernel.h>

static kr_status loops(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    volatile uint64_t n = 0;
    while (1)
        n++;
    return KR_OK;
}
KR_KERNEL(loops, .schema = "test::loops.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
