// SPDX-License-Identifier: Apache-2.0
/* Adding and removing the kernels of a provider, all of them or none.
 *
 * A provider is added kernel by kernel; the first that cannot be removes those before it, by the
 * way in which a provider is removed anyway. What kernels say of themselves is foreign: it is
 * checked here, and copied. */
#include "registry_state.h"

extern const char kr_operators_text[];
extern const size_t kr_operators_text_length;

enum { ISA_TEXT = 256 };

/* Kernels. */

/* Foreign texts end in messages of UTF-8 and on terminals: nothing but ASCII that can be seen. */
static bool is_printable(const char *text, char least)
{
    for (; *text; text++)
        if (*text < least || *text > '~')
            return false;
    return true;
}

/* Names are printed in errors and lists, one to a word. */
static bool is_name(const char *name)
{
    return name && *name && strlen(name) < KR_KERNEL_NAME && is_printable(name, '!');
}

static bool has_output(const kr_schema *schema)
{
    for (uint32_t i = 0; i < schema->n_args; i++)
        if (schema->args[i].is_output && schema->args[i].type.base == KR_TYPE_TENSOR)
            return true;
    return false;
}

static int contradiction(const kr_operator *operator_, const kr_schema *schema,
                         const kr_error *difference, kr_error *err)
{
    char text[KR_SCHEMA_TEXT + 1];
    kr_schema_print(schema, text, sizeof text);
    return kr_error_set(err, KR_CODE_SCHEMA,
                        "the schema differs from the operator's, %s; it is %.350s, the operator's "
                        "%.350s",
                        difference->text, text, operator_->info.schema_text);
}

/* The operator that the schema is of: the one that there is, if both agree, or a new one. */
static int resolve_operator(kr_registry *registry, const char *text, kr_operator **ret,
                            kr_error *err)
{
    if (!text)
        return kr_error_set(err, KR_CODE_SCHEMA, "it has no schema");
    kr_schema *schema = NULL;
    int code = kr_schema_parse(text, strnlen(text, KR_SCHEMA_TEXT + 1), &schema, err);
    if (code)
        return code;
    kr_operator *operator_ = kr_operator_find(registry, schema->name);
    kr_error difference;
    if (!has_output(schema))
        code = kr_error_set(err, KR_CODE_SCHEMA,
                            "%s has no output: a kernel writes into a Tensor(a!) argument",
                            schema->name);
    else if (operator_ && !kr_schema_equal(schema, operator_->schema, &difference))
        code = contradiction(operator_, schema, &difference, err);
    if (code || operator_)
        kr_schema_free(schema);
    else if (!(operator_ = kr_operator_new(registry, schema, "", 0)))
        code = kr_error_set(err, KR_CODE_LIMIT, "no memory for an operator");
    if (!code)
        *ret = operator_;
    return code;
}

/* An operator that nobody knows without its kernels goes with the last of them. */
static void release_operator(kr_registry *registry, kr_operator *operator_)
{
    if (!operator_->known && operator_->info.n_kernels == 0)
        kr_operator_remove(registry, operator_);
}

/* Copies what a kernel says of itself, checked, all but its schema. */
static int describe(kr_entry *entry, const kr_kernel_description *description, kr_error *err)
{
    kr_kernel_info *info = &entry->info;
    kr_arena *arena = &entry->provider->arena;
    if (description->layout > KR_STRIDED)
        return kr_error_set(err, KR_CODE_VALUE, "%u is no layout", description->layout);
    const char *isa = description->isa ? description->isa : "";
    if (strlen(isa) > ISA_TEXT || !is_printable(isa, ' '))
        return kr_error_set(err, KR_CODE_VALUE, "its list of CPU features is none");
    if (description->key) {
        int code = kr_key_parse(description->key, strlen(description->key),
                                entry->operator_->schema, &info->key, err);
        if (code)
            return code;
        info->has_key = true;
    }
    info->name = kr_arena_text(arena, description->name, strlen(description->name));
    info->isa = kr_arena_text(arena, isa, strlen(isa));
    if (!info->name || !info->isa)
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a kernel");
    info->dtypes = entry->dtypes = description->dtypes;
    info->layout = description->layout;
    info->in_place = description->in_place;
    return 0;
}

static int insert(kr_registry *registry, kr_entry *entry, kr_error *err)
{
    int code = kr_slot_insert(registry, entry, err);
    if (code)
        return code;
    if (!kr_operator_insert(entry->operator_, entry)) {
        kr_slot_erase(registry, entry);
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a kernel");
    }
    entry->scope->n_kernels++;
    entry->provider->n_kernels++;
    return 0;
}

static int add_kernel(kr_registry *registry, kr_scope_entry *scope, kr_provider *provider,
                      const kr_kernel_description *description, kr_error *err)
{
    if (!is_name(description->name))
        return kr_error_set(err, KR_CODE_VALUE,
                            "a kernel's name has 1 to %d characters of ASCII, without spaces",
                            KR_KERNEL_NAME - 1);
    kr_operator *operator_ = NULL;
    int code = resolve_operator(registry, description->schema, &operator_, err);
    if (!operator_)
        return code;
    uint32_t index = provider->n_kernels;
    kr_entry *entry = &provider->kernels[index];
    *entry = (kr_entry){ .operator_ = operator_, .scope = scope, .provider = provider };
    entry->info.id = registry->next_kernel++;
    entry->info.operator_ = operator_->name;
    entry->info.index = index;
    entry->info.scope = scope->id;
    entry->info.provider_id = provider->id;
    entry->info.provider = &provider->description;
    code = describe(entry, description, err);
    if (!code)
        code = insert(registry, entry, err);
    if (code)
        release_operator(registry, operator_);
    return code;
}

