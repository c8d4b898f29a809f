// SPDX-License-Identifier: Apache-2.0
/* Prints without end, to a pipe that nobody need read. */
#include <kernrig/kernel.h>
#include <stdio.h>
#include <stdlib.h>

static kr_status chatters(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    for (int i = 0; i < 200000; i++)
        printf("line %d of a kernel that talks too much \xff\n", i);
    fflush(stdout);
    abort();
}
KR_KERNEL(chatters, .schema = "test::chatters.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
