// SPDX-License-Identifier: Apache-2.0
/* Who serves a call. The answer is the next element of one sequence: over the scopes from the
 * query's to the global one, in each the kernels of the exact key, then the fallbacks. Two hash
 * look-ups a scope find the lists, so that kernels which cannot match cost nothing.
 *
 * When the sequence is at its end the error tells of every kernel that the caller can see why it
 * was not taken. What other sessions registered is not seen, and not told. */
#include "registry_state.h"
#include "text.h"
#include <kernrig/dtype.h>

static bool declares(uint64_t dtypes, int dtype)
{
    return dtypes == 0 || dtype < 0 || (dtype < 64 && dtypes & KR_SET(dtype));
}

static const kr_entry *entry_of(const kr_kernel_info *info)
{
    return (const kr_entry *) ((const char *) info - offsetof(kr_entry, info));
}

/* From this kernel on, the first in its list that takes the dtype. */
static const kr_entry *first_taker(const kr_entry *entry, const kr_query *query)
{
    while (entry && !declares(entry->dtypes, query->dtype))
        entry = entry->next;
    return entry;
}

/* The list of a scope: of the query's key, or of the fallbacks. */
static const kr_entry *search(const kr_registry *registry, const kr_query *query, kr_slot_key *key)
{
    if (!query->provider)
        return first_taker(kr_slot_first(registry, key), query);
    const size_t length = key->length;
    kr_slot_key_add_provider(key, query->provider);
    const kr_entry *entry = kr_slot_of_provider(registry, key);
    key->length = length;
    return entry && declares(entry->dtypes, query->dtype) ? entry : NULL;
}

/* The first match in scope or its parents; without the exact keys of scope itself if they have
 * been asked already. */
static const kr_entry *search_from(const kr_registry *registry, const kr_query *query,
                                   const kr_scope_entry *scope, bool skip_exact)
{
    const kr_operator *operator_ = kr_operator_of(query->op);
    kr_slot_key exact, fallback;
    if (query->key)
        kr_slot_key_make(&exact, operator_, scope->id, query->key);
    kr_slot_key_make(&fallback, operator_, scope->id, NULL);
    for (; scope; scope = scope->parent) {
        const kr_entry *entry = NULL;
        if (query->key && !skip_exact) {
            kr_slot_key_move(&exact, scope->id);
            entry = search(registry, query, &exact);
        }
        kr_slot_key_move(&fallback, scope->id);
        if (!entry)
            entry = search(registry, query, &fallback);
        if (entry)
            return entry;
        skip_exact = false;
    }
    return NULL;
}

/* What comes behind a kernel that was asked. */
static const kr_entry *search_behind(const kr_registry *registry, const kr_query *query,
                                     const kr_entry *previous)
{
    const kr_entry *entry = query->provider ? NULL : first_taker(previous->next, query);
    if (entry)
        return entry;
    if (previous->info.has_key)
        return search_from(registry, query, previous->scope, true);
    const kr_scope_entry *outer = previous->scope->parent;
    return outer ? search_from(registry, query, outer, false) : NULL;
}

/* Why there is none. */

static bool sees(const kr_scope_entry *from, const kr_scope_entry *scope)
{
    while (from && from != scope)
        from = from->parent;
    return from;
}

/* A slot is asked as a whole, so what is before previous in the order was asked with it. */
static const char *reason(const kr_entry *entry, const kr_query *query, char *text, size_t size)
{
    if (query->provider && strcmp(entry->info.provider->name, query->provider) != 0)
        return "is of another provider";
    if (!declares(entry->dtypes, query->dtype)) {
        char dtypes[256];
        snprintf(text, size, "takes %s",
                 kr_dtype_set_text(entry->info.dtypes, dtypes, sizeof dtypes));
        return text;
    }
    if (entry->info.has_key && (!query->key || !kr_key_equal(&entry->info.key, query->key)))
        return "takes this key only";
    return "declined the call";
}

