// SPDX-License-Identifier: Apache-2.0
/* Which schemas are the same, and what is said of those that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/schema.h>

static kr_schema *parse(const char *text)
{
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    if (kr_schema_parse(text, strlen(text), &schema, &err))
        fail_msg("%s: %s", text, err.text);
    return schema;
}

/* Compared both ways round; why is what is said of a against b, NULL for nothing. */
static void compare(const char *a, const char *b, const char *why)
{
    kr_schema *left = parse(a), *right = parse(b);
    kr_error err = { 0 };
    assert_int_equal(kr_schema_equal(left, right, &err), why == NULL);
    assert_string_equal(err.text, why ? why : "");
    assert_int_equal(err.code, why ? KR_CODE_SCHEMA : 0);
    assert_int_equal(kr_schema_equal(right, left, NULL), why == NULL);
    assert_true(kr_schema_equal(left, left, NULL));
    kr_schema_free(left);
    kr_schema_free(right);
}

static void how_a_thing_is_written_does_not_count(void **state)
{
    (void) state;
    static const char *const pairs[][2] = {
        { "a::b(int[2] x=0) -> Tensor", "a::b( int [2] x = [0,0] )->Tensor" },
        { "a::b(float? x=1) -> Tensor", "a::b(float? x=1.0) -> Tensor" },
        { "a::b(Tensor(a|b) x) -> Tensor(b|a)", "a::b(Tensor(b|a) x) -> Tensor(a|b)" },
        { "a::b(Tensor(a! -> a|b) x) -> ()", "a::b(Tensor(a! -> b|a) x) -> ()" },
        { "a::b(Tensor x) -> Tensor", "a::b(Tensor x) -> (Tensor)" },
        { "a::b(ScalarType x=float) -> ()", "a::b(ScalarType x=6) -> ()" },
        { "a::b(str x='q') -> ()", "a::b(str x=\"\\161\") -> ()" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        compare(pairs[i][0], pairs[i][1], NULL);
}

static void every_difference_is_found_and_named(void **state)
{
    (void) state;
    static const struct {
        const char *a, *b, *why;
    } cases[] = {
        { "a::b(int x) -> ()", "a::c(int x) -> ()", "one is named a::b, the other a::c" },
        { "a::b(int x) -> ()", "a::b.d(int x) -> ()", "one is named a::b, the other a::b.d" },
        { "a::b(int x) -> ()", "a::b(int x, int y) -> ()",
          "one has 1 arguments and 0 returns, the other 2 and 0" },
        { "a::b(int x) -> ()", "a::b(int x) -> int",
          "one has 1 arguments and 0 returns, the other 1 and 1" },
        { "a::b(int x) -> ()", "a::b(int y) -> ()",
          "argument 0 is named x in one and y in the other" },
        { "a::b(int x) -> ()", "a::b(float x) -> ()",
          "argument 'x' is int in one and float in the other" },
        { "a::b(int x) -> ()", "a::b(SymInt x) -> ()",
          "argument 'x' is int in one and SymInt in the other" },
        { "a::b(int[] x) -> ()", "a::b(int[2] x) -> ()",
          "argument 'x' is int[] in one and int[2] in the other" },
        { "a::b(int[]? x) -> ()", "a::b(int?[] x) -> ()",
          "argument 'x' is int[]? in one and int?[] in the other" },
        { "a::b(Tensor x) -> ()", "a::b(Tensor? x) -> ()",
          "argument 'x' is Tensor in one and Tensor? in the other" },
        { "a::b(Tensor x) -> ()", "a::b(Tensor(a) x) -> ()",
          "argument 'x' is Tensor in one and Tensor(a) in the other" },
        { "a::b(Tensor(a) x) -> ()", "a::b(Tensor(a!) x) -> ()",
          "argument 'x' is Tensor(a) in one and Tensor(a!) in the other" },
        { "a::b(Tensor(a) x) -> ()", "a::b(Tensor(b) x) -> ()",
          "argument 'x' is Tensor(a) in one and Tensor(b) in the other" },
        { "a::b(Tensor(a|b) x) -> ()", "a::b(Tensor(a|bc) x) -> ()",
          "argument 'x' is Tensor(a|b) in one and Tensor(a|bc) in the other" },
        { "a::b(Tensor(a -> *) x) -> ()", "a::b(Tensor(a) x) -> ()",
          "argument 'x' is Tensor(a -> *) in one and Tensor(a) in the other" },
        { "a::b(Tensor(a)[] x) -> ()", "a::b(Tensor[](a) x) -> ()",
          "argument 'x' is Tensor(a)[] in one and Tensor[](a) in the other" },
        { "a::b(int x) -> ()", "a::b(*, int x) -> ()",
          "argument 'x' is keyword-only in one of them" },
        { "a::b(int x) -> ()", "a::b(int x=1) -> ()", "argument 'x' has a default in one of them" },
        { "a::b(int x=2) -> ()", "a::b(int x=1) -> ()",
          "the default of argument 'x' is 2 in one and 1 in the other" },
        { "a::b(Scalar x=1) -> ()", "a::b(Scalar x=1.) -> ()",
          "the default of argument 'x' is 1 in one and 1. in the other" },
        { "a::b(Scalar x=1) -> ()", "a::b(Scalar x=True) -> ()",
          "the default of argument 'x' is 1 in one and True in the other" },
        { "a::b(float x=0.) -> ()", "a::b(float x=-0.) -> ()",
          "the default of argument 'x' is 0. in one and -0. in the other" },
        { "a::b(bool x=True) -> ()", "a::b(bool x=False) -> ()",
          "the default of argument 'x' is True in one and False in the other" },
        { "a::b(str x='q') -> ()", "a::b(str x='r') -> ()",
          "the default of argument 'x' is \"q\" in one and \"r\" in the other" },
        { "a::b(int[] x=[1]) -> ()", "a::b(int[] x=[1, 2]) -> ()",
          "the default of argument 'x' is [1] in one and [1, 2] in the other" },
        { "a::b(int[] x=[1, 3]) -> ()", "a::b(int[] x=[1, 2]) -> ()",
          "the default of argument 'x' is [1, 3] in one and [1, 2] in the other" },
        { "a::b(float[] x=[0.]) -> ()", "a::b(float[] x=[-0.]) -> ()",
          "the default of argument 'x' is [0.] in one and [-0.] in the other" },
        { "a::b(bool[] x=[True]) -> ()", "a::b(bool[] x=[False]) -> ()",
          "the default of argument 'x' is [True] in one and [False] in the other" },
        { "a::b(Scalar[] x=[1]) -> ()", "a::b(Scalar[] x=[1.]) -> ()",
          "the default of argument 'x' is [1] in one and [1.] in the other" },
        { "a::b(int? x=None) -> ()", "a::b(int? x=0) -> ()",
          "the default of argument 'x' is None in one and 0 in the other" },
        { "a::b() -> int", "a::b() -> float", "return 0 is int in one and float in the other" },
        { "a::b() -> (int, int x)", "a::b() -> (int, int y)", "return 1 has another name" },
        { "a::b() -> (int, int x)", "a::b() -> (int, int)", "return 1 has another name" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        compare(cases[i].a, cases[i].b, cases[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_a_thing_is_written_does_not_count),
        cmocka_unit_test(every_difference_is_found_and_named),
    };
    return cmocka_run_group_tests_name("schema_equal", tests, NULL, NULL);
}
