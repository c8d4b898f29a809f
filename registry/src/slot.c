// SPDX-License-Identifier: Apache-2.0
/* The lists of kernels that a look-up finds by operator, scope and key. */
#include "registry_state.h"

void kr_slot_key_make(kr_slot_key *ret, const kr_operator *operator_, kr_scope scope,
                      const kr_key *key)
{
    memcpy(ret->bytes, &operator_->id, 4);
    memcpy(ret->bytes + 4, &scope, 4);
    ret->bytes[8] = key ? (uint8_t) (key->n_sections + 1) : 0;
    ret->length = KR_SLOT_PREFIX + (key ? kr_key_pack(key, ret->bytes + KR_SLOT_PREFIX) : 0);
}

void kr_slot_key_move(kr_slot_key *key, kr_scope scope) { memcpy(key->bytes + 4, &scope, 4); }

void kr_slot_key_add_provider(kr_slot_key *key, const char *provider)
{
    /* A longer name than a provider can have is cut to one that none has: with room for its final
     * 0, it would not fill the last byte. */
    size_t length = strnlen(provider, KR_KERNEL_NAME);
    memcpy(key->bytes + key->length, provider, length);
    key->length += length;
}

const kr_entry *kr_slot_first(const kr_registry *registry, const kr_slot_key *key)
{
    const kr_slot *slot = NULL;
    HASH_FIND(hh, registry->slots, key->bytes, key->length, slot);
    return slot ? slot->first : NULL;
}

const kr_entry *kr_slot_of_provider(const kr_registry *registry, const kr_slot_key *key)
{
    const kr_entry *entry = NULL;
    HASH_FIND(hh, registry->entries, key->bytes, key->length, entry);
    return entry;
}

static int duplicate(const kr_entry *owner, kr_error *err)
{
    char when[32] = "", key[KR_KEY_TEXT] = "the fallback";
    struct tm time;
    time_t seconds = (time_t) owner->info.provider->registered_at;
    if (gmtime_r(&seconds, &time))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &time);
    if (owner->info.has_key)
        kr_key_print(&owner->info.key, key);
    return kr_error_set(err, KR_CODE_DUPLICATE,
                        "%s has a kernel of provider '%s' for %s already: '%s' of library %s, "
                        "registered %s",
                        owner->operator_->name, owner->info.provider->name, key, owner->info.name,
                        owner->info.provider->library, when);
}

static kr_slot *slot_new(kr_registry *registry, const kr_slot_key *key)
{
    kr_slot *slot = calloc(1, sizeof *slot + key->length);
    if (!slot)
        return NULL;
    slot->key_length = key->length;
    memcpy(slot->key, key->bytes, key->length);
    HASH_ADD_KEYPTR(hh, registry->slots, slot->key, slot->key_length, slot);
    if (slot->hh.tbl)
        return slot;
    free(slot);
    return NULL;
}

static void slot_remove_if_empty(kr_registry *registry, kr_slot *slot)
{
    if (slot->first)
        return;
    HASH_DEL(registry->slots, slot);
    free(slot);
}

/* Users' kernels come first, the newest before the others; stock ones follow as they were added. */
static void list(kr_slot *slot, kr_entry *entry)
{
    entry->slot = slot;
    if (entry->info.provider->kind == KR_PROVIDER_USER) {
        entry->next = slot->first;
        if (slot->first)
            slot->first->previous = entry;
        slot->first = entry;
        if (!slot->last)
            slot->last = entry;
    } else {
        entry->previous = slot->last;
        if (slot->last)
            slot->last->next = entry;
        slot->last = entry;
        if (!slot->first)
            slot->first = entry;
    }
}

int kr_slot_insert(kr_registry *registry, kr_entry *entry, kr_error *err)
{
    kr_slot_key key;
    kr_slot_key_make(&key, entry->operator_, entry->info.scope,
                     entry->info.has_key ? &entry->info.key : NULL);
    kr_slot *slot = NULL;
    HASH_FIND(hh, registry->slots, key.bytes, key.length, slot);
    if (!slot)
        slot = slot_new(registry, &key);
    if (!slot)
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a kernel");

    kr_slot_key_add_provider(&key, entry->info.provider->name);
    const kr_entry *owner = kr_slot_of_provider(registry, &key);
    if (owner)
        return duplicate(owner, err);
    /* The table keeps a pointer to the key, so it lives where the entry does. */
    uint8_t *copy = kr_arena_alloc(&entry->provider->arena, key.length);
    if (copy) {
        memcpy(copy, key.bytes, key.length);
        HASH_ADD_KEYPTR(hh, registry->entries, copy, key.length, entry);
    }
    if (!entry->hh.tbl) {
        slot_remove_if_empty(registry, slot);
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a kernel");
    }
    list(slot, entry);
    return 0;
}

void kr_slot_erase(kr_registry *registry, kr_entry *entry)
{
    kr_slot *slot = entry->slot;
    *(entry->previous ? &entry->previous->next : &slot->first) = entry->next;
    *(entry->next ? &entry->next->previous : &slot->last) = entry->previous;
    slot_remove_if_empty(registry, slot);
    HASH_DELETE(hh, registry->entries, entry);
}
