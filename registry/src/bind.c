// SPDX-License-Identifier: Apache-2.0
/* Which given value goes to which argument; bind_convert.c then makes it fit.
 *
 * Positional values fill arguments from the left up to the first keyword-only one, keywords any by
 * its name in the schema, defaults what is left. Everything is decided before the first conversion,
 * so that a call with a wrong name is not told about a wrong type. */
#include "bind_convert.h"

/* Each argument's value, and where it stood. */
struct choice {
    const kr_given *values[KR_SCHEMA_ARGS];
    int64_t positions[KR_SCHEMA_ARGS];
    uint32_t n_positional; /* arguments that may be given by position */
};

static uint32_t count_positional(const kr_schema *schema)
{
    uint32_t count = 0;
    while (count < schema->n_args && !schema->args[count].keyword_only)
        count++;
    return count;
}

static int too_many(const kr_schema *schema, uint32_t most, uint32_t given, kr_error *err)
{
    uint32_t least = 0;
    while (least < most && !schema->args[least].has_default)
        least++;
    char takes[64];
    if (least == most)
        snprintf(takes, sizeof takes, "%u positional argument%s", most, most == 1 ? "" : "s");
    else
        snprintf(takes, sizeof takes, "from %u to %u positional arguments", least, most);
    return kr_error_set(err, KR_CODE_TYPE, "%s() takes %s but %u %s given", schema->name, takes,
                        given, given == 1 ? "was" : "were");
}

static int unknown_keyword(const kr_schema *schema, const char *name, kr_error *err)
{
    char names[512];
    size_t length = 0;
    names[0] = 0;
    for (uint32_t i = 0; i < schema->n_args && length < sizeof names; i++) {
        int written = snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                               schema->args[i].name);
        length += written < 0 ? 0 : (size_t) written;
    }
    return kr_error_set(
        err, KR_CODE_TYPE, "%s() got an unexpected keyword argument '%.100s'; it takes %s%s",
        schema->name, name, schema->n_args ? names : "none", length < sizeof names ? "" : "…");
}

static int choose(const kr_schema *schema, const kr_argument *args, uint32_t n_args,
                  struct choice *choice, kr_error *err)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < n_args; i++)
        given += !args[i].name;
    if (given > choice->n_positional)
        return too_many(schema, choice->n_positional, given, err);
    uint32_t position = 0;
    for (uint32_t i = 0; i < n_args; i++) {
        if (args[i].name)
            continue;
        choice->values[position] = &args[i].value;
        choice->positions[position] = position;
        position++;
    }
    for (uint32_t i = 0; i < n_args; i++) {
        if (!args[i].name)
            continue;
        uint32_t at = 0;
        while (at < schema->n_args && strcmp(schema->args[at].name, args[i].name) != 0)
            at++;
        if (at == schema->n_args)
            return unknown_keyword(schema, args[i].name, err);
        if (choice->values[at])
            return kr_error_set(err, KR_CODE_TYPE, "%s() got multiple values for argument '%.200s'",
                                schema->name, args[i].name);
        choice->values[at] = &args[i].value;
        choice->positions[at] = KR_BY_KEYWORD;
    }
    for (uint32_t i = 0; i < schema->n_args; i++)
        if (!choice->values[i] && !schema->args[i].has_default)
            return kr_error_set(err, KR_CODE_TYPE, "%s() missing value for argument '%.200s'",
                                schema->name, schema->args[i].name);
    return 0;
}

int kr_bind(const kr_schema *schema, const kr_bind_options *options, const kr_argument *args,
            uint32_t n_args, kr_arena *arena, kr_bound *ret, kr_error *err)
{
    struct choice choice = { .n_positional = count_positional(schema) };
    int code = choose(schema, args, n_args, &choice, err);
    if (code)
        return code;
    size_t n_tensors = 0;
    for (uint32_t i = 0; i < schema->n_args; i++)
        if (choice.values[i])
            n_tensors += kr_count_tensors(&schema->args[i].type, choice.values[i]);
    kr_bound bound = {
        .schema = schema,
        .n_values = schema->n_args,
        .values = kr_arena_array(arena, schema->n_args, sizeof *bound.values),
        .tensors = kr_arena_array(arena, n_tensors, sizeof *bound.tensors),
    };
    if (!bound.values || !bound.tensors)
        return kr_error_set(err, KR_CODE_LIMIT, "%s() has arguments that exceed the call's memory",
                            schema->name);
    for (uint32_t i = 0; i < schema->n_args; i++) {
        kr_conversion to = {
            .schema = schema,
            .argument = i,
            .position = choice.positions[i],
            .numbers_as_tensors = options && options->numbers_as_tensors,
            .arena = arena,
            .bound = &bound,
            .err = err,
        };
        if (!choice.values[i])
            bound.values[i] = schema->args[i].default_value;
        else if ((code = kr_convert(&to, choice.values[i], &bound.values[i])) != 0)
            return code;
    }
    *ret = bound;
    return 0;
}
