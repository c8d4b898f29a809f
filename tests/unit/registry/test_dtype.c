// SPDX-License-Identifier: Apache-2.0
/* Names, spellings and sizes of element types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/dtype.h>

static const struct {
    int dtype;
    size_t size;
    const char *name, *torch_name;
} ours[] = {
    { KR_UINT8, 1, "uint8", "Byte" },      { KR_INT8, 1, "int8", "Char" },
    { KR_INT16, 2, "int16", "Short" },     { KR_INT32, 4, "int32", "Int" },
    { KR_INT64, 8, "int64", "Long" },      { KR_FLOAT16, 2, "float16", "Half" },
    { KR_FLOAT32, 4, "float32", "Float" }, { KR_FLOAT64, 8, "float64", "Double" },
    { KR_BOOL, 1, "bool", "Bool" },        { KR_BFLOAT16, 2, "bfloat16", "BFloat16" },
};
enum { N_OURS = sizeof ours / sizeof *ours };

static int parse(const char *text) { return kr_dtype_parse(text, strlen(text)); }

static void our_dtypes_have_sizes_and_both_names(void **state)
{
    (void) state;
    for (size_t i = 0; i < N_OURS; i++) {
        assert_int_equal(kr_dtype_size(ours[i].dtype), ours[i].size);
        assert_string_equal(kr_dtype_name(ours[i].dtype), ours[i].name);
        assert_string_equal(kr_dtype_torch_name(ours[i].dtype), ours[i].torch_name);
    }
}

static void what_kernrig_does_not_take_has_a_name_and_no_size(void **state)
{
    (void) state;
    assert_string_equal(kr_dtype_name(9), "complex64");
    assert_string_equal(kr_dtype_torch_name(9), "ComplexFloat");
    assert_string_equal(kr_dtype_name(27), "uint16");
    assert_int_equal(kr_dtype_size(9), 0);
    assert_int_equal(kr_dtype_size(27), 0);
    assert_true(parse("complex64") < 0);
    assert_true(parse("uint16") < 0);
}

static void a_number_that_is_no_dtype_has_nothing(void **state)
{
    (void) state;
    static const int numbers[] = { -1, 47, 255, 1000, -1000 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(kr_dtype_size(numbers[i]), 0);
        assert_null(kr_dtype_name(numbers[i]));
        assert_null(kr_dtype_torch_name(numbers[i]));
    }
}

static void names_are_read_back(void **state)
{
    (void) state;
    for (size_t i = 0; i < N_OURS; i++) {
        char prefixed[64];
        snprintf(prefixed, sizeof prefixed, "torch.%s", ours[i].name);
        assert_int_equal(parse(ours[i].name), ours[i].dtype);
        assert_int_equal(parse(ours[i].torch_name), ours[i].dtype);
        assert_int_equal(parse(prefixed), ours[i].dtype);
    }
}

static void short_spellings_are_read(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        int dtype;
    } spellings[] = {
        { "f32", KR_FLOAT32 },
        { "fp16", KR_FLOAT16 },
        { "f16", KR_FLOAT16 },
        { "f64", KR_FLOAT64 },
        { "bf16", KR_BFLOAT16 },
        { "i8", KR_INT8 },
        { "u8", KR_UINT8 },
        { "torch.long", KR_INT64 },
        { "torch.float", KR_FLOAT32 },
        { "i64", KR_INT64 },
        { "half", KR_FLOAT16 },
        { "float", KR_FLOAT32 },
        { "int", KR_INT32 },
        { "torch.bfloat16", KR_BFLOAT16 },
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        assert_int_equal(parse(spellings[i].text), spellings[i].dtype);
}

static void other_texts_are_refused(void **state)
{
    (void) state;
    static const char *const texts[] = { "",         "torch.",  "float3",  "float322",
                                         " float32", "f",       "6",       "torch.torch.int8",
                                         "u16",      "np.int8", "FLOAT32", "F32",
                                         "BOOL",     "fLOAT" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(parse(texts[i]) < 0);
    assert_int_equal(kr_dtype_parse("int8 and more", 4), KR_INT8);
}

static void a_set_is_written_in_the_order_of_numbers(void **state)
{
    (void) state;
    char text[256];
    assert_string_equal(kr_dtype_set_text(KR_SET(KR_FLOAT32) | KR_SET(KR_INT64) | KR_SET(KR_BOOL),
                                          text, sizeof text),
                        "int64, float32, bool");
    assert_string_equal(kr_dtype_set_text(0, text, sizeof text), "any");
    assert_string_equal(kr_dtype_set_text(KR_SET(9) | KR_SET(60), text, sizeof text),
                        "complex64, 60");
}

static void a_set_that_does_not_fit_is_cut(void **state)
{
    (void) state;
    char text[12];
    for (size_t size = 1; size <= sizeof text; size++) {
        memset(text, 'x', sizeof text);
        kr_dtype_set_text(KR_ALL_TYPES, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, "uint8, int8, int16", size - 1);
    }
    text[0] = 'x';
    kr_dtype_set_text(KR_ALL_TYPES, text, 0);
    assert_int_equal(text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_dtypes_have_sizes_and_both_names),
        cmocka_unit_test(what_kernrig_does_not_take_has_a_name_and_no_size),
        cmocka_unit_test(a_number_that_is_no_dtype_has_nothing),
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(short_spellings_are_read),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_set_is_written_in_the_order_of_numbers),
        cmocka_unit_test(a_set_that_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
