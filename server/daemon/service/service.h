// SPDX-License-Identifier: Apache-2.0
/* The service: what the daemon does, whoever asks.
 *
 * It knows neither gRPC nor sockets. Everything runs on the loop's thread. It owns the registry,
 * sessions, buffers and workers, and is the only place where they meet. */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "base/limits.h"
#include "buffers/buffers.h"
#include "loop/loop.h"
#include "session/session.h"
#include <kernrig/registry.h>

struct service;

struct service_options {
    struct loop *loop;
    const struct limits *limits;
    const char *worker_binary;
};

/* A library of kernels to load at start-up. */
struct service_library {
    const char *path;
    const char *provider; /* its name in the registry */
    bool is_stock;        /* ours; else a user's, which is believed less */
};

KR_CHECK struct service *service_new(const struct service_options *options, kr_error *err);
/* Workers must be gone (service_stop). Accepts NULL and returns NULL. */
struct service *service_free(struct service *service);

/* Loads a library in a worker, and registers what its table describes. done comes later, with a
 * NULL error, or with why not; it does not come if this fails. */
typedef void (*service_loaded_fn)(void *cookie, const kr_error *err);
KR_CHECK int service_load(struct service *service, const struct service_library *library,
                          service_loaded_fn done, void *cookie, kr_error *err);

/* The i-th library that has been loaded, in the order of loading; false beyond the last. */
struct service_provider {
    const char *name, *library, *abi;
    uint32_t n_kernels;
};
bool service_provider(const struct service *service, uint32_t i, struct service_provider *ret);

/* Ends all sessions and kills all workers; done comes when the last process has ended. */
typedef void (*service_stopped_fn)(void *cookie);
void service_stop(struct service *service, service_stopped_fn done, void *cookie);

kr_registry *service_registry(const struct service *service);
uint64_t service_sessions(const struct service *service);

/* Sessions and buffers. */
KR_CHECK int service_open_session(struct service *service, uid_t uid, pid_t pid, const char *client,
                                  struct session **ret, kr_error *err);
/* NULL with a NO_SESSION error. */
struct session *service_session(struct service *service, const uint8_t *token, size_t size,
                                kr_error *err);
void service_end_session(struct service *service, struct session *session, const char *why);

/* All or none; ret has room for n. */
KR_CHECK int service_create_buffers(struct service *service, const struct session *session,
                                    const uint64_t *sizes, size_t n, struct buffer **ret,
                                    kr_error *err);
KR_CHECK int service_free_buffers(struct service *service, const struct session *session,
                                  const uint64_t *handles, size_t n, kr_error *err);
/* Its read-write descriptor stays the service's. */
struct buffer *service_buffer(struct service *service, const struct session *session,
                              uint64_t handle, kr_error *err);

#endif
