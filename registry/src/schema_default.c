// SPDX-License-Identifier: Apache-2.0
/* Default values: read once into the value that binding hands out, and into one canonical text.
 *
 * The text is PyTorch's: "1." for a float, all 17 digits where they matter, a number for words
 * like Mean, one number for int[2] with equal items. Unlike PyTorch's, it can always be read
 * again: int[]=[1, 1] keeps its brackets, and -0. its sign. */
#include "schema_parser.h"
#include <errno.h>
#include <kernrig/dtype.h>
#include <math.h>

/* Words for the numbers of PyTorch's enums: at::Reduction, c10::Layout and c10::MemoryFormat. */
static const struct word {
    kr_base_type base;
    const char *text;
    int64_t number;
} words[] = {
    { KR_TYPE_INT, "Mean", 1 },
    { KR_TYPE_INT, "Sum", 2 },
    { KR_TYPE_LAYOUT, "strided", 0 },
    { KR_TYPE_MEMORY_FORMAT, "contiguous_format", 0 },
    { KR_TYPE_MEMORY_FORMAT, "preserve_format", 1 },
    { KR_TYPE_MEMORY_FORMAT, "channels_last", 2 },
    { KR_TYPE_MEMORY_FORMAT, "channels_last_3d", 3 },
    { KR_TYPE_DEVICE, "cpu", 0 },
};

enum { LONGEST_STRING = 1024, LONGEST_NUMBER = 64 };

/* One value and what its text needs besides. */
struct item {
    kr_bound_value value;
    bool integer_literal; /* of a float written without a point: float?=1 prints so */
};

/* The number token with its sign, ended by 0. */
static int number_text(kr_parser *parser, char text[LONGEST_NUMBER], const char *expected)
{
    bool negative = kr_parser_take(parser, '-');
    if (parser->token.kind != KR_TOKEN_NUMBER)
        return kr_parser_unexpected(parser, expected);
    if (parser->token.length > LONGEST_NUMBER - 2)
        return kr_parser_fail(parser, "the number is too long");
    snprintf(text, LONGEST_NUMBER, "%s%.*s", negative ? "-" : "", (int) parser->token.length,
             parser->token.text);
    return 0;
}

static int parse_number(kr_parser *parser, bool integer, bool real, struct item *ret)
{
    const char *expected = !real ? "an integer" : "a number";
    char text[LONGEST_NUMBER];
    int code = number_text(parser, text, expected);
    if (code)
        return code;
    struct item item = { .integer_literal = !strpbrk(text, ".eE") };
    if (item.integer_literal && integer) {
        errno = 0;
        item.value = (kr_bound_value){ .tag = KR_TAG_INT, .as.integer = strtoll(text, NULL, 10) };
        if (errno)
            return kr_parser_fail(parser, "%s does not fit into 64 bits", text);
    } else if (real) {
        item.value = (kr_bound_value){ .tag = KR_TAG_DOUBLE, .as.real = strtod(text, NULL) };
        if (!isfinite(item.value.as.real))
            return kr_parser_fail(parser, "%s is too large for a float", text);
    } else {
        return kr_parser_unexpected(parser, expected);
    }
    kr_parser_advance(parser);
    *ret = item;
    return 0;
}

static int parse_bool(kr_parser *parser, kr_bound_value *ret)
{
    bool value = kr_parser_at_word(parser, "True");
    if (!value && !kr_parser_at_word(parser, "False"))
        return kr_parser_unexpected(parser, "True or False");
    kr_parser_advance(parser);
    *ret = (kr_bound_value){ .tag = KR_TAG_BOOL, .as.boolean = value };
    return 0;
}

/* The character that an escape stands for, with *at on the one behind the backslash; -1 if it is
 * no escape. Octal ones have three digits, as PyTorch wants it. */
