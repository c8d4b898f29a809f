// SPDX-License-Identifier: Apache-2.0
/* Arguments on their way to a kernel: as the caller gave them, and as the schema wants them.
 *
 * A caller's argument carries Python's kind and nothing is decided yet; a bound value has the tag
 * of its schema type (kernel.h), in schema order, defaults filled in. Tensors are described by the
 * buffer that they lie in; nobody on this side of the worker knows an address. */
#ifndef KERNRIG_VALUE_H
#define KERNRIG_VALUE_H

#include <kernrig/kernel.h>

typedef union kr_number {
    int64_t integer;
    double real;
    bool boolean;
} kr_number;

typedef struct kr_tensor_ref {
    uint64_t buffer; /* handle; 0 for a wrapped number, which has no buffer */
    uint64_t offset; /* bytes from the start of the buffer to element [0, …, 0] */
    uint64_t
        capacity; /* bytes from offset that an output may grow into; 0: not beyond its extent */
    uint8_t dtype, dim;
    bool wrapped; /* KR_TENSOR_WRAPPED_NUMBER: the value is in number */
    int64_t sizes[KR_MAX_DIMS], strides[KR_MAX_DIMS];
    kr_number number;
} kr_tensor_ref;

/* As given. */
typedef enum kr_kind {
    KR_KIND_NONE,
    KR_KIND_BOOL,
    KR_KIND_INT,
    KR_KIND_FLOAT,
    KR_KIND_STRING,
    KR_KIND_DTYPE,         /* integer: a c10::ScalarType */
    KR_KIND_LAYOUT,        /* integer: a c10::Layout, strided is 0 */
    KR_KIND_MEMORY_FORMAT, /* integer: a c10::MemoryFormat, contiguous_format is 0 */
    KR_KIND_DEVICE,        /* string: "cpu", "cpu:0" */
    KR_KIND_TENSOR,
    KR_KIND_LIST, /* a list or tuple; items are never lists */
} kr_kind;

typedef struct kr_given {
    kr_kind kind;
    uint32_t count; /* items of a list, bytes of a string */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string; /* ends in 0 */
        const kr_tensor_ref *tensor;
        const struct kr_given *items;
    } as;
} kr_given;

typedef struct kr_argument {
    const char *name; /* of a keyword argument; NULL: positional */
    kr_given value;
} kr_argument;

/* As bound. */
enum { KR_NO_TENSOR = UINT32_MAX };

typedef struct kr_bound_value {
    uint32_t tag;   /* kr_tag */
    uint32_t count; /* as in kr_value */
    union {
        int64_t integer;
        double real;
        bool boolean;
        const char *string;
        uint32_t tensor;         /* index into kr_bound.tensors */
        const uint32_t *tensors; /* the same; KR_NO_TENSOR: an absent item of Tensor?[] */
        const int64_t *integers;
        const double *reals;
        const bool *booleans;
        const struct kr_bound_value *scalars;
    } as;
} kr_bound_value;

typedef struct kr_bound_tensor {
    kr_tensor_ref ref;
    uint32_t argument; /* index of the schema's argument */
    uint32_t item;     /* index in that argument's list, 0 if it is none */
    bool is_output;    /* the schema says that the kernel writes it */
} kr_bound_tensor;

struct kr_schema;

typedef struct kr_bound {
    const struct kr_schema *schema;
    uint32_t n_values; /* the schema's arguments */
    uint32_t n_tensors;
    kr_bound_value *values;
    kr_bound_tensor *tensors; /* in schema order */
} kr_bound;

#endif
