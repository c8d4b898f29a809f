// SPDX-License-Identifier: Apache-2.0
/* The kernel ABI: all that a kernel sees of kernrig, and all that kernrig sees of a kernel.
 *
 * A kernel is a function of bound arguments: args[i] is the i-th argument of its schema, outputs
 * included. kernrig has filled in defaults, converted every value to the schema's type and checked
 * every extent against the memory behind it. Whether tensors fit each other is for the kernel to
 * say, with ctx->fail.
 *
 * A kernel owns nothing. It does not allocate, keep state, print or start threads; it asks ctx for
 * scratch memory, for a new shape of an output, for parallel work, and to say what is wrong. It
 * gives all its outputs their shapes before it writes to any of them.
 *
 * One file is a whole kernel library: include this header, write the function, describe it with
 * KR_KERNEL, and compile with  cc -O3 -shared -fPIC -fvisibility=hidden -Wl,-Bsymbolic .
 * The header is C11 and C++17; KR_KERNEL in C++ needs C++20's designated initialisers. */
#ifndef KERNRIG_KERNEL_H
#define KERNRIG_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KR_ABI = 1,       /* raised when a struct below changes in a way that old libraries notice */
    KR_MAX_DIMS = 16, /* ExecuTorch's limit */
};

/* Element types. X(name, number, C type that holds an element). The numbers are those of
 * c10::ScalarType, in PyTorch, ExecuTorch, kernel keys and kernrig's protocol. float16 and bfloat16
 * are held as bits. */
#define KR_FOR_DTYPES(X)    \
    X(UINT8, 0, uint8_t)    \
    X(INT8, 1, int8_t)      \
    X(INT16, 2, int16_t)    \
    X(INT32, 3, int32_t)    \
    X(INT64, 4, int64_t)    \
    X(FLOAT16, 5, uint16_t) \
    X(FLOAT32, 6, float)    \
    X(FLOAT64, 7, double)   \
    X(BOOL, 11, uint8_t)    \
    X(BFLOAT16, 15, uint16_t)

#define KR_DTYPE_ENUM_(name, number, type) KR_##name = number,
typedef enum kr_dtype { KR_FOR_DTYPES(KR_DTYPE_ENUM_) } kr_dtype;
#undef KR_DTYPE_ENUM_

/* Sets of dtypes, for kr_kernel.dtypes. */
#define KR_SET(dtype) (UINT64_C(1) << (dtype))
#define KR_INT_TYPES \
    (KR_SET(KR_UINT8) | KR_SET(KR_INT8) | KR_SET(KR_INT16) | KR_SET(KR_INT32) | KR_SET(KR_INT64))
#define KR_FLOAT_TYPES \
    (KR_SET(KR_FLOAT16) | KR_SET(KR_BFLOAT16) | KR_SET(KR_FLOAT32) | KR_SET(KR_FLOAT64))
#define KR_REAL_TYPES (KR_INT_TYPES | KR_FLOAT_TYPES)
#define KR_ALL_TYPES  (KR_REAL_TYPES | KR_SET(KR_BOOL))

/* Outcomes. X(name, number): what a kernel may return besides KR_OK and KR_DECLINE. This is the
 * only copy; the service's table of errors, status.def, begins with it and names the Python
 * classes. */
#define KR_FOR_KERNEL_STATUSES(X)                                                              \
    X(VALUE, -1)         /* an argument has an impossible value */                             \
    X(SHAPE, -2)         /* sizes do not fit each other */                                     \
    X(DTYPE, -3)         /* the kernel does not take these dtypes together */                  \
    X(CAST, -4)          /* the result cannot be cast to the dtype of out */                   \
    X(INDEX, -5)         /* a dimension or an index is out of range */                         \
    X(OVERLAP, -6)       /* an output shares memory that it may not share */                   \
    X(RESIZE, -7)        /* an output has no room for its new shape; the caller may make it */ \
    X(MEMORY, -8)        /* no scratch memory left */                                          \
    X(ZERO_DIVISION, -9) /* an integer was divided by zero */                                  \
    X(OVERFLOW, -10)     /* a result does not fit its type */

#define KR_STATUS_ENUM_(name, number) KR_E_##name = number,
typedef enum kr_status {
    KR_OK = 0,
    KR_DECLINE = 1, /* not my case: ask the next kernel. Nothing may have been written. */
    KR_FOR_KERNEL_STATUSES(KR_STATUS_ENUM_)
} kr_status;
#undef KR_STATUS_ENUM_

/* Tensors. */
enum kr_memory {
    KR_MEMORY_HOST = 0, /* data is an address in this process: the only kind today */
};

