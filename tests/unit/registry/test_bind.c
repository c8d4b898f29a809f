// SPDX-License-Identifier: Apache-2.0
/* Binding: which value goes to which argument, what is said when that cannot be, and how many
 * bytes it may cost. Conversions of single values are test_bind_convert.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/bind.h>

static const char add_out[] =
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)";

static const kr_tensor_ref a_tensor = { .buffer = 1, .dtype = KR_FLOAT32, .dim = 1 };
static const kr_tensor_ref b_tensor = { .buffer = 2, .dtype = KR_FLOAT32, .dim = 1 };
static const kr_tensor_ref c_tensor = { .buffer = 3, .dtype = KR_FLOAT32, .dim = 1 };

#define TENSOR(which)                                 \
    {                                                 \
        .kind = KR_KIND_TENSOR, .as.tensor = &(which) \
    }
#define INT(value)                                 \
    {                                              \
        .kind = KR_KIND_INT, .as.integer = (value) \
    }
#define STRING(text)                                                           \
    {                                                                          \
        .kind = KR_KIND_STRING, .count = sizeof(text) - 1, .as.string = (text) \
    }

static kr_schema *parse(const char *text)
{
    kr_error err = { 0 };
    kr_schema *schema = NULL;
    if (kr_schema_parse(text, strlen(text), &schema, &err))
        fail_msg("%s: %s", text, err.text);
    return schema;
}

/* Binds and gives the whole to check, if it is not NULL; otherwise expects code and text. */
static void bind(const char *schema_text, const kr_argument *args, uint32_t n_args,
                 void (*check)(const kr_bound *bound), int code, const char *text)
{
    kr_schema *schema = parse(schema_text);
    kr_arena arena;
    kr_arena_init(&arena, 1 << 16);
    kr_error err = { 0 };
    kr_bound bound = { .n_values = 12345 };
    int result = kr_bind(schema, NULL, args, n_args, &arena, &bound, &err);
    assert_int_equal(result, code);
    assert_string_equal(err.text, text ? text : "");
    assert_int_equal(err.code, code);
    if (code)
        assert_int_equal(bound.n_values, 12345);
    else
        check(&bound);
    kr_arena_done(&arena);
    kr_schema_free(schema);
}

static void refuses(const char *schema, const kr_argument *args, uint32_t n_args, const char *text)
{
    bind(schema, args, n_args, NULL, KR_CODE_TYPE, text);
}

static void check_add(const kr_bound *bound)
{
    assert_string_equal(bound->schema->name, "aten::add.out");
    assert_int_equal(bound->n_values, 4);
    assert_int_equal(bound->n_tensors, 3);
    static const uint32_t argument[] = { 0, 1, 3 };
    for (uint32_t i = 0; i < 3; i++) {
        const kr_bound_value *value = &bound->values[argument[i]];
        assert_int_equal(value->tag, KR_TAG_TENSOR);
        assert_int_equal(value->as.tensor, i);
        assert_int_equal(bound->tensors[i].ref.buffer, i + 1);
        assert_int_equal(bound->tensors[i].argument, argument[i]);
        assert_int_equal(bound->tensors[i].item, 0);
        assert_int_equal(bound->tensors[i].is_output, i == 2);
    }
    assert_int_equal(bound->values[2].tag, KR_TAG_INT);
    assert_int_equal(bound->values[2].as.integer, 1);
}

static void positional_and_keyword_arguments_find_their_places(void **state)
{
    (void) state;
    const kr_argument mixed[] = { { NULL, TENSOR(a_tensor) },
                                  { NULL, TENSOR(b_tensor) },
                                  { "out", TENSOR(c_tensor) } };
    bind(add_out, mixed, 3, check_add, 0, NULL);
    const kr_argument shuffled[] = { { "out", TENSOR(c_tensor) },
                                     { NULL, TENSOR(a_tensor) },
                                     { "alpha", INT(1) },
                                     { "other", TENSOR(b_tensor) } };
    bind(add_out, shuffled, 4, check_add, 0, NULL);
}

static void an_argument_named_self_is_a_keyword_like_any(void **state)
{
    (void) state;
    const kr_argument args[] = { { "other", TENSOR(b_tensor) },
                                 { "out", TENSOR(c_tensor) },
                                 { "self", TENSOR(a_tensor) } };
    bind(add_out, args, 3, check_add, 0, NULL);
}

