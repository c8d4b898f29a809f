// SPDX-License-Identifier: Apache-2.0
/* The daemon's command line. */
#ifndef MAIN_OPTIONS_H
#define MAIN_OPTIONS_H

#include "base/limits.h"
#include "base/log.h"
#include <sys/types.h>

enum { OPTIONS_LIBRARIES = 64 };

struct options {
    const char *socket;
    mode_t mode;
    bool is_embedded;
    pid_t owner;     /* of an embedded daemon */
    int ready_fd;    /* where the line "ready" goes; -1: nowhere */
    const char *log; /* a file, "-" for stderr, NULL for none */
    enum log_level log_level;
    const char *binary;  /* ours */
    const char *worker;  /* kernrig-worker */
    const char *library; /* of the portable kernels */
    const char *test_libraries[OPTIONS_LIBRARIES];
    uint32_t n_test_libraries;
    struct limits limits;
};

enum options_verdict { OPTIONS_RUN, OPTIONS_EXIT, OPTIONS_WRONG };

/* On OPTIONS_EXIT everything asked for has been printed; on OPTIONS_WRONG err says what is. */
enum options_verdict options_parse(int argc, char **argv, struct options *ret, kr_error *err);

#endif
