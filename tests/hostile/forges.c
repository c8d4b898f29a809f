// SPDX-License-Identifier: Apache-2.0
/* Answers a call that nobody has made, by writing to the worker's socket. */
#include <kernrig/kernel.h>
#include <string.h>
#include <unistd.h>

static kr_status forges(kr_context *ctx, const kr_value *args, kr_value *rets)
{
    /* A well-formed DONE (wire/call.h): success, no text, no shape; of a call that does not exist.
     */
    uint8_t frame[42] = { 9 };
    (void) ctx;
    (void) args;
    (void) rets;
    memset(frame + 4, 0xFF, 8);
    return write(3, frame, sizeof frame) < 0 ? KR_E_VALUE : KR_OK;
}
KR_KERNEL(forges, .schema = "test::forges.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
          .layout = KR_STRIDED);
