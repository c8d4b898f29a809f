// SPDX-License-Identifier: Apache-2.0
/* Types of a schema: a base type, the alias annotation, and suffixes.
 *
 * Nothing nests here, since the types that could, tuples, Dict and Future, are TorchScript's and
 * are refused: no depth of input can make the parser recurse. */
#include "schema_parser.h"

static const char *const base_names[] = {
    [KR_TYPE_TENSOR] = "Tensor",
    [KR_TYPE_INT] = "int",
    [KR_TYPE_SYM_INT] = "SymInt",
    [KR_TYPE_FLOAT] = "float",
    [KR_TYPE_SYM_FLOAT] = "SymFloat",
    [KR_TYPE_COMPLEX] = "complex",
    [KR_TYPE_BOOL] = "bool",
    [KR_TYPE_SYM_BOOL] = "SymBool",
    [KR_TYPE_SCALAR] = "Scalar",
    [KR_TYPE_STRING] = "str",
    [KR_TYPE_SCALAR_TYPE] = "ScalarType",
    [KR_TYPE_LAYOUT] = "Layout",
    [KR_TYPE_MEMORY_FORMAT] = "MemoryFormat",
    [KR_TYPE_DEVICE] = "Device",
    [KR_TYPE_GENERATOR] = "Generator",
    [KR_TYPE_DIMNAME] = "Dimname",
    [KR_TYPE_STORAGE] = "Storage",
    [KR_TYPE_STREAM] = "Stream",
    [KR_TYPE_QSCHEME] = "QScheme",
};

/* A list can be made of one number, as int[2] is; this bounds what a short text can ask for. */
enum { LARGEST_LIST = 1024 };

static const char *const torchscript_names[] = {
    "Dict",         "Future",      "RRef",     "Await",    "Any",       "AnyClassType",
    "AnyEnumType",  "AnyListType", "None",     "NoneType", "Quantizer", "ConstQuantizerPtr",
    "AnyTupleType", "Capsule",     "PyObject",
};

const char *kr_base_type_name(kr_base_type base) { return base_names[base]; }

/* The current token begins no type of ours: says what it is instead. */
static int refuse(kr_parser *parser)
{
    static const char only[] = "exists in TorchScript only; no kernel can take it";
    if (kr_parser_at(parser, '('))
        return kr_parser_fail(parser, "a tuple, '(…)', %s", only);
    if (parser->token.kind == KR_TOKEN_DOTS)
        return kr_parser_fail(parser, "a variable number of arguments, '...', %s", only);
    if (parser->token.kind != KR_TOKEN_NAME)
        return kr_parser_unexpected(parser, "a type");
    if (kr_parser_at_word(parser, "__torch__")) {
        /* The whole name of a class: __torch__.torch.classes.quantized.Conv2dPackedParamsBase. */
        const char *name = parser->token.text, *end = name;
        while (end < parser->end && end - name < 200 &&
               (*end == '.' || *end == '_' || (*end >= '0' && *end <= '9') ||
                (*end >= 'a' && *end <= 'z') || (*end >= 'A' && *end <= 'Z')))
            end++;
        return kr_parser_fail(parser, "the class '%.*s' %s", (int) (end - name), name, only);
    }
    for (size_t i = 0; i < sizeof torchscript_names / sizeof *torchscript_names; i++)
        if (kr_parser_at_word(parser, torchscript_names[i]))
            return kr_parser_fail(parser, "the type '%s' %s", torchscript_names[i], only);
    int length = parser->token.length < 100 ? (int) parser->token.length : 100;
    /* PyTorch reads any other word in lower case as a variable that stands for a type. */
    if (parser->token.text[0] >= 'a' && parser->token.text[0] <= 'z')
        return kr_parser_fail(parser, "the type variable '%.*s' %s", length, parser->token.text,
                              only);
    return kr_parser_fail(parser, "there is no type '%.*s'", length, parser->token.text);
}