enum kr_tensor_flags {
    /* A Python number where the schema has a Tensor: 0-d, and it promotes as a number does. */
    KR_TENSOR_WRAPPED_NUMBER = 1u << 0,
    /* Every element has an address of its own and nothing lies between them, in some order of the
     * dims. Only then does dim_order mean anything. */
    KR_TENSOR_DENSE = 1u << 1,
};

/* A strided tensor. Plain data: a kernel makes a view by copying one and changing the copy.
 *
 * Element [i, j, …] is at data + (i * strides[0] + j * strides[1] + …) * size of an element.
 * Strides count elements and are never negative; a stride of 0 repeats an element. dim_order
 * lists the dims from the outermost to the innermost: by descending stride, ties by index, dims
 * of size 1 placed as a contiguous tensor would have them. It describes the tensor as it was
 * passed; views need not keep it. */
typedef struct kr_tensor {
    void *data; /* aligned to the element; not to be touched if any size is 0 */
    uint8_t dtype, dim, memory, reserved0;
    uint32_t flags;
    int64_t sizes[KR_MAX_DIMS], strides[KR_MAX_DIMS];
    uint8_t dim_order[KR_MAX_DIMS];
    uint64_t reserved[4]; /* zero */
} kr_tensor;

/* Values. The tags have ExecuTorch's numbers. By schema type:
 *
 *   Tensor               TENSOR            float, Scalar (float)          DOUBLE
 *   Tensor[]             TENSORS           int, SymInt, Scalar (int)      INT
 *   Tensor?[]            OPTIONAL_TENSORS  bool, Scalar (bool)            BOOL
 *   str                  STRING            ScalarType, Layout,
 *   int[], SymInt[]      INTS              MemoryFormat, Device           INT
 *   float[] / bool[]     DOUBLES / BOOLS   Scalar[]                       SCALARS
 *
 * An optional that is absent has the tag NONE, and nothing else in it means anything. */
typedef enum kr_tag {
    KR_TAG_NONE = 0,
    KR_TAG_TENSOR = 1,
    KR_TAG_STRING = 2,
    KR_TAG_DOUBLE = 3,
    KR_TAG_INT = 4,
    KR_TAG_BOOL = 5,
    KR_TAG_BOOLS = 6,
    KR_TAG_DOUBLES = 7,
    KR_TAG_INTS = 8,
    KR_TAG_TENSORS = 9,
    KR_TAG_SCALARS = 10,
    KR_TAG_OPTIONAL_TENSORS = 11,
} kr_tag;

typedef struct kr_value {
    uint32_t tag;
    uint32_t count; /* items of a list, or bytes of a string without its final 0 */
    union {
        kr_tensor *tensor;
        const char *string;
        double real;
        int64_t integer;
        bool boolean;
        kr_tensor *const *tensors; /* of Tensor?[], an absent item is NULL */
        const int64_t *integers;
        const double *reals;
        const bool *booleans;
        const struct kr_value *scalars;
    } as;
} kr_value;

/* What the worker does for a kernel; valid during the call. */
typedef struct kr_context kr_context;
typedef void (*kr_range_fn)(void *cookie, int64_t begin, int64_t end);

struct kr_context {
    uint32_t size;    /* of this struct in the worker: a member at or beyond it does not exist */
    uint32_t version; /* KR_ABI of the worker */
    uint32_t threads; /* how many may work at once in parallel_for, this one included */
    uint32_t reserved;
    void *worker; /* not the kernel's business */

    /* Keeps the reason, one line in printf form and PyTorch's words, and returns status. */
    __attribute__((format(printf, 3, 4)))
    kr_status (*fail)(kr_context *ctx, kr_status status, const char *format, ...);
    /* Memory aligned to 64 bytes, of undefined content, until the call ends; NULL after fail(). */
    void *(*scratch)(kr_context *ctx, size_t bytes);
    /* Gives out this shape, contiguous, as Tensor.resize_ does; leaves it alone if it has it.
     * Where there is no room, returns KR_E_RESIZE, and the kernel must return that. */
    kr_status (*resize)(kr_context *ctx, kr_tensor *out, int dim, const int64_t *sizes);
    /* Calls body for ranges that together are [begin, end), each of at least grain where possible,
     * perhaps on several threads; returns when all are done. body may not use ctx. */
    void (*parallel_for)(kr_context *ctx, int64_t begin, int64_t end, int64_t grain,
                         kr_range_fn body, void *cookie);
    /* A line for the caller's log, in printf form; for debugging a kernel. */
    __attribute__((format(printf, 2, 3))) void (*log)(kr_context *ctx, const char *format, ...);
};

/* rets[i] is the i-th return of the schema. One that names an argument, as Tensor(a!) does, is
 * returned by the service and stays NONE; any other the kernel fills in. */
typedef kr_status (*kr_function)(kr_context *ctx, const kr_value *args, kr_value *rets);

