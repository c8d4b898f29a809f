// SPDX-License-Identifier: Apache-2.0
/* Schemas as PyTorch prints them, so that texts from either side can be compared byte for byte. */
#include "schema_parser.h"

static void print_annotation(kr_text *text, const kr_type *type)
{
    kr_text_put(text, '(');
    kr_text_string(text, type->before);
    kr_text_string(text, type->is_write ? "!" : "");
    if (type->after) {
        kr_text_string(text, " -> ");
        kr_text_string(text, type->after);
        kr_text_string(text, type->is_write_after ? "!" : "");
    }
    kr_text_put(text, ')');
}

void kr_print_type(kr_text *text, const kr_type *type, bool annotation)
{
    kr_text_string(text, kr_base_type_name(type->base));
    for (uint32_t i = 0; i <= type->n_suffixes; i++) {
        if (annotation && type->before && type->annotated_at == i)
            print_annotation(text, type);
        if (i == type->n_suffixes)
            break;
        if (type->suffixes[i].kind == KR_SUFFIX_OPTIONAL)
            kr_text_put(text, '?');
        else if (type->suffixes[i].size < 0)
            kr_text_string(text, "[]");
        else
            kr_text_add(text, "[%d]", type->suffixes[i].size);
    }
}

static void print_return(kr_text *text, const kr_schema_argument *argument)
{
    kr_print_type(text, &argument->type, true);
    if (argument->name) {
        kr_text_put(text, ' ');
        kr_text_string(text, argument->name);
    }
}

size_t kr_schema_print(const kr_schema *schema, char *data, size_t size)
{
    kr_text text = { data, size, 0 };
    if (size)
        data[0] = 0;
    kr_text_string(&text, schema->name);
    kr_text_put(&text, '(');
    bool keyword_only = false;
    for (uint32_t i = 0; i < schema->n_args; i++) {
        const kr_schema_argument *argument = &schema->args[i];
        kr_text_string(&text, i ? ", " : "");
        if (argument->keyword_only && !keyword_only)
            kr_text_string(&text, "*, ");
        keyword_only = argument->keyword_only;
        kr_print_type(&text, &argument->type, true);
        kr_text_put(&text, ' ');
        kr_text_string(&text, argument->name);
        if (argument->has_default) {
            kr_text_put(&text, '=');
            kr_text_string(&text, argument->default_text);
        }
    }
    kr_text_string(&text, ") -> ");
    bool parentheses = schema->n_returns != 1 || schema->returns_in_parentheses;
    kr_text_string(&text, parentheses ? "(" : "");
    for (uint32_t i = 0; i < schema->n_returns; i++) {
        kr_text_string(&text, i ? ", " : "");
        print_return(&text, &schema->returns[i]);
    }
    kr_text_string(&text, parentheses ? ")" : "");
    return text.length;
}