static int parse_base(kr_parser *parser, kr_base_type *ret)
{
    for (size_t i = 0; i < sizeof base_names / sizeof *base_names; i++) {
        if (kr_parser_at_word(parser, base_names[i])) {
            *ret = (kr_base_type) i;
            kr_parser_advance(parser);
            return 0;
        }
    }
    return refuse(parser);
}

/* a, or a|b, or *; NULL if it fails. */
static const char *parse_alias_set(kr_parser *parser)
{
    char names[256];
    kr_text set = { names, sizeof names, 0 };
    do {
        if (set.length)
            kr_text_put(&set, '|');
        if (kr_parser_take(parser, '*')) {
            kr_text_put(&set, '*');
            continue;
        }
        const char *name = NULL;
        if (kr_parser_name(parser, "the name of an alias set", &name))
            return NULL;
        kr_text_string(&set, name);
    } while (kr_parser_take(parser, '|'));
    if (set.length >= sizeof names) {
        kr_parser_fail(parser, "the alias annotation is too long");
        return NULL;
    }
    const char *copy = kr_arena_text(parser->arena, names, set.length);
    if (!copy)
        kr_parser_full(parser);
    return copy;
}

/* Behind its opening parenthesis: a! -> a|b) */
static int parse_annotation(kr_parser *parser, kr_type *type)
{
    if (type->before)
        return kr_parser_fail(parser, "a type has one alias annotation at most");
    type->annotated_at = type->n_suffixes;
    const char *before = parse_alias_set(parser);
    if (!before)
        return KR_CODE_SCHEMA;
    type->before = before;
    type->is_write = kr_parser_take(parser, '!');
    if (parser->token.kind == KR_TOKEN_ARROW) {
        kr_parser_advance(parser);
        const char *after = parse_alias_set(parser);
        if (!after)
            return KR_CODE_SCHEMA;
        bool is_write = kr_parser_take(parser, '!');
        /* What stays as it was needs no arrow. */
        if (strcmp(before, after) != 0 || is_write > type->is_write) {
            type->after = after;
            type->is_write_after = is_write;
        }
    }
    return kr_parser_expect(parser, ')');
}

/* The ? or the [] that is the current token. */
static int parse_suffix(kr_parser *parser, kr_type *type)
{
    bool optional = kr_parser_take(parser, '?');
    /* An optional optional is an optional. */
    if (optional && type->n_suffixes &&
        type->suffixes[type->n_suffixes - 1].kind == KR_SUFFIX_OPTIONAL)
        return 0;
    if (type->n_suffixes == KR_MAX_SUFFIXES)
        return kr_parser_fail(parser, "the type nests too deep");
    kr_suffix *suffix = &type->suffixes[type->n_suffixes];
    *suffix = (kr_suffix){ KR_SUFFIX_OPTIONAL, -1 };
    if (!optional) {
        kr_parser_advance(parser);
        suffix->kind = KR_SUFFIX_LIST;
        if (!kr_parser_at(parser, ']')) {
            int code = kr_parser_count(parser, LARGEST_LIST, &suffix->size);
            if (code)
                return code;
            if (suffix->size == 0)
                return kr_parser_fail(parser, "a list of size 0 has no use");
        }
        int code = kr_parser_expect(parser, ']');
        if (code)
            return code;
    }
    type->n_suffixes++;
    return 0;
}

int kr_parse_type(kr_parser *parser, kr_type *ret)
{
    kr_type type = { 0 };
    int code = parse_base(parser, &type.base);
    if (code)
        return code;
    if (kr_parser_at(parser, '!'))
        return kr_parser_fail(parser, "a type that is written to needs a named alias set: %s(a!)",
                              base_names[type.base]);
    bool may_annotate = true;
    for (;;) {
        if (may_annotate && kr_parser_take(parser, '(')) {
            code = parse_annotation(parser, &type);
            may_annotate = false;
        } else if (kr_parser_at(parser, '?')) {
            code = parse_suffix(parser, &type);
            may_annotate = false;
        } else if (kr_parser_at(parser, '[')) {
            code = parse_suffix(parser, &type);
            may_annotate = true;
        } else {
            break;
        }
        if (code)
            return code;
    }
    *ret = type;
    return 0;
}
