// SPDX-License-Identifier: Apache-2.0
/* Gives up, after saying why on stderr. */
#include <kernrig/kernel.h>
#include <stdio.h>
#include <stdlib.h>

static kr_status aborts(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    fprintf(stderr, "check failed: %d\n", 42);
    abort();
}
KR_KERNEL(aborts, .schema = "test::aborts.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
