// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

int sandbox_close_descriptors(unsigned first, kr_error *err)
{
    /* The system call itself: glibc's wrapper needs 2.34, and other libcs have none. */
    if (syscall(SYS_close_range, first, UINT_MAX, 0) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "close_range from %u on: %s", first,
                            strerror(errno));
    return 0;
}
