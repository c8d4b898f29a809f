// SPDX-License-Identifier: Apache-2.0
#include "worker/mappings.h"

#include "base/table.h"

#include <errno.h>
#include <sys/mman.h>

struct mapping {
    uint64_t key[2]; /* the handle, and whether it is writable */
    char *base;      /* of the guard before it */
    uint64_t size;
    UT_hash_handle hh;
};

struct mappings {
    struct mapping *table;
};

struct mappings *mappings_new(void) { return calloc(1, sizeof(struct mappings)); }

static struct mapping *find(const struct mappings *mappings, uint64_t buffer, bool writable)
{
    const uint64_t key[2] = { buffer, writable };
    struct mapping *found = NULL;
    HASH_FIND(hh, mappings->table, key, sizeof key, found);
    return found;
}

int mappings_add(struct mappings *mappings, const struct wire_map *map, int fd, kr_error *err)
{
    const uint64_t whole = map->size + 2 * (uint64_t) MAPPINGS_GUARD;
    if (map->size == 0 || whole < map->size || find(mappings, map->buffer, map->writable))
        return kr_error_set(err, KR_CODE_MALFORMED, "buffer %llu: mapped twice, or of no size",
                            (unsigned long long) map->buffer);
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping)
        return kr_error_set(err, KR_CODE_MEMORY, "no memory for a mapping");
    char *base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        free(mapping);
        return kr_error_set(err, KR_CODE_SYSTEM, "no room for %llu bytes: %s",
                            (unsigned long long) map->size, strerror(errno));
    }
    if (mmap(base + MAPPINGS_GUARD, map->size, PROT_READ | (map->writable ? PROT_WRITE : 0),
             MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        const int r = kr_error_set(err, KR_CODE_SYSTEM, "buffer %llu cannot be mapped: %s",
                                   (unsigned long long) map->buffer, strerror(errno));
        munmap(base, whole);
        free(mapping);
        return r;
    }
    *mapping =
        (struct mapping){ .key = { map->buffer, map->writable }, .base = base, .size = map->size };
    HASH_ADD(hh, mappings->table, key, sizeof mapping->key, mapping);
    if (!table_has(mapping)) {
        munmap(base, whole);
        free(mapping);
        return kr_error_set(err, KR_CODE_MEMORY, "no memory for a mapping");
    }
    return 0;
}

void mappings_remove(struct mappings *mappings, uint64_t buffer)
{
    for (int writable = 0; writable < 2; writable++) {
        struct mapping *mapping = find(mappings, buffer, writable);
        if (!mapping)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it does not follow uthash's links */
        HASH_DEL(mappings->table, mapping);
        munmap(mapping->base, mapping->size + 2 * (uint64_t) MAPPINGS_GUARD);
        free(mapping);
    }
}

void *mappings_find(const struct mappings *mappings, uint64_t buffer, bool writable,
                    uint64_t *ret_size)
{
    const struct mapping *mapping = find(mappings, buffer, writable);
    if (!mapping)
        return NULL;
    *ret_size = mapping->size;
    return mapping->base + MAPPINGS_GUARD;
}