static void too_many_positional_arguments_are_counted(void **state)
{
    (void) state;
    const kr_argument args[4] = { { NULL, TENSOR(a_tensor) },
                                  { NULL, TENSOR(b_tensor) },
                                  { NULL, TENSOR(c_tensor) },
                                  { "out", TENSOR(c_tensor) } };
    refuses(add_out, args, 4, "aten::add.out() takes 2 positional arguments but 3 were given");
    refuses("aten::relu(Tensor self) -> Tensor", args, 2,
            "aten::relu() takes 1 positional argument but 2 were given");
    refuses("aten::x() -> Tensor", args, 1,
            "aten::x() takes 0 positional arguments but 1 was given");
    refuses("aten::x(*, Tensor self) -> Tensor", args, 1,
            "aten::x() takes 0 positional arguments but 1 was given");
    refuses("aten::x(Tensor self, int dim=0) -> Tensor", args, 3,
            "aten::x() takes from 1 to 2 positional arguments but 3 were given");
}

static void a_missing_argument_is_named(void **state)
{
    (void) state;
    const kr_argument args[] = { { NULL, TENSOR(a_tensor) }, { "out", TENSOR(c_tensor) } };
    refuses(add_out, args, 2, "aten::add.out() missing value for argument 'other'");
    refuses(add_out, args, 1, "aten::add.out() missing value for argument 'other'");
    refuses(add_out, NULL, 0, "aten::add.out() missing value for argument 'self'");
    /* That it could be None does not make it a default. */
    refuses("aten::x(Tensor self, Tensor? bias) -> Tensor", args, 1,
            "aten::x() missing value for argument 'bias'");
}

static void an_unknown_keyword_is_told_what_there_is(void **state)
{
    (void) state;
    const kr_argument args[] = { { NULL, TENSOR(a_tensor) }, { "foo", INT(1) } };
    refuses(
        add_out, args, 2,
        "aten::add.out() got an unexpected keyword argument 'foo'; it takes self, other, alpha, "
        "out");
    refuses("aten::x() -> Tensor", args + 1, 1,
            "aten::x() got an unexpected keyword argument 'foo'; it takes none");
    const kr_argument empty[] = { { "", INT(1) } };
    refuses(add_out, empty, 1,
            "aten::add.out() got an unexpected keyword argument ''; it takes self, other, alpha, "
            "out");
}

static void a_long_list_of_names_is_cut(void **state)
{
    (void) state;
    char schema[KR_SCHEMA_TEXT] = "aten::x(";
    for (int i = 0; i < 40; i++) {
        size_t length = strlen(schema);
        snprintf(schema + length, sizeof schema - length, "%sint a_rather_long_name_%d",
                 i ? ", " : "", i);
    }
    size_t length = strlen(schema);
    snprintf(schema + length, sizeof schema - length, ") -> Tensor");
    kr_schema *parsed = parse(schema);
    const kr_argument args[] = { { "foo", INT(1) } };
    kr_arena arena;
    kr_arena_init(&arena, 4096);
    kr_bound bound;
    kr_error err;
    assert_int_equal(kr_bind(parsed, NULL, args, 1, &arena, &bound, &err), KR_CODE_TYPE);
    assert_string_equal(err.text + strlen(err.text) - strlen("…"), "…");
    kr_arena_done(&arena);
    kr_schema_free(parsed);
}

static void two_values_for_one_argument_are_refused(void **state)
{
    (void) state;
    const kr_argument both[] = { { NULL, TENSOR(a_tensor) },
                                 { NULL, TENSOR(b_tensor) },
                                 { "self", TENSOR(c_tensor) } };
    refuses(add_out, both, 3, "aten::add.out() got multiple values for argument 'self'");
    const kr_argument twice[] = { { "out", TENSOR(a_tensor) }, { "out", TENSOR(b_tensor) } };
    refuses(add_out, twice, 2, "aten::add.out() got multiple values for argument 'out'");
}

/* A wrong name is worse than a wrong type. */
static void names_are_looked_at_before_types(void **state)
{
    (void) state;
    const kr_argument args[] = { { NULL, STRING("a") }, { "foo", INT(1) } };
    refuses(
        add_out, args, 2,
        "aten::add.out() got an unexpected keyword argument 'foo'; it takes self, other, alpha, "
        "out");
}

