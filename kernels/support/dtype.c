// SPDX-License-Identifier: Apache-2.0
/* The table of dtypes, and promotion as torch.result_type has it. */
#include "dtype.h"

/* Categories in ascending order, as promotion compares them; NO_DTYPE is below them all. */
enum category { NOTHING, BOOLEAN, INTEGER, FLOATING };
enum { NO_DTYPE = -1 };

typedef struct dtype_row {
    const char *name, *c_name, *scalar_name;
    double min, max;
    uint8_t size, category;
    uint8_t rank; /* a promotion takes the dtype of the higher rank, with two exceptions */
} dtype_row;

static const dtype_row table[] = {
    [KR_BOOL] = { "Bool", "bool", "bool", 0, 1, 1, BOOLEAN, 0 },
    [KR_UINT8] = { "Byte", "unsigned char", "uint8_t", 0, UINT8_MAX, 1, INTEGER, 1 },
    [KR_INT8] = { "Char", "signed char", "int8_t", INT8_MIN, INT8_MAX, 1, INTEGER, 2 },
    [KR_INT16] = { "Short", "short int", "int16_t", INT16_MIN, INT16_MAX, 2, INTEGER, 3 },
    [KR_INT32] = { "Int", "int", "int", INT32_MIN, INT32_MAX, 4, INTEGER, 4 },
    [KR_INT64] = { "Long", "long int", "int64_t", -0x1p63, 0x1p63, 8, INTEGER, 5 },
    [KR_FLOAT16] = { "Half", "c10::Half", "c10::Half", -65504, 65504, 2, FLOATING, 6 },
    [KR_BFLOAT16] = { "BFloat16", "c10::BFloat16", "c10::BFloat16", -0x1.FEp127, 0x1.FEp127, 2,
                      FLOATING, 7 },
    [KR_FLOAT32] = { "Float", "float", "float", -0x1.FFFFFEp127, 0x1.FFFFFEp127, 4, FLOATING, 8 },
    [KR_FLOAT64] = { "Double", "double", "double", -0x1.FFFFFFFFFFFFFp1023, 0x1.FFFFFFFFFFFFFp1023,
                     8, FLOATING, 9 },
};

bool dtype_is_known(int64_t dtype)
{
    return dtype >= 0 && dtype < (int64_t) (sizeof table / sizeof *table) && table[dtype].size > 0;
}

size_t dtype_size(kr_dtype dtype) { return table[dtype].size; }
const char *dtype_name(kr_dtype dtype) { return table[dtype].name; }
const char *dtype_c_name(kr_dtype dtype) { return table[dtype].c_name; }
const char *dtype_scalar_name(kr_dtype dtype) { return table[dtype].scalar_name; }
double dtype_min(kr_dtype dtype) { return table[dtype].min; }
double dtype_max(kr_dtype dtype) { return table[dtype].max; }

kr_dtype dtype_compute(kr_dtype dtype)
{
    return dtype == KR_FLOAT64 || !dtype_is_float(dtype) ? dtype_accumulate(dtype) : KR_FLOAT32;
}

kr_dtype dtype_accumulate(kr_dtype dtype) { return dtype_is_float(dtype) ? KR_FLOAT64 : KR_INT64; }

kr_dtype dtype_promote(kr_dtype a, kr_dtype b)
{
    const kr_dtype low = table[a].rank < table[b].rank ? a : b, high = low == a ? b : a;
    /* Neither of these pairs holds the other. */
    if (low == KR_UINT8 && high == KR_INT8)
        return KR_INT16;
    if (low == KR_FLOAT16 && high == KR_BFLOAT16)
        return KR_FLOAT32;
    return high;
}

static int category_of(int dtype) { return dtype == NO_DTYPE ? NOTHING : table[dtype].category; }

static int promote_known(int a, int b)
{
    if (a == NO_DTYPE)
        return b;
    return b == NO_DTYPE ? a : (int) dtype_promote((kr_dtype) a, (kr_dtype) b);
}

/* `lower` counts only where its category is higher. */
static int defer_to(int higher, int lower)
{
    return category_of(lower) > category_of(higher) ? promote_known(higher, lower) : higher;
}

kr_dtype dtype_result(uint32_t count, const kr_tensor *const *tensors)
{
    int with_dims = NO_DTYPE, without_dims = NO_DTYPE, numbers = NO_DTYPE;

    for (uint32_t i = 0; i < count; i++) {
        const kr_tensor *t = tensors[i];
        const bool number = t->flags & KR_TENSOR_WRAPPED_NUMBER;
        /* A Python float has no precision of its own: it stands for the default dtype. */
        const int dtype = number && table[t->dtype].category == FLOATING ? KR_FLOAT32 : t->dtype;
        int *level = t->dim > 0 ? &with_dims : number ? &numbers : &without_dims;
        *level = promote_known(*level, dtype);
    }
    return (kr_dtype) defer_to(with_dims, defer_to(without_dims, numbers));
}

bool dtype_can_cast(kr_dtype from, kr_dtype to) { return category_of(from) <= category_of(to); }
