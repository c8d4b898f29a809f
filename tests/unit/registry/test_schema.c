// SPDX-License-Identifier: Apache-2.0
/* The schema parser: what it reads it prints as PyTorch does, what it refuses it refuses with a
 * column and a reason. Expected texts are PyTorch 2.15's, from torch._C.parse_schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/schema.h>

extern const char kr_operators_text[];
extern const size_t kr_operators_text_length;

/* Parses, prints, parses again and compares; the caller frees. */
static kr_schema *parse(const char *text, size_t length, const char *expected)
{
    kr_error err = { 0 };
    kr_schema *schema = NULL, *again = NULL;
    if (kr_schema_parse(text, length, &schema, &err))
        fail_msg("%.*s: %s", (int) length, text, err.text);
    char printed[KR_SCHEMA_TEXT + 1];
    size_t size = kr_schema_print(schema, printed, sizeof printed);
    assert_int_equal(size, strlen(printed));
    assert_string_equal(printed, expected);
    assert_int_equal(kr_schema_parse(printed, size, &again, &err), 0);
    assert_true(kr_schema_equal(schema, again, &err));
    kr_schema_free(again);
    return schema;
}

static void prints(const char *text, const char *expected)
{
    kr_schema_free(parse(text, strlen(text), expected));
}

static void keeps(const char *text) { prints(text, text); }

/* Fails with this text and leaves the output alone. */
static void refuses(const char *text, const char *expected)
{
    kr_error err = { 0 };
    kr_schema untouched, *schema = &untouched;
    int code = kr_schema_parse(text, strlen(text), &schema, &err);
    if (code == 0)
        fail_msg("%s is accepted", text);
    assert_int_equal(code, KR_CODE_SCHEMA);
    assert_int_equal(err.code, KR_CODE_SCHEMA);
    assert_string_equal(err.text, expected);
    assert_ptr_equal(schema, &untouched);
}

