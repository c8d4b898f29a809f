// SPDX-License-Identifier: Apache-2.0
/* Element types: their sizes, names and ranges, and how they promote.
 *
 * A tensor has one of ten dtypes, but arithmetic is done in three, those in which PyTorch does it:
 * float for float16, bfloat16 and float32; double for float64; int64_t, which wraps, for integers
 * and bool. dtype_compute() tells which. */
#ifndef KR_SUPPORT_DTYPE_H
#define KR_SUPPORT_DTYPE_H

#include <kernrig/kernel.h>

/* Whether a number, such as a caller's ScalarType, is one of the ten. */
bool dtype_is_known(int64_t dtype);

size_t dtype_size(kr_dtype dtype);

/* PyTorch calls a dtype by three kinds of names: 'Half' where an operator is not implemented,
 * 'c10::Half' for the type in C++, and 'int16_t' rather than 'short int' for a Scalar's. */
const char *dtype_name(kr_dtype dtype);
const char *dtype_c_name(kr_dtype dtype);
const char *dtype_scalar_name(kr_dtype dtype);

/* The least and the greatest finite value, as doubles. */
double dtype_min(kr_dtype dtype);
double dtype_max(kr_dtype dtype);

static inline bool dtype_is_float(kr_dtype dtype) { return (KR_FLOAT_TYPES & KR_SET(dtype)) != 0; }

/* KR_FLOAT32, KR_FLOAT64 or KR_INT64: the type in which arithmetic on this dtype is done. */
kr_dtype dtype_compute(kr_dtype dtype);

/* The type in which many elements are added up: KR_FLOAT64 or KR_INT64. */
kr_dtype dtype_accumulate(kr_dtype dtype);

/* torch.promote_types. */
kr_dtype dtype_promote(kr_dtype a, kr_dtype b);

/* torch.result_type of some tensors. Tensors with dims decide; those without dims, and below them
 * Python numbers, only count if their category is higher: bool, then integer, then float. */
kr_dtype dtype_result(uint32_t count, const kr_tensor *const *tensors);

/* torch.can_cast. */
bool dtype_can_cast(kr_dtype from, kr_dtype to);

#endif
