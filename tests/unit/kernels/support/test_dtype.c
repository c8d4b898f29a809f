// SPDX-License-Identifier: Apache-2.0
/* Promotion and casts against tables that PyTorch 2.15 printed. */
#include "dtype.h"

#include "host.h"

enum { COUNT = 10 };

/* In the order of PyTorch's promotion, which all tables below follow. */
static const kr_dtype order[COUNT] = { KR_BOOL,  KR_UINT8,   KR_INT8,     KR_INT16,   KR_INT32,
                                       KR_INT64, KR_FLOAT16, KR_BFLOAT16, KR_FLOAT32, KR_FLOAT64 };
enum {
    BO = KR_BOOL,
    U8 = KR_UINT8,
    I8 = KR_INT8,
    I16 = KR_INT16,
    I32 = KR_INT32,
    I64 = KR_INT64,
    F16 = KR_FLOAT16,
    B16 = KR_BFLOAT16,
    F32 = KR_FLOAT32,
    F64 = KR_FLOAT64,
};

static void promote_agrees_with_torch_promote_types(void **state)
{
    (void) state;
    static const uint8_t table[COUNT][COUNT] = {
        { BO, U8, I8, I16, I32, I64, F16, B16, F32, F64 },
        { U8, U8, I16, I16, I32, I64, F16, B16, F32, F64 },
        { I8, I16, I8, I16, I32, I64, F16, B16, F32, F64 },
        { I16, I16, I16, I16, I32, I64, F16, B16, F32, F64 },
        { I32, I32, I32, I32, I32, I64, F16, B16, F32, F64 },
        { I64, I64, I64, I64, I64, I64, F16, B16, F32, F64 },
        { F16, F16, F16, F16, F16, F16, F16, F32, F32, F64 },
        { B16, B16, B16, B16, B16, B16, F32, B16, F32, F64 },
        { F32, F32, F32, F32, F32, F32, F32, F32, F32, F64 },
        { F64, F64, F64, F64, F64, F64, F64, F64, F64, F64 },
    };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++)
            assert_int_equal(dtype_promote(order[a], order[b]), table[a][b]);
}

static void can_cast_agrees_with_torch_can_cast(void **state)
{
    (void) state;
    static const char *const table[COUNT] = {
        "1111111111", "0111111111", "0111111111", "0111111111", "0111111111",
        "0111111111", "0000001111", "0000001111", "0000001111", "0000001111",
    };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++)
            assert_int_equal(dtype_can_cast(order[a], order[b]), table[a][b] == '1');
}

static kr_dtype result(kr_tensor a, kr_tensor b)
{
    const kr_dtype dtype = dtype_result(2, (const kr_tensor *const[]){ &a, &b });
    assert_int_equal(dtype_result(2, (const kr_tensor *const[]){ &b, &a }), dtype);
    return dtype;
}

static kr_tensor with_dim(kr_dtype dtype)
{
    return (kr_tensor){ .dtype = (uint8_t) dtype, .dim = 1, .sizes = { 2 }, .strides = { 1 } };
}

static kr_tensor without_dims(kr_dtype dtype) { return (kr_tensor){ .dtype = (uint8_t) dtype }; }

static kr_tensor number(kr_dtype dtype)
{
    return (kr_tensor){ .dtype = (uint8_t) dtype, .flags = KR_TENSOR_WRAPPED_NUMBER };
}

static void a_tensor_without_dims_counts_only_if_its_category_is_higher(void **state)
{
    (void) state;
    static const uint8_t table[COUNT][COUNT] = {
        { BO, U8, I8, I16, I32, I64, F16, B16, F32, F64 },
        { U8, U8, U8, U8, U8, U8, F16, B16, F32, F64 },
        { I8, I8, I8, I8, I8, I8, F16, B16, F32, F64 },
        { I16, I16, I16, I16, I16, I16, F16, B16, F32, F64 },
        { I32, I32, I32, I32, I32, I32, F16, B16, F32, F64 },
        { I64, I64, I64, I64, I64, I64, F16, B16, F32, F64 },
        { F16, F16, F16, F16, F16, F16, F16, F16, F16, F16 },
        { B16, B16, B16, B16, B16, B16, B16, B16, B16, B16 },
        { F32, F32, F32, F32, F32, F32, F32, F32, F32, F32 },
        { F64, F64, F64, F64, F64, F64, F64, F64, F64, F64 },
    };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++)
            assert_int_equal(result(with_dim(order[a]), without_dims(order[b])), table[a][b]);
}

