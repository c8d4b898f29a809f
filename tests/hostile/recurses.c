// SPDX-License-Identifier: Apache-2.0
/* Uses up its stack. */
#include <kernrig/kernel.h>

static volatile int depth;
static int recurse(int n)
{
    volatile char frame[4096];
    frame[n % 4096] = (char) n;
    depth = n;
    return recurse(n + 1) + frame[0];
}
static kr_status recurses(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    return recurse(0) ? KR_OK : KR_DECLINE;
}
KR_KERNEL(recurses, .schema = "test::recurses.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