/* How a kernel describes itself. */
enum kr_layout {
    KR_CONTIGUOUS = 0, /* row-major tensors only; kernrig copies others before and after the call */
    KR_DENSE = 1,      /* any dim order without gaps or repeats; kernrig copies others */
    KR_STRIDED = 2,    /* any strides: nothing is ever copied */
};

typedef struct kr_kernel {
    const char *name;
    kr_function run;
    const char *schema; /* as PyTorch prints it */
    const char *key;    /* ExecuTorch's form, "v1/6;0,1|6;0,1"; NULL: the fallback, for all keys */
    uint64_t dtypes;    /* that the first tensor argument may have; 0: nothing is declared */
    const char *isa;    /* CPU features that it needs, as in /proc/cpuinfo: "avx2,fma" */
    uint32_t layout;    /* enum kr_layout; a kernel with a key is given what the key says */
    bool in_place;      /* an output may be exactly one of the inputs */
} kr_kernel;

typedef struct kr_library {
    uint32_t abi;         /* KR_ABI */
    uint32_t kernel_size; /* sizeof(kr_kernel) */
    uint32_t count, reserved;
    const kr_kernel *const *kernels;
} kr_library;

/* The one symbol that a library of kernels exports: its table. A linker set collects the kernels
 * (retain keeps it from -z start-stop-gc; weak lets a library without kernels link), and every
 * file brings this same function, of which the linker keeps one. Code that only reads tables
 * defines KR_NO_LIBRARY_TABLE. */
#ifndef KR_NO_LIBRARY_TABLE
extern const kr_kernel *const __start_kr_kernels[] __attribute__((weak, visibility("hidden")));
extern const kr_kernel *const __stop_kr_kernels[] __attribute__((weak, visibility("hidden")));
void kr_library_table(kr_library *ret);
__attribute__((weak, visibility("default"))) void kr_library_table(kr_library *ret)
{
    ret->abi = KR_ABI;
    ret->kernel_size = (uint32_t) sizeof(kr_kernel);
    ret->count = (uint32_t) (__stop_kr_kernels - __start_kr_kernels);
    ret->reserved = 0;
    ret->kernels = __start_kr_kernels;
}
#endif

/* KR_KERNEL(function, .schema = "…", .dtypes = …); enters function in its library's table. */
#define KR_KERNEL(function, ...)                                                            \
    static const kr_kernel function##_kernel = { .name = #function,                         \
                                                 .run = function,                           \
                                                 __VA_ARGS__ };                             \
    __attribute__((used, retain,                                                            \
                   section("kr_kernels"))) static const kr_kernel *const function##_entry = \
        &function##_kernel

/* Arguments by the types of the schema. Memory of inputs is read-only, hence const. */
static inline bool kr_is_none(const kr_value *v) { return v->tag == KR_TAG_NONE; }

/* Tensor; of Tensor? it may be NULL. */
static inline const kr_tensor *kr_in(const kr_value *v)
{
    return v->tag == KR_TAG_TENSOR ? v->as.tensor : NULL;
}

/* Tensor(a!). */
static inline kr_tensor *kr_out(const kr_value *v) { return v->as.tensor; }

/* The i-th of Tensor[]; of Tensor?[] it may be NULL. Tensor(a!)[] gives outputs the same way. */
static inline kr_tensor *kr_item(const kr_value *v, uint32_t i) { return v->as.tensors[i]; }

/* Items of a list; 0 where an optional list is absent. */
static inline uint32_t kr_count(const kr_value *v) { return kr_is_none(v) ? 0 : v->count; }

static inline const int64_t *kr_ints(const kr_value *v) { return v->as.integers; }
static inline const double *kr_doubles(const kr_value *v) { return v->as.reals; }
static inline const bool *kr_bools(const kr_value *v) { return v->as.booleans; }
static inline const kr_value *kr_scalars(const kr_value *v) { return v->as.scalars; }
static inline const char *kr_string(const kr_value *v) { return v->as.string; }
static inline bool kr_bool(const kr_value *v) { return v->as.boolean; }

/* int, or a Scalar as an integer: a float is cut towards zero, one that does not fit gives the
 * least int64, as x86 does it. */
static inline int64_t kr_int(const kr_value *v)
{
    if (v->tag == KR_TAG_DOUBLE)
        return v->as.real >= -0x1p63 && v->as.real < 0x1p63 ? (int64_t) v->as.real : INT64_MIN;
    return v->tag == KR_TAG_BOOL ? v->as.boolean : v->as.integer;
}

/* float, or a Scalar as a floating-point number. */
static inline double kr_double(const kr_value *v)
{
    return v->tag == KR_TAG_DOUBLE ? v->as.real
           : v->tag == KR_TAG_BOOL ? (double) v->as.boolean
                                   : (double) v->as.integer;
}

#ifdef __cplusplus
}
#endif
#endif
