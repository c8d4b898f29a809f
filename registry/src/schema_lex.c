// SPDX-License-Identifier: Apache-2.0
/* Tokens of a schema. The text is foreign and need not end in 0, so that every look at a character
 * is a look at how many are left. */
#include "schema_parser.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The character at a distance from the next one; 0 beyond the end. */
static char peek(const kr_parser *parser, size_t distance)
{
    return distance < (size_t) (parser->end - parser->next) ? parser->next[distance] : 0;
}

static size_t digits(const kr_parser *parser, size_t at)
{
    while (is_digit(peek(parser, at)))
        at++;
    return at;
}

/* 1, 1., .5, 1.5e-05 */
static size_t number_length(const kr_parser *parser)
{
    size_t at = digits(parser, 0);
    if (peek(parser, at) == '.')
        at = digits(parser, at + 1);
    if (peek(parser, at) == 'e' || peek(parser, at) == 'E') {
        size_t exponent = at + 1;
        if (peek(parser, exponent) == '+' || peek(parser, exponent) == '-')
            exponent++;
        if (is_digit(peek(parser, exponent)))
            at = digits(parser, exponent);
    }
    return at;
}

/* 0 if the string does not end. */
static size_t string_length(const kr_parser *parser)
{
    char quote = peek(parser, 0);
    for (size_t at = 1; at < (size_t) (parser->end - parser->next); at++) {
        char c = parser->next[at];
        if (c == quote)
            return at + 1;
        if (c == '\\')
            at++;
        else if (c == '\n')
            return 0;
    }
    return 0;
}

void kr_parser_advance(kr_parser *parser)
{
    char c = peek(parser, 0);
    while (parser->next < parser->end && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        parser->next++;
        c = peek(parser, 0);
    }
    kr_token_kind kind = KR_TOKEN_MARK;
    size_t length = 1;
    if (parser->next == parser->end) {
        kind = KR_TOKEN_END;
        length = 0;
    } else if (is_letter(c)) {
        kind = KR_TOKEN_NAME;
        while (is_letter(peek(parser, length)) || is_digit(peek(parser, length)))
            length++;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(parser, 1)))) {
        kind = KR_TOKEN_NUMBER;
        length = number_length(parser);
    } else if (c == '"' || c == '\'') {
        length = string_length(parser);
        kind = length ? KR_TOKEN_STRING : KR_TOKEN_INVALID;
        if (!length)
            length = 1;
    } else if (c == '-' && peek(parser, 1) == '>') {
        kind = KR_TOKEN_ARROW;
        length = 2;
    } else if (c == '.' && peek(parser, 1) == '.' && peek(parser, 2) == '.') {
        kind = KR_TOKEN_DOTS;
        length = 3;
    } else if (c == 0 || !strchr("()[]*,=?!|-:.", c)) {
        kind = KR_TOKEN_INVALID;
    }
    parser->token = (kr_token){ kind, parser->next, length };
    parser->next += length;
}

bool kr_parser_at(const kr_parser *parser, char mark)
{
    return parser->token.kind == KR_TOKEN_MARK && parser->token.text[0] == mark;
}

bool kr_parser_take(kr_parser *parser, char mark)
{
    bool taken = kr_parser_at(parser, mark);
    if (taken)
        kr_parser_advance(parser);
    return taken;
}

bool kr_parser_at_word(const kr_parser *parser, const char *word)
{
    return parser->token.kind == KR_TOKEN_NAME && parser->token.length == strlen(word) &&
           memcmp(parser->token.text, word, parser->token.length) == 0;
}

int kr_parser_fail(kr_parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kr_error_setv(parser->err, KR_CODE_SCHEMA, format, args);
    va_end(args);
    if (parser->err)
        kr_error_wrap(parser->err, "column %zu", (size_t) (parser->token.text - parser->begin) + 1);
    return KR_CODE_SCHEMA;
}

int kr_parser_unexpected(kr_parser *parser, const char *expected)
{
    const kr_token *token = &parser->token;
    if (token->kind == KR_TOKEN_END)
        return kr_parser_fail(parser, "expected %s but the text ends", expected);
    if (token->kind == KR_TOKEN_INVALID && (token->text[0] == '"' || token->text[0] == '\''))
        return kr_parser_fail(parser, "expected %s but found a string without an end", expected);
    if (token->kind == KR_TOKEN_INVALID && (token->text[0] < 0x20 || token->text[0] == 0x7f))
        return kr_parser_fail(parser, "expected %s but found the byte 0x%02x", expected,
                              (unsigned char) token->text[0]);
    /* Enough of a long token to recognise it. */
    int length = token->length < 40 ? (int) token->length : 40;
    return kr_parser_fail(parser, "expected %s but found '%.*s'", expected, length, token->text);
}

int kr_parser_full(kr_parser *parser) { return kr_parser_fail(parser, "the schema is too large"); }

int kr_parser_expect(kr_parser *parser, char mark)
{
    if (kr_parser_take(parser, mark))
        return 0;
    char expected[] = { '\'', mark, '\'', 0 };
    return kr_parser_unexpected(parser, expected);
}

int kr_parser_name(kr_parser *parser, const char *what, const char **ret)
{
    /* Python's constants cannot name anything. */
    if (parser->token.kind != KR_TOKEN_NAME || kr_parser_at_word(parser, "None") ||
        kr_parser_at_word(parser, "True") || kr_parser_at_word(parser, "False"))
        return kr_parser_unexpected(parser, what);
    const char *copy = kr_arena_text(parser->arena, parser->token.text, parser->token.length);
    if (!copy)
        return kr_parser_full(parser);
    kr_parser_advance(parser);
    *ret = copy;
    return 0;
}

int kr_parser_count(kr_parser *parser, int32_t max, int32_t *ret)
{
    int64_t value = 0;
    bool is_integer = parser->token.kind == KR_TOKEN_NUMBER;
    for (size_t i = 0; is_integer && i < parser->token.length; i++) {
        is_integer = is_digit(parser->token.text[i]);
        value = value * 10 + (parser->token.text[i] - '0');
        if (is_integer && value > max)
            return kr_parser_fail(parser, "the number is larger than %d", max);
    }
    if (!is_integer)
        return kr_parser_unexpected(parser, "an integer");
    kr_parser_advance(parser);
    *ret = (int32_t) value;
    return 0;
}
