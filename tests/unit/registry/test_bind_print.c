// SPDX-License-Identifier: Apache-2.0
/* Bound arguments as people read them in errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/bind.h>

static const kr_tensor_ref matrix = { .dtype = KR_FLOAT32, .dim = 2, .sizes = { 2, 3 } };
static const kr_tensor_ref scalar = { .dtype = KR_BFLOAT16 };

/* Binds the arguments and prints them into a buffer of a size. */
static size_t print(const char *schema_text, const kr_given *given, uint32_t n, char *text,
                    size_t size)
{
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    assert_int_equal(kr_schema_parse(schema_text, strlen(schema_text), &schema, &err), 0);
    kr_argument arguments[16];
    for (uint32_t i = 0; i < n; i++)
        arguments[i] = (kr_argument){ .name = schema->args[i].name, .value = given[i] };
    kr_arena arena;
    kr_arena_init(&arena, 1 << 16);
    kr_bound bound;
    const kr_bind_options options = { .numbers_as_tensors = true };
    if (kr_bind(schema, &options, arguments, n, &arena, &bound, &err))
        fail_msg("%s", err.text);
    const size_t length = kr_bound_print(&bound, text, size);
    kr_arena_done(&arena);
    kr_schema_free(schema);
    return length;
}

static void prints(const char *schema, const kr_given *given, uint32_t n, const char *wanted)
{
    char text[1024];
    const size_t length = print(schema, given, n, text, sizeof text);
    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
}

static void tensors_and_defaults(void **state)
{
    (void) state;
    const kr_given given[] = { { .kind = KR_KIND_TENSOR, .as.tensor = &matrix },
                               { .kind = KR_KIND_TENSOR, .as.tensor = &scalar } };
    prints("t::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", given, 2,
           "self=float32[2, 3], other=bfloat16[], alpha=1");
}

static void wrapped_numbers_are_numbers(void **state)
{
    (void) state;
    static const char schema[] = "t::f(Tensor a, Tensor b, Tensor c) -> Tensor";
    const kr_given given[] = { { .kind = KR_KIND_INT, .as.integer = -2 },
                               { .kind = KR_KIND_FLOAT, .as.real = 2 },
                               { .kind = KR_KIND_BOOL, .as.boolean = true } };
    prints(schema, given, 3, "a=-2, b=2.0, c=True");
}

static void single_values(void **state)
{
    (void) state;
    static const char schema[] =
        "t::f(int a, float b, bool c, str d, ScalarType e, Tensor? f, int? g) -> Tensor";
    const kr_given given[] = { { .kind = KR_KIND_INT, .as.integer = INT64_MIN },
                               { .kind = KR_KIND_FLOAT, .as.real = 1e-9 },
                               { .kind = KR_KIND_BOOL, .as.boolean = false },
                               { .kind = KR_KIND_STRING, .count = 4, .as.string = "none" },
                               { .kind = KR_KIND_DTYPE, .as.integer = KR_FLOAT16 },
                               { .kind = KR_KIND_NONE },
                               { .kind = KR_KIND_NONE } };
    prints(schema, given, 7,
           "a=-9223372036854775808, b=1e-09, c=False, d='none', e=float16, f=None, g=None");
}

static void numbers_that_are_not_finite(void **state)
{
    (void) state;
    const kr_given given[] = { { .kind = KR_KIND_FLOAT, .as.real = __builtin_inf() },
                               { .kind = KR_KIND_FLOAT, .as.real = -__builtin_inf() },
                               { .kind = KR_KIND_FLOAT, .as.real = 3e20 } };
    prints("t::f(float a, float b, float c) -> Tensor", given, 3, "a=inf, b=-inf, c=3e+20");
}

static void lists(void **state)
{
    (void) state;
    const kr_given ints[] = { { .kind = KR_KIND_INT, .as.integer = 1 },
                              { .kind = KR_KIND_INT, .as.integer = 2 } };
    const kr_given reals[] = { { .kind = KR_KIND_FLOAT, .as.real = 0.5 } };
    const kr_given booleans[] = { { .kind = KR_KIND_BOOL, .as.boolean = true } };
    const kr_given scalars[] = { { .kind = KR_KIND_INT, .as.integer = 1 },
                                 { .kind = KR_KIND_FLOAT, .as.real = 2 } };
    const kr_given tensors[] = { { .kind = KR_KIND_TENSOR, .as.tensor = &matrix },
                                 { .kind = KR_KIND_NONE } };
    const kr_given given[] = { { .kind = KR_KIND_LIST, .count = 2, .as.items = ints },
                               { .kind = KR_KIND_LIST, .count = 1, .as.items = reals },
                               { .kind = KR_KIND_LIST, .count = 1, .as.items = booleans },
                               { .kind = KR_KIND_LIST, .count = 2, .as.items = scalars },
                               { .kind = KR_KIND_LIST, .count = 2, .as.items = tensors },
                               { .kind = KR_KIND_LIST, .count = 1, .as.items = tensors },
                               { .kind = KR_KIND_LIST } };
    prints("t::f(int[] a, float[] b, bool[] c, Scalar[] d, Tensor?[] e, Tensor[] f, int[] g) -> ()",
           given, 7,
           "a=[1, 2], b=[0.5], c=[True], d=[1, 2.0], e=[float32[2, 3], None], f=[float32[2, 3]], "
           "g=[]");
}

static void long_lists_and_strings_are_cut(void **state)
{
    (void) state;
    kr_given items[100];
    for (int64_t i = 0; i < 100; i++)
        items[i] = (kr_given){ .kind = KR_KIND_INT, .as.integer = i };
    char letters[101] = { 0 };
    memset(letters, 'x', 100);
    const kr_given given[] = { { .kind = KR_KIND_LIST, .count = 100, .as.items = items },
                               { .kind = KR_KIND_STRING, .count = 100, .as.string = letters } };
    prints("t::f(int[] a, str b) -> ()", given, 2,
           "a=[0, 1, 2, 3, 4, 5, 6, 7, … of 100], b='xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'");
}

static void a_buffer_that_is_too_small(void **state)
{
    (void) state;
    const kr_given given[] = { { .kind = KR_KIND_TENSOR, .as.tensor = &matrix } };
    char text[8];
    assert_int_equal(print("t::f(Tensor self) -> ()", given, 1, text, sizeof text), 18);
    assert_string_equal(text, "self=fl");
    assert_int_equal(print("t::f(Tensor self) -> ()", given, 1, NULL, 0), 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_and_defaults),
        cmocka_unit_test(wrapped_numbers_are_numbers),
        cmocka_unit_test(single_values),
        cmocka_unit_test(numbers_that_are_not_finite),
        cmocka_unit_test(lists),
        cmocka_unit_test(long_lists_and_strings_are_cut),
        cmocka_unit_test(a_buffer_that_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