static void tensors_of_one_rank_promote_as_their_dtypes(void **state)
{
    (void) state;
    for (int a = 0; a < COUNT; a++) {
        for (int b = 0; b < COUNT; b++) {
            const kr_dtype promoted = dtype_promote(order[a], order[b]);
            assert_int_equal(result(with_dim(order[a]), with_dim(order[b])), promoted);
            assert_int_equal(result(without_dims(order[a]), without_dims(order[b])), promoted);
        }
    }
}

static void a_python_number_ranks_below_every_tensor(void **state)
{
    (void) state;
    static const uint8_t table[COUNT][3] = {
        /* with True, 1, 1.0 */
        { BO, I64, F32 },  { U8, U8, F32 },   { I8, I8, F32 },   { I16, I16, F32 },
        { I32, I32, F32 }, { I64, I64, F32 }, { F16, F16, F16 }, { B16, B16, B16 },
        { F32, F32, F32 }, { F64, F64, F64 },
    };
    static const kr_dtype numbers[3] = { KR_BOOL, KR_INT64, KR_FLOAT64 };
    for (int a = 0; a < COUNT; a++) {
        for (int b = 0; b < 3; b++) {
            assert_int_equal(result(with_dim(order[a]), number(numbers[b])), table[a][b]);
            assert_int_equal(result(without_dims(order[a]), number(numbers[b])), table[a][b]);
        }
    }
}

static void the_three_levels_count_together(void **state)
{
    (void) state;
    const kr_tensor dims = with_dim(KR_INT16), none = without_dims(KR_INT64);
    const kr_tensor half = without_dims(KR_FLOAT16), python = number(KR_FLOAT64);
    assert_int_equal(dtype_result(3, (const kr_tensor *const[]){ &python, &none, &dims }),
                     KR_FLOAT32);
    assert_int_equal(dtype_result(3, (const kr_tensor *const[]){ &python, &half, &dims }),
                     KR_FLOAT16);
    assert_int_equal(dtype_result(1, (const kr_tensor *const[]){ &python }), KR_FLOAT32);
}

static void arithmetic_is_done_in_three_types(void **state)
{
    (void) state;
    static const uint8_t compute[COUNT] = { I64, I64, I64, I64, I64, I64, F32, F32, F32, F64 };
    static const uint8_t accumulate[COUNT] = { I64, I64, I64, I64, I64, I64, F64, F64, F64, F64 };
    for (int a = 0; a < COUNT; a++) {
        assert_int_equal(dtype_compute(order[a]), compute[a]);
        assert_int_equal(dtype_accumulate(order[a]), accumulate[a]);
    }
}

static void a_dtype_knows_its_size_range_and_names(void **state)
{
    (void) state;
    assert_int_equal(dtype_size(KR_BOOL), 1);
    assert_int_equal(dtype_size(KR_BFLOAT16), 2);
    assert_int_equal(dtype_size(KR_FLOAT64), 8);
    assert_true(dtype_min(KR_UINT8) == 0 && dtype_max(KR_UINT8) == 255);
    assert_true(dtype_min(KR_INT64) == -0x1p63);
    assert_true(dtype_max(KR_FLOAT16) == 65504);
    assert_true(dtype_max(KR_BFLOAT16) == 0x1.FEp127);
    assert_true(dtype_max(KR_FLOAT32) == (double) 0x1.FFFFFEp127f);
    assert_string_equal(dtype_name(KR_UINT8), "Byte");
    assert_string_equal(dtype_name(KR_FLOAT16), "Half");
    assert_string_equal(dtype_c_name(KR_INT64), "long int");
    assert_string_equal(dtype_scalar_name(KR_INT8), "int8_t");
    assert_true(dtype_is_float(KR_BFLOAT16) && !dtype_is_float(KR_BOOL));
}

static void numbers_that_are_no_dtype_are_not_known(void **state)
{
    (void) state;
    for (int i = 0; i < COUNT; i++)
        assert_true(dtype_is_known(order[i]));
    static const int64_t others[] = { -1, 8, 9, 10, 12, 14, 16, 27, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(dtype_is_known(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promote_agrees_with_torch_promote_types),
        cmocka_unit_test(can_cast_agrees_with_torch_can_cast),
        cmocka_unit_test(a_tensor_without_dims_counts_only_if_its_category_is_higher),
        cmocka_unit_test(tensors_of_one_rank_promote_as_their_dtypes),
        cmocka_unit_test(a_python_number_ranks_below_every_tensor),
        cmocka_unit_test(the_three_levels_count_together),
        cmocka_unit_test(arithmetic_is_done_in_three_types),
        cmocka_unit_test(a_dtype_knows_its_size_range_and_names),
        cmocka_unit_test(numbers_that_are_no_dtype_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