static int unescape(const char *text, size_t length, size_t *at)
{
    static const char letters[] = "\\\\\'\'\"\"a\ab\bf\fn\nr\rt\tv\v\n\n";
    for (size_t i = 0; i < sizeof letters - 1; i += 2)
        if (letters[i] == text[*at])
            return (unsigned char) letters[i + 1];
    int value = 0;
    for (size_t i = 0; i < 3; i++) {
        if (*at + i >= length || text[*at + i] < '0' || text[*at + i] > '7')
            return -1;
        value = value * 8 + (text[*at + i] - '0');
    }
    *at += 2;
    return value <= 255 ? value : -1;
}

static int parse_string(kr_parser *parser, kr_bound_value *ret)
{
    if (parser->token.kind != KR_TOKEN_STRING)
        return kr_parser_unexpected(parser, "a string");
    const char *text = parser->token.text + 1;
    size_t length = parser->token.length - 2, count = 0;
    char *copy = kr_arena_alloc(parser->arena, length + 1);
    if (!copy)
        return kr_parser_full(parser);
    for (size_t at = 0; at < length; at++) {
        int c = (unsigned char) text[at];
        if (c == '\\') {
            at++;
            c = unescape(text, length, &at);
            if (c < 0)
                return kr_parser_fail(parser, "the string has an escape that is none");
        }
        if (c == 0)
            return kr_parser_fail(parser, "the string has a character 0");
        /* Of the string, not of its text: printed, a byte may be an escape of four. */
        if (count == LONGEST_STRING)
            return kr_parser_fail(parser, "the string is longer than %d bytes", LONGEST_STRING);
        copy[count++] = (char) c;
    }
    kr_parser_advance(parser);
    *ret = (kr_bound_value){ .tag = KR_TAG_STRING, .count = (uint32_t) count, .as.string = copy };
    return 0;
}

/* A word for a number, or NULL. */
static const struct word *word_for(const kr_parser *parser, kr_base_type base)
{
    if (base == KR_TYPE_SYM_INT)
        base = KR_TYPE_INT;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].base == base && kr_parser_at_word(parser, words[i].text))
            return &words[i];
    return NULL;
}

/* PyTorch reads a device from a string, and prints it as a word. */
static int parse_device(kr_parser *parser, kr_bound_value *ret)
{
    kr_bound_value name = { 0 };
    const kr_token token = parser->token;
    int code = parse_string(parser, &name);
    if (code)
        return code;
    if (!name.as.string || strcmp(name.as.string, "cpu") != 0) {
        parser->token = token;
        return kr_parser_unexpected(parser, "the device cpu");
    }
    *ret = (kr_bound_value){ .tag = KR_TAG_INT };
    return 0;
}

static int parse_item(kr_parser *parser, kr_base_type base, struct item *ret)
{
    const struct word *word = word_for(parser, base);
    if (word) {
        kr_parser_advance(parser);
        *ret = (struct item){ .value = { .tag = KR_TAG_INT, .as.integer = word->number } };
        return 0;
    }
    int dtype = -1;
    switch (base) {
    case KR_TYPE_INT:
    case KR_TYPE_SYM_INT:
    case KR_TYPE_LAYOUT:
    case KR_TYPE_MEMORY_FORMAT: return parse_number(parser, true, false, ret);
    case KR_TYPE_FLOAT:
    case KR_TYPE_SYM_FLOAT: return parse_number(parser, false, true, ret);
    case KR_TYPE_SCALAR:
        if (!kr_parser_at_word(parser, "True") && !kr_parser_at_word(parser, "False"))
            return parse_number(parser, true, true, ret);
        return parse_bool(parser, &ret->value);
    case KR_TYPE_BOOL:
    case KR_TYPE_SYM_BOOL: return parse_bool(parser, &ret->value);
    case KR_TYPE_STRING: return parse_string(parser, &ret->value);
    case KR_TYPE_DEVICE: return parse_device(parser, &ret->value);
    case KR_TYPE_SCALAR_TYPE:
        if (parser->token.kind == KR_TOKEN_NAME)
            dtype = kr_dtype_parse(parser->token.text, parser->token.length);
        if (dtype < 0)
            return parse_number(parser, true, false, ret);
        kr_parser_advance(parser);
        *ret = (struct item){ .value = { .tag = KR_TAG_INT, .as.integer = dtype } };
        return 0;
    default: {
        char expected[64];
        snprintf(expected, sizeof expected, "None, the only default of %s,",
                 kr_base_type_name(base));
        return kr_parser_unexpected(parser, expected);
    }
    }
}