static void schemas_of_every_shape_are_kept(void **state)
{
    (void) state;
    static const char *const texts[] = {
        "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::relu_(Tensor(a!) self) -> Tensor(a!)",
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        "aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor",
        "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
        "aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()",
        ("aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
         "Tensor? bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> "
         "(Tensor(a!), Tensor(b!), Tensor(c!))"),
        "aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        "aten::cpu(Tensor(a) self) -> Tensor(b|a)",
        "aten::max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        "aten::sort.int(int[](a!) self, bool reverse=False) -> ()",
        "aten::sorted.Tensor(Tensor[](a) input) -> Tensor[]",
        "aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None) -> Tensor?[]",
        "c10d::reduce(Tensor[] out, Tensor[][] input_tensors, int timeout=-1) -> Tensor Y",
        ("aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
         "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)"),
        "aten::x(*, Generator? generator=None, Storage s, Stream t, QScheme q, Device d) -> Device",
        "aten::x(SymFloat f, SymBool b, complex c, Dimname n) -> complex",
        "aten::x() -> ()",
        "_a::_(Tensor _) -> Tensor",
        "aten::x(Tensor(*!) self) -> Tensor(*)",
        "aten::x(Tensor(a! -> b|c) self, Tensor lambda) -> (Tensor x, Tensor)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        keeps(texts[i]);
}

static void spaces_and_spellings_are_normalised(void **state)
{
    (void) state;
    prints("aten::x( Tensor  self,int y = 3 )->Tensor", "aten::x(Tensor self, int y=3) -> Tensor");
    prints("\n aten :: x . y (\n\tTensor self\r\n) -> Tensor\n",
           "aten::x.y(Tensor self) -> Tensor");
    prints("aten::x(Tensor (a !) self) -> Tensor", "aten::x(Tensor(a!) self) -> Tensor");
    prints("aten::x(Tensor(a! -> a) self) -> Tensor", "aten::x(Tensor(a!) self) -> Tensor");
    prints("aten::x(Tensor?? self) -> Tensor", "aten::x(Tensor? self) -> Tensor");
    prints("aten::x(Tensor self, *) -> Tensor", "aten::x(Tensor self) -> Tensor");
    prints("aten::x(*, Tensor a, *, Tensor b) -> Tensor",
           "aten::x(*, Tensor a, Tensor b) -> Tensor");
    prints("aten::x(int[007] a) -> Tensor", "aten::x(int[7] a) -> Tensor");
}

static void one_return_keeps_its_parentheses(void **state)
{
    (void) state;
    keeps("aten::x(Tensor self) -> (Tensor)");
    keeps("aten::x(Tensor self) -> (Tensor y)");
    keeps("aten::x(Tensor self) -> Tensor y");
}

static void the_parts_of_a_name_are_told_apart(void **state)
{
    (void) state;
    static const char text[] = "aten::add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
    kr_schema *schema = parse(text, sizeof text - 1, text);
    assert_string_equal(schema->name, "aten::add.out");
    assert_string_equal(schema->namespace_, "aten");
    assert_string_equal(schema->base, "add");
    assert_string_equal(schema->overload, "out");
    kr_schema_free(schema);
    static const char plain[] = "aten::relu(Tensor self) -> Tensor";
    schema = parse(plain, sizeof plain - 1, plain);
    assert_string_equal(schema->name, "aten::relu");
    assert_string_equal(schema->overload, "");
    kr_schema_free(schema);
}

static void what_binding_asks_for_is_derived(void **state)
{
    (void) state;
    static const char text[] = "aten::x(Tensor self, Tensor? w, Tensor[] l, Tensor?[] o, int[2] k, "
                               "int[1]? d=None, *, Tensor(a!) out, Tensor(b!)[] outs) -> "
                               "(Tensor, Tensor(a!), Tensor(b!)[], Tensor(c!))";
    kr_schema *schema = parse(text, sizeof text - 1, text);
    assert_int_equal(schema->n_args, 8);
    assert_int_equal(schema->n_returns, 4);
    assert_int_equal(schema->n_tensor_args, 2);
    static const struct {
        bool optional, list, optional_items, keyword, has_default, output;
        int32_t size;
    } expected[] = {
        { .size = -1 },
        { .optional = true, .size = -1 },
        { .list = true, .size = -1 },
        { .list = true, .optional_items = true, .size = -1 },
        { .list = true, .size = 2 },
        { .optional = true, .list = true, .has_default = true, .size = 1 },
        { .keyword = true, .output = true, .size = -1 },
        { .list = true, .keyword = true, .output = true, .size = -1 },
    };
    for (uint32_t i = 0; i < schema->n_args; i++) {
        const kr_schema_argument *argument = &schema->args[i];
        assert_int_equal(kr_type_is_optional(&argument->type), expected[i].optional);
        assert_int_equal(kr_type_is_list(&argument->type), expected[i].list);
        assert_int_equal(kr_type_has_optional_items(&argument->type), expected[i].optional_items);
        assert_int_equal(kr_type_list_size(&argument->type), expected[i].size);
        assert_int_equal(argument->keyword_only, expected[i].keyword);
        assert_int_equal(argument->has_default, expected[i].has_default);
        assert_int_equal(argument->is_output, expected[i].output);
    }
    static const int32_t alias[] = { -1, 6, 7, -1 };
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(schema->returns_alias[i], alias[i]);
    kr_schema_free(schema);
}

static void a_view_is_not_the_argument_that_it_views(void **state)
{
    (void) state;
    static const char text[] = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)";
    kr_schema *schema = parse(text, sizeof text - 1, text);
    assert_int_equal(schema->returns_alias[0], -1);
    assert_false(schema->args[0].is_output);
    kr_schema_free(schema);
}

static void a_return_is_the_argument_that_both_write_to(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        int32_t alias;
    } cases[] = {
        { "aten::x(Tensor(a) self, Tensor(a!) out) -> Tensor(a!)", 1 },
        { "aten::x(Tensor(b!) self, Tensor(a!) out) -> Tensor(a!)", 1 },
        { "aten::x(Tensor(a!) self) -> Tensor(a)", -1 },
        { "aten::x(Tensor(a) self) -> Tensor(a!)", -1 },
        { "aten::x(Tensor(a!) self) -> Tensor(b!)", -1 },
        { "aten::x(Tensor self) -> Tensor(a!)", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kr_schema *schema = parse(cases[i].text, strlen(cases[i].text), cases[i].text);
        assert_int_equal(schema->returns_alias[0], cases[i].alias);
        kr_schema_free(schema);
    }
}

