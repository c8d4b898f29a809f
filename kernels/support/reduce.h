// SPDX-License-Identifier: Apache-2.0
/* Operators that fold dims of a tensor into one element each, such as sum.
 *
 * A kernel gives an associative expression in a and b. Folding is done in double or int64_t,
 * whatever the dtype. Where the folded elements lie close together they are folded one output after
 * the other, in several strands; where the outputs lie close together, whole rows of outputs are
 * folded at once. So memory is read in the order in which it lies, or nearly. */
#ifndef KR_SUPPORT_REDUCE_H
#define KR_SUPPORT_REDUCE_H

#include <kernrig/kernel.h>

typedef struct reduce_loops {
    double f64_start;
    int64_t i64_start;
    /* The fold of start and x[0], x[1], … */
    double (*f64_run)(int64_t n, double start, const double *x);
    int64_t (*i64_run)(int64_t n, int64_t start, const int64_t *x);
    /* Folds x[i] into totals[i]. */
    void (*f64_row)(int64_t n, double *totals, const double *x);
    void (*i64_row)(int64_t n, int64_t *totals, const int64_t *x);
} reduce_loops;

/* REDUCE_LOOPS(name, start, expression in a and b) defines the reduce_loops `name`. start is
 * neutral: start folded with a is a. */
#define REDUCE_LOOPS_(name, T, start, expression)                                  \
    static inline T name##_fold_##T(T a, T b) { return expression; }               \
    static T name##_run_##T(int64_t n, T total, const T *x)                        \
    {                                                                              \
        T strands[8] = { start, start, start, start, start, start, start, start }; \
        int64_t i = 0;                                                             \
        for (; i + 8 <= n; i += 8)                                                 \
            for (int s = 0; s < 8; s++)                                            \
                strands[s] = name##_fold_##T(strands[s], x[i + s]);                \
        for (; i < n; i++)                                                         \
            total = name##_fold_##T(total, x[i]);                                  \
        for (int s = 0; s < 8; s++)                                                \
            total = name##_fold_##T(total, strands[s]);                            \
        return total;                                                              \
    }                                                                              \
    static void name##_row_##T(int64_t n, T *restrict totals, const T *restrict x) \
    {                                                                              \
        for (int64_t i = 0; i < n; i++)                                            \
            totals[i] = name##_fold_##T(totals[i], x[i]);                          \
    }
#define REDUCE_LOOPS(name, start, expression)                                                      \
    REDUCE_LOOPS_(name, double, start, expression)                                                 \
    REDUCE_LOOPS_(name, int64_t, start, expression)                                                \
    static const reduce_loops name = {                                                             \
        start, start, name##_run_double, name##_run_int64_t, name##_row_double, name##_row_int64_t \
    }

/* The shape of self without the dims of a set, or with 1 in their place. */
int reduced_shape(const kr_tensor *self, uint32_t mask, bool keepdim, int64_t *ret_sizes);

/* Folds the dims of a set into out, which has that shape already. Elements are first converted to
 * `via`, which is self's dtype unless the operator asks for another. */
void reduce(const kr_tensor *self, uint32_t mask, bool keepdim, kr_dtype via, kr_tensor *out,
            const reduce_loops *loops);

#endif
