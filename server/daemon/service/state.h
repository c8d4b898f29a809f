// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder share, and nobody else sees.
 *
 * A library is known to the registry as a provider. A lane is one session's worker for one
 * library, with the calls that wait for it: a worker serves one session and runs one call at a
 * time. An execution is one Execute; it is in one lane at a time.
 *
 * While a worker that was ended in the middle of a call is not gone, its kernel may still write to
 * buffers of its session. So that session begins no other call, and whoever is to hear that the
 * call is over hears it then. */
#ifndef SERVICE_STATE_H
#define SERVICE_STATE_H

#include "service/execute.h"
#include "service/service.h"
#include "service/tensors.h"
#include "workers/worker.h"

struct library {
    struct library *next;
    struct service *service;
    char *path, *provider;
    bool is_stock;
    uint32_t provider_id, n_kernels;
    bool is_loaded;
    struct worker *spare; /* has loaded it, and belongs to nobody yet; stock libraries only */
    struct loading *loading;
};

struct lane {
    struct lane *prev, *next; /* of the service */
    struct session *session;
    struct library *library;
    struct worker *worker;        /* NULL: none runs */
    struct worker *dying;         /* has ended, and is not gone yet; no other runs meanwhile */
    struct execution *running;    /* the worker has its call */
    struct execution *held;       /* its call is over once the dying worker is gone */
    struct execution *waiting;    /* in order of arrival */
    bool is_closing;              /* its session ends */
    bool is_going_on;             /* go_on is at work, perhaps further up the stack */
    char load_failure[WIRE_TEXT]; /* what the worker said of its library before it ended */
};

struct service {
    struct service_options options;
    kr_registry *registry;
    struct sessions *sessions;
    struct buffers *buffers;
    struct workers workers;
    struct library *libraries;
    struct lane *lanes;
    uint64_t last_call;
    bool is_stopping;
    service_stopped_fn stopped;
    void *stopped_cookie;
};

enum {
    TRIED_MAX = 64, /* kernels asked for one call */
    BACKUP_MS = 50, /* after a deadline, for the monitor to have kept it */
};

struct execution {
    struct execution *prev, *next; /* in its lane's waiting list */
    struct service *service;
    struct session *session;
    const struct call_request *requests;
    struct call_result *results;
    uint32_t n, index; /* the call under way */
    kr_arena *arena;
    execute_done_fn done;
    void *cookie;
    struct execution *session_next, *session_prev; /* all of a session */
    struct timer *timer;
    /* The call under way. */
    struct lane *lane;  /* where it waits or runs; NULL while neither */
    bool is_started;    /* the worker has it */
    bool is_second_try; /* its first worker was dead before it could begin */
    uint64_t call, begun_ns, deadline_ns;
    const kr_operator_info *op;
    kr_bound bound;
    struct call_tensors tensors;
    uint64_t overlap_steps; /* that the search for overlap may still take, for all calls together */
    kr_kernel_info kernel;  /* a copy: the registry may change meanwhile */
    const char *provider;
    uint64_t tried[TRIED_MAX];
    uint32_t n_tried;
};

/* lane.c. */
/* The session's lane for a library; made where there is none. */
KR_CHECK int lane_of(struct service *service, struct session *session, struct library *library,
                     struct lane **ret, kr_error *err);
/* Has the execution's call run when its turn comes, which may be at once. Its outcome comes by
 * execution_answered, execution_died, execution_failed or execution_over, perhaps from within: the
 * execution may be over when this returns 0. */
KR_CHECK int lane_submit(struct lane *lane, struct execution *execution, kr_error *err);
/* Takes the execution out, whatever that costs; the lane goes on with the next. */
void lane_withdraw(struct lane *lane, struct execution *execution);
/* Ends the worker that runs a call; execution_over follows when it is gone. A monitor that is deaf
 * is not waited for. */
void lane_abort(struct lane *lane, bool is_deaf);
/* Has the worker of every lane of the buffer's owner forget it. */
void lanes_forget(struct service *service, const struct buffer *buffer);
/* Kills the workers of a session; its lanes begin no more calls. */
void lanes_close(struct service *service, const struct session *session);
/* Frees the lanes of a session, in which nothing may wait any more. */
void lanes_free(struct service *service, const struct session *session);

/* execute.c. */
void execution_answered(struct execution *execution, const struct wire_answer *answer);
void execution_died(struct execution *execution, const struct wire_died *died,
                    const char *load_failure);
void execution_failed(struct execution *execution, const kr_error *why);
/* The call under way is over, and its result has been filled in. */
void execution_over(struct execution *execution);
/* Its call is now the worker's: the deadline is the monitor's, ours is a backup. */
void execution_started(struct execution *execution);
/* Refuses all executions of a session. */
void executions_end(struct session *session, const kr_error *why);

/* outcome.c: what became of a call, put into words. */
/* Each fills in the result of the call under way. */
void outcome_failed(struct execution *execution, const kr_error *why);
void outcome_died(struct execution *execution, const struct wire_died *died,
                  const char *load_failure);
void outcome_timed_out(struct execution *execution);
/* The kernel has returned, and did not decline. */
void outcome_answered(struct execution *execution, const struct wire_answer *answer);
/* Values that a kernel returns besides its outputs. */
uint32_t outcome_n_returns(const kr_schema *schema);
/* Whether a worker could have answered so; else it is not to be used again. */
bool outcome_is_honest(const struct execution *execution, const struct wire_answer *answer,
                       kr_error *why);

/* library.c. */
struct library *library_of(struct service *service, const kr_kernel_info *kernel);
/* A worker that has loaded the library, or is about to. */
KR_CHECK int library_worker(struct library *library, const struct worker_handlers *handlers,
                            struct worker **ret, kr_error *err);
void libraries_stop(struct service *service);
void libraries_free(struct service *service);

#endif