/* Providers. */

static bool copy_text(kr_provider *provider, const char **text)
{
    const char *given = *text ? *text : "";
    *text = kr_arena_text(&provider->arena, given, strlen(given));
    return *text;
}

static void provider_free(kr_provider *provider)
{
    kr_arena_done(&provider->arena);
    free(provider->kernels);
    free(provider);
}

static kr_provider *provider_new(kr_registry *registry, const kr_provider_description *description,
                                 uint32_t n_kernels)
{
    kr_provider *provider = calloc(1, sizeof *provider);
    if (!provider)
        return NULL;
    kr_arena_init(&provider->arena, SIZE_MAX);
    provider->id = registry->next_provider;
    provider->description = *description;
    kr_provider_description *own = &provider->description;
    provider->kernels = aligned_alloc(KR_CACHE_LINE,
                                      ((size_t) n_kernels + 1) * sizeof *provider->kernels);
    if (provider->kernels && copy_text(provider, &own->name) && copy_text(provider, &own->abi) &&
        copy_text(provider, &own->library) && copy_text(provider, &own->source_hash) &&
        copy_text(provider, &own->compiler) && copy_text(provider, &own->cflags))
        HASH_ADD_KEYPTR(hh, registry->providers, &provider->id, sizeof provider->id, provider);
    if (provider->hh.tbl) {
        registry->next_provider++;
        return provider;
    }
    provider_free(provider);
    return NULL;
}

static void provider_remove(kr_registry *registry, kr_provider *provider)
{
    while (provider->n_kernels) {
        kr_entry *entry = &provider->kernels[--provider->n_kernels];
        entry->scope->n_kernels--;
        kr_operator_erase(entry->operator_, entry);
        kr_slot_erase(registry, entry);
        release_operator(registry, entry->operator_);
    }
    HASH_DEL(registry->providers, provider);
    provider_free(provider);
}

int kr_registry_add(kr_registry *registry, kr_scope scope,
                    const kr_provider_description *description,
                    const kr_kernel_description *kernels, uint32_t n_kernels,
                    uint32_t *ret_provider_id, kr_error *err)
{
    kr_scope_entry *scope_entry = kr_scope_find(registry, scope);
    if (!scope_entry)
        return kr_error_set(err, KR_CODE_VALUE, "there is no scope %u", scope);
    if (!is_name(description->name))
        return kr_error_set(err, KR_CODE_VALUE,
                            "a provider's name has 1 to %d characters of ASCII, without spaces",
                            KR_KERNEL_NAME - 1);
    if (description->kind != KR_PROVIDER_STOCK && description->kind != KR_PROVIDER_USER)
        return kr_error_set(err, KR_CODE_VALUE, "%d is no kind of provider",
                            (int) description->kind);
    kr_provider *provider = provider_new(registry, description, n_kernels);
    if (!provider)
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a provider");
    for (uint32_t i = 0; i < n_kernels; i++) {
        int code = add_kernel(registry, scope_entry, provider, &kernels[i], err);
        if (code) {
            const char *name = is_name(kernels[i].name) ? kernels[i].name : "?";
            kr_error_wrap(err, "kernel %u, '%s', of provider '%s'", i, name, description->name);
            provider_remove(registry, provider);
            return code;
        }
    }
    registry->generation++;
    *ret_provider_id = provider->id;
    return 0;
}

bool kr_registry_remove(kr_registry *registry, uint32_t provider_id)
{
    kr_provider *provider = NULL;
    HASH_FIND(hh, registry->providers, &provider_id, sizeof provider_id, provider);
    if (!provider)
        return false;
    provider_remove(registry, provider);
    registry->generation++;
    return true;
}

/* The registry. */

uint64_t kr_registry_generation(const kr_registry *registry) { return registry->generation; }

/* The lists that run through the tables are walked after the tables are gone, since everything
 * goes, and nothing has to stay right in between. */
kr_registry *kr_registry_free(kr_registry *registry)
{
    if (!registry)
        return NULL;
    kr_provider *provider = registry->providers;
    kr_operator *operator_ = registry->operators;
    kr_slot *slot = registry->slots;
    kr_scope_entry *scope = registry->scopes;
    HASH_CLEAR(hh, registry->entries);
    HASH_CLEAR(hh, registry->providers);
    HASH_CLEAR(hh, registry->operators);
    HASH_CLEAR(hh, registry->slots);
    HASH_CLEAR(hh, registry->scopes);
    while (provider) {
        kr_provider *next = provider->hh.next;
        provider_free(provider);
        provider = next;
    }
    while (operator_) {
        kr_operator *next = operator_->hh.next;
        kr_operator_free(operator_);
        operator_ = next;
    }
    while (slot) {
        kr_slot *next = slot->hh.next;
        free(slot);
        slot = next;
    }
    while (scope) {
        kr_scope_entry *next = scope->hh.next;
        free(scope);
        scope = next;
    }
    free(registry->sorted);
    free(registry);
    return NULL;
}

kr_registry *kr_registry_new(void)
{
    kr_registry *registry = calloc(1, sizeof *registry);
    if (!registry)
        return NULL;
    registry->next_kernel = 1;
    registry->next_provider = 1;
    if (!kr_scope_new(registry, NULL, "global") ||
        kr_operators_load(registry, kr_operators_text, kr_operators_text_length, NULL))
        return kr_registry_free(registry);
    return registry;
}
