// SPDX-License-Identifier: Apache-2.0
/* Whether two schemas say the same, and if not, the first thing in which they differ. How a thing
 * is written does not count: int[2]=0 and int[2]=[0, 0], (a|b) and (b|a) are the same. */
#include "schema_parser.h"
#include <math.h>

/* -0. is not 0. */
static bool reals_equal(double a, double b) { return a == b && signbit(a) == signbit(b); }

static bool scalars_equal(const kr_bound_value *a, const kr_bound_value *b)
{
    switch (a->tag) {
    case KR_TAG_INT: return a->as.integer == b->as.integer;
    case KR_TAG_DOUBLE: return reals_equal(a->as.real, b->as.real);
    case KR_TAG_BOOL: return a->as.boolean == b->as.boolean;
    case KR_TAG_STRING: return strcmp(a->as.string, b->as.string) == 0;
    default: return true; /* NONE */
    }
}

bool kr_bound_value_equal(const kr_bound_value *a, const kr_bound_value *b)
{
    if (a->tag != b->tag || a->count != b->count)
        return false;
    switch (a->tag) {
    case KR_TAG_INTS:
        return memcmp(a->as.integers, b->as.integers, a->count * sizeof *a->as.integers) == 0;
    case KR_TAG_DOUBLES:
        for (uint32_t i = 0; i < a->count; i++)
            if (!reals_equal(a->as.reals[i], b->as.reals[i]))
                return false;
        return true;
    case KR_TAG_BOOLS:
        return memcmp(a->as.booleans, b->as.booleans, a->count * sizeof *a->as.booleans) == 0;
    case KR_TAG_SCALARS:
        for (uint32_t i = 0; i < a->count; i++)
            if (a->as.scalars[i].tag != b->as.scalars[i].tag ||
                !scalars_equal(&a->as.scalars[i], &b->as.scalars[i]))
                return false;
        return true;
    default: return scalars_equal(a, b);
    }
}

/* The word up to the next '|'. */
static size_t word_length(const char *text) { return strcspn(text, "|"); }

static bool has_word(const char *set, const char *word, size_t length)
{
    for (;;) {
        size_t own = word_length(set);
        if (own == length && memcmp(set, word, length) == 0)
            return true;
        if (!set[own])
            return false;
        set += own + 1;
    }
}

static bool is_subset(const char *a, const char *b)
{
    for (;;) {
        size_t length = word_length(a);
        if (!has_word(b, a, length))
            return false;
        if (!a[length])
            return true;
        a += length + 1;
    }
}

static bool sets_equal(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return is_subset(a, b) && is_subset(b, a);
}

static bool types_equal(const kr_type *a, const kr_type *b)
{
    if (a->base != b->base || a->n_suffixes != b->n_suffixes || a->is_write != b->is_write ||
        a->is_write_after != b->is_write_after || !sets_equal(a->before, b->before) ||
        !sets_equal(a->after, b->after) || (a->before && a->annotated_at != b->annotated_at))
        return false;
    for (uint32_t i = 0; i < a->n_suffixes; i++)
        if (a->suffixes[i].kind != b->suffixes[i].kind ||
            a->suffixes[i].size != b->suffixes[i].size)
            return false;
    return true;
}

static bool names_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool differ(kr_error *why_not, const char *what, const kr_type *a, const kr_type *b)
{
    char first[256], second[256];
    kr_text text = { first, sizeof first, 0 };
    kr_print_type(&text, a, true);
    text = (kr_text){ second, sizeof second, 0 };
    kr_print_type(&text, b, true);
    kr_error_set(why_not, KR_CODE_SCHEMA, "%s is %s in one and %s in the other", what, first,
                 second);
    return false;
}

static bool arguments_equal(const kr_schema_argument *a, const kr_schema_argument *b,
                            kr_error *why_not)
{
    char what[KR_SCHEMA_TEXT];
    snprintf(what, sizeof what, "argument '%s'", a->name);
    if (!types_equal(&a->type, &b->type))
        return differ(why_not, what, &a->type, &b->type);
    if (a->keyword_only != b->keyword_only) {
        kr_error_set(why_not, KR_CODE_SCHEMA, "%s is keyword-only in one of them", what);
        return false;
    }
    if (a->has_default != b->has_default) {
        kr_error_set(why_not, KR_CODE_SCHEMA, "%s has a default in one of them", what);
        return false;
    }
    if (a->has_default && !kr_bound_value_equal(&a->default_value, &b->default_value)) {
        kr_error_set(why_not, KR_CODE_SCHEMA,
                     "the default of %s is %.100s in one and %.100s in the other", what,
                     a->default_text, b->default_text);
        return false;
    }
    return true;
}

bool kr_schema_equal(const kr_schema *a, const kr_schema *b, kr_error *why_not)
{
    if (strcmp(a->name, b->name) != 0) {
        kr_error_set(why_not, KR_CODE_SCHEMA, "one is named %s, the other %s", a->name, b->name);
        return false;
    }
    if (a->n_args != b->n_args || a->n_returns != b->n_returns) {
        kr_error_set(why_not, KR_CODE_SCHEMA,
                     "one has %u arguments and %u returns, the other %u and %u", a->n_args,
                     a->n_returns, b->n_args, b->n_returns);
        return false;
    }
    for (uint32_t i = 0; i < a->n_args; i++) {
        if (!names_equal(a->args[i].name, b->args[i].name)) {
            kr_error_set(why_not, KR_CODE_SCHEMA,
                         "argument %u is named %s in one and %s in the other", i, a->args[i].name,
                         b->args[i].name);
            return false;
        }
        if (!arguments_equal(&a->args[i], &b->args[i], why_not))
            return false;
    }
    for (uint32_t i = 0; i < a->n_returns; i++) {
        char what[32];
        snprintf(what, sizeof what, "return %u", i);
        if (!types_equal(&a->returns[i].type, &b->returns[i].type))
            return differ(why_not, what, &a->returns[i].type, &b->returns[i].type);
        if (!names_equal(a->returns[i].name, b->returns[i].name)) {
            kr_error_set(why_not, KR_CODE_SCHEMA, "%s has another name", what);
            return false;
        }
    }
    return true;
}
