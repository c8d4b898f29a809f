// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <errno.h>
#include <sys/resource.h>

/* A sanitizer keeps shadow memory of terabytes, all of it private: it cannot live with a limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_MEMORY 0
#else
#define LIMIT_MEMORY 1
#endif

int sandbox_limit_resources(uint64_t memory_bytes, kr_error *err)
{
    const struct {
        __rlimit_resource_t resource;
        const char *name;
        rlim_t value;
        bool engaged;
    } limits[] = {
        { RLIMIT_CORE, "CORE", 0, true }, /* a dump would hold a session's tensors */
        { RLIMIT_NOFILE, "NOFILE", 128,
          true },                           /* those that arrive to be mapped are closed at once */
        { RLIMIT_FSIZE, "FSIZE", 0, true }, /* nothing is written to a file */
        { RLIMIT_MEMLOCK, "MEMLOCK", 0, true },
        { RLIMIT_MSGQUEUE, "MSGQUEUE", 0, true },
        { RLIMIT_STACK, "STACK", 8 << 20, true },
        /* DATA rather than AS: shared tensors and guard regions are not the kernel's own memory. */
        { RLIMIT_DATA, "DATA", memory_bytes, LIMIT_MEMORY },
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct rlimit limit = { limits[i].value, limits[i].value };
        if (limits[i].engaged && setrlimit(limits[i].resource, &limit) != 0)
            return kr_error_set(err, KR_CODE_SYSTEM, "setrlimit RLIMIT_%s to %llu: %s",
                                limits[i].name, (unsigned long long) limits[i].value,
                                strerror(errno));
    }
    return 0;
}
