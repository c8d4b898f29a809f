// SPDX-License-Identifier: Apache-2.0
/* Schemas: the declaration around types and defaults, and what is derived from it.
 *
 * The parser works on arrays of the greatest allowed length on the heap; the schema that it gives
 * out lies with all it points to in one arena. */
#include "schema_parser.h"

bool kr_type_is_optional(const kr_type *type)
{
    return type->n_suffixes && type->suffixes[type->n_suffixes - 1].kind == KR_SUFFIX_OPTIONAL;
}

/* The outermost list: the last suffix, or the one before a last '?'. */
static const kr_suffix *list_suffix(const kr_type *type)
{
    uint32_t n = type->n_suffixes - (kr_type_is_optional(type) ? 1 : 0);
    return n && type->suffixes[n - 1].kind == KR_SUFFIX_LIST ? &type->suffixes[n - 1] : NULL;
}

bool kr_type_is_list(const kr_type *type) { return list_suffix(type) != NULL; }

int32_t kr_type_list_size(const kr_type *type)
{
    const kr_suffix *list = list_suffix(type);
    return list ? list->size : -1;
}

bool kr_type_has_optional_items(const kr_type *type)
{
    const kr_suffix *list = list_suffix(type);
    return list && list > type->suffixes && list[-1].kind == KR_SUFFIX_OPTIONAL;
}

kr_schema *kr_schema_free(kr_schema *schema)
{
    if (schema) {
        kr_arena_done(&schema->arena);
        free(schema);
    }
    return NULL;
}

enum { SCHEMA_ARENA = 1 << 20 };

/* What is read before its length is known. */
struct draft {
    uint32_t n_args, n_returns;
    kr_schema_argument args[KR_SCHEMA_ARGS], returns[KR_SCHEMA_RETURNS];
};

static int expect_double_colon(kr_parser *parser)
{
    for (int i = 0; i < 2; i++)
        if (!kr_parser_take(parser, ':'))
            return kr_parser_unexpected(parser, "'::' behind a namespace");
    return 0;
}

static int parse_name(kr_parser *parser, kr_schema *schema)
{
    const kr_token first = parser->token;
    int code = kr_parser_name(parser, "the namespace of an operator", &schema->namespace_);
    if (!code)
        code = expect_double_colon(parser);
    if (!code)
        code = kr_parser_name(parser, "the name of an operator", &schema->base);
    schema->overload = "";
    if (!code && kr_parser_take(parser, '.'))
        code = kr_parser_name(parser, "the name of an overload", &schema->overload);
    if (code)
        return code;
    char name[KR_OPERATOR_NAME + 1];
    int length = snprintf(name, sizeof name, "%s::%s%s%s", schema->namespace_, schema->base,
                          *schema->overload ? "." : "", schema->overload);
    if (length < 0 || (size_t) length >= sizeof name) {
        parser->token = first;
        return kr_parser_fail(parser, "the operator's name is longer than %d characters",
                              KR_OPERATOR_NAME);
    }
    if (strcmp(schema->overload, "default") == 0) {
        parser->token = first;
        return kr_parser_fail(parser, "the default overload is the one without a name");
    }
    schema->name = kr_arena_text(parser->arena, name, (size_t) length);
    return schema->name ? 0 : kr_parser_full(parser);
}

static int parse_argument(kr_parser *parser, struct draft *draft, bool keyword_only)
{
    if (draft->n_args == KR_SCHEMA_ARGS)
        return kr_parser_fail(parser, "there are more than %d arguments", KR_SCHEMA_ARGS);
    kr_schema_argument *argument = &draft->args[draft->n_args];
    *argument = (kr_schema_argument){ .keyword_only = keyword_only };
    int code = kr_parse_type(parser, &argument->type);
    if (code)
        return code;
    argument->is_output = argument->type.is_write || argument->type.is_write_after;
    code = kr_parser_name(parser, "the name of an argument", &argument->name);
    if (code)
        return code;
    const kr_schema_argument *last = draft->n_args ? argument - 1 : NULL;
    if (kr_parser_take(parser, '='))
        code = kr_parse_default(parser, argument);
    else if (last && last->has_default && !last->keyword_only && !keyword_only)
        code = kr_parser_fail(parser,
                              "argument '%.100s' without a default follows one with a default",
                              argument->name);
    if (!code)
        draft->n_args++;
    return code;
}

static int parse_arguments(kr_parser *parser, struct draft *draft)
{
    int code = kr_parser_expect(parser, '(');
    if (code || kr_parser_take(parser, ')'))
        return code;
    bool keyword_only = false;
    do {
        if (kr_parser_take(parser, '*'))
            keyword_only = true;
        else
            code = parse_argument(parser, draft, keyword_only);
        if (code)
            return code;
    } while (kr_parser_take(parser, ','));
    return kr_parser_expect(parser, ')');
}

