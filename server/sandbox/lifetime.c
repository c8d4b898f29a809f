// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int sandbox_die_with_parent(int parent, kr_error *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "PR_SET_PDEATHSIG: %s", strerror(errno));
    if (getppid() != parent)
        return kr_error_set(err, KR_CODE_SYSTEM, "the parent, %d, has ended already", parent);
    return 0;
}
