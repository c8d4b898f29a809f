// SPDX-License-Identifier: Apache-2.0
/* Execute: a list of calls, one after the other, each with an outcome of its own.
 *
 * A call is bound, its tensors are checked, a kernel is chosen, and it waits for its turn in the
 * lane of that kernel's library. Whatever becomes of the kernel is the call's result; the list
 * goes on with the next. */
#ifndef SERVICE_EXECUTE_H
#define SERVICE_EXECUTE_H

#include "service/service.h"
#include <kernrig/value.h>

struct call_request {
    const char *operator_;
    const char *provider; /* only its kernels; NULL: any */
    const kr_argument *args;
    uint32_t n_args;
    uint64_t timeout_us; /* 0: the default of 60 s */
};

/* The shape that an output has been given, or needs. */
struct call_shape {
    uint32_t argument, item;
    uint8_t dim;
    int64_t sizes[KR_MAX_DIMS], strides[KR_MAX_DIMS];
};

struct call_result {
    int code; /* 0, or an error: then message says it */
    const char *message;
    const char *log, *printed; /* "" if nothing */
    /* The kernel that ran, if one did. */
    uint64_t kernel_id, kernel_ns;
    const char *provider, *kernel;
    uint32_t declined;
    int32_t signal, exit_code; /* with CRASHED, EXITED */
    uint64_t limit_us;         /* with TIMEOUT */
    uint32_t n_shapes;         /* with RESIZE one: the shape that is needed */
    const struct call_shape *shapes;
    uint32_t n_returns;
    const kr_value *returns; /* of returns that are no arguments */
};

struct execution;

/* Comes once, unless the execution is cancelled: with results, or with a refusal that concerns the
 * whole request (its session has ended). It may come before service_execute returns; the execution
 * and its results die when it returns. */
typedef void (*execute_done_fn)(void *cookie, const kr_error *refusal,
                                const struct call_result *results, uint32_t n);

/* Requests, and all that results point to, lie in the arena, which must live as long. Fails, and
 * done does not come, if the request as a whole is refused. */
KR_CHECK int service_execute(struct service *service, struct session *session,
                             const struct call_request *requests, uint32_t n, kr_arena *arena,
                             execute_done_fn done, void *cookie, struct execution **ret,
                             kr_error *err);
/* The caller has gone. A call that runs costs its worker its life. */
void service_cancel(struct execution *execution);

#endif
