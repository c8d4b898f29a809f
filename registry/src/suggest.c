// SPDX-License-Identifier: Apache-2.0
/* What to say of a name that no operator has: which part of it is unknown, and what was meant.
 *
 * Only names that everybody may see are told: those of operators.txt, and of operators with a
 * kernel in the global scope. What a session registers is nobody else's to learn. */
#include "registry_state.h"
#include "text.h"

/* A name cut into its parts; none of them ends in 0. */
struct name {
    const char *namespace_, *base, *overload;
    size_t namespace_length, base_length, overload_length;
    bool has_namespace, has_overload;
};

static struct name cut(const char *text)
{
    struct name name = { .namespace_ = text };
    const char *colons = strstr(text, "::");
    name.has_namespace = colons != NULL;
    name.namespace_length = colons ? (size_t) (colons - text) : 0;
    name.base = colons ? colons + 2 : text;
    name.base_length = strcspn(name.base, ".");
    name.has_overload = name.base[name.base_length] == '.';
    name.overload = name.base + name.base_length + (name.has_overload ? 1 : 0);
    name.overload_length = strlen(name.overload);
    return name;
}

static bool is(const char *text, const char *other, size_t length)
{
    return strlen(text) == length && memcmp(text, other, length) == 0;
}

static bool is_public(const kr_operator *operator_)
{
    if (operator_->known)
        return true;
    for (uint32_t i = 0; i < operator_->info.n_kernels; i++)
        if (operator_->kernels[i]->info.scope == KR_SCOPE_GLOBAL)
            return true;
    return false;
}

