// SPDX-License-Identifier: Apache-2.0
/* Bound arguments for a person: "self=float32[2, 3], alpha=2, dim=[0, 1]". */
#include "text.h"

#include <inttypes.h>
#include <kernrig/bind.h>
#include <kernrig/dtype.h>

enum {
    MOST_ITEMS = 8,   /* of a list that are written */
    MOST_LETTERS = 40 /* of a string that are */
};

static void add_integer(kr_text *text, int64_t integer) { kr_text_add(text, "%" PRId64, integer); }

/* As Python writes it, so that it can be told from an integer. */
static void add_real(kr_text *text, double real)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.6g", real);
    kr_text_string(text, digits);
    if (!strpbrk(digits, ".einf"))
        kr_text_string(text, ".0");
}

static void add_boolean(kr_text *text, bool boolean)
{
    kr_text_string(text, boolean ? "True" : "False");
}

static void add_tensor(kr_text *text, const kr_bound *bound, uint32_t index)
{
    if (index == KR_NO_TENSOR) {
        kr_text_string(text, "None");
        return;
    }
    const kr_tensor_ref *ref = &bound->tensors[index].ref;
    if (ref->wrapped) {
        if (ref->dtype == KR_BOOL)
            add_boolean(text, ref->number.boolean);
        else if (ref->dtype == KR_INT64)
            add_integer(text, ref->number.integer);
        else
            add_real(text, ref->number.real);
        return;
    }
    kr_text_add(text, "%s[", kr_dtype_name(ref->dtype));
    for (int d = 0; d < ref->dim; d++)
        kr_text_add(text, "%s%" PRId64, d ? ", " : "", ref->sizes[d]);
    kr_text_put(text, ']');
}

static void add_value(kr_text *text, const kr_bound *bound, const kr_schema_argument *argument,
                      const kr_bound_value *value);

static void add_item(kr_text *text, const kr_bound *bound, const kr_schema_argument *argument,
                     const kr_bound_value *list, uint32_t i)
{
    switch (list->tag) {
    case KR_TAG_BOOLS: add_boolean(text, list->as.booleans[i]); break;
    case KR_TAG_DOUBLES: add_real(text, list->as.reals[i]); break;
    case KR_TAG_INTS: add_integer(text, list->as.integers[i]); break;
    case KR_TAG_SCALARS: add_value(text, bound, argument, &list->as.scalars[i]); break;
    default: add_tensor(text, bound, list->as.tensors[i]); break;
    }
}

static void add_list(kr_text *text, const kr_bound *bound, const kr_schema_argument *argument,
                     const kr_bound_value *list)
{
    kr_text_put(text, '[');
    for (uint32_t i = 0; i < list->count && i < MOST_ITEMS; i++) {
        kr_text_string(text, i ? ", " : "");
        add_item(text, bound, argument, list, i);
    }
    if (list->count > MOST_ITEMS)
        kr_text_add(text, ", … of %u", list->count);
    kr_text_put(text, ']');
}

static void add_value(kr_text *text, const kr_bound *bound, const kr_schema_argument *argument,
                      const kr_bound_value *value)
{
    switch (value->tag) {
    case KR_TAG_NONE: kr_text_string(text, "None"); break;
    case KR_TAG_TENSOR: add_tensor(text, bound, value->as.tensor); break;
    case KR_TAG_STRING: kr_text_add(text, "'%.*s'", MOST_LETTERS, value->as.string); break;
    case KR_TAG_DOUBLE: add_real(text, value->as.real); break;
    case KR_TAG_BOOL: add_boolean(text, value->as.boolean); break;
    case KR_TAG_INT:
        if (argument->type.base == KR_TYPE_SCALAR_TYPE && kr_dtype_name((int) value->as.integer))
            kr_text_string(text, kr_dtype_name((int) value->as.integer));
        else
            add_integer(text, value->as.integer);
        break;
    default: add_list(text, bound, argument, value); break;
    }
}

size_t kr_bound_print(const kr_bound *bound, char *ret, size_t size)
{
    kr_text text = { .data = ret, .size = size };
    if (size)
        ret[0] = 0;
    for (uint32_t i = 0; i < bound->n_values; i++) {
        const kr_schema_argument *argument = &bound->schema->args[i];
        kr_text_add(&text, "%s%s=", i ? ", " : "", argument->name);
        add_value(&text, bound, argument, &bound->values[i]);
    }
    return text.length;
}