static void types_of_torchscript_are_refused_by_name(void **state)
{
    (void) state;
    static const struct {
        const char *type, *text;
    } types[] = {
        { "Dict(str, int)", "column 9: the type 'Dict' exists in TorchScript only; no kernel can "
                            "take it" },
        { "Future(t)", "column 9: the type 'Future' exists in TorchScript only; no kernel can take "
                       "it" },
        { "RRef(t)",
          "column 9: the type 'RRef' exists in TorchScript only; no kernel can take it" },
        { "Any", "column 9: the type 'Any' exists in TorchScript only; no kernel can take it" },
        { "NoneType",
          "column 9: the type 'NoneType' exists in TorchScript only; no kernel can take "
          "it" },
        { "t",
          "column 9: the type variable 't' exists in TorchScript only; no kernel can take it" },
        { "int64_t", "column 9: the type variable 'int64_t' exists in TorchScript only; no kernel "
                     "can take it" },
        { "t[]", "column 9: the type variable 't' exists in TorchScript only; no kernel can take "
                 "it" },
        { "(int, int)", "column 9: a tuple, '(…)', exists in TorchScript only; no kernel can take "
                        "it" },
        { "__torch__.torch.classes.a.B9",
          "column 9: the class '__torch__.torch.classes.a.B9' exists "
          "in TorchScript only; no kernel can take it" },
        { "...", "column 9: a variable number of arguments, '...', exists in TorchScript only; no "
                 "kernel can take it" },
        { "Foo", "column 9: there is no type 'Foo'" },
        { "tensor",
          "column 9: the type variable 'tensor' exists in TorchScript only; no kernel can "
          "take it" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[256];
        snprintf(text, sizeof text, "aten::x(%s y) -> Tensor", types[i].type);
        refuses(text, types[i].text);
    }
    refuses("aten::x(Tensor y) -> ...",
            "column 22: a variable number of arguments, '...', exists in TorchScript only; no "
            "kernel can take it");
    refuses("aten::x(Tensor y) -> (int, t)",
            "column 28: the type variable 't' exists in TorchScript only; no kernel can take it");
}

static void errors_name_the_column_and_what_was_expected(void **state)
{
    (void) state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "column 1: expected the namespace of an operator but the text ends" },
        { "relu(Tensor x) -> Tensor", "column 5: expected '::' behind a namespace but found '('" },
        { "aten:relu() -> ()", "column 6: expected '::' behind a namespace but found 'relu'" },
        { "aten::(Tensor x) -> Tensor",
          "column 7: expected the name of an operator but found '('" },
        { "aten::x.(Tensor y) -> ()", "column 9: expected the name of an overload but found '('" },
        { "aten::x.y.z() -> ()", "column 10: expected '(' but found '.'" },
        { "aten::x::y() -> ()", "column 8: expected '(' but found ':'" },
        { "aten::x.default() -> ()", "column 1: the default overload is the one without a name" },
        { "aten::x", "column 8: expected '(' but the text ends" },
        { "aten::x()", "column 10: expected '->' but the text ends" },
        { "aten::x() - > ()", "column 11: expected '->' but found '-'" },
        { "aten::x() ->", "column 13: expected a type but the text ends" },
        { "aten::x() -> (Tensor", "column 21: expected ')' but the text ends" },
        { "aten::x() -> (Tensor,)", "column 22: expected a type but found ')'" },
        { "aten::x() -> Tensor y z", "column 23: expected the end of the schema but found 'z'" },
        { "aten::x() -> Tensor;", "column 20: expected the end of the schema but found ';'" },
        { "aten::x(Tensor) -> ()", "column 15: expected the name of an argument but found ')'" },
        { "aten::x(Tensor 1) -> ()", "column 16: expected the name of an argument but found '1'" },
        { "aten::x(Tensor None) -> ()",
          "column 16: expected the name of an argument but found 'None'" },
        { "aten::x(*, Tensor(a!) y, Tensor(a!) z) -> Tensor(a!)",
          "column 53: a return has the alias set 'a', which is that of argument 'y' and of 'z'" },
        { "aten::x(Tensor y,) -> ()", "column 18: expected a type but found ')'" },
        { "aten::x(,Tensor y) -> ()", "column 9: expected a type but found ','" },
        { "aten::x(Tensor y Tensor z) -> ()", "column 18: expected ')' but found 'Tensor'" },
        { "aten::x(Tensor! y) -> ()",
          "column 15: a type that is written to needs a named alias set: Tensor(a!)" },
        { "aten::x(Tensor() y) -> ()",
          "column 16: expected the name of an alias set but found ')'" },
        { "aten::x(Tensor(a y) -> ()", "column 18: expected ')' but found 'y'" },
        { "aten::x(Tensor(a)[](b) y) -> ()", "column 21: a type has one alias annotation at most" },
        { "aten::x(Tensor?(a) y) -> ()",
          "column 16: expected the name of an argument but found '('" },
        { "aten::x(int[-1] y) -> ()", "column 13: expected an integer but found '-'" },
        { "aten::x(int[2.5] y) -> ()", "column 13: expected an integer but found '2.5'" },
        { "aten::x(int[0] y) -> ()", "column 14: a list of size 0 has no use" },
        { "aten::x(int[1025] y) -> ()", "column 13: the number is larger than 1024" },
        { "aten::x(int[99999999999999999999] y) -> ()",
          "column 13: the number is larger than 1024" },
        { "aten::x(int[2 y) -> ()", "column 15: expected ']' but found 'y'" },
        { "aten::x(int[][][][] y) -> ()", "column 18: the type nests too deep" },
        { "aten::x(Tensor a=None, Tensor b) -> ()",
          "column 18: None is no default of a type without '?'" },
        { "aten::x(Tensor? a=None, Tensor b) -> ()",
          "column 33: argument 'b' without a default follows one with a default" },
        { "aten::x(Tensor \xc3\xa9) -> ()",
          "column 16: expected the name of an argument but found the byte 0xc3" },
        { "aten::x(Tensor \x01) -> ()",
          "column 16: expected the name of an argument but found the byte 0x01" },
        { "aten::x(str s=\"abc) -> ()",
          "column 15: expected a string but found a string without an end" },
        { "aten::x(str s='a\nb') -> ()",
          "column 15: expected a string but found a string without an end" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(cases[i].text, cases[i].error);
}

/* PyTorch itself has one such schema, static_runtime::clamp_nan_to_num. */
static void two_arguments_may_share_a_name(void **state)
{
    (void) state;
    keeps("static_runtime::x(float? posinf, float? posinf) -> Tensor");
}

static void a_keyword_argument_needs_no_default_behind_one(void **state)
{
    (void) state;
    keeps("aten::x(Tensor? a=None, *, Tensor b) -> Tensor");
    keeps("aten::x(*, Scalar alpha=1, Tensor b) -> Tensor");
}

static void sizes_are_limited(void **state)
{
    (void) state;
    char text[3 * KR_SCHEMA_TEXT];
    for (uint32_t n = KR_SCHEMA_ARGS; n <= KR_SCHEMA_ARGS + 1; n++) {
        size_t length = (size_t) snprintf(text, sizeof text, "aten::x(");
        for (uint32_t i = 0; i < n; i++)
            length += (size_t) snprintf(text + length, sizeof text - length, "%sint a%u",
                                        i ? ", " : "", i);
        snprintf(text + length, sizeof text - length, ") -> ()");
        if (n == KR_SCHEMA_ARGS)
            keeps(text);
        else
            refuses(text, "column 575: there are more than 64 arguments");
    }
    for (uint32_t n = KR_SCHEMA_RETURNS; n <= KR_SCHEMA_RETURNS + 1; n++) {
        size_t length = (size_t) snprintf(text, sizeof text, "aten::x() -> (");
        for (uint32_t i = 0; i < n; i++)
            length += (size_t) snprintf(text + length, sizeof text - length, "%sint",
                                        i ? ", " : "");
        snprintf(text + length, sizeof text - length, ")");
        if (n == KR_SCHEMA_RETURNS)
            keeps(text);
        else
            refuses(text, "column 95: there are more than 16 returns");
    }
    snprintf(text, sizeof text, "aten::%094d() -> ()", 0);
    memset(text + 6, 'a', 94);
    keeps(text);
    snprintf(text, sizeof text, "aten::%095d() -> ()", 0);
    memset(text + 6, 'a', 95);
    refuses(text, "column 1: the operator's name is longer than 100 characters");
    snprintf(text, sizeof text, "aten::x(Tensor(%0300d) y) -> ()", 0);
    memset(text + 15, 'a', 300);
    refuses(text, "column 316: the alias annotation is too long");
    memset(text, ' ', sizeof text);
    snprintf(text + KR_SCHEMA_TEXT, 16, "a");
    refuses(text, "the schema is longer than 8192 bytes");
    /* Short as it is written, long as it is printed. */
    refuses("aten::x(SymInt[1024] a=1000, SymInt[1024] b=1000) -> ()",
            "column 56: the schema is longer than 8192 bytes when printed");
}

static void the_text_need_not_end_in_zero(void **state)
{
    (void) state;
    static const char text[] = "aten::x(int a=-12) -> Tensor";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, text, length);
        kr_schema *schema = NULL;
        /* Some beginnings are schemas, "-> T" for one is not: a type variable. */
        assert_int_equal(kr_schema_parse(copy, length, &schema, NULL), KR_CODE_SCHEMA);
        assert_null(schema);
        free(copy);
    }
    kr_schema_free(parse(text, sizeof text - 1, text));
}

