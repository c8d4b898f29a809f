// SPDX-License-Identifier: Apache-2.0
/* Conversions of single values: a table of every kind against every type, and the values that
 * come out. What is accepted is what torch.ops of PyTorch 2.15 accepts, as probed, but for the
 * differences that bind_convert.c names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/bind.h>
#include <math.h>

static const kr_tensor_ref tensor = { .buffer = 9, .dtype = KR_INT8, .dim = 3 };

static const kr_given none = { .kind = KR_KIND_NONE };
static const kr_given yes = { .kind = KR_KIND_BOOL, .as.boolean = true };
static const kr_given three = { .kind = KR_KIND_INT, .as.integer = 3 };
static const kr_given half = { .kind = KR_KIND_FLOAT, .as.real = 0.5 };
static const kr_given text = { .kind = KR_KIND_STRING, .count = 4, .as.string = "text" };
static const kr_given dtype = { .kind = KR_KIND_DTYPE, .as.integer = 6 };
static const kr_given layout = { .kind = KR_KIND_LAYOUT, .as.integer = 0 };
static const kr_given format = { .kind = KR_KIND_MEMORY_FORMAT, .as.integer = 2 };
static const kr_given device = { .kind = KR_KIND_DEVICE, .count = 3, .as.string = "cpu" };
static const kr_given one_tensor = { .kind = KR_KIND_TENSOR, .as.tensor = &tensor };
static const kr_given empty = { .kind = KR_KIND_LIST };
static const kr_given of_ints = { .kind = KR_KIND_LIST,
                                  .count = 2,
                                  .as.items = (const kr_given[]){
                                      { .kind = KR_KIND_INT, .as.integer = 3 },
                                      { .kind = KR_KIND_BOOL, .as.boolean = true } } };
static const kr_given of_floats = { .kind = KR_KIND_LIST,
                                    .count = 2,
                                    .as.items = (const kr_given[]){
                                        { .kind = KR_KIND_FLOAT, .as.real = 0.5 },
                                        { .kind = KR_KIND_INT, .as.integer = 3 } } };
static const kr_given of_bools = { .kind = KR_KIND_LIST,
                                   .count = 1,
                                   .as.items = (const kr_given[]){
                                       { .kind = KR_KIND_BOOL, .as.boolean = true } } };
static const kr_given of_tensors = { .kind = KR_KIND_LIST,
                                     .count = 1,
                                     .as.items = (const kr_given[]){
                                         { .kind = KR_KIND_TENSOR, .as.tensor = &tensor } } };
static const kr_given of_none = { .kind = KR_KIND_LIST,
                                  .count = 1,
                                  .as.items = (const kr_given[]){ { .kind = KR_KIND_NONE } } };

/* Bound values lie in an arena that the caller ends. */
struct result {
    int code;
    kr_error err;
    kr_bound bound;
    kr_schema *schema;
    kr_arena arena;
};

static void convert(const char *type, const kr_given *value, bool numbers, struct result *ret)
{
    char schema[256];
    *ret = (struct result){ 0 };
    snprintf(schema, sizeof schema, "a::b(%s x) -> Tensor", type);
    if (kr_schema_parse(schema, strlen(schema), &ret->schema, &ret->err))
        fail_msg("%s: %s", schema, ret->err.text);
    kr_arena_init(&ret->arena, 1 << 16);
    const kr_argument argument = { NULL, *value };
    const kr_bind_options options = { .numbers_as_tensors = numbers };
    ret->code = kr_bind(ret->schema, &options, &argument, 1, &ret->arena, &ret->bound, &ret->err);
}

static void done(struct result *result)
{
    kr_arena_done(&result->arena);
    kr_schema_free(result->schema);
}

static void refuses(const char *type, const kr_given *value, int code, const char *expected)
{
    struct result result;
    convert(type, value, false, &result);
    char whole[KR_ERROR_TEXT];
    snprintf(whole, sizeof whole, "a::b() argument 'x' (position 0) %s", expected);
    assert_string_equal(result.err.text, whole);
    assert_int_equal(result.code, code);
    done(&result);
}

/* Columns: None bool int float str dtype layout format device Tensor [] [int,bool] [float,int]
 * [bool] [Tensor] [None]. A letter is the first of the tag's name, '.' a refusal for the type. */
