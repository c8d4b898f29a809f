// SPDX-License-Identifier: Apache-2.0
/* A worker for unit tests of kernels: a context that keeps what a kernel says, and tensors of
 * memory of their own, so that a sanitizer sees each element that is read or written beside it.
 *
 * Tensors are made and read as doubles or integers with conversions of the host's own, which are
 * slow and share nothing with those of the kernels. */
#ifndef TEST_KERNELS_HOST_H
#define TEST_KERNELS_HOST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <kernrig/kernel.h>

enum { HOST_BLOCKS = 256, HOST_TENSORS = 64 };

typedef struct host {
    kr_context context;
    char text[512]; /* the last reason of fail() */
    int fails;
    size_t scratch_limit; /* bytes; beyond them there is no scratch memory */
    size_t scratch_used;
    int n_blocks, n_tensors;
    void *blocks[HOST_BLOCKS];
    kr_tensor tensors[HOST_TENSORS];
    size_t capacity[HOST_TENSORS]; /* bytes behind data, to which a resize is limited */
} host;

int host_setup(void **state);
int host_teardown(void **state);
#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, host_setup, host_teardown)

/* Frees what has been made so far, for tests that go through many cases. */
void host_forget(host *h);

/* SIZES(2, 3) is a rank and its sizes; NO_SIZES those of a tensor without dims. */
#define SIZES(...)                                                                        \
    (int) (sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                                     \
        __VA_ARGS__                                                                       \
    }
#define NO_SIZES 0, (const int64_t *) NULL
#define REALS(...)                                                                        \
    (int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), (const double[]) \
    {                                                                                     \
        __VA_ARGS__                                                                       \
    }
#define INTS(...)                                                                            \
    (int64_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (const int64_t[]) \
    {                                                                                        \
        __VA_ARGS__                                                                          \
    }

/* A contiguous tensor whose bytes are all 0x5B. */
kr_tensor *host_tensor(host *h, kr_dtype dtype, int dim, const int64_t *sizes);
/* One of shape [0] with room for some elements. */
kr_tensor *host_empty(host *h, kr_dtype dtype, int64_t capacity);
/* One with elements in row-major order, of which there must be as many as the shape has. */
kr_tensor *host_reals(host *h, kr_dtype dtype, int dim, const int64_t *sizes, int64_t count,
                      const double *values);
kr_tensor *host_ints(host *h, kr_dtype dtype, int dim, const int64_t *sizes, int64_t count,
                     const int64_t *values);
/* A Python number where the schema has a tensor. */
kr_tensor *host_number(host *h, kr_dtype dtype, double value);
/* The same elements, with the last dim's in memory `step` apart. */
kr_tensor *host_spread(host *h, const kr_tensor *t, int64_t step);
/* The same elements, with the dims in memory in this order. */
kr_tensor *host_ordered(host *h, const kr_tensor *t, const int *order);
/* A view that repeats an element along a dim of size 1. */
kr_tensor *host_repeated(host *h, const kr_tensor *t, int dim, int64_t size);

/* The element that is the linear-th in row-major order. */
double host_real(const kr_tensor *t, int64_t linear);
int64_t host_int(const kr_tensor *t, int64_t linear);

/* The shape, and each element exactly; a NaN equals a NaN, and -0.0 is not 0.0. */
void host_has_sizes(const kr_tensor *t, int dim, const int64_t *sizes);
void host_has_reals(const kr_tensor *t, int64_t count, const double *values);
void host_has_ints(const kr_tensor *t, int64_t count, const int64_t *values);

/* The kernel of an operator, such as "aten::add.out", among those that the test is linked with. */
const kr_kernel *host_kernel(const char *name);
/* Runs it. A failed call must have given its reason once, and a successful one none. */
kr_status host_call(host *h, const char *name, const kr_value *args);
void host_runs(host *h, const char *name, const kr_value *args);
/* Runs it and checks the status and that the reason has `text` in it. */
void host_refuses(host *h, const char *name, const kr_value *args, kr_status status,
                  const char *text);

static inline kr_value none(void) { return (kr_value){ .tag = KR_TAG_NONE }; }
static inline kr_value tensor(kr_tensor *t)
{
    return (kr_value){ .tag = KR_TAG_TENSOR, .as.tensor = t };
}
static inline kr_value integer(int64_t value)
{
    return (kr_value){ .tag = KR_TAG_INT, .as.integer = value };
}
static inline kr_value real(double value)
{
    return (kr_value){ .tag = KR_TAG_DOUBLE, .as.real = value };
}
static inline kr_value boolean(bool value)
{
    return (kr_value){ .tag = KR_TAG_BOOL, .as.boolean = value };
}
static inline kr_value list(int count, const int64_t *values)
{
    return (kr_value){ .tag = KR_TAG_INTS, .count = (uint32_t) count, .as.integers = values };
}

#endif