static void printing_into_a_small_buffer_counts_as_snprintf_does(void **state)
{
    (void) state;
    static const char text[] = "aten::x(Tensor(a!) self, str s=\"q\") -> Tensor(a!)";
    kr_schema *schema = parse(text, sizeof text - 1, text);
    for (size_t size = 0; size < sizeof text + 4; size++) {
        char printed[sizeof text + 4];
        memset(printed, '#', sizeof printed);
        assert_int_equal(kr_schema_print(schema, printed, size), sizeof text - 1);
        size_t kept = size > sizeof text - 1 ? sizeof text - 1 : size ? size - 1 : 0;
        assert_memory_equal(printed, text, kept);
        assert_int_equal(printed[kept], size ? 0 : '#');
    }
    assert_int_equal(kr_schema_print(schema, NULL, 0), sizeof text - 1);
    kr_schema_free(schema);
}

static void every_known_operator_prints_as_it_is_written(void **state)
{
    (void) state;
    const char *line = kr_operators_text, *end = line + kr_operators_text_length;
    size_t count = 0;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t) (end - line));
        assert_non_null(newline);
        if (*line != '#') {
            const char *tab = memchr(line, '\t', (size_t) (newline - line));
            assert_non_null(tab);
            char expected[KR_SCHEMA_TEXT];
            snprintf(expected, sizeof expected, "%.*s", (int) (tab - line), line);
            kr_schema_free(parse(line, (size_t) (tab - line), expected));
            count++;
        }
        line = newline + 1;
    }
    assert_true(count > 500);
}

static void freeing_nothing_gives_nothing(void **state)
{
    (void) state;
    assert_null(kr_schema_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_of_every_shape_are_kept),
        cmocka_unit_test(spaces_and_spellings_are_normalised),
        cmocka_unit_test(one_return_keeps_its_parentheses),
        cmocka_unit_test(the_parts_of_a_name_are_told_apart),
        cmocka_unit_test(what_binding_asks_for_is_derived),
        cmocka_unit_test(a_view_is_not_the_argument_that_it_views),
        cmocka_unit_test(a_return_is_the_argument_that_both_write_to),
        cmocka_unit_test(types_of_torchscript_are_refused_by_name),
        cmocka_unit_test(errors_name_the_column_and_what_was_expected),
        cmocka_unit_test(two_arguments_may_share_a_name),
        cmocka_unit_test(a_keyword_argument_needs_no_default_behind_one),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(the_text_need_not_end_in_zero),
        cmocka_unit_test(printing_into_a_small_buffer_counts_as_snprintf_does),
        cmocka_unit_test(every_known_operator_prints_as_it_is_written),
        cmocka_unit_test(freeing_nothing_gives_nothing),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
