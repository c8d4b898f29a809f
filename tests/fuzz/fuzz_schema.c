// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a schema: what is read prints to a text that reads as the same and prints the same;
 * what is refused is refused with a reason. */
#include <assert.h>
#include <kernrig/schema.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const kr_schema *schema, int code, const kr_error *err)
{
    assert(code == KR_CODE_SCHEMA && err->code == code);
    assert(err->text[0] && strnlen(err->text, sizeof err->text) < sizeof err->text);
    assert(!schema);
}

static void check_derived(const kr_schema *schema)
{
    assert(schema->n_args <= KR_SCHEMA_ARGS && schema->n_returns <= KR_SCHEMA_RETURNS);
    assert(strlen(schema->name) <= KR_OPERATOR_NAME);
    for (uint32_t i = 0; i < schema->n_args; i++) {
        const kr_schema_argument *argument = &schema->args[i];
        assert(argument->name[0]);
        assert(!argument->has_default || argument->default_text[0]);
        assert(argument->is_output == (argument->type.is_write || argument->type.is_write_after));
        assert(kr_type_is_list(&argument->type) || kr_type_list_size(&argument->type) == -1);
    }
    for (uint32_t i = 0; i < schema->n_returns; i++)
        assert(schema->returns_alias[i] >= -1 &&
               schema->returns_alias[i] < (int32_t) schema->n_args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kr_schema *schema = NULL, *again = NULL;
    kr_error err = { 0 };
    int code = kr_schema_parse((const char *) data, size, &schema, &err);
    if (code) {
        check_refusal(schema, code, &err);
        return 0;
    }
    check_derived(schema);
    char text[KR_SCHEMA_TEXT + 1], repeated[KR_SCHEMA_TEXT + 1];
    size_t length = kr_schema_print(schema, text, sizeof text);
    assert(length <= KR_SCHEMA_TEXT && strlen(text) == length);
    for (size_t i = 0; i < length; i++)
        assert(text[i] >= ' ' && text[i] <= '~');
    code = kr_schema_parse(text, length, &again, &err);
    assert(code == 0);
    assert(kr_schema_equal(schema, again, &err) && kr_schema_equal(again, schema, &err));
    assert(kr_schema_print(again, repeated, sizeof repeated) == length);
    assert(memcmp(text, repeated, length) == 0);
    kr_schema_free(again);
    kr_schema_free(schema);
    return 0;
}
