// SPDX-License-Identifier: Apache-2.0
/* The one table of limits; see limits.def. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <kernrig/err.h>

struct limits {
#define KR_LIMIT(name, value, unit, meaning) uint64_t name;
#include "base/limits.def"
#undef KR_LIMIT
};

struct limit_info {
    const char *name, *unit, *meaning;
    uint64_t value;
};

void limits_init(struct limits *limits);
/* Reads "name=value". The error lists the names there are. */
KR_CHECK int limits_set(struct limits *limits, const char *text, kr_error *err);
/* The i-th limit; false beyond the last. */
bool limits_describe(const struct limits *limits, size_t i, struct limit_info *ret);

#endif
