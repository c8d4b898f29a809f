// SPDX-License-Identifier: Apache-2.0
/* How the registry keeps what it knows; for registry/src only.
 *
 * Two hash tables answer a look-up. One finds an operator by its name. The other finds the kernels
 * of one operator, scope and key (or its fallbacks) as a list in the order in which they are
 * asked. A third, over the same and the provider's name, finds the one kernel of a provider: it
 * refuses duplicates and serves calls that name their provider. Besides, every operator has all
 * its kernels in one array, for lists and for errors. */
#ifndef KERNRIG_REGISTRY_STATE_H
#define KERNRIG_REGISTRY_STATE_H

#define XXH_INLINE_ALL
#include <kernrig/registry.h>
#include <xxhash.h>

/* uthash with xxHash for its function; without memory it leaves the element out, with hh.tbl NULL,
 * instead of ending the process. */
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned) XXH3_64bits((key), (length)))
#define HASH_NONFATAL_OOM                1
#include <uthash.h>

/* Buckets grow in number when one has four elements, where uthash waits for ten: each step along a
 * bucket is a miss of the cache. Measured, a look-up among 10,000 kernels took 145 ns, not 196. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 4U

#include "key_pack.h"

typedef struct kr_operator kr_operator;
typedef struct kr_slot kr_slot;
typedef struct kr_entry kr_entry;
typedef struct kr_provider kr_provider;
typedef struct kr_scope_entry kr_scope_entry;

struct kr_operator {
    UT_hash_handle hh; /* by name */
    uint32_t id;       /* stands for the name in the keys of slots */
    bool known;        /* from operators.txt: stays when its last kernel goes */
    char name[KR_OPERATOR_NAME + 1];
    kr_operator_info info;
    kr_schema *schema;  /* its arena also holds the texts of info */
    kr_entry **kernels; /* info.n_kernels of them, in the order in which they would be asked */
    uint32_t capacity;
};

/* The kernels of one operator, scope and key. */
struct kr_slot {
    UT_hash_handle hh; /* by key */
    kr_entry *first, *last;
    size_t key_length;
    uint8_t key[]; /* see kr_slot_key */
};

/* A kernel. What a look-up reads comes first, in one line of the cache: among 10,000 kernels a
 * look-up takes as long as the lines that it misses. */
enum { KR_CACHE_LINE = 64 };

struct kr_entry {
    _Alignas(KR_CACHE_LINE) kr_entry *next; /* in the slot's list */
    uint64_t dtypes;                        /* info's once more */
    kr_kernel_info info;
    kr_entry *previous; /* in the slot's list */
    kr_slot *slot;
    kr_operator *operator_;
    kr_scope_entry *scope;
    kr_provider *provider;
    UT_hash_handle hh; /* by the slot's key and the provider's name */
};

struct kr_provider {
    UT_hash_handle hh; /* by id */
    uint32_t id, n_kernels;
    kr_provider_description description;
    kr_entry *kernels;
    kr_arena arena; /* holds the texts */
};

struct kr_scope_entry {
    UT_hash_handle hh; /* by id */
    kr_scope id;
    uint32_t depth, n_kernels, n_children;
    kr_scope_entry *parent; /* NULL: this is the global one */
    char name[];
};

struct kr_registry {
    kr_operator *operators;
    kr_slot *slots;
    kr_entry *entries;
    kr_provider *providers;
    kr_scope_entry *scopes;
    uint64_t generation, next_kernel;
    uint32_t next_provider, next_scope, next_operator;
    /* The operators by name: made when asked for, NULL after a change. */
    const kr_operator_info **sorted;
};

/* A slot's key: the operator's id, the scope, 0 for the fallback or else the number of sections and
 * one, and the sections, packed. An entry's key adds the provider's name. */
enum {
    KR_SLOT_PREFIX = 9,
    KR_SLOT_KEY = KR_SLOT_PREFIX + KR_KEY_PACKED,
    KR_ENTRY_KEY = KR_SLOT_KEY + KR_KERNEL_NAME,
};

typedef struct kr_slot_key {
    size_t length;
    uint8_t bytes[KR_ENTRY_KEY];
} kr_slot_key;

/* key is NULL for the fallbacks. */
void kr_slot_key_make(kr_slot_key *ret, const kr_operator *operator_, kr_scope scope,
                      const kr_key *key);
/* The same in another scope. */
void kr_slot_key_move(kr_slot_key *key, kr_scope scope);
/* Turns the key of a slot into that of the provider's entry. */
void kr_slot_key_add_provider(kr_slot_key *key, const char *provider);

/* slot.c. */
/* Puts a kernel into its slot and into the table of entries. Fails with DUPLICATE, or with LIMIT
 * without memory; then nothing is changed. */
KR_CHECK int kr_slot_insert(kr_registry *registry, kr_entry *entry, kr_error *err);
void kr_slot_erase(kr_registry *registry, kr_entry *entry);
/* The first kernel of a slot; NULL if there is none. */
const kr_entry *kr_slot_first(const kr_registry *registry, const kr_slot_key *key);
/* The one kernel of a provider; NULL if there is none. */
const kr_entry *kr_slot_of_provider(const kr_registry *registry, const kr_slot_key *key);

/* operator.c. */
/* The operator owns the schema, also on failure; NULL without memory. */
kr_operator *kr_operator_new(kr_registry *registry, kr_schema *schema, const char *tags,
                             size_t tags_length);
/* Frees the operator alone, NULL too; kr_operator_remove also forgets it. Returns NULL. */
kr_operator *kr_operator_free(kr_operator *operator_);
void kr_operator_remove(kr_registry *registry, kr_operator *operator_);
kr_operator *kr_operator_find(const kr_registry *registry, const char *name);
const kr_operator *kr_operator_of(const kr_operator_info *info);
/* Reads the text of operators.txt; fails with SCHEMA and the number of the line. */
KR_CHECK int kr_operators_load(kr_registry *registry, const char *text, size_t length,
                               kr_error *err);
/* False without memory. */
KR_CHECK bool kr_operator_insert(kr_operator *operator_, kr_entry *entry);
void kr_operator_erase(kr_operator *operator_, const kr_entry *entry);

/* scope.c. */
/* NULL if there is none. */
kr_scope_entry *kr_scope_find(const kr_registry *registry, kr_scope scope);
/* NULL without memory. Without a parent it is the global scope, the first to be made. */
kr_scope_entry *kr_scope_new(kr_registry *registry, kr_scope_entry *parent, const char *name);

#endif
