// SPDX-License-Identifier: Apache-2.0
/* Defaults: the value that binding hands out, and the text that PyTorch prints for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/schema.h>
#include <math.h>

static kr_schema *parse(const char *argument)
{
    char text[8192];
    snprintf(text, sizeof text, "a::b(%s) -> Tensor", argument);
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    if (kr_schema_parse(text, strlen(text), &schema, &err))
        fail_msg("%s: %s", text, err.text);
    assert_true(schema->args[0].has_default);
    return schema;
}

static void prints(const char *argument, const char *expected)
{
    kr_schema *schema = parse(argument);
    assert_string_equal(schema->args[0].default_text, expected);
    kr_schema_free(schema);
}

static void refuses(const char *argument, const char *expected)
{
    char text[4096];
    snprintf(text, sizeof text, "a::b(%s) -> Tensor", argument);
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    if (kr_schema_parse(text, strlen(text), &schema, &err) == 0)
        fail_msg("%s is accepted", text);
    assert_int_equal(err.code, KR_CODE_SCHEMA);
    assert_string_equal(err.text, expected);
}

static void numbers_print_as_pytorch_prints_them(void **state)
{
    (void) state;
    static const struct {
        const char *argument, *text;
    } cases[] = {
        { "int x=3", "3" },
        { "int x=- 5", "-5" },
        { "int x=007", "7" },
        { "int x=9223372036854775807", "9223372036854775807" },
        { "int x=-9223372036854775808", "-9223372036854775808" },
        { "SymInt x=-100", "-100" },
        { "float x=1", "1." },
        { "float x=1.0", "1." },
        { "float x=1.5", "1.5" },
        { "float x=1e-5", "1.0000000000000001e-05" },
        { "float x=1e-8", "1e-08" },
        { "float x=0.1", "0.10000000000000001" },
        { "float x=1e17", "100000000000000000." },
        { "float x=1e22", "1e+22" },
        { "float x=123456789.125", "123456789.125" },
        { "float x=.5", "0.5" },
        { "float x=5.", "5." },
        { "float x=1.5e+3", "1500." },
        { "float x=1E3", "1000." },
        { "float x=-2.5", "-2.5" },
        { "float? x=1", "1" },
        { "float? x=1.0", "1." },
        { "float? x=-0", "-0." },
        { "SymFloat x=2", "2." },
        { "Scalar x=1", "1" },
        { "Scalar x=1.0", "1." },
        { "Scalar x=0.3333333333333333", "0.33333333333333331" },
        { "Scalar x=True", "True" },
        { "Scalar? x=None", "None" },
        { "bool x=True", "True" },
        { "bool? x=False", "False" },
        { "SymBool x=False", "False" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        prints(cases[i].argument, cases[i].text);
}

static void a_negative_zero_keeps_its_sign(void **state)
{
    (void) state;
    kr_schema *schema = parse("float x=-0.0");
    assert_string_equal(schema->args[0].default_text, "-0.");
    assert_true(signbit(schema->args[0].default_value.as.real));
    kr_schema_free(schema);
}

static void a_float_reads_back_as_the_same_float(void **state)
{
    (void) state;
    static const double values[] = { 1e-320,
                                     4.9e-324,
                                     1.7976931348623157e308,
                                     0x1p63,
                                     -0x1p63,
                                     0x1p-1022,
                                     3.141592653589793,
                                     1e15 + 0.5,
                                     9007199254740993.0 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char argument[400];
        snprintf(argument, sizeof argument, "float x=%.17g", values[i]);
        kr_schema *schema = parse(argument);
        assert_true(schema->args[0].default_value.as.real == values[i]);
        snprintf(argument, sizeof argument, "float x=%s", schema->args[0].default_text);
        kr_schema *again = parse(argument);
        assert_true(again->args[0].default_value.as.real == values[i]);
        kr_schema_free(again);
        kr_schema_free(schema);
    }
}

static void words_stand_for_numbers(void **state)
{
    (void) state;
    static const struct {
        const char *argument;
        int64_t value;
    } cases[] = {
        { "int x=Mean", 1 },
        { "SymInt x=Sum", 2 },
        { "ScalarType x=float", 6 },
        { "ScalarType? x=long", 4 },
        { "ScalarType x=double", 7 },
        { "ScalarType x=11", 11 },
        { "Layout x=strided", 0 },
        { "MemoryFormat x=contiguous_format", 0 },
        { "MemoryFormat? x=preserve_format", 1 },
        { "MemoryFormat x=channels_last", 2 },
        { "MemoryFormat x=channels_last_3d", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kr_schema *schema = parse(cases[i].argument);
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long) cases[i].value);
        assert_int_equal(schema->args[0].default_value.tag, KR_TAG_INT);
        assert_int_equal(schema->args[0].default_value.as.integer, cases[i].value);
        assert_string_equal(schema->args[0].default_text, text);
        kr_schema_free(schema);
    }
    prints("Device x=cpu", "cpu");
    prints("Device x='cpu'", "cpu");
    prints("Device? x=None", "None");
}

static void values_have_the_tag_of_their_type(void **state)
{
    (void) state;
    static const struct {
        const char *argument;
        uint32_t tag, count;
    } cases[] = {
        { "int x=1", KR_TAG_INT, 0 },
        { "float x=1", KR_TAG_DOUBLE, 0 },
        { "float? x=1", KR_TAG_DOUBLE, 0 },
        { "Scalar x=1", KR_TAG_INT, 0 },
        { "Scalar x=1.", KR_TAG_DOUBLE, 0 },
        { "Scalar x=False", KR_TAG_BOOL, 0 },
        { "bool x=True", KR_TAG_BOOL, 0 },
        { "str x=\"abc\"", KR_TAG_STRING, 3 },
        { "Tensor? x=None", KR_TAG_NONE, 0 },
        { "int[1]? x=None", KR_TAG_NONE, 0 },
        { "int[2] x=0", KR_TAG_INTS, 2 },
        { "int[1]? x=1", KR_TAG_INTS, 1 },
        { "int[] x=[]", KR_TAG_INTS, 0 },
        { "SymInt[] x=[1, 2, 3]", KR_TAG_INTS, 3 },
        { "float[] x=[1, 2.5]", KR_TAG_DOUBLES, 2 },
        { "bool[3] x=True", KR_TAG_BOOLS, 3 },
        { "Scalar[] x=[1, 2., True]", KR_TAG_SCALARS, 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kr_schema *schema = parse(cases[i].argument);
        const kr_bound_value *value = &schema->args[0].default_value;
        assert_int_equal(value->tag, cases[i].tag);
        assert_int_equal(value->count, cases[i].count);
        if (cases[i].tag >= KR_TAG_BOOLS)
            assert_non_null(value->as.integers);
        kr_schema_free(schema);
    }
}

static void lists_hold_their_items(void **state)
{
    (void) state;
    kr_schema *schema = parse("int[] x=[-2, 7]");
    assert_int_equal(schema->args[0].default_value.as.integers[0], -2);
    assert_int_equal(schema->args[0].default_value.as.integers[1], 7);
    kr_schema_free(schema);
    schema = parse("float[2] x=1");
    assert_true(schema->args[0].default_value.as.reals[0] == 1.0);
    assert_true(schema->args[0].default_value.as.reals[1] == 1.0);
    kr_schema_free(schema);
    schema = parse("bool[] x=[True, False]");
    assert_true(schema->args[0].default_value.as.booleans[0]);
    assert_false(schema->args[0].default_value.as.booleans[1]);
    kr_schema_free(schema);
    schema = parse("Scalar[] x=[3, 2.5, True]");
    const kr_bound_value *items = schema->args[0].default_value.as.scalars;
    assert_int_equal(items[0].tag, KR_TAG_INT);
    assert_int_equal(items[0].as.integer, 3);
    assert_int_equal(items[1].tag, KR_TAG_DOUBLE);
    assert_true(items[1].as.real == 2.5);
    assert_int_equal(items[2].tag, KR_TAG_BOOL);
    assert_true(items[2].as.boolean);
    kr_schema_free(schema);
}

/* PyTorch writes int[2]=1 but SymInt[2]=[1, 1]; its int[]=1 for [1, 1] could not be read again. */
static void lists_print_as_pytorch_prints_them(void **state)
{
    (void) state;
    static const struct {
        const char *argument, *text;
    } cases[] = {
        { "int[2] x=0", "0" },
        { "int[2] x=[0, 0]", "0" },
        { "int[2] x=[1,2]", "[1, 2]" },
        { "int[2] x=[1]", "[1]" },
        { "int[2] x=[]", "[]" },
        { "int[1] x=1", "[1]" },
        { "int[2] x=[1, 1, 1]", "[1, 1, 1]" },
        { "int[] x=[1, 1]", "[1, 1]" },
        { "SymInt[2] x=1", "[1, 1]" },
        { "int[1]? x=1", "1" },
        { "int[2]? x=[3, 3]", "[3, 3]" },
        { "float[2] x=1", "[1., 1.]" },
        { "bool[3] x=True", "[True, True, True]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        prints(cases[i].argument, cases[i].text);
}

static void strings_are_read_with_their_escapes(void **state)
{
    (void) state;
    static const struct {
        const char *argument, *value, *text;
    } cases[] = {
        { "str x=\"\"", "", "\"\"" },
        { "str x='abc'", "abc", "\"abc\"" },
        { "str x=' \\n\\t\\f\\v'", " \n\t\f\v", "\" \\n\\t\\f\\v\"" },
        { "str x='\"\\'\\\\'", "\"'\\", "\"\\\"\\'\\\\\"" },
        { "str x=\"\\001\\177\\101\"", "\001\177A", "\"\\001\\177A\"" },
        { "str x=\"a\\\nb\"", "a\nb", "\"a\\nb\"" },
        { "str x=\"é\"", "é", "\"\\303\\251\"" },
        { "str? x='f(x) -> y, *'", "f(x) -> y, *", "\"f(x) -> y, *\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kr_schema *schema = parse(cases[i].argument);
        const kr_bound_value *value = &schema->args[0].default_value;
        assert_string_equal(value->as.string, cases[i].value);
        assert_int_equal(value->count, strlen(cases[i].value));
        assert_string_equal(schema->args[0].default_text, cases[i].text);
        kr_schema_free(schema);
    }
}

static void what_is_no_default_is_refused(void **state)
{
    (void) state;
    static const struct {
        const char *argument, *error;
    } cases[] = {
        { "int x=1.5", "column 12: expected an integer but found '1.5'" },
        { "int x=+5", "column 12: expected an integer but found '+'" },
        { "int x=True", "column 12: expected an integer but found 'True'" },
        { "int x=None", "column 12: None is no default of a type without '?'" },
        { "int x=9223372036854775808", "column 12: 9223372036854775808 does not fit into 64 bits" },
        { "int x=", "column 12: expected an integer but found ')'" },
        { "int x=Sam", "column 12: expected an integer but found 'Sam'" },
        { "float x=inf", "column 14: expected a number but found 'inf'" },
        { "float x=1e999", "column 14: 1e999 is too large for a float" },
        { "float x=-1e999", "column 15: -1e999 is too large for a float" },
        { "float x=True", "column 14: expected a number but found 'True'" },
        { "bool x=1", "column 13: expected True or False but found '1'" },
        { "Scalar x='a'", "column 15: expected a number but found ''a''" },
        { "str x=5", "column 12: expected a string but found '5'" },
        { "str x=None", "column 12: None is no default of a type without '?'" },
        { "str x='\\q'", "column 12: the string has an escape that is none" },
        { "str x='\\12'", "column 12: the string has an escape that is none" },
        { "str x='\\777'", "column 12: the string has an escape that is none" },
        { "str x='\\000'", "column 12: the string has a character 0" },
        { "Layout x=sparse", "column 15: expected an integer but found 'sparse'" },
        { "ScalarType x=complex64", "column 19: expected an integer but found 'complex64'" },
        { "Device x='cuda'", "column 15: expected the device cpu but found ''cuda''" },
        { "Device x=0", "column 15: expected a string but found '0'" },
        { "Tensor x=1", "column 15: expected None, the only default of Tensor, but found '1'" },
        { "Generator? x=1",
          "column 19: expected None, the only default of Generator, but found '1'" },
        { "complex x=1", "column 16: expected None, the only default of complex, but found '1'" },
        { "int[] x=0", "column 14: expected '[' but found '0'" },
        { "int[] x=[1,]", "column 17: expected an integer but found ']'" },
        { "int[] x=[1 2]", "column 17: expected ']' but found '2'" },
        { "int[] x=[1.5]", "column 15: expected an integer but found '1.5'" },
        { "int[][] x=[]", "column 16: expected no default for this type but found '['" },
        { "str[] x=[]", "column 14: expected no default for this type but found '['" },
        { "Tensor[] x=[]", "column 17: expected no default for this type but found '['" },
        { "Tensor?[]? x=[]", "column 19: expected None but found '['" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(cases[i].argument, cases[i].error);
}

/* A byte in may be four bytes out: the limit is on what the string holds. */
static void a_string_that_grows_when_printed_is_read_again(void **state)
{
    (void) state;
    char argument[8192] = "str x='";
    memset(argument + 7, 0xd5, 1024);
    argument[7 + 1024] = '\'';
    kr_schema *schema = parse(argument);
    assert_int_equal(strlen(schema->args[0].default_text), 4 * 1024 + 2);
    snprintf(argument, sizeof argument, "str x=%s", schema->args[0].default_text);
    kr_schema *again = parse(argument);
    assert_true(kr_schema_equal(schema, again, NULL));
    kr_schema_free(again);
    kr_schema_free(schema);
}

static void sizes_of_defaults_are_limited(void **state)
{
    (void) state;
    char argument[3000];
    snprintf(argument, sizeof argument, "int x=%080d", 0);
    refuses(argument, "column 12: the number is too long");
    snprintf(argument, sizeof argument, "str x='%01025d'", 0);
    refuses(argument, "column 12: the string is longer than 1024 bytes");
    snprintf(argument, sizeof argument, "str x='%01024d'", 0);
    kr_schema *schema = parse(argument);
    assert_int_equal(schema->args[0].default_value.count, 1024);
    kr_schema_free(schema);
    size_t length = (size_t) snprintf(argument, sizeof argument, "int[] x=[0");
    for (size_t i = 0; i < 1024; i++)
        length += (size_t) snprintf(argument + length, sizeof argument - length, ",0");
    snprintf(argument + length, sizeof argument - length, "]");
    refuses(argument, "column 2063: the list is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_print_as_pytorch_prints_them),
        cmocka_unit_test(a_negative_zero_keeps_its_sign),
        cmocka_unit_test(a_float_reads_back_as_the_same_float),
        cmocka_unit_test(words_stand_for_numbers),
        cmocka_unit_test(values_have_the_tag_of_their_type),
        cmocka_unit_test(lists_hold_their_items),
        cmocka_unit_test(lists_print_as_pytorch_prints_them),
        cmocka_unit_test(strings_are_read_with_their_escapes),
        cmocka_unit_test(what_is_no_default_is_refused),
        cmocka_unit_test(a_string_that_grows_when_printed_is_read_again),
        cmocka_unit_test(sizes_of_defaults_are_limited),
    };
    return cmocka_run_group_tests_name("schema_default", tests, NULL, NULL);
}