static void describe(kr_text *text, const kr_entry *entry)
{
    char key[KR_KEY_TEXT] = "fallback";
    if (entry->info.has_key)
        kr_key_print(&entry->info.key, key);
    kr_text_add(text, "%s (%.100s", entry->info.provider->name, key);
    if (entry->scope->parent)
        kr_text_add(text, " in %.60s", entry->scope->name);
    kr_text_put(text, ')');
}

/* The kernels that are seen, in the order in which they were asked; returns how many. */
static uint32_t list_kernels(kr_text *text, const kr_query *query, const kr_scope_entry *scope)
{
    enum { MOST = 8 };
    const kr_operator *operator_ = kr_operator_of(query->op);
    uint32_t count = 0;
    for (uint32_t i = 0; i < query->op->n_kernels; i++) {
        const kr_entry *entry = operator_->kernels[i];
        if (!sees(scope, entry->scope) || ++count > MOST)
            continue;
        char why[300];
        kr_text_string(text, "; ");
        describe(text, entry);
        kr_text_add(text, " %s", reason(entry, query, why, sizeof why));
    }
    if (count > MOST)
        kr_text_add(text, "; and %u more", count - MOST);
    return count;
}

/* Bytes of a base name without the '_' of an in-place operator, so that add and add_ are one. */
static size_t stem_length(const char *base)
{
    size_t length = strlen(base);
    return length > 1 && base[length - 1] == '_' && base[0] != '_' ? length - 1 : length;
}

static bool is_related(const kr_schema *a, const kr_schema *b)
{
    size_t length = stem_length(a->base);
    return strcmp(a->namespace_, b->namespace_) == 0 && length == stem_length(b->base) &&
           memcmp(a->base, b->base, length) == 0;
}

/* The first kernel of an operator that is seen from a scope, or NULL. */
static const kr_entry *any_kernel(const kr_operator *operator_, const kr_scope_entry *scope)
{
    for (uint32_t i = 0; i < operator_->info.n_kernels; i++)
        if (sees(scope, operator_->kernels[i]->scope))
            return operator_->kernels[i];
    return NULL;
}

/* "; aten::add.out has (portable)", for the overloads of the same base that have a kernel. */
static void list_related(kr_text *text, const kr_registry *registry, const kr_query *query,
                         const kr_scope_entry *scope)
{
    enum { MOST = 4 };
    uint32_t count = 0;
    for (const kr_operator *each = registry->operators; each && count < MOST;
         each = each->hh.next) {
        if (&each->info == query->op || !is_related(each->schema, query->op->schema))
            continue;
        const kr_entry *entry = any_kernel(each, scope);
        if (!entry)
            continue;
        kr_text_add(text, "; %s has (%s)", each->name, entry->info.provider->name);
        count++;
    }
}

static int no_kernel(const kr_registry *registry, const kr_query *query,
                     const kr_scope_entry *scope, const kr_kernel_info *previous, kr_error *err)
{
    char data[KR_ERROR_TEXT] = "";
    kr_text text = { data, sizeof data, 0 };
    if (list_kernels(&text, query, scope) == 0) {
        list_related(&text, registry, query, scope);
        return kr_error_set(err, KR_CODE_NO_KERNEL, "%s has no kernel%s", query->op->name, data);
    }
    const char *dtype = query->dtype < 0 ? NULL : kr_dtype_name(query->dtype);
    return kr_error_set(err, KR_CODE_NO_KERNEL, "%s has no %skernel%s%s%s%s%s%s", query->op->name,
                        previous ? "further " : "", dtype ? " for " : "", dtype ? dtype : "",
                        query->provider ? " of provider '" : "",
                        query->provider ? query->provider : "", query->provider ? "'" : "", data);
}

int kr_registry_match(const kr_registry *registry, const kr_query *query,
                      const kr_kernel_info *previous, const kr_kernel_info **ret, kr_error *err)
{
    const kr_scope_entry *scope = kr_scope_find(registry, query->scope);
    if (!scope)
        return kr_error_set(err, KR_CODE_VALUE, "there is no scope %u", query->scope);
    const kr_entry *entry = previous ? search_behind(registry, query, entry_of(previous))
                                     : search_from(registry, query, scope, false);
    if (!entry)
        return no_kernel(registry, query, scope, previous, err);
    *ret = &entry->info;
    return 0;
}