static const kr_given *const columns[] = { &none,      &yes,        &three,      &half,
                                           &text,      &dtype,      &layout,     &format,
                                           &device,    &one_tensor, &empty,      &of_ints,
                                           &of_floats, &of_bools,   &of_tensors, &of_none };

enum { N_COLUMNS = sizeof columns / sizeof(const kr_given *) };

static const struct {
    const char *type, *accepted;
} rows[] = {
    { "int", ".II............." },          { "int?", "NII............." },
    { "SymInt", ".II............." },       { "float", ".DDD............" },
    { "float?", "NDDD............" },       { "SymFloat", ".DDD............" },
    { "bool", ".B.............." },         { "bool?", "NB.............." },
    { "SymBool", ".B.............." },      { "Scalar", ".BID............" },
    { "Scalar?", "NBID............" },      { "str", "....S..........." },
    { "str?", "N...S..........." },         { "ScalarType", "..I.vI.........." },
    { "ScalarType?", "N.I.vI.........." },  { "Layout", "..I.v.I........." },
    { "MemoryFormat", "..I.v..I........" }, { "Device", "....d...I......." },
    { "Device?", "N...d...I......." },      { "Generator?", "N..............." },
    { "Generator", "................" },    { "Tensor", ".........T......" },
    { "Tensor?", "N........T......" },      { "Tensor(a!)", ".........T......" },
    { "Tensor[]", "..........L...L." },     { "Tensor[2]", "..........L...L." },
    { "Tensor[]?", "N.........L...L." },    { "Tensor?[]", "..........O...OO" },
    { "Tensor?[]?", "N.........O...OO" },   { "int[]", "..........II.I.." },
    { "int[2]", ".II.......II.I.." },       { "int[1]?", "NII.......II.I.." },
    { "SymInt[]?", "N.........II.I.." },    { "SymInt[2]", ".II.......II.I.." },
    { "float[]", "..........DDDD.." },      { "float[2]", ".DDD......DDDD.." },
    { "float[]?", "N.........DDDD.." },     { "bool[]", "..........B..B.." },
    { "bool[3]", "..........B..B.." },      { "Scalar[]", "..........SSSS.." },
    { "Scalar[2]", "..........SSSS.." },    { "str[]", "................" },
    { "str[]?", "N..............." },       { "int?[]", "................" },
    { "Tensor[][]", "................" },   { "complex", "................" },
    { "complex?", "N..............." },     { "Dimname", "................" },
    { "Storage", "................" },      { "Stream", "................" },
    { "QScheme", "................" },
};

static char letter(uint32_t tag)
{
    switch (tag) {
    case KR_TAG_NONE: return 'N';
    case KR_TAG_TENSOR: return 'T';
    case KR_TAG_TENSORS: return 'L';
    case KR_TAG_OPTIONAL_TENSORS: return 'O';
    case KR_TAG_INT:
    case KR_TAG_INTS: return 'I';
    case KR_TAG_DOUBLE:
    case KR_TAG_DOUBLES: return 'D';
    case KR_TAG_BOOL:
    case KR_TAG_BOOLS: return 'B';
    default: return 'S';
    }
}

static void every_kind_meets_every_type(void **state)
{
    (void) state;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char found[N_COLUMNS + 1] = "";
        for (size_t column = 0; column < N_COLUMNS; column++) {
            struct result result;
            convert(rows[row].type, columns[column], false, &result);
            found[column] = result.code == 0                ? letter(result.bound.values[0].tag)
                            : result.code == KR_CODE_TYPE   ? '.'
                            : result.code == KR_CODE_VALUE  ? 'v'
                            : result.code == KR_CODE_DEVICE ? 'd'
                                                            : '!';
            assert_int_equal(result.err.code, result.code);
            done(&result);
        }
        if (strcmp(found, rows[row].accepted) != 0)
            fail_msg("%s: %s, not %s", rows[row].type, found, rows[row].accepted);
    }
}

