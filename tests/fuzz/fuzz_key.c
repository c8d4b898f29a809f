// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a kernel key: the first chooses the schema that the rest is read for. What is read
 * is a key that could match, and its text reads as the same key. */
#include <assert.h>
#include <kernrig/dtype.h>
#include <kernrig/key.h>
#include <kernrig/schema.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tensors that every call has, and that it may have. */
static const struct {
    const char *text;
    uint32_t least, most;
} schemas[] = {
    { NULL, 0, KR_KEY_SECTIONS },
    { "a::b() -> Tensor", 0, 0 },
    { "a::b(Tensor x) -> Tensor", 1, 1 },
    { "a::b_(Tensor(a!) x) -> Tensor(a!)", 1, 1 },
    { "a::b.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", 2, 2 },
    { "a::b.out(Tensor x, Tensor? w, *, Tensor(a!) out) -> Tensor(a!)", 2, 3 },
    { "a::b_(Tensor? v, Tensor(a!) x, Tensor? w) -> Tensor(a!)", 1, 3 },
    { "a::b.out(Tensor[] x, *, Tensor(a!) out, Tensor(b!) o2) -> (Tensor(a!), Tensor(b!))", 2, 2 },
    { "a::b.out(Tensor[] x, *, Tensor(a!)[] out) -> ()", 0, 0 },
    { "a::b(Tensor(a!)? x) -> Tensor(a!)", 0, 1 },
};
enum { N_SCHEMAS = sizeof schemas / sizeof *schemas };

static void check_sections(const kr_key *key)
{
    for (uint32_t i = 0; i < key->n_sections; i++) {
        const kr_key_section *section = &key->sections[i];
        assert(kr_dtype_size(section->dtype) && section->dim <= KR_MAX_DIMS);
        uint32_t seen = 0;
        for (uint32_t j = 0; j < section->dim; j++)
            seen |= 1u << section->order[j];
        assert(seen == (1u << section->dim) - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t which = data[0] % N_SCHEMAS;
    kr_schema *schema = NULL;
    kr_error err = { 0 };
    const char *schema_text = schemas[which].text;
    if (schema_text && kr_schema_parse(schema_text, strlen(schema_text), &schema, &err))
        abort();
    kr_key key, again;
    int code = kr_key_parse((const char *) data + 1, size - 1, schema, &key, &err);
    if (code) {
        assert(code == KR_CODE_KEY && err.code == code && err.text[0]);
    } else {
        assert(key.n_sections >= schemas[which].least && key.n_sections <= schemas[which].most);
        check_sections(&key);
        char text[KR_KEY_TEXT];
        size_t length = kr_key_print(&key, text);
        assert(length < KR_KEY_TEXT && strlen(text) == length);
        assert(kr_key_parse(text, length, NULL, &again, &err) == 0);
        assert(kr_key_equal(&key, &again) && kr_key_hash(&key) == kr_key_hash(&again));
        /* Where all tensors are there in every call, a canonical text has one reading only. */
        if (schemas[which].least == schemas[which].most) {
            assert(kr_key_parse(text, length, schema, &again, &err) == 0);
            assert(kr_key_equal(&key, &again));
        }
    }
    kr_schema_free(schema);
    return 0;
}
