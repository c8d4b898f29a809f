// SPDX-License-Identifier: Apache-2.0
/* Answers, and dies a moment later: between two calls, or in the next. */
#include <kernrig/kernel.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *kill_later(void *cookie)
{
    (void) cookie;
    usleep(20000);
    abort();
}
static kr_status dies_later(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    (void) ctx;
    (void) args;
    (void) rets;
    pthread_t thread;
    return pthread_create(&thread, 0, kill_later, 0) ? KR_E_MEMORY : KR_OK;
}
KR_KERNEL(dies_later,
          .schema = "test::dies_later.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
