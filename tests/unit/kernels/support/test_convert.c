// SPDX-License-Identifier: Apache-2.0
/* The sixty conversion loops: each dtype into each type of arithmetic and back. And, below them,
 * float16 and bfloat16 against their definition, which is computed here with ldexp: every 16-bit
 * pattern, and around each of them the numbers that decide how it is rounded. */
#include "elements.h"
#include "float16.h"
#include "host.h"

static const kr_dtype dtypes[] = { KR_UINT8, KR_INT8,    KR_INT16,   KR_INT32,   KR_INT64,
                                   KR_BOOL,  KR_FLOAT16, KR_FLOAT32, KR_FLOAT64, KR_BFLOAT16 };
static const kr_dtype types[] = { KR_FLOAT32, KR_FLOAT64, KR_INT64 };
enum { N_DTYPES = 10, N_TYPES = 3 };

static void small_integers_survive_every_pair_with_and_without_a_stride(void **state)
{
    host *h = *state;
    for (int d = 0; d < N_DTYPES; d++) {
        for (int t = 0; t < N_TYPES; t++) {
            for (int64_t stride = 1; stride <= 3; stride += 2) {
                const kr_tensor *from = host_ints(h, dtypes[d], SIZES(5), INTS(0, 1, 1, 0, 1));
                const kr_tensor *spread = stride == 1 ? from : host_spread(h, from, stride);
                kr_tensor *widened = host_tensor(h, types[t], SIZES(5));
                load_elements(dtypes[d], spread->data, stride, 5, types[t], widened->data);
                host_has_reals(widened, REALS(0, 1, 1, 0, 1));
                const kr_tensor *back = host_spread(h, host_tensor(h, dtypes[d], SIZES(5)), stride);
                store_elements(dtypes[d], back->data, stride, 5, types[t], widened->data);
                host_has_reals(back, REALS(0, 1, 1, 0, 1));
                host_forget(h);
            }
        }
    }
}

static void stride_0_repeats_an_element(void **state)
{
    host *h = *state;
    for (int t = 0; t < N_TYPES; t++) {
        const kr_tensor *from = host_ints(h, KR_INT16, SIZES(1), INTS(-7));
        const kr_tensor *to = host_tensor(h, types[t], SIZES(4));
        load_elements(KR_INT16, from->data, 0, 4, types[t], to->data);
        host_has_reals(to, REALS(-7, -7, -7, -7));
        load_elements(KR_INT16, from->data, 0, 0, types[t], to->data);
    }
}

static void stored(host *h, kr_dtype dtype, double value, int64_t wanted)
{
    const float single = (float) value;
    const kr_tensor *to = host_tensor(h, dtype, SIZES(1));
    store_elements(dtype, to->data, 1, 1, KR_FLOAT64, &value);
    assert_int_equal(host_int(to, 0), wanted);
    store_elements(dtype, to->data, 1, 1, KR_FLOAT32, &single);
    assert_int_equal(host_int(to, 0), wanted);
}

static void floats_are_cut_towards_zero(void **state)
{
    host *h = *state;
    stored(h, KR_INT32, 2.75, 2);
    stored(h, KR_INT8, -2.75, -2);
    stored(h, KR_UINT8, -1.5, 255);
    stored(h, KR_INT64, -0.0, 0);
    stored(h, KR_INT32, -2147483648.0, INT32_MIN);
}

static void floats_that_do_not_fit_give_the_least_integer_of_32_or_64_bits(void **state)
{
    host *h = *state;
    stored(h, KR_INT64, 1e20, INT64_MIN);
    stored(h, KR_INT64, NAN, INT64_MIN);
    stored(h, KR_INT32, 1e10, INT32_MIN);
    stored(h, KR_INT32, -INFINITY, INT32_MIN);
    stored(h, KR_INT16, 1e10, 0);
    stored(h, KR_INT8, NAN, 0);
    stored(h, KR_INT8, 300, 44);
}

static void anything_but_zero_is_true(void **state)
{
    host *h = *state;
    stored(h, KR_BOOL, 0.25, 1);
    stored(h, KR_BOOL, NAN, 1);
    stored(h, KR_BOOL, -0.0, 0);
    const int64_t low_byte_is_zero = 256;
    const kr_tensor *to = host_tensor(h, KR_BOOL, SIZES(1));
    store_elements(KR_BOOL, to->data, 1, 1, KR_INT64, &low_byte_is_zero);
    assert_int_equal(host_int(to, 0), 1);
    /* A byte that is neither 0 nor 1 is true when it is read, too. */
    const uint8_t byte = 2;
    int64_t widened = 0;
    load_elements(KR_BOOL, &byte, 1, 1, KR_INT64, &widened);
    assert_int_equal(widened, 1);
}

