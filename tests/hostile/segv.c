// SPDX-License-Identifier: Apache-2.0
/* Reads an address that is not mapped. */
#include <kernrig/kernel.h>

static kr_status segv(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    volatile uintptr_t address = 16; /* volatile, or the compiler proves it wrong */
    return *(volatile char *) address ? KR_OK : KR_DECLINE;
}
KR_KERNEL(segv, .schema = "test::segv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