static void print_string(kr_text *text, const char *string)
{
    kr_text_put(text, '"');
    for (; *string; string++) {
        static const char escaped[] = "\\\\\'\'\"\"\aa\bb\ff\nn\rr\tt\vv";
        unsigned char c = (unsigned char) *string;
        const char *escape = NULL;
        for (size_t i = 0; i < sizeof escaped - 1 && !escape; i += 2)
            if ((unsigned char) escaped[i] == c)
                escape = &escaped[i];
        if (escape)
            kr_text_add(text, "\\%c", escape[1]);
        else if (c < 0x20 || c >= 0x7f)
            kr_text_add(text, "\\%03o", c);
        else
            kr_text_put(text, (char) c);
    }
    kr_text_put(text, '"');
}

static void print_real(kr_text *text, double value)
{
    /* What an int64 holds exactly is written like one, with a point; zero may have a sign. */
    if (fabs(value) < 0x1p63 && value == (double) (int64_t) value)
        kr_text_add(text, "%s%lld.", value == 0 && signbit(value) ? "-" : "", (long long) value);
    else
        kr_text_add(text, "%.17g", value);
}

static void print_item(kr_text *text, const kr_type *type, const struct item *item)
{
    switch (item->value.tag) {
    case KR_TAG_INT: kr_text_add(text, "%lld", (long long) item->value.as.integer); return;
    case KR_TAG_BOOL: kr_text_string(text, item->value.as.boolean ? "True" : "False"); return;
    case KR_TAG_STRING: print_string(text, item->value.as.string); return;
    default: break;
    }
    /* PyTorch keeps the default of an optional as it is written, so that float?=1 has no point. */
    double value = item->value.as.real;
    if (item->integer_literal && kr_type_is_optional(type) && fabs(value) < 0x1p63 &&
        !(value == 0 && signbit(value)))
        kr_text_add(text, "%lld", (long long) value);
    else
        print_real(text, value);
}

/* Whether a list prints as one number. */
static bool prints_as_one(const kr_type *type, const struct item *items, uint32_t count,
                          bool given_one)
{
    if (count == 0 || kr_type_list_size(type) != (int32_t) count)
        return false;
    for (uint32_t i = 1; i < count; i++)
        if (!kr_bound_value_equal(&items[i].value, &items[0].value))
            return false;
    if (kr_type_is_optional(type))
        return given_one;
    return type->base == KR_TYPE_INT && count > 1;
}

static int keep_list(kr_parser *parser, const struct item *items, uint32_t count, kr_base_type base,
                     kr_bound_value *ret)
{
    size_t size = base == KR_TYPE_BOOL     ? sizeof(bool)
                  : base == KR_TYPE_SCALAR ? sizeof(kr_bound_value)
                                           : sizeof(int64_t);
    void *data = kr_arena_array(parser->arena, count, size);
    if (!data)
        return kr_parser_full(parser);
    kr_bound_value list = { .count = count };
    if (base == KR_TYPE_BOOL) {
        bool *booleans = data;
        for (uint32_t i = 0; i < count; i++)
            booleans[i] = items[i].value.as.boolean;
        list.tag = KR_TAG_BOOLS;
        list.as.booleans = booleans;
    } else if (base == KR_TYPE_FLOAT) {
        double *reals = data;
        for (uint32_t i = 0; i < count; i++)
            reals[i] = items[i].value.as.real;
        list.tag = KR_TAG_DOUBLES;
        list.as.reals = reals;
    } else if (base == KR_TYPE_SCALAR) {
        kr_bound_value *scalars = data;
        for (uint32_t i = 0; i < count; i++)
            scalars[i] = items[i].value;
        list.tag = KR_TAG_SCALARS;
        list.as.scalars = scalars;
    } else {
        int64_t *integers = data;
        for (uint32_t i = 0; i < count; i++)
            integers[i] = items[i].value.as.integer;
        list.tag = KR_TAG_INTS;
        list.as.integers = integers;
    }
    *ret = list;
    return 0;
}

