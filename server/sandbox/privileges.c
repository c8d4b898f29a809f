// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>

int sandbox_no_new_privileges(kr_error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return kr_error_set(err, KR_CODE_SYSTEM, "PR_SET_NO_NEW_PRIVS: %s", strerror(errno));
    return 0;
}