static void numbers_keep_their_value(void **state)
{
    (void) state;
    struct result result;
    convert("int", &yes, false, &result);
    assert_int_equal(result.bound.values[0].as.integer, 1);
    done(&result);
    convert("float", &three, false, &result);
    assert_true(result.bound.values[0].as.real == 3.0);
    done(&result);
    convert("Scalar", &half, false, &result);
    assert_true(result.bound.values[0].as.real == 0.5);
    done(&result);
    convert("Scalar", &yes, false, &result);
    assert_true(result.bound.values[0].as.boolean);
    done(&result);
    const kr_given extremes[] = { { .kind = KR_KIND_INT, .as.integer = INT64_MIN },
                                  { .kind = KR_KIND_INT, .as.integer = INT64_MAX } };
    for (int i = 0; i < 2; i++) {
        convert("int", &extremes[i], false, &result);
        assert_true(result.bound.values[0].as.integer == extremes[i].as.integer);
        done(&result);
        convert("float", &extremes[i], false, &result);
        assert_true(result.bound.values[0].as.real == (double) extremes[i].as.integer);
        done(&result);
    }
    const kr_given not_a_number = { .kind = KR_KIND_FLOAT, .as.real = NAN };
    convert("float", &not_a_number, false, &result);
    assert_true(isnan(result.bound.values[0].as.real));
    done(&result);
}

static void lists_keep_their_items(void **state)
{
    (void) state;
    struct result result;
    convert("int[2]", &of_ints, false, &result);
    assert_int_equal(result.bound.values[0].count, 2);
    assert_int_equal(result.bound.values[0].as.integers[0], 3);
    assert_int_equal(result.bound.values[0].as.integers[1], 1);
    done(&result);
    convert("float[]", &of_floats, false, &result);
    assert_true(result.bound.values[0].as.reals[0] == 0.5);
    assert_true(result.bound.values[0].as.reals[1] == 3.0);
    done(&result);
    convert("Scalar[]", &of_floats, false, &result);
    assert_int_equal(result.bound.values[0].as.scalars[0].tag, KR_TAG_DOUBLE);
    assert_int_equal(result.bound.values[0].as.scalars[1].tag, KR_TAG_INT);
    assert_int_equal(result.bound.values[0].as.scalars[1].as.integer, 3);
    done(&result);
    convert("bool[]", &of_bools, false, &result);
    assert_true(result.bound.values[0].as.booleans[0]);
    done(&result);
    convert("int[]", &empty, false, &result);
    assert_int_equal(result.bound.values[0].count, 0);
    assert_non_null(result.bound.values[0].as.integers);
    done(&result);
}

