// SPDX-License-Identifier: Apache-2.0
/* Names of element types. The sizes come from kernel.h; the names are those of all dtypes that c10
 * has, so that an error can name what kernrig does not take. */
#include <ctype.h>
#include <kernrig/dtype.h>
#include <stdio.h>

static const struct dtype {
    const char *name, *torch_name;
} dtypes[] = {
    [0] = { "uint8", "Byte" },
    [1] = { "int8", "Char" },
    [2] = { "int16", "Short" },
    [3] = { "int32", "Int" },
    [4] = { "int64", "Long" },
    [5] = { "float16", "Half" },
    [6] = { "float32", "Float" },
    [7] = { "float64", "Double" },
    [8] = { "complex32", "ComplexHalf" },
    [9] = { "complex64", "ComplexFloat" },
    [10] = { "complex128", "ComplexDouble" },
    [11] = { "bool", "Bool" },
    [12] = { "qint8", "QInt8" },
    [13] = { "quint8", "QUInt8" },
    [14] = { "qint32", "QInt32" },
    [15] = { "bfloat16", "BFloat16" },
    [16] = { "quint4x2", "QUInt4x2" },
    [17] = { "quint2x4", "QUInt2x4" },
    [18] = { "bits1x8", "Bits1x8" },
    [19] = { "bits2x4", "Bits2x4" },
    [20] = { "bits4x2", "Bits4x2" },
    [21] = { "bits8", "Bits8" },
    [22] = { "bits16", "Bits16" },
    [23] = { "float8_e5m2", "Float8_e5m2" },
    [24] = { "float8_e4m3fn", "Float8_e4m3fn" },
    [25] = { "float8_e5m2fnuz", "Float8_e5m2fnuz" },
    [26] = { "float8_e4m3fnuz", "Float8_e4m3fnuz" },
    [27] = { "uint16", "UInt16" },
    [28] = { "uint32", "UInt32" },
    [29] = { "uint64", "UInt64" },
    [30] = { "uint1", "UInt1" },
    [31] = { "uint2", "UInt2" },
    [32] = { "uint3", "UInt3" },
    [33] = { "uint4", "UInt4" },
    [34] = { "uint5", "UInt5" },
    [35] = { "uint6", "UInt6" },
    [36] = { "uint7", "UInt7" },
    [37] = { "int1", "Int1" },
    [38] = { "int2", "Int2" },
    [39] = { "int3", "Int3" },
    [40] = { "int4", "Int4" },
    [41] = { "int5", "Int5" },
    [42] = { "int6", "Int6" },
    [43] = { "int7", "Int7" },
    [44] = { "float8_e8m0fnu", "Float8_e8m0fnu" },
    [45] = { "float4_e2m1fn_x2", "Float4_e2m1fn_x2" },
    [46] = { "bcomplex32", "BComplex32" },
};

enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

/* Further spellings: the suffixes of Rust and of compilers. */
static const struct alias {
    const char *text;
    kr_dtype dtype;
} aliases[] = {
    { "u8", KR_UINT8 },     { "i8", KR_INT8 },     { "i16", KR_INT16 },    { "i32", KR_INT32 },
    { "i64", KR_INT64 },    { "f16", KR_FLOAT16 }, { "fp16", KR_FLOAT16 }, { "f32", KR_FLOAT32 },
    { "fp32", KR_FLOAT32 }, { "f64", KR_FLOAT64 }, { "fp64", KR_FLOAT64 }, { "bf16", KR_BFLOAT16 },
};

size_t kr_dtype_size(int dtype)
{
    switch (dtype) {
#define SIZE_OF(name, number, type) \
    case number: return sizeof(type);
        KR_FOR_DTYPES(SIZE_OF)
#undef SIZE_OF
    default: return 0;
    }
}

const char *kr_dtype_name(int dtype)
{
    return dtype >= 0 && dtype < N_DTYPES ? dtypes[dtype].name : NULL;
}

const char *kr_dtype_torch_name(int dtype)
{
    return dtype >= 0 && dtype < N_DTYPES ? dtypes[dtype].torch_name : NULL;
}

static bool is(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* PyTorch's short names are c10's in small letters: torch.float is Float, 32 bits. */
static bool is_small(const char *name, const char *text, size_t length)
{
    if (strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char) name[i]) != text[i])
            return false;
    return true;
}

int kr_dtype_parse(const char *text, size_t length)
{
    static const char prefix[] = "torch.";
    if (length > sizeof prefix - 1 && memcmp(text, prefix, sizeof prefix - 1) == 0) {
        text += sizeof prefix - 1;
        length -= sizeof prefix - 1;
    }
    for (int dtype = 0; dtype < N_DTYPES; dtype++) {
        const struct dtype *d = &dtypes[dtype];
        if (kr_dtype_size(dtype) && (is(d->name, text, length) || is(d->torch_name, text, length) ||
                                     is_small(d->torch_name, text, length)))
            return dtype;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is(aliases[i].text, text, length))
            return (int) aliases[i].dtype;
    return -1;
}

const char *kr_dtype_set_text(uint64_t set, char *text, size_t size)
{
    if (size == 0)
        return text;
    text[0] = 0;
    if (set == 0)
        snprintf(text, size, "any");
    size_t length = 0;
    for (int dtype = 0; dtype < 64 && length < size; dtype++) {
        if (!(set & KR_SET(dtype)))
            continue;
        char number[8];
        snprintf(number, sizeof number, "%d", dtype);
        const char *name = kr_dtype_name(dtype);
        int written = snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                               name ? name : number);
        length += written < 0 ? 0 : (size_t) written;
    }
    return text;
}