static void a_wrong_type_names_argument_and_position(void **state)
{
    (void) state;
    const kr_argument positional[] = { { NULL, TENSOR(a_tensor) },
                                       { NULL, STRING("b") },
                                       { "out", TENSOR(c_tensor) } };
    refuses(add_out, positional, 3,
            "aten::add.out() argument 'other' (position 1) must be Tensor, not str");
    const kr_argument keyword[] = { { NULL, TENSOR(a_tensor) },
                                    { "other", STRING("b") },
                                    { "out", TENSOR(c_tensor) } };
    refuses(add_out, keyword, 3, "aten::add.out() argument 'other' must be Tensor, not str");
}

static void check_defaults(const kr_bound *bound)
{
    assert_int_equal(bound->n_tensors, 1);
    assert_int_equal(bound->values[1].tag, KR_TAG_INTS);
    assert_int_equal(bound->values[1].count, 2);
    assert_int_equal(bound->values[1].as.integers[1], 7);
    assert_int_equal(bound->values[2].tag, KR_TAG_NONE);
    assert_int_equal(bound->values[3].tag, KR_TAG_DOUBLE);
    assert_true(bound->values[3].as.real == 1e-05);
    assert_int_equal(bound->values[4].tag, KR_TAG_STRING);
    assert_string_equal(bound->values[4].as.string, "none");
    assert_int_equal(bound->values[5].tag, KR_TAG_BOOL);
    assert_true(bound->values[5].as.boolean);
    assert_int_equal(bound->values[6].tag, KR_TAG_NONE);
}

static void what_is_not_given_has_its_default(void **state)
{
    (void) state;
    const kr_argument args[] = { { NULL, TENSOR(a_tensor) } };
    bind("aten::x(Tensor self, int[2] stride=7, Tensor? weight=None, float eps=1e-5, *, "
         "str approximate='none', bool keepdim=True, ScalarType? dtype=None) -> Tensor",
         args, 1, check_defaults, 0, NULL);
}

static void check_nothing(const kr_bound *bound)
{
    assert_int_equal(bound->n_values, 0);
    assert_int_equal(bound->n_tensors, 0);
    assert_non_null(bound->values);
    assert_non_null(bound->tensors);
}

static void an_operator_without_arguments_is_bound(void **state)
{
    (void) state;
    bind("aten::x() -> Tensor", NULL, 0, check_nothing, 0, NULL);
}

static void check_lists(const kr_bound *bound)
{
    assert_int_equal(bound->n_tensors, 5);
    static const uint32_t argument[] = { 0, 0, 1, 2, 2 }, item[] = { 0, 1, 1, 0, 1 };
    static const uint32_t buffer[] = { 1, 2, 3, 3, 1 };
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(bound->tensors[i].argument, argument[i]);
        assert_int_equal(bound->tensors[i].item, item[i]);
        assert_int_equal(bound->tensors[i].ref.buffer, buffer[i]);
        assert_int_equal(bound->tensors[i].is_output, argument[i] == 2);
    }
    assert_int_equal(bound->values[0].tag, KR_TAG_TENSORS);
    assert_int_equal(bound->values[1].tag, KR_TAG_OPTIONAL_TENSORS);
    assert_int_equal(bound->values[1].count, 2);
    assert_int_equal(bound->values[1].as.tensors[0], KR_NO_TENSOR);
    assert_int_equal(bound->values[1].as.tensors[1], 2);
    assert_int_equal(bound->values[2].tag, KR_TAG_TENSORS);
    assert_int_equal(bound->values[2].as.tensors[0], 3);
    assert_int_equal(bound->values[2].as.tensors[1], 4);
}