static void int64_does_not_pass_through_double(void **state)
{
    host *h = *state;
    const int64_t value = INT64_C(9007199254740993);
    const kr_tensor *from = host_ints(h, KR_INT64, SIZES(1), INTS(value));
    int64_t widened = 0;
    load_elements(KR_INT64, from->data, 1, 1, KR_INT64, &widened);
    assert_int_equal(widened, value);
    const kr_tensor *to = host_tensor(h, KR_INT64, SIZES(1));
    store_elements(KR_INT64, to->data, 1, 1, KR_INT64, &widened);
    assert_int_equal(host_int(to, 0), value);
}

static void integers_wrap_when_they_are_stored(void **state)
{
    host *h = *state;
    const int64_t value = 0x12345678901;
    const kr_dtype to[] = { KR_UINT8, KR_INT8, KR_INT16, KR_INT32 };
    const int64_t wanted[] = { 0x01, 0x01, (int16_t) 0x8901, 0x45678901 };
    for (int i = 0; i < 4; i++) {
        const kr_tensor *t = host_tensor(h, to[i], SIZES(1));
        store_elements(to[i], t->data, 1, 1, KR_INT64, &value);
        assert_int_equal(host_int(t, 0), wanted[i]);
    }
}

static void doubles_are_rounded_to_16_bits_once(void **state)
{
    host *h = *state;
    /* Just above the middle of two float16, which as a float it would be exactly. */
    const double value = 1 + 0x1p-11 + 0x1p-40;
    const kr_tensor *t = host_tensor(h, KR_FLOAT16, SIZES(1));
    store_elements(KR_FLOAT16, t->data, 1, 1, KR_FLOAT64, &value);
    host_has_reals(t, REALS(1 + 0x1p-10));
}

static void round_elements_gives_what_a_detour_leaves(void **state)
{
    (void) state;
    double reals[1200];
    for (int i = 0; i < 1200; i++)
        reals[i] = i + 0.3;
    round_elements(KR_INT8, 1200, KR_FLOAT64, reals);
    for (int i = 0; i < 1200; i++)
        assert_true(reals[i] == (double) (int8_t) i);
    float singles[3] = { 1.0009766f, 70000, -0.0f };
    round_elements(KR_FLOAT16, 3, KR_FLOAT32, singles);
    assert_true(singles[0] == 1 + 0x1p-10f && isinf(singles[1]) && signbit(singles[2]));
}

typedef struct format {
    int fraction, bias;
} format;
static const format half = { 10, 15 }, brain = { 7, 127 };