enum { LONGEST = 2 * KR_OPERATOR_NAME };

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, for texts of at
 * most LONGEST bytes; more than most is reported as most + 1. */
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length,
                         uint32_t most)
{
    size_t difference = a_length > b_length ? a_length - b_length : b_length - a_length;
    if (difference > most)
        return most + 1;
    uint32_t rows[3][LONGEST + 1];
    uint32_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = (uint32_t) j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (uint32_t) i;
        uint32_t best = row[0];
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(least(row[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
            best = least(best, row[j]);
        }
        if (best > most)
            return most + 1;
        uint32_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

/* A third of the base may be wrong, or two characters of a short one, but not half of it all. */
static uint32_t tolerance(const struct name *name, size_t length)
{
    uint32_t most = name->base_length < 9 ? 2 : (uint32_t) name->base_length / 3;
    return least(most, (uint32_t) length / 2);
}

struct candidate {
    const kr_operator *operator_;
    uint32_t distance;
};

/* Operators with kernels first, since those can be called; then the nearest. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
    bool kernels_a = a->operator_->info.n_kernels, kernels_b = b->operator_->info.n_kernels;
    if (kernels_a != kernels_b)
        return kernels_a;
    if (a->distance != b->distance)
        return a->distance < b->distance;
    return strcmp(a->operator_->name, b->operator_->name) < 0;
}

enum { MOST_SUGGESTIONS = 3 };

/* The nearest operators, compared without the namespace where the given name has none. */
static uint32_t nearest(const kr_registry *registry, const char *text, const struct name *name,
                        struct candidate best[MOST_SUGGESTIONS])
{
    size_t length = strlen(text);
    if (length > LONGEST)
        return 0;
    uint32_t count = 0, most = tolerance(name, length);
    for (const kr_operator *each = registry->operators; each; each = each->hh.next) {
        if (!is_public(each))
            continue;
        const char *own = name->has_namespace ? each->name : strstr(each->name, "::") + 2;
        struct candidate candidate = { each, distance(text, length, own, strlen(own), most) };
        if (candidate.distance > most)
            continue;
        uint32_t at = count;
        while (at > 0 && is_better(&candidate, &best[at - 1]))
            at--;
        if (at == MOST_SUGGESTIONS)
            continue;
        if (count < MOST_SUGGESTIONS)
            count++;
        memmove(&best[at + 1], &best[at], (count - 1 - at) * sizeof *best);
        best[at] = candidate;
    }
    return count;
}

/* "; did you mean aten::add.out, aten::and.out?" or nothing. */
static void suggest(kr_text *text, const kr_registry *registry, const char *given,
                    const struct name *name)
{
    struct candidate best[MOST_SUGGESTIONS];
    uint32_t count = nearest(registry, given, name, best);
    for (uint32_t i = 0; i < count; i++)
        kr_text_add(text, "%s%s", i ? ", " : "; did you mean ", best[i].operator_->name);
    if (count)
        kr_text_put(text, '?');
}

static bool knows_namespace(const kr_registry *registry, const struct name *name)
{
    for (const kr_operator *each = registry->operators; each; each = each->hh.next)
        if (is_public(each) &&
            is(each->schema->namespace_, name->namespace_, name->namespace_length))
            return true;
    return false;
}

/* The overloads of a base, those with kernels first; returns how many there are. */
static uint32_t list_overloads(kr_text *text, const kr_registry *registry, const struct name *name)
{
    enum { MOST = 12 };
    uint32_t count = 0;
    for (int with_kernels = 1; with_kernels >= 0; with_kernels--) {
        for (const kr_operator *each = registry->operators; each; each = each->hh.next) {
            const kr_schema *schema = each->schema;
            if ((each->info.n_kernels > 0) != with_kernels || !is_public(each) ||
                !is(schema->namespace_, name->namespace_, name->namespace_length) ||
                !is(schema->base, name->base, name->base_length))
                continue;
            if (++count <= MOST)
                kr_text_add(text, "%s%s", count > 1 ? ", " : "",
                            *schema->overload ? schema->overload : "default");
        }
    }
    if (count > MOST)
        kr_text_add(text, " and %u more", count - MOST);
    return count;
}

static bool has_default_overload(const kr_registry *registry, const struct name *name)
{
    for (const kr_operator *each = registry->operators; each; each = each->hh.next)
        if (!*each->schema->overload && is_public(each) &&
            is(each->schema->namespace_, name->namespace_, name->namespace_length) &&
            is(each->schema->base, name->base, name->base_length))
            return true;
    return false;
}

int kr_registry_unknown(const kr_registry *registry, const char *given, kr_error *err)
{
    const struct name name = cut(given);
    char data[KR_ERROR_TEXT] = "";
    kr_text text = { data, sizeof data, 0 };
    if (name.has_namespace && list_overloads(&text, registry, &name)) {
        int base_length = (int) (name.base + name.base_length - given);
        int overload_length = name.overload_length > 100 ? 100 : (int) name.overload_length;
        /* torch.ops says "default" where a schema has no overload name. */
        if (is("default", name.overload, name.overload_length) &&
            has_default_overload(registry, &name))
            return kr_error_set(err, KR_CODE_NO_OPERATOR,
                                "the default overload of %.*s is named just so, without '.default'",
                                base_length, given);
        if (!name.has_overload)
            return kr_error_set(err, KR_CODE_NO_OPERATOR, "%.*s has no default overload; it has %s",
                                base_length, given, data);
        return kr_error_set(err, KR_CODE_NO_OPERATOR, "%.*s has no overload '%.*s'; it has %s",
                            base_length, given, overload_length, name.overload, data);
    }
    suggest(&text, registry, given, &name);
    if (!name.has_namespace)
        return kr_error_set(err, KR_CODE_NO_OPERATOR,
                            "'%.200s' is no operator: a name has the form aten::add.out%s", given,
                            data);
    if (!knows_namespace(registry, &name))
        return kr_error_set(
            err, KR_CODE_NO_OPERATOR, "there is no operator %.200s, and no namespace '%.*s'%s",
            given, name.namespace_length > 100 ? 100 : (int) name.namespace_length, given, data);
    return kr_error_set(err, KR_CODE_NO_OPERATOR, "there is no operator %.200s%s", given, data);
}
