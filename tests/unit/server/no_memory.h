// SPDX-License-Identifier: Apache-2.0
/* An allocator that fails when a test says so. The test is linked with --wrap (tests/module.mk). */
#ifndef TESTS_NO_MEMORY_H
#define TESTS_NO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* How many allocations succeed before all fail; negative: all succeed. */
static int allocations_left = -1;

static bool may_allocate(void)
{
    if (allocations_left > 0)
        allocations_left--;
    else if (allocations_left == 0)
        return false;
    return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) { return may_allocate() ? __real_malloc(size) : NULL; }

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

#endif