static int parse_list(kr_parser *parser, const kr_type *type, kr_bound_value *ret, kr_text *text)
{
    kr_base_type base = type->base;
    if (type->n_suffixes - kr_type_is_optional(type) != 1 ||
        (base != KR_TYPE_INT && base != KR_TYPE_SYM_INT && base != KR_TYPE_FLOAT &&
         base != KR_TYPE_BOOL && base != KR_TYPE_SCALAR))
        return kr_parser_unexpected(parser, kr_type_is_optional(type) ? "None"
                                                                      : "no default for this type");
    int32_t size = kr_type_list_size(type);
    bool given_one = size > 0 && !kr_parser_at(parser, '[');
    enum { MOST_ITEMS = 1024 };
    struct item *items = calloc(MOST_ITEMS, sizeof *items);
    if (!items)
        return kr_parser_full(parser);
    uint32_t count = 0;
    int code = 0;
    if (given_one) {
        code = parse_item(parser, base, &items[0]);
        for (; !code && count < (uint32_t) size; count++)
            items[count] = items[0];
    } else {
        code = kr_parser_expect(parser, '[');
        if (!code && !kr_parser_at(parser, ']')) {
            do {
                code = count < MOST_ITEMS ? parse_item(parser, base, &items[count++])
                                          : kr_parser_fail(parser, "the list is too long");
            } while (!code && kr_parser_take(parser, ','));
        }
        if (!code)
            code = kr_parser_expect(parser, ']');
    }
    if (!code)
        code = keep_list(parser, items, count, base, ret);
    if (!code && prints_as_one(type, items, count, given_one)) {
        print_item(text, type, &items[0]);
    } else if (!code) {
        kr_text_put(text, '[');
        for (uint32_t i = 0; i < count; i++) {
            kr_text_string(text, i ? ", " : "");
            print_item(text, type, &items[i]);
        }
        kr_text_put(text, ']');
    }
    free(items);
    return code;
}

int kr_parse_default(kr_parser *parser, kr_schema_argument *argument)
{
    const kr_type *type = &argument->type;
    char printed[KR_SCHEMA_TEXT];
    kr_text text = { printed, sizeof printed, 0 };
    struct item item = { 0 };
    int code = 0;
    if (kr_parser_at_word(parser, "None")) {
        if (!kr_type_is_optional(type))
            return kr_parser_fail(parser, "None is no default of a type without '?'");
        kr_parser_advance(parser);
        kr_text_string(&text, "None");
    } else if (kr_type_is_list(type)) {
        code = parse_list(parser, type, &item.value, &text);
    } else {
        code = parse_item(parser, type->base, &item);
        if (!code && type->base == KR_TYPE_DEVICE)
            kr_text_string(&text, "cpu");
        else if (!code)
            print_item(&text, type, &item);
    }
    if (code)
        return code;
    if (text.length >= sizeof printed)
        return kr_parser_fail(parser, "the default is too long");
    const char *copy = kr_arena_text(parser->arena, printed, text.length);
    if (!copy)
        return kr_parser_full(parser);
    argument->has_default = true;
    argument->default_value = item.value;
    argument->default_text = copy;
    return 0;
}
