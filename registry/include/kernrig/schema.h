// SPDX-License-Identifier: Apache-2.0
/* ATen operator schemas: parsed once, compared, and printed back as PyTorch prints them.
 *
 *   aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
 *
 * The grammar is that of torch/csrc/jit/frontend/function_schema_parser.cpp: alias annotations,
 * list sizes, optionals, defaults, keyword-only arguments, several and named returns. Types that
 * only TorchScript has (Dict, Future, classes, type variables …) are refused by name. */
#ifndef KERNRIG_SCHEMA_H
#define KERNRIG_SCHEMA_H

#include <kernrig/arena.h>
#include <kernrig/value.h>

enum {
    KR_SCHEMA_TEXT = 8192, /* bytes of a schema's text, at most */
    KR_SCHEMA_ARGS = 64,
    KR_SCHEMA_RETURNS = 16,
    KR_OPERATOR_NAME = 100, /* ExecuTorch's limit, overload included */
};

typedef enum kr_base_type {
    KR_TYPE_TENSOR,
    KR_TYPE_INT,
    KR_TYPE_SYM_INT,
    KR_TYPE_FLOAT,
    KR_TYPE_SYM_FLOAT,
    KR_TYPE_COMPLEX,
    KR_TYPE_BOOL,
    KR_TYPE_SYM_BOOL,
    KR_TYPE_SCALAR,
    KR_TYPE_STRING,
    KR_TYPE_SCALAR_TYPE,
    KR_TYPE_LAYOUT,
    KR_TYPE_MEMORY_FORMAT,
    KR_TYPE_DEVICE,
    KR_TYPE_GENERATOR,
    KR_TYPE_DIMNAME,
    KR_TYPE_STORAGE,
    KR_TYPE_STREAM,
    KR_TYPE_QSCHEME,
} kr_base_type;

/* What follows the base type, in the order in which it is written: Tensor?[] is a list of
 * optionals, int[2]? an optional list of two. */
typedef enum kr_suffix_kind { KR_SUFFIX_OPTIONAL, KR_SUFFIX_LIST } kr_suffix_kind;
typedef struct kr_suffix {
    kr_suffix_kind kind;
    int32_t size; /* of int[2]; -1 where none is written */
} kr_suffix;
enum { KR_MAX_SUFFIXES = 3 };

typedef struct kr_type {
    kr_base_type base;
    uint32_t n_suffixes;
    kr_suffix suffixes[KR_MAX_SUFFIXES];
    /* The alias annotation: of (a! -> *) before is "a", after is "*" and is_write holds; both are
     * NULL without an annotation, after is NULL without an arrow. */
    const char *before, *after;
    bool is_write, is_write_after;
    uint32_t annotated_at; /* suffixes before the annotation: 0 in Tensor(a!)[], 1 in int[](a!) */
} kr_type;

/* Derived from the suffixes; what binding asks for. */
bool kr_type_is_optional(const kr_type *type); /* the whole may be None */
bool kr_type_is_list(const kr_type *type);
int32_t kr_type_list_size(const kr_type *type); /* -1 if none is written */
bool kr_type_has_optional_items(const kr_type *type);

typedef struct kr_schema_argument {
    const char *name; /* of a return, NULL where it has none */
    kr_type type;
    bool keyword_only, has_default;
    bool is_output; /* its type is annotated as written to */
    /* The default as its bound value, and as its text in the schema. */
    kr_bound_value default_value;
    const char *default_text;
} kr_schema_argument;

typedef struct kr_schema {
    const char *name;                          /* "aten::add.out" */
    const char *namespace_;                    /* "aten" */
    const char *base;                          /* "add" */
    const char *overload;                      /* "out"; "" for the default overload */
    uint32_t n_args, n_returns, n_tensor_args; /* n_tensor_args: of type Tensor exactly */
    kr_schema_argument *args, *returns;
    bool returns_in_parentheses; /* "-> (Tensor)" and "-> Tensor" print as they were written */
    /* returns_alias[i]: index of the argument that return i is, or -1. */
    const int32_t *returns_alias;
    kr_arena arena; /* holds all of the above */
} kr_schema;

/* On success the caller frees *ret. Errors give the column and what was expected there. */
KR_CHECK int kr_schema_parse(const char *text, size_t length, kr_schema **ret, kr_error *err);
/* Accepts NULL and returns NULL. */
kr_schema *kr_schema_free(kr_schema *schema);
/* Writes the text, as PyTorch prints it; returns its length as snprintf does. */
size_t kr_schema_print(const kr_schema *schema, char *text, size_t size);
/* Whether both say the same: names, types, annotations, defaults. On a difference, err says which.
 */
bool kr_schema_equal(const kr_schema *a, const kr_schema *b, kr_error *why_not);

#endif
