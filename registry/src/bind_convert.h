// SPDX-License-Identifier: Apache-2.0
/* Conversion of one given value to the type of its argument; bind.c decides which goes where. */
#ifndef KERNRIG_REGISTRY_BIND_CONVERT_H
#define KERNRIG_REGISTRY_BIND_CONVERT_H

#include <kernrig/bind.h>

enum { KR_BY_KEYWORD = -1 };

typedef struct kr_conversion {
    const kr_schema *schema;
    uint32_t argument; /* index in the schema */
    int64_t position;  /* among the positional arguments, or KR_BY_KEYWORD */
    bool numbers_as_tensors;
    kr_arena *arena;
    kr_bound *bound; /* whose tensors the value's are appended to; there is room for them */
    kr_error *err;
} kr_conversion;

KR_CHECK int kr_convert(kr_conversion *to, const kr_given *value, kr_bound_value *ret);
/* How many tensors a value becomes at most. */
size_t kr_count_tensors(const kr_type *type, const kr_given *value);

#endif
