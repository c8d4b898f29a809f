// SPDX-License-Identifier: Apache-2.0
/* The loops that convert between the ten dtypes and the three types of arithmetic: one for each
 * pair and direction, sixty in all, made by the table of dtypes in kernel.h. */
#include "elements.h"

#include <string.h>

#include "dtype.h"
#include "float16.h"

/* x86's conversion of a float to an integer, where C leaves the result open. */
static inline int32_t int32_of(double value)
{
    return value >= -0x1p31 && value < 0x1p31 ? (int32_t) value : INT32_MIN;
}

static inline int64_t int64_of(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t) value : INT64_MIN;
}

/* WIDEN_<dtype>(x): the element as a value of a C type. */
#define WIDEN_UINT8(x)    (x)
#define WIDEN_INT8(x)     (x)
#define WIDEN_INT16(x)    (x)
#define WIDEN_INT32(x)    (x)
#define WIDEN_INT64(x)    (x)
#define WIDEN_FLOAT16(x)  half_to_float(x)
#define WIDEN_FLOAT32(x)  (x)
#define WIDEN_FLOAT64(x)  (x)
#define WIDEN_BOOL(x)     ((x) != 0)
#define WIDEN_BFLOAT16(x) bfloat16_to_float(x)

/* AS_<type>(x): such a value in a type of arithmetic. */
#define AS_float(x)  ((float) (x))
#define AS_double(x) ((double) (x))
#define AS_int64_t(x) \
    _Generic((x), float : int64_of((double) (x)), double : int64_of((double) (x)), default : (x))

/* NARROW_<dtype>(x): a value of arithmetic as an element. Short integers are cut out of 32 bits,
 * or out of 64 where the value is an integer. */
#define SHORT_OF(x) \
    _Generic((x), float : int32_of((double) (x)), double : int32_of((double) (x)), default : (x))
#define NARROW_UINT8(x)   ((uint8_t) SHORT_OF(x))
#define NARROW_INT8(x)    ((int8_t) SHORT_OF(x))
#define NARROW_INT16(x)   ((int16_t) SHORT_OF(x))
#define NARROW_INT32(x)   ((int32_t) SHORT_OF(x))
#define NARROW_INT64(x)   AS_int64_t(x)
#define NARROW_FLOAT32(x) ((float) (x))
#define NARROW_FLOAT64(x) ((double) (x))
#define NARROW_BOOL(x)    ((x) != 0)
#define NARROW_FLOAT16(x) \
    _Generic((x), double : double_to_half((double) (x)), default : float_to_half((float) (x)))
#define NARROW_BFLOAT16(x)                               \
    _Generic((x), double                                 \
             : double_to_bfloat16((double) (x)), default \
             : float_to_bfloat16((float) (x)))

/* A loop of stride 1 on its own can become vector code. */
#define LOAD(name, element, T)                                                           \
    static void load_##name##_##T(const void *from, int64_t stride, int64_t n, void *to) \
    {                                                                                    \
        const element *restrict x = from;                                                \
        T *restrict y = to;                                                              \
        if (stride == 1)                                                                 \
            for (int64_t i = 0; i < n; i++)                                              \
                y[i] = AS_##T(WIDEN_##name(x[i]));                                       \
        else                                                                             \
            for (int64_t i = 0; i < n; i++)                                              \
                y[i] = AS_##T(WIDEN_##name(x[i * stride]));                              \
    }

#define STORE(name, element, T)                                                           \
    static void store_##name##_##T(void *to, int64_t stride, int64_t n, const void *from) \
    {                                                                                     \
        const T *restrict x = from;                                                       \
        element *restrict y = to;                                                         \
        if (stride == 1)                                                                  \
            for (int64_t i = 0; i < n; i++)                                               \
                y[i] = NARROW_##name(x[i]);                                               \
        else                                                                              \
            for (int64_t i = 0; i < n; i++)                                               \
                y[i * stride] = NARROW_##name(x[i]);                                      \
    }

#define LOOPS(name, number, element) \
    LOAD(name, element, float)       \
    LOAD(name, element, double)      \
    LOAD(name, element, int64_t)     \
    STORE(name, element, float)      \
    STORE(name, element, double)     \
    STORE(name, element, int64_t)
KR_FOR_DTYPES(LOOPS)

typedef void load_fn(const void *from, int64_t stride, int64_t n, void *to);
typedef void store_fn(void *to, int64_t stride, int64_t n, const void *from);

typedef struct conversion {
    load_fn *load_float, *load_double, *load_int64;
    store_fn *store_float, *store_double, *store_int64;
} conversion;

#define ROW(name, number, element)                                                   \
    [number] = { load_##name##_float,  load_##name##_double,  load_##name##_int64_t, \
                 store_##name##_float, store_##name##_double, store_##name##_int64_t },
static const conversion conversions[] = { KR_FOR_DTYPES(ROW) };

/* Repeats the first of n values. */
static void repeat(kr_dtype as, int64_t n, void *values)
{
    char *to = values;
    uint64_t first = 0;
    if (dtype_size(as) == sizeof(uint32_t)) {
        memcpy(&first, to, 4);
        for (int64_t i = 1; i < n; i++)
            memcpy(to + i * 4, &first, 4);
    } else {
        memcpy(&first, to, 8);
        for (int64_t i = 1; i < n; i++)
            memcpy(to + i * 8, &first, 8);
    }
}

void load_elements(kr_dtype dtype, const void *from, int64_t stride, int64_t n, kr_dtype as,
                   void *to)
{
    const conversion *c = &conversions[dtype];
    load_fn *load = as == KR_FLOAT32   ? c->load_float
                    : as == KR_FLOAT64 ? c->load_double
                                       : c->load_int64;
    if (stride == 0 && n > 1) {
        load(from, 1, 1, to);
        repeat(as, n, to);
    } else {
        load(from, stride, n, to);
    }
}

void store_elements(kr_dtype dtype, void *to, int64_t stride, int64_t n, kr_dtype as,
                    const void *from)
{
    const conversion *c = &conversions[dtype];
    (as == KR_FLOAT32   ? c->store_float
     : as == KR_FLOAT64 ? c->store_double
                        : c->store_int64)(to, stride, n, from);
}

void round_elements(kr_dtype via, int64_t n, kr_dtype as, void *values)
{
    _Alignas(64) char rounded[CHUNK * sizeof(int64_t)];
    char *place = values;
    for (int64_t left = n; left > 0; left -= CHUNK, place += CHUNK * dtype_size(as)) {
        const int64_t count = left < CHUNK ? left : CHUNK;
        store_elements(via, rounded, 1, count, as, place);
        load_elements(via, rounded, 1, count, as, place);
    }
}
