// SPDX-License-Identifier: Apache-2.0
/* The parts of the schema parser, for each other only.
 *
 * schema_lex.c cuts the text into tokens, schema_type.c reads types, schema_default.c defaults,
 * and schema_parse.c everything around them. Names are copied into the schema's arena at once, so
 * that nothing points into the text. */
#ifndef KERNRIG_REGISTRY_SCHEMA_PARSER_H
#define KERNRIG_REGISTRY_SCHEMA_PARSER_H

#include "text.h"
#include <kernrig/schema.h>

typedef enum kr_token_kind {
    KR_TOKEN_END,
    KR_TOKEN_NAME,
    KR_TOKEN_NUMBER, /* without a sign */
    KR_TOKEN_STRING, /* with its quotes */
    KR_TOKEN_ARROW,
    KR_TOKEN_DOTS,
    KR_TOKEN_MARK,    /* one character of punctuation */
    KR_TOKEN_INVALID, /* a character that no schema has, or a string without an end */
} kr_token_kind;

typedef struct kr_token {
    kr_token_kind kind;
    const char *text;
    size_t length;
} kr_token;

typedef struct kr_parser {
    const char *begin, *end, *next; /* of the text; next is behind the current token */
    kr_token token;
    kr_arena *arena;
    kr_error *err;
} kr_parser;

/* schema_lex.c. */
void kr_parser_advance(kr_parser *parser);
bool kr_parser_at(const kr_parser *parser, char mark);
/* Takes the mark if it is the current token. */
bool kr_parser_take(kr_parser *parser, char mark);
bool kr_parser_at_word(const kr_parser *parser, const char *word);
KR_CHECK int kr_parser_expect(kr_parser *parser, char mark);
/* Copies the name; what says for the error which name it is. */
KR_CHECK int kr_parser_name(kr_parser *parser, const char *what, const char **ret);
/* An integer without a sign, at most max. */
KR_CHECK int kr_parser_count(kr_parser *parser, int32_t max, int32_t *ret);
/* Fails at the current token: "column 5: " and the reason. */
KR_PRINTF(2, 3) int kr_parser_fail(kr_parser *parser, const char *format, ...);
/* Fails because what was expected is not there, and says what is. */
int kr_parser_unexpected(kr_parser *parser, const char *expected);
/* Fails because the arena is full. */
int kr_parser_full(kr_parser *parser);

/* schema_type.c. */
KR_CHECK int kr_parse_type(kr_parser *parser, kr_type *ret);
/* "int", "Tensor", … */
const char *kr_base_type_name(kr_base_type base);

/* schema_default.c. */
/* Reads a default for argument->type and fills in the default of *argument. */
KR_CHECK int kr_parse_default(kr_parser *parser, kr_schema_argument *argument);

/* schema_equal.c. */
/* Whether two defaults are the same; they hold no tensors. */
bool kr_bound_value_equal(const kr_bound_value *a, const kr_bound_value *b);

/* schema_print.c. */
/* With or without the alias annotation. */
void kr_print_type(kr_text *text, const kr_type *type, bool annotation);

#endif
