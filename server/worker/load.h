// SPDX-License-Identifier: Apache-2.0
/* Loading a library of kernels, and describing it: the only dlopen in kernrig. */
#ifndef WORKER_LOAD_H
#define WORKER_LOAD_H

#include "wire/worker.h"
#include <kernrig/kernel.h>

struct library {
    uint32_t count;
    const kr_kernel *const *kernels;
};

KR_CHECK int load_library(const char *path, uint32_t max_kernels, struct library *ret,
                          kr_error *err);
/* Sends the table to the monitor, in as many frames as it takes. */
KR_CHECK int load_describe(const struct library *library, int socket, uint8_t *buffer,
                           kr_error *err);

#endif
