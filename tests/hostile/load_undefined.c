// SPDX-License-Identifier: Apache-2.0
/* Needs a symbol that nobody has. */
#include <kernrig/kernel.h>

kr_status nobody_has_this(void);
static kr_status needy(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return nobody_has_this();
}
KR_KERNEL(needy, .schema = "test::needy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
