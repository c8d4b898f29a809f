// SPDX-License-Identifier: Apache-2.0
/* Scopes: where kernels are seen from. Each but the global one has a parent, and a look-up goes
 * from a scope to its parent until it has an answer. */
#include "registry_state.h"

enum { DEEPEST = 15 }; /* below the global one, so that a look-up has a bound */

kr_scope_entry *kr_scope_find(const kr_registry *registry, kr_scope scope)
{
    kr_scope_entry *found = NULL;
    HASH_FIND(hh, registry->scopes, &scope, sizeof scope, found);
    return found;
}

kr_scope_entry *kr_scope_new(kr_registry *registry, kr_scope_entry *parent, const char *name)
{
    size_t size = strlen(name) + 1;
    kr_scope_entry *scope = calloc(1, sizeof *scope + size);
    if (!scope)
        return NULL;
    scope->id = registry->next_scope;
    scope->parent = parent;
    scope->depth = parent ? parent->depth + 1 : 0;
    memcpy(scope->name, name, size);
    HASH_ADD_KEYPTR(hh, registry->scopes, &scope->id, sizeof scope->id, scope);
    if (!scope->hh.tbl) {
        free(scope);
        return NULL;
    }
    registry->next_scope++;
    if (parent)
        parent->n_children++;
    return scope;
}

int kr_registry_add_scope(kr_registry *registry, kr_scope parent, const char *name, kr_scope *ret,
                          kr_error *err)
{
    kr_scope_entry *outer = kr_scope_find(registry, parent);
    if (!outer)
        return kr_error_set(err, KR_CODE_VALUE, "there is no scope %u", parent);
    if (outer->depth == DEEPEST)
        return kr_error_set(err, KR_CODE_LIMIT, "scopes are at most %d deep", DEEPEST);
    const kr_scope_entry *scope = kr_scope_new(registry, outer, name);
    if (!scope)
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a scope");
    registry->generation++;
    *ret = scope->id;
    return 0;
}

void kr_registry_remove_scope(kr_registry *registry, kr_scope scope)
{
    kr_scope_entry *entry = kr_scope_find(registry, scope);
    /* A scope that is in use stays, since kernels and children point to it. */
    if (!entry || !entry->parent || entry->n_kernels || entry->n_children)
        return;
    entry->parent->n_children--;
    HASH_DEL(registry->scopes, entry);
    free(entry);
    registry->generation++;
}

const char *kr_registry_scope_name(const kr_registry *registry, kr_scope scope)
{
    const kr_scope_entry *entry = kr_scope_find(registry, scope);
    return entry ? entry->name : NULL;
}
