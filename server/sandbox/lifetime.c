// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

int sandbox_end_with_parent(int parent, int signal, kr_error *err)
{
    if (prctl(PR_SET_PDEATHSIG, signal) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "PR_SET_PDEATHSIG: %s", strerror(errno));
    if (getppid() != parent)
        return kr_error_set(err, KR_CODE_SYSTEM, "the parent, %d, has ended already", parent);
    return 0;
}