static void one_number_stands_for_all_items_of_a_sized_list(void **state)
{
    (void) state;
    struct result result;
    convert("int[3]", &three, false, &result);
    assert_int_equal(result.bound.values[0].count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(result.bound.values[0].as.integers[i], 3);
    done(&result);
    convert("int[1]?", &yes, false, &result);
    assert_int_equal(result.bound.values[0].count, 1);
    assert_int_equal(result.bound.values[0].as.integers[0], 1);
    done(&result);
    convert("float[2]", &half, false, &result);
    assert_int_equal(result.bound.values[0].count, 2);
    assert_true(result.bound.values[0].as.reals[1] == 0.5);
    done(&result);
}

/* torch.ops lets max_pool2d's kernel_size have three items, and the kernel complains. */
static void a_sized_list_may_have_any_number_of_items(void **state)
{
    (void) state;
    struct result result;
    convert("int[1]", &of_ints, false, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.bound.values[0].count, 2);
    done(&result);
    convert("int[3]", &empty, false, &result);
    assert_int_equal(result.code, 0);
    assert_int_equal(result.bound.values[0].count, 0);
    done(&result);
}

static void enums_come_by_name_and_by_number(void **state)
{
    (void) state;
    static const struct {
        const char *type, *name;
        int64_t number;
    } cases[] = {
        { "ScalarType", "float32", 6 },
        { "ScalarType?", "torch.bfloat16", 15 },
        { "ScalarType", "Half", 5 },
        { "ScalarType", "complex64", 9 },
        { "ScalarType", "torch.uint16", 27 },
        { "Layout", "strided", 0 },
        { "Layout?", "torch.sparse_coo", 1 },
        { "MemoryFormat", "contiguous_format", 0 },
        { "MemoryFormat?", "torch.preserve_format", 1 },
        { "MemoryFormat", "channels_last_3d", 3 },
        { "Device", "cpu", 0 },
        { "Device", "cpu:0", 0 },
        { "Device?", "cpu:12", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kr_given given = { .kind = KR_KIND_STRING,
                                 .count = (uint32_t) strlen(cases[i].name),
                                 .as.string = cases[i].name };
        struct result result;
        convert(cases[i].type, &given, false, &result);
        assert_int_equal(result.code, 0);
        assert_int_equal(result.bound.values[0].tag, KR_TAG_INT);
        assert_int_equal(result.bound.values[0].as.integer, cases[i].number);
        done(&result);
    }
    struct result result;
    convert("MemoryFormat", &format, false, &result);
    assert_int_equal(result.bound.values[0].as.integer, 2);
    done(&result);
}

static void numbers_and_names_of_no_enum_are_values_out_of_range(void **state)
{
    (void) state;
    static const struct {
        const char *type;
        kr_given given;
        const char *error;
    } cases[] = {
        { "ScalarType",
          { .kind = KR_KIND_INT, .as.integer = 47 },
          "is 47, which is the number of no dtype" },
        { "ScalarType",
          { .kind = KR_KIND_DTYPE, .as.integer = -1 },
          "is -1, which is the number of no dtype" },
        { "ScalarType",
          { .kind = KR_KIND_INT, .as.integer = INT64_C(1) << 32 },
          "is 4294967296, which is the number of no dtype" },
        { "ScalarType",
          { .kind = KR_KIND_STRING, .as.string = "float33" },
          "is 'float33', which is no dtype" },
        { "Layout",
          { .kind = KR_KIND_INT, .as.integer = 8 },
          "is 8, which is the number of no layout" },
        { "Layout",
          { .kind = KR_KIND_STRING, .as.string = "dense" },
          "is 'dense', which is no layout" },
        { "MemoryFormat",
          { .kind = KR_KIND_MEMORY_FORMAT, .as.integer = 4 },
          "is 4, which is the number of no memory format" },
        { "MemoryFormat",
          { .kind = KR_KIND_STRING, .as.string = "torch." },
          "is 'torch.', which is no memory format" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(cases[i].type, &cases[i].given, KR_CODE_VALUE, cases[i].error);
}

static void other_devices_are_refused_as_such(void **state)
{
    (void) state;
    static const char *const names[] = { "cuda",  "cuda:0", "cpux", "cpu:",
                                         "cpu:x", "cpu:0x", "",     "CPU" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const kr_given given = { .kind = KR_KIND_DEVICE, .as.string = names[i] };
        char expected[128];
        snprintf(expected, sizeof expected, "is '%s', but kernels run on the CPU only", names[i]);
        refuses("Device", &given, KR_CODE_DEVICE, expected);
    }
}

static void refusals_name_both_types(void **state)
{
    (void) state;
    refuses("Tensor(a!)", &text, KR_CODE_TYPE, "must be Tensor, not str");
    refuses("int[1]?", &text, KR_CODE_TYPE, "must be int[1]?, not str");
    refuses("int", &half, KR_CODE_TYPE, "must be int, not float");
    refuses("int", &one_tensor, KR_CODE_TYPE, "must be int, not Tensor");
    refuses("int", &dtype, KR_CODE_TYPE, "must be int, not torch.dtype");
    refuses("int", &layout, KR_CODE_TYPE, "must be int, not torch.layout");
    refuses("int", &format, KR_CODE_TYPE, "must be int, not torch.memory_format");
    refuses("int", &device, KR_CODE_TYPE, "must be int, not torch.device");
    refuses("bool", &three, KR_CODE_TYPE, "must be bool, not int");
    refuses("Tensor", &none, KR_CODE_TYPE, "must be Tensor, not NoneType");
    refuses("Tensor", &of_tensors, KR_CODE_TYPE, "must be Tensor, not list");
    refuses("Scalar", &text, KR_CODE_TYPE, "must be Scalar, not str");
    refuses("ScalarType", &yes, KR_CODE_TYPE, "must be ScalarType, not bool");
    refuses("int[]", &of_floats, KR_CODE_TYPE,
            "must be int[], but found element of type float at pos 0");
    refuses("bool[]", &of_ints, KR_CODE_TYPE,
            "must be bool[], but found element of type int at pos 0");
    refuses("float[]", &of_none, KR_CODE_TYPE,
            "must be float[], but found element of type NoneType at pos 0");
    refuses("Scalar[]", &of_tensors, KR_CODE_TYPE,
            "must be Scalar[], but found element of type Tensor at pos 0");
    refuses("Tensor[]", &of_none, KR_CODE_TYPE,
            "must be Tensor[], but found element of type NoneType at pos 0");
    refuses("Tensor?[]", &of_bools, KR_CODE_TYPE,
            "must be Tensor?[], but found element of type bool at pos 0");
    refuses("Generator?", &three, KR_CODE_TYPE, "must be None, not int: kernels get no generators");
    refuses("str[]", &empty, KR_CODE_TYPE, "is of type str[], which no kernel can be given");
    refuses("complex", &half, KR_CODE_TYPE, "is of type complex, which no kernel can be given");
}

static void a_kind_that_does_not_exist_is_refused(void **state)
{
    (void) state;
    const kr_given strange = { .kind = (kr_kind) 77 };
    refuses("int", &strange, KR_CODE_TYPE, "must be int, not unknown kind");
    refuses("Scalar?", &strange, KR_CODE_TYPE, "must be Scalar?, not unknown kind");
    refuses("Tensor[]", &strange, KR_CODE_TYPE, "must be Tensor[], not unknown kind");
}

/* Numbers as tensors. */

static void a_number_is_wrapped_where_the_operator_allows_it(void **state)
{
    (void) state;
    static const struct {
        const kr_given *given;
        uint8_t dtype;
    } cases[] = { { &yes, KR_BOOL }, { &three, KR_INT64 }, { &half, KR_FLOAT64 } };
    for (size_t i = 0; i < 3; i++) {
        for (int optional = 0; optional < 2; optional++) {
            struct result result;
            convert(optional ? "Tensor?" : "Tensor", cases[i].given, true, &result);
            assert_int_equal(result.code, 0);
            assert_int_equal(result.bound.n_tensors, 1);
            const kr_tensor_ref *ref = &result.bound.tensors[0].ref;
            assert_true(ref->wrapped);
            assert_int_equal(ref->buffer, 0);
            assert_int_equal(ref->dim, 0);
            assert_int_equal(ref->dtype, cases[i].dtype);
            assert_int_equal(result.bound.values[0].tag, KR_TAG_TENSOR);
            done(&result);
        }
    }
    struct result result;
    convert("Tensor", &three, true, &result);
    assert_int_equal(result.bound.tensors[0].ref.number.integer, 3);
    done(&result);
    convert("Tensor", &half, true, &result);
    assert_true(result.bound.tensors[0].ref.number.real == 0.5);
    done(&result);
    convert("Tensor", &yes, true, &result);
    assert_true(result.bound.tensors[0].ref.number.boolean);
    done(&result);
}

static void a_number_is_not_wrapped_anywhere_else(void **state)
{
    (void) state;
    static const struct {
        const char *type;
        const kr_given *given;
        bool numbers;
    } cases[] = {
        { "Tensor", &three, false },    { "Tensor(a!)", &three, true },
        { "Tensor[]", &of_ints, true }, { "Tensor?[]", &of_ints, true },
        { "Tensor", &text, true },      { "Tensor", &none, true },
        { "Tensor", &of_ints, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result result;
        convert(cases[i].type, cases[i].given, cases[i].numbers, &result);
        assert_int_equal(result.code, KR_CODE_TYPE);
        done(&result);
    }
}

static void without_options_no_number_is_a_tensor(void **state)
{
    (void) state;
    kr_schema *schema = NULL;
    static const char plain[] = "a::b(Tensor x) -> Tensor";
    assert_int_equal(kr_schema_parse(plain, sizeof plain - 1, &schema, NULL), 0);
    kr_arena arena;
    kr_arena_init(&arena, 4096);
    const kr_argument argument = { NULL, three };
    kr_bound bound;
    assert_int_equal(kr_bind(schema, NULL, &argument, 1, &arena, &bound, NULL), KR_CODE_TYPE);
    kr_arena_done(&arena);
    kr_schema_free(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_meets_every_type),
        cmocka_unit_test(numbers_keep_their_value),
        cmocka_unit_test(lists_keep_their_items),
        cmocka_unit_test(one_number_stands_for_all_items_of_a_sized_list),
        cmocka_unit_test(a_sized_list_may_have_any_number_of_items),
        cmocka_unit_test(enums_come_by_name_and_by_number),
        cmocka_unit_test(numbers_and_names_of_no_enum_are_values_out_of_range),
        cmocka_unit_test(other_devices_are_refused_as_such),
        cmocka_unit_test(refusals_name_both_types),
        cmocka_unit_test(a_kind_that_does_not_exist_is_refused),
        cmocka_unit_test(a_number_is_wrapped_where_the_operator_allows_it),
        cmocka_unit_test(a_number_is_not_wrapped_anywhere_else),
        cmocka_unit_test(without_options_no_number_is_a_tensor),
    };
    return cmocka_run_group_tests_name("bind_convert", tests, NULL, NULL);
}