static double value_of(const format *f, uint16_t bits)
{
    const int exponent = (bits & 0x7FFF) >> f->fraction;
    const int mantissa = bits & ((1 << f->fraction) - 1);
    const double magnitude = exponent == 0 ? ldexp(mantissa, 1 - f->bias - f->fraction)
                                           : ldexp(mantissa + (1 << f->fraction),
                                                   exponent - f->bias - f->fraction);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t infinity_of(const format *f)
{
    return (uint16_t) ((0x7FFF >> f->fraction) << f->fraction);
}

static void every_pattern_widens_to_its_value(void **state)
{
    (void) state;
    for (uint32_t i = 0; i <= UINT16_MAX; i++) {
        const uint16_t bits = (uint16_t) i, magnitude = bits & 0x7FFF;
        const double sign = bits & 0x8000 ? -1 : 1;
        const double from_half = (double) half_to_float(bits);
        const double from_brain = (double) bfloat16_to_float(bits);
        if (magnitude < infinity_of(&half))
            assert_true(from_half == value_of(&half, bits));
        else
            assert_true(magnitude == infinity_of(&half) ? from_half == sign * INFINITY
                                                        : isnan(from_half));
        if (magnitude < infinity_of(&brain))
            assert_true(from_brain == value_of(&brain, bits));
        else
            assert_true(magnitude == infinity_of(&brain) ? from_brain == sign * INFINITY
                                                         : isnan(from_brain));
        assert_int_equal(signbit(from_half) != 0, bits >> 15);
        assert_int_equal(signbit(from_brain) != 0, bits >> 15);
    }
}

static void every_pattern_comes_back(void **state)
{
    (void) state;
    for (uint32_t i = 0; i <= UINT16_MAX; i++) {
        const uint16_t bits = (uint16_t) i;
        const float from_half = half_to_float(bits), from_brain = bfloat16_to_float(bits);
        if (!isnan(from_half)) {
            assert_int_equal(float_to_half(from_half), bits);
            assert_int_equal(double_to_half((double) from_half), bits);
        }
        if (!isnan(from_brain)) {
            assert_int_equal(float_to_bfloat16(from_brain), bits);
            assert_int_equal(double_to_bfloat16((double) from_brain), bits);
        }
    }
}

/* Both neighbours of the middle between a pattern and the next, and the middle itself. */
static void rounds_to_nearest(const format *f, uint16_t (*from_double)(double),
                              uint16_t (*from_float)(float))
{
    for (uint16_t bits = 0; bits < infinity_of(f); bits++) {
        const double low = value_of(f, bits);
        /* Behind the greatest comes what would follow if there were one exponent more. */
        const double high = value_of(f, bits + 1), middle = (low + high) / 2;
        const uint16_t up = bits + 1, even = bits & 1 ? up : bits;
        const uint16_t cases[3] = { bits, even, up };
        const double inputs[3] = { nextafter(middle, low), middle, nextafter(middle, high) };
        for (int i = 0; i < 3; i++) {
            assert_int_equal(from_double(inputs[i]), cases[i]);
            assert_int_equal(from_double(-inputs[i]), cases[i] | 0x8000);
        }
        if (!from_float)
            continue;
        const float at = (float) middle;
        assert_true((double) at == middle);
        assert_int_equal(from_float(nextafterf(at, 0)), bits);
        assert_int_equal(from_float(at), even);
        assert_int_equal(from_float(nextafterf(at, INFINITY)), up);
    }
}

static void a_number_between_two_patterns_goes_to_the_nearer(void **state)
{
    (void) state;
    rounds_to_nearest(&half, double_to_half, float_to_half);
    /* Between the two least bfloat16 there are floats too few for the middle's neighbours. */
    rounds_to_nearest(&brain, double_to_bfloat16, NULL);
}

static void a_float_between_two_bfloat16_goes_to_the_nearer(void **state)
{
    (void) state;
    for (uint32_t bits = 0; bits < 0x7F80; bits++) {
        const uint32_t middle = bits << 16 | 0x8000;
        assert_int_equal(float_to_bfloat16(float_of_bits(middle - 1)), bits);
        assert_int_equal(float_to_bfloat16(float_of_bits(middle)), bits & 1 ? bits + 1 : bits);
        assert_int_equal(float_to_bfloat16(float_of_bits(middle + 1)), bits + 1);
    }
}

static void what_does_not_fit_is_infinite(void **state)
{
    (void) state;
    assert_int_equal(float_to_half(65519.996f), 0x7BFF);
    assert_int_equal(float_to_half(65520), 0x7C00);
    assert_int_equal(double_to_half(-1e300), 0xFC00);
    assert_int_equal(double_to_half(INFINITY), 0x7C00);
    assert_int_equal(double_to_bfloat16(3.4e38), 0x7F80);
    assert_int_equal(float_to_bfloat16(-INFINITY), 0xFF80);
}

static void what_is_too_small_is_a_zero_of_its_sign(void **state)
{
    (void) state;
    assert_int_equal(float_to_half(-0x1p-25f), 0x8000);
    assert_int_equal(float_to_half(0x1.000002p-25f), 0x0001);
    assert_int_equal(double_to_half(5e-324), 0x0000);
    assert_int_equal(double_to_half(-1e-300), 0x8000);
    assert_int_equal(float_to_bfloat16(-0.0f), 0x8000);
    assert_int_equal(double_to_bfloat16(-1e-300), 0x8000);
}

static void a_nan_stays_a_nan_of_its_sign(void **state)
{
    (void) state;
    static const uint32_t nans[] = { 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0xFFFFFFFF };
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        const uint16_t h = float_to_half(float_of_bits(nans[i]));
        const uint16_t b = float_to_bfloat16(float_of_bits(nans[i]));
        assert_true((h & 0x7FFF) > 0x7C00 && h >> 15 == nans[i] >> 31);
        assert_true((b & 0x7FFF) > 0x7F80 && b >> 15 == nans[i] >> 31);
    }
    assert_true((double_to_half(NAN) & 0x7FFF) > 0x7C00);
    assert_true((double_to_bfloat16(NAN) & 0x7FFF) > 0x7F80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(small_integers_survive_every_pair_with_and_without_a_stride),
        HOST_TEST(stride_0_repeats_an_element),
        HOST_TEST(floats_are_cut_towards_zero),
        HOST_TEST(floats_that_do_not_fit_give_the_least_integer_of_32_or_64_bits),
        HOST_TEST(anything_but_zero_is_true),
        HOST_TEST(int64_does_not_pass_through_double),
        HOST_TEST(integers_wrap_when_they_are_stored),
        HOST_TEST(doubles_are_rounded_to_16_bits_once),
        HOST_TEST(round_elements_gives_what_a_detour_leaves),
        cmocka_unit_test(every_pattern_widens_to_its_value),
        cmocka_unit_test(every_pattern_comes_back),
        cmocka_unit_test(a_number_between_two_patterns_goes_to_the_nearer),
        cmocka_unit_test(a_float_between_two_bfloat16_goes_to_the_nearer),
        cmocka_unit_test(what_does_not_fit_is_infinite),
        cmocka_unit_test(what_is_too_small_is_a_zero_of_its_sign),
        cmocka_unit_test(a_nan_stays_a_nan_of_its_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
