// SPDX-License-Identifier: Apache-2.0
/* The known operators: operators.txt is sound, and the registry knows what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/registry.h>

extern const char kr_operators_text[];
extern const size_t kr_operators_text_length;

static int setup(void **state)
{
    *state = kr_registry_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    assert_null(kr_registry_free(*state));
    return 0;
}

/* The next line that is no comment: its schema and its tags, each copied; false at the end. */
static bool next_line(const char **at, char schema[KR_SCHEMA_TEXT], char tags[256])
{
    const char *end = kr_operators_text + kr_operators_text_length;
    while (*at < end) {
        const char *line = *at, *newline = memchr(line, '\n', (size_t) (end - line));
        assert_non_null(newline);
        *at = newline + 1;
        if (*line == '#')
            continue;
        const char *tab = memchr(line, '\t', (size_t) (newline - line));
        assert_non_null(tab);
        snprintf(schema, KR_SCHEMA_TEXT, "%.*s", (int) (tab - line), line);
        snprintf(tags, 256, "%.*s", (int) (newline - tab - 1), tab + 1);
        return true;
    }
    return false;
}

static void the_registry_knows_every_line(void **state)
{
    kr_registry *registry = *state;
    const char *at = kr_operators_text;
    char schema[KR_SCHEMA_TEXT], tags[256];
    uint32_t lines = 0, count = 0;
    while (next_line(&at, schema, tags)) {
        char name[KR_OPERATOR_NAME + 1];
        snprintf(name, sizeof name, "%.*s", (int) strcspn(schema, "("), schema);
        const kr_operator_info *info = kr_registry_operator(registry, name);
        assert_non_null(info);
        assert_string_equal(info->name, name);
        assert_string_equal(info->schema_text, schema);
        assert_string_equal(info->schema->name, name);
        assert_string_equal(info->tags, tags);
        assert_int_equal(info->n_kernels, 0);
        assert_null(kr_registry_kernel(registry, info, 0));
        lines++;
    }
    assert_non_null(kr_registry_operators(registry, &count));
    assert_int_equal(count, lines);
}

static void the_file_is_sorted_by_name(void **state)
{
    (void) state;
    const char *at = kr_operators_text;
    char schema[KR_SCHEMA_TEXT], tags[256], last[KR_OPERATOR_NAME + 1] = "";
    while (next_line(&at, schema, tags)) {
        schema[strcspn(schema, "(")] = 0;
        assert_true(strcmp(last, schema) < 0);
        snprintf(last, sizeof last, "%.*s", KR_OPERATOR_NAME, schema);
    }
}

static void tags_are_words(void **state)
{
    (void) state;
    const char *at = kr_operators_text;
    char schema[KR_SCHEMA_TEXT], tags[256];
    uint32_t portable = 0, core = 0;
    while (next_line(&at, schema, tags)) {
        assert_int_equal(strspn(tags, "abcdefghijklmnopqrstuvwxyz0123456789_ "), strlen(tags));
        assert_null(strstr(tags, "  "));
        assert_true(tags[0] != ' ' && (!tags[0] || tags[strlen(tags) - 1] != ' '));
        portable += strstr(tags, "portable") != NULL;
        core += strncmp(tags, "core", 4) == 0;
    }
    assert_int_equal(portable, 204); /* 209 of ExecuTorch's list less the five of its own */
    assert_true(core > 150);
}

static void numbers_stand_for_tensors_where_pytorch_lets_them(void **state)
{
    static const struct {
        const char *name;
        bool allowed;
    } cases[] = {
        { "aten::add.out", true },        { "aten::add.Tensor", true },
        { "aten::add_.Tensor", true },    { "aten::mul.out", true },
        { "aten::sub.out", true },        { "aten::div.out", true },
        { "aten::maximum.out", false },   { "aten::relu.out", false },
        { "aten::eq.Tensor_out", false }, { "aten::where.self_out", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kr_operator_info *info = kr_registry_operator(*state, cases[i].name);
        assert_non_null(info);
        assert_int_equal(info->allows_numbers, cases[i].allowed);
    }
}

static void an_operator_is_known_with_its_functional_and_in_place_form(void **state)
{
    static const char *const names[] = { "aten::add.out",
                                         "aten::add.Tensor",
                                         "aten::add_.Tensor",
                                         "aten::relu.out",
                                         "aten::relu",
                                         "aten::relu_",
                                         "aten::sum.IntList_out",
                                         "aten::sum.dim_IntList",
                                         "aten::full.out",
                                         "aten::full",
                                         "quantized_decomposed::quantize_per_tensor" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(kr_registry_operator(*state, names[i]));
}

static void unknown_names_are_not_found(void **state)
{
    static const char *const names[] = { "",
                                         "aten",
                                         "aten::add",
                                         "aten::add.",
                                         "aten::relu.default",
                                         "aten::add.ou",
                                         "aten::add.outt",
                                         "ATen::add.out" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(kr_registry_operator(*state, names[i]));
}

static void operators_are_listed_by_name(void **state)
{
    uint32_t count = 0;
    const kr_operator_info *const *list = kr_registry_operators(*state, &count);
    assert_true(count > 500);
    for (uint32_t i = 1; i < count; i++)
        assert_true(strcmp(list[i - 1]->name, list[i]->name) < 0);
    for (uint32_t i = 0; i < count; i++)
        assert_ptr_equal(kr_registry_operator(*state, list[i]->name), list[i]);
    uint32_t again = 0;
    assert_ptr_equal(kr_registry_operators(*state, &again), list);
    assert_int_equal(again, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_knows_every_line),
        cmocka_unit_test(the_file_is_sorted_by_name),
        cmocka_unit_test(tags_are_words),
        cmocka_unit_test(numbers_stand_for_tensors_where_pytorch_lets_them),
        cmocka_unit_test(an_operator_is_known_with_its_functional_and_in_place_form),
        cmocka_unit_test(unknown_names_are_not_found),
        cmocka_unit_test(operators_are_listed_by_name),
    };
    return cmocka_run_group_tests_name("operator", tests, setup, teardown);
}