static int parse_return(kr_parser *parser, struct draft *draft)
{
    if (draft->n_returns == KR_SCHEMA_RETURNS)
        return kr_parser_fail(parser, "there are more than %d returns", KR_SCHEMA_RETURNS);
    kr_schema_argument *argument = &draft->returns[draft->n_returns];
    *argument = (kr_schema_argument){ 0 };
    int code = kr_parse_type(parser, &argument->type);
    if (!code && parser->token.kind == KR_TOKEN_NAME)
        code = kr_parser_name(parser, "the name of a return", &argument->name);
    argument->is_output = argument->type.is_write || argument->type.is_write_after;
    if (!code)
        draft->n_returns++;
    return code;
}

static int parse_returns(kr_parser *parser, struct draft *draft, bool *ret_parentheses)
{
    if (parser->token.kind != KR_TOKEN_ARROW)
        return kr_parser_unexpected(parser, "'->'");
    kr_parser_advance(parser);
    *ret_parentheses = kr_parser_take(parser, '(');
    if (!*ret_parentheses)
        return parse_return(parser, draft);
    if (kr_parser_take(parser, ')'))
        return 0;
    do {
        int code = parse_return(parser, draft);
        if (code)
            return code;
    } while (kr_parser_take(parser, ','));
    return kr_parser_expect(parser, ')');
}

/* The argument that a return of this type is: the one that is written to under the same alias set,
 * or -1. Two of them would leave open which. */
static int find_aliased(kr_parser *parser, const struct draft *draft, const kr_type *type,
                        int32_t *ret)
{
    *ret = -1;
    if (!type->before || !type->is_write)
        return 0;
    for (uint32_t i = 0; i < draft->n_args; i++) {
        const kr_type *own = &draft->args[i].type;
        if (!own->before || !own->is_write || strcmp(own->before, type->before) != 0)
            continue;
        if (*ret >= 0)
            return kr_parser_fail(parser,
                                  "a return has the alias set '%.20s', which is that of argument "
                                  "'%.100s' and of '%.100s'",
                                  type->before, draft->args[*ret].name, draft->args[i].name);
        *ret = (int32_t) i;
    }
    return 0;
}

/* Copies the draft into the schema's arena and derives the rest. */
static int finish(kr_parser *parser, const struct draft *draft, kr_schema *schema)
{
    schema->n_args = draft->n_args;
    schema->n_returns = draft->n_returns;
    schema->args = kr_arena_array(parser->arena, draft->n_args, sizeof *schema->args);
    schema->returns = kr_arena_array(parser->arena, draft->n_returns, sizeof *schema->returns);
    int32_t *alias = kr_arena_array(parser->arena, draft->n_returns, sizeof *alias);
    if (!schema->args || !schema->returns || !alias)
        return kr_parser_full(parser);
    memcpy(schema->args, draft->args, draft->n_args * sizeof *schema->args);
    memcpy(schema->returns, draft->returns, draft->n_returns * sizeof *schema->returns);
    for (uint32_t i = 0; i < draft->n_args; i++)
        schema->n_tensor_args += draft->args[i].type.base == KR_TYPE_TENSOR &&
                                 draft->args[i].type.n_suffixes == 0;
    for (uint32_t i = 0; i < draft->n_returns; i++) {
        const int code = find_aliased(parser, draft, &draft->returns[i].type, &alias[i]);
        if (code)
            return code;
    }
    schema->returns_alias = alias;
    /* A short text can have a long form, as SymInt[1024]=0 has; every schema's text can be read. */
    if (kr_schema_print(schema, NULL, 0) > KR_SCHEMA_TEXT)
        return kr_parser_fail(parser, "the schema is longer than %d bytes when printed",
                              KR_SCHEMA_TEXT);
    return 0;
}

static int parse(kr_parser *parser, struct draft *draft, kr_schema *schema)
{
    kr_parser_advance(parser);
    int code = parse_name(parser, schema);
    if (!code)
        code = parse_arguments(parser, draft);
    if (!code)
        code = parse_returns(parser, draft, &schema->returns_in_parentheses);
    if (!code && parser->token.kind != KR_TOKEN_END)
        code = kr_parser_unexpected(parser, "the end of the schema");
    return code ? code : finish(parser, draft, schema);
}

int kr_schema_parse(const char *text, size_t length, kr_schema **ret, kr_error *err)
{
    if (length > KR_SCHEMA_TEXT)
        return kr_error_set(err, KR_CODE_SCHEMA, "the schema is longer than %d bytes",
                            KR_SCHEMA_TEXT);
    kr_schema *schema = calloc(1, sizeof *schema);
    struct draft *draft = malloc(sizeof *draft);
    if (!schema || !draft) {
        free(draft);
        free(schema);
        return kr_error_set(err, KR_CODE_LIMIT, "no memory for a schema");
    }
    draft->n_args = draft->n_returns = 0;
    kr_arena_init(&schema->arena, SCHEMA_ARENA);
    kr_parser parser = { .begin = text,
                         .end = text + length,
                         .next = text,
                         .token = { KR_TOKEN_END, text, 0 },
                         .arena = &schema->arena,
                         .err = err };
    int code = parse(&parser, draft, schema);
    free(draft);
    if (code) {
        kr_schema_free(schema);
        return code;
    }
    *ret = schema;
    return 0;
}
