// SPDX-License-Identifier: Apache-2.0
/* Crashes while it is loaded. */
#include <kernrig/kernel.h>

__attribute__((constructor)) static void early(void) { __builtin_trap(); }

static kr_status fine(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return KR_OK;
}
KR_KERNEL(fine, .schema = "test::load_crashes.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