static void lists_of_tensors_are_in_and_out(void **state)
{
    (void) state;
    const kr_given in[] = { TENSOR(a_tensor), TENSOR(b_tensor) };
    const kr_given some[] = { { .kind = KR_KIND_NONE }, TENSOR(c_tensor) };
    const kr_given out[] = { TENSOR(c_tensor), TENSOR(a_tensor) };
    const kr_argument args[] = { { NULL, { KR_KIND_LIST, 2, { .items = in } } },
                                 { NULL, { KR_KIND_LIST, 2, { .items = some } } },
                                 { "out", { KR_KIND_LIST, 2, { .items = out } } } };
    bind("aten::x(Tensor[] a, Tensor?[] b, *, Tensor(a!)[] out) -> ()", args, 3, check_lists, 0,
         NULL);
    const kr_argument single[] = { args[0], args[1], { "out", TENSOR(a_tensor) } };
    refuses("aten::x(Tensor[] a, Tensor?[] b, *, Tensor(a!)[] out) -> ()", single, 3,
            "aten::x() argument 'out' must be Tensor[], not Tensor");
}

/* The one of two arguments of one name that a keyword can reach is the first. */
static void of_two_arguments_of_one_name_the_second_is_positional_only(void **state)
{
    (void) state;
    const kr_argument args[] = { { "x", INT(1) } };
    refuses("aten::y(int x, int x) -> Tensor", args, 1, "aten::y() missing value for argument 'x'");
}

static void a_full_arena_is_a_limit(void **state)
{
    (void) state;
    kr_schema *schema = parse("aten::x(int[] a, int[1000] b, Tensor[] c) -> Tensor");
    enum { MANY = 1000 };
    kr_given *ints = calloc(MANY, sizeof *ints), *tensors = calloc(MANY, sizeof *tensors);
    assert_non_null(ints);
    assert_non_null(tensors);
    for (int i = 0; i < MANY; i++) {
        ints[i] = (kr_given) INT(i);
        tensors[i] = (kr_given) TENSOR(a_tensor);
    }
    const kr_argument args[] = { { NULL, { KR_KIND_LIST, MANY, { .items = ints } } },
                                 { NULL, INT(5) },
                                 { NULL, { KR_KIND_LIST, MANY, { .items = tensors } } } };
    bool bound_once = false, refused_once = false;
    for (size_t limit = 0; limit < 1 << 20; limit += 4099) {
        kr_arena arena;
        kr_arena_init(&arena, limit);
        kr_bound bound;
        kr_error err = { 0 };
        int code = kr_bind(schema, NULL, args, 3, &arena, &bound, &err);
        assert_true(code == 0 || code == KR_CODE_LIMIT);
        assert_int_equal(err.code, code);
        assert_true(arena.used <= limit);
        assert_true(code != KR_CODE_LIMIT || !bound_once);
        bound_once |= code == 0;
        refused_once |= code != 0;
        kr_arena_done(&arena);
    }
    assert_true(bound_once && refused_once);
    free(ints);
    free(tensors);
    kr_schema_free(schema);
}

static void a_count_beyond_all_memory_is_a_limit(void **state)
{
    (void) state;
    const kr_argument tensors[] = { { NULL, { KR_KIND_LIST, UINT32_MAX, { .items = NULL } } } };
    bind("aten::cat(Tensor[] tensors) -> Tensor", tensors, 1, NULL, KR_CODE_LIMIT,
         "aten::cat() has arguments that exceed the call's memory");
    bind("aten::x(int[] sizes) -> Tensor", tensors, 1, NULL, KR_CODE_LIMIT,
         "aten::x() argument 'sizes' (position 0) is too large: the call exceeds its memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positional_and_keyword_arguments_find_their_places),
        cmocka_unit_test(an_argument_named_self_is_a_keyword_like_any),
        cmocka_unit_test(too_many_positional_arguments_are_counted),
        cmocka_unit_test(a_missing_argument_is_named),
        cmocka_unit_test(an_unknown_keyword_is_told_what_there_is),
        cmocka_unit_test(a_long_list_of_names_is_cut),
        cmocka_unit_test(two_values_for_one_argument_are_refused),
        cmocka_unit_test(names_are_looked_at_before_types),
        cmocka_unit_test(a_wrong_type_names_argument_and_position),
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(an_operator_without_arguments_is_bound),
        cmocka_unit_test(lists_of_tensors_are_in_and_out),
        cmocka_unit_test(of_two_arguments_of_one_name_the_second_is_positional_only),
        cmocka_unit_test(a_full_arena_is_a_limit),
        cmocka_unit_test(a_count_beyond_all_memory_is_a_limit),
    };
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
