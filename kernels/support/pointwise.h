// SPDX-License-Identifier: Apache-2.0
/* Operators that make each element of out from the elements at the same place of their inputs.
 *
 * A kernel gives an expression; broadcasting, promotion, strides and casts happen here. The
 * expression is compiled once for each type of arithmetic. Its loops claim that no iteration
 * depends on another, which holds also where out is exactly one of the inputs. */
#ifndef KR_SUPPORT_POINTWISE_H
#define KR_SUPPORT_POINTWISE_H

#include <kernrig/kernel.h>

#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef struct unary_loops {
    void (*f32)(int64_t n, float *out, const float *a);
    void (*f64)(int64_t n, double *out, const double *a);
    void (*i64)(int64_t n, int64_t *out, const int64_t *a);
} unary_loops;

/* k is a Scalar of the operator: a double for floats, so that no precision is lost. */
typedef struct binary_loops {
    void (*f32)(int64_t n, float *out, const float *a, const float *b, double k);
    void (*f64)(int64_t n, double *out, const double *a, const double *b, double k);
    void (*i64)(int64_t n, int64_t *out, const int64_t *a, const int64_t *b, int64_t k);
} binary_loops;

/* UNARY_LOOPS(name, expression in a) defines the unary_loops `name`. */
#define UNARY_LOOP_(name, T, expression)                  \
    static void name##_##T(int64_t n, T *out, const T *x) \
    {                                                     \
        INDEPENDENT for (int64_t i = 0; i < n; i++)       \
        {                                                 \
            const T a = x[i];                             \
            out[i] = (T) (expression);                    \
        }                                                 \
    }
#define UNARY_LOOPS(name, expression)      \
    UNARY_LOOP_(name, float, expression)   \
    UNARY_LOOP_(name, double, expression)  \
    UNARY_LOOP_(name, int64_t, expression) \
    static const unary_loops name = { name##_float, name##_double, name##_int64_t }

/* BINARY_LOOPS(name, expression in a, b and k) defines the binary_loops `name`. */
#define BINARY_LOOP_(name, T, K, expression)                               \
    static void name##_##T(int64_t n, T *out, const T *x, const T *y, K k) \
    {                                                                      \
        (void) k;                                                          \
        INDEPENDENT for (int64_t i = 0; i < n; i++)                        \
        {                                                                  \
            const T a = x[i], b = y[i];                                    \
            (void) b;                                                      \
            out[i] = (T) (expression);                                     \
        }                                                                  \
    }
#define BINARY_LOOPS(name, expression)               \
    BINARY_LOOP_(name, float, double, expression)    \
    BINARY_LOOP_(name, double, double, expression)   \
    BINARY_LOOP_(name, int64_t, int64_t, expression) \
    static const binary_loops name = { name##_float, name##_double, name##_int64_t }

/* out = loops(a), of a's shape and dtype. */
kr_status pointwise_unary(kr_context *ctx, kr_tensor *out, const kr_tensor *a,
                          const unary_loops *loops);

/* Checks that the result of an operator on a and b, which is of dtype `common`, can be had in out,
 * and says which shape it has. */
kr_status pointwise_check(kr_context *ctx, const kr_tensor *out, kr_dtype common,
                          const kr_tensor *a, const kr_tensor *b, int *ret_dim, int64_t *ret_sizes);

/* out = loops(a, b, k), rounded to `common`, then cast to out's dtype. k may be NULL. */
kr_status pointwise_binary(kr_context *ctx, kr_tensor *out, kr_dtype common, const kr_tensor *a,
                           const kr_tensor *b, const binary_loops *loops, const kr_value *k);

#endif
