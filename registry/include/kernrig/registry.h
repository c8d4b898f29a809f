// SPDX-License-Identifier: Apache-2.0
/* The registry answers one question: which kernel serves this operator for these tensors?
 *
 * It keeps descriptions only: function pointers live in workers, so a broken library may cost a
 * worker but never the daemon. One thread owns it; it does no I/O.
 *
 * An operator has a name and a schema. Operators that are known (operators.txt) exist without a
 * kernel. A kernel belongs to a provider and to a scope; scopes form chains that end in the global
 * one. See kr_registry_match for who wins. */
#ifndef KERNRIG_REGISTRY_H
#define KERNRIG_REGISTRY_H

#include <kernrig/key.h>
#include <kernrig/schema.h>

typedef struct kr_registry kr_registry;
typedef uint32_t kr_scope; /* KR_SCOPE_GLOBAL or from kr_registry_add_scope */
enum { KR_SCOPE_GLOBAL = 0, KR_KERNEL_NAME = 64 };

typedef enum kr_provider_kind {
    KR_PROVIDER_STOCK, /* in the configured order, the order in which they were added */
    KR_PROVIDER_USER,  /* before all stock providers, the newest first */
} kr_provider_kind;

/* One kernel as its library describes it: foreign input, none of it believed yet. */
typedef struct kr_kernel_description {
    const char *name; /* of the function in its library */
    const char *schema;
    const char *key; /* NULL: the fallback */
    uint64_t dtypes; /* KR_SET bits; 0: nothing declared */
    const char *isa; /* NULL: none needed */
    uint32_t layout; /* kr_layout */
    bool in_place;
} kr_kernel_description;

typedef struct kr_provider_description {
    const char *name; /* "portable"; of a user's kernel, the name that it was given */
    kr_provider_kind kind;
    const char *abi;                             /* "kernrig", "executorch" */
    const char *library;                         /* path or URL, for people */
    const char *source_hash, *compiler, *cflags; /* "" where unknown */
    int64_t registered_at;                       /* seconds since 1970 */
    uint64_t cookie;                             /* the caller's: comes back in kr_kernel_info */
} kr_provider_description;

/* What is registered. Borrowed from the registry until the next add or remove. */
typedef struct kr_kernel_info {
    uint64_t id;           /* never used twice */
    const char *operator_; /* "aten::add.out" */
    const char *name;      /* of the function in its library */
    uint32_t index;        /* in its library's table */
    kr_scope scope;
    bool has_key; /* else it is a fallback */
    bool in_place;
    uint32_t layout;
    kr_key key;
    uint64_t dtypes;
    const char *isa; /* "" if none */
    uint32_t provider_id;
    const kr_provider_description *provider;
} kr_kernel_info;

typedef struct kr_operator_info {
    const char *name, *schema_text;
    const kr_schema *schema;
    const char *tags;    /* "core pointwise numbers": words with spaces between, or "" */
    bool allows_numbers; /* the tag "numbers" */
    uint32_t n_kernels;  /* in all scopes */
} kr_operator_info;

/* A registry that knows the operators of operators.txt and has no kernel; NULL without memory.
 * kr_registry_free accepts NULL and returns NULL. */
KR_CHECK kr_registry *kr_registry_new(void);
kr_registry *kr_registry_free(kr_registry *registry);
/* Raised by every change. */
uint64_t kr_registry_generation(const kr_registry *registry);

/* Scopes. Removing one needs that it has no kernels and no children any more. */
KR_CHECK int kr_registry_add_scope(kr_registry *registry, kr_scope parent, const char *name,
                                   kr_scope *ret, kr_error *err);
void kr_registry_remove_scope(kr_registry *registry, kr_scope scope);
/* "global", or the name given; NULL if there is no such scope. */
const char *kr_registry_scope_name(const kr_registry *registry, kr_scope scope);

/* Adds all kernels of a library or, on error, none. Copies whatever it keeps. Errors name the
 * kernel and what is wrong with it: a schema that does not parse, contradicts the operator's, or
 * has no output; a key that can never match; a kernel of the same provider name, operator, scope
 * and key (DUPLICATE, naming the owner). */
KR_CHECK int kr_registry_add(kr_registry *registry, kr_scope scope,
                             const kr_provider_description *provider,
                             const kr_kernel_description *kernels, uint32_t n_kernels,
                             uint32_t *ret_provider_id, kr_error *err);
/* Removes all kernels of a provider; false if there is none of this id. */
bool kr_registry_remove(kr_registry *registry, uint32_t provider_id);

/* NULL if no operator has this name. */
const kr_operator_info *kr_registry_operator(const kr_registry *registry, const char *name);
/* In order of name. The array is borrowed until the next add or remove. */
const kr_operator_info *const *kr_registry_operators(kr_registry *registry, uint32_t *ret_count);
/* Kernels of one operator, in the order in which they would be asked; see kr_registry_match. */
const kr_kernel_info *kr_registry_kernel(const kr_registry *registry, const kr_operator_info *op,
                                         uint32_t index);
/* Fails with NO_OPERATOR and says so: which namespace, base or overload is unknown, and up to
 * three names that were perhaps meant. */
int kr_registry_unknown(const kr_registry *registry, const char *name, kr_error *err);

typedef struct kr_query {
    const kr_operator_info *op;
    kr_scope scope;       /* where the look-up begins */
    const kr_key *key;    /* of the call; NULL if it has none: only fallbacks match */
    int dtype;            /* of the first tensor argument; -1 if there is none */
    const char *provider; /* only this provider's kernels; NULL: any */
} kr_query;

/* The kernel that serves the query; after it, on KR_DECLINE, the next one (pass the last as
 * previous, NULL first). The innermost scope that has any match is asked before its parents;
 * within one scope an exact key before a fallback; among equals the newest user provider first,
 * then stock providers in their order. A kernel that does not declare the dtype is no match.
 * When there is none (left), fails with NO_KERNEL: the text names the kernels that there are and
 * why each was passed over. */
KR_CHECK int kr_registry_match(const kr_registry *registry, const kr_query *query,
                               const kr_kernel_info *previous, const kr_kernel_info **ret,
                               kr_error *err);

#endif
