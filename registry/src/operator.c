// SPDX-License-Identifier: Apache-2.0
/* Operators: those of operators.txt, and those that kernels bring along. */
#include "registry_state.h"

static bool has_tag(const char *tags, const char *tag)
{
    size_t length = strlen(tag);
    for (const char *at = tags; (at = strstr(at, tag)) != NULL; at += length)
        if ((at == tags || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

kr_operator *kr_operator_free(kr_operator *operator_)
{
    if (operator_) {
        kr_schema_free(operator_->schema);
        free(operator_->kernels);
        free(operator_);
    }
    return NULL;
}

kr_operator *kr_operator_new(kr_registry *registry, kr_schema *schema, const char *tags,
                             size_t tags_length)
{
    kr_operator *operator_ = calloc(1, sizeof *operator_);
    if (!operator_) {
        kr_schema_free(schema);
        return NULL;
    }
    operator_->schema = schema;
    size_t length = kr_schema_print(schema, NULL, 0);
    char *text = kr_arena_alloc(&schema->arena, length + 1);
    const char *own_tags = kr_arena_text(&schema->arena, tags, tags_length);
    if (!text || !own_tags)
        return kr_operator_free(operator_);
    kr_schema_print(schema, text, length + 1);
    snprintf(operator_->name, sizeof operator_->name, "%s", schema->name);
    HASH_ADD_KEYPTR(hh, registry->operators, operator_->name, strlen(operator_->name), operator_);
    if (!operator_->hh.tbl)
        return kr_operator_free(operator_);
    operator_->id = registry->next_operator++;
    operator_->info = (kr_operator_info){
        .name = operator_->name,
        .schema_text = text,
        .schema = schema,
        .tags = own_tags,
        .allows_numbers = has_tag(own_tags, "numbers"),
    };
    free(registry->sorted);
    registry->sorted = NULL;
    return operator_;
}

void kr_operator_remove(kr_registry *registry, kr_operator *operator_)
{
    HASH_DEL(registry->operators, operator_);
    free(registry->sorted);
    registry->sorted = NULL;
    kr_operator_free(operator_);
}

kr_operator *kr_operator_find(const kr_registry *registry, const char *name)
{
    kr_operator *operator_ = NULL;
    HASH_FIND(hh, registry->operators, name, strlen(name), operator_);
    return operator_;
}

const kr_operator *kr_operator_of(const kr_operator_info *info)
{
    return (const kr_operator *) ((const char *) info - offsetof(kr_operator, info));
}

static int load_line(kr_registry *registry, const char *line, size_t length, kr_error *err)
{
    const char *tab = memchr(line, '\t', length);
    if (!tab)
        return kr_error_set(err, KR_CODE_SCHEMA, "a tab is missing behind the schema");
    kr_schema *schema = NULL;
    int code = kr_schema_parse(line, (size_t) (tab - line), &schema, err);
    if (code)
        return code;
    if (kr_operator_find(registry, schema->name)) {
        code = kr_error_set(err, KR_CODE_SCHEMA, "%s stands there twice", schema->name);
        kr_schema_free(schema);
        return code;
    }
    kr_operator *operator_ = kr_operator_new(registry, schema, tab + 1,
                                             length - (size_t) (tab + 1 - line));
    if (!operator_)
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for an operator");
    operator_->known = true;
    return 0;
}

int kr_operators_load(kr_registry *registry, const char *text, size_t length, kr_error *err)
{
    const char *end = text + length;
    for (uint32_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        const char *stop = newline ? newline : end;
        if (stop > text && *text != '#') {
            int code = load_line(registry, text, (size_t) (stop - text), err);
            if (code) {
                kr_error_wrap(err, "line %u", number);
                return code;
            }
        }
        text = newline ? newline + 1 : end;
    }
    return 0;
}

/* The kernels of an operator, in the order in which they would be asked. */

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* Inner scopes before outer ones; within a scope exact keys before fallbacks, users' kernels before
 * stock ones, the newest user and the oldest stock provider first. */
static int ask_order(const kr_entry *a, const kr_entry *b)
{
    int order = compare(b->scope->depth, a->scope->depth);
    if (!order)
        order = compare(a->scope->id, b->scope->id);
    if (!order)
        order = compare(b->info.has_key, a->info.has_key);
    bool user_a = a->info.provider->kind == KR_PROVIDER_USER;
    bool user_b = b->info.provider->kind == KR_PROVIDER_USER;
    if (!order)
        order = compare(user_b, user_a);
    if (!order)
        order = user_a ? compare(b->provider->id, a->provider->id)
                       : compare(a->provider->id, b->provider->id);
    return order ? order : compare(a->info.id, b->info.id);
}

/* Where the entry is, or belongs. */
static uint32_t place(const kr_operator *operator_, const kr_entry *entry)
{
    uint32_t low = 0, high = operator_->info.n_kernels;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ask_order(operator_->kernels[middle], entry) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool kr_operator_insert(kr_operator *operator_, kr_entry *entry)
{
    uint32_t count = operator_->info.n_kernels;
    if (count == operator_->capacity) {
        uint32_t capacity = count ? count * 2 : 4;
        kr_entry **kernels = reallocarray(operator_->kernels, capacity, sizeof(kr_entry *));
        if (!kernels)
            return false;
        operator_->kernels = kernels;
        operator_->capacity = capacity;
    }
    uint32_t at = place(operator_, entry);
    kr_entry **slot = &operator_->kernels[at];
    memmove(slot + 1, slot, (count - at) * sizeof(kr_entry *));
    *slot = entry;
    operator_->info.n_kernels++;
    return true;
}

void kr_operator_erase(kr_operator *operator_, const kr_entry *entry)
{
    uint32_t at = place(operator_, entry);
    kr_entry **slot = &operator_->kernels[at];
    operator_->info.n_kernels--;
    memmove(slot, slot + 1, (operator_->info.n_kernels - at) * sizeof(kr_entry *));
}

/* What the header offers. */

const kr_operator_info *kr_registry_operator(const kr_registry *registry, const char *name)
{
    const kr_operator *operator_ = kr_operator_find(registry, name);
    return operator_ ? &operator_->info : NULL;
}

static int by_name(const void *a, const void *b)
{
    const kr_operator_info *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

const kr_operator_info *const *kr_registry_operators(kr_registry *registry, uint32_t *ret_count)
{
    uint32_t count = HASH_COUNT(registry->operators);
    if (!registry->sorted) {
        registry->sorted = calloc(count + 1u, sizeof(kr_operator_info *));
        if (!registry->sorted) {
            *ret_count = 0;
            return NULL;
        }
        uint32_t n = 0;
        for (const kr_operator *each = registry->operators; each; each = each->hh.next)
            registry->sorted[n++] = &each->info;
        qsort(registry->sorted, count, sizeof(kr_operator_info *), by_name);
    }
    *ret_count = count;
    return registry->sorted;
}

const kr_kernel_info *kr_registry_kernel(const kr_registry *registry, const kr_operator_info *op,
                                         uint32_t index)
{
    (void) registry;
    const kr_operator *operator_ = kr_operator_of(op);
    return index < op->n_kernels ? &operator_->kernels[index]->info : NULL;
}
