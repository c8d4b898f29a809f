// SPDX-License-Identifier: Apache-2.0
/* The product of two matrices, for every kernel that can be put as one.
 *
 * The caller gives the matrices as functions that read rows, and takes the product by rows. So
 * dtypes, strides and windows are its own affair, and no operand has to be laid out for the
 * product as a whole.
 *
 * Small products of floats are computed in double. Larger ones are added up in float over short
 * runs, these over slices of the depth, and slices in double: that is twice as fast, and the error
 * grows little with the depth. */
#ifndef KR_SUPPORT_MATMUL_H
#define KR_SUPPORT_MATMUL_H

#include <kernrig/kernel.h>

enum { MATMUL_COLUMNS = 256 }; /* the most that read_b and write are asked for at once */

/* Puts n elements of a row, from a column on, into an array of the product's type. */
typedef void matmul_read(const void *cookie, int64_t row, int64_t column, int64_t n, void *to);

/* Takes n elements of a row of the product, as double or int64_t. values may be overwritten. */
typedef void matmul_write(const void *cookie, int64_t row, int64_t column, int64_t n, void *values);

typedef struct matmul {
    int64_t rows, columns, depth; /* a: rows * depth, b: depth * columns */
    kr_dtype as;                  /* of the elements: KR_FLOAT32, KR_FLOAT64 or KR_INT64 */
    matmul_read *read_a, *read_b;
    matmul_write *write;
    const void *cookie;
    void *room; /* of matmul_open */
} matmul;

/* The type in which to compute a product of matrices of this dtype. */
kr_dtype matmul_type(kr_dtype dtype, int64_t rows, int64_t columns, int64_t depth);

/* Takes scratch memory for products of at most this shape. */
kr_status matmul_open(kr_context *ctx, matmul *m);

/* Computes the product once. Of depth 0, it is all zeros. */
void matmul_run(const matmul *m);

#endif
