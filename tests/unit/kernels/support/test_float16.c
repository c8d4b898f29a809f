// SPDX-License-Identifier: Apache-2.0
/* float16 and bfloat16 against their definition, which is computed here with ldexp: every 16-bit
 * pattern, and around each of them the numbers that decide how it is rounded. */
#include "float16.h"

#include "host.h"

typedef struct format {
    int fraction, bias;
} format;
static const format half = { 10, 15 }, brain = { 7, 127 };

static double value_of(const format *f, uint16_t bits)
{
    const int exponent = (bits & 0x7FFF) >> f->fraction;
    const int mantissa = bits & ((1 << f->fraction) - 1);
    const double magnitude =
        exponent == 0 ? ldexp(mantissa, 1 - f->bias - f->fraction)
                      : ldexp(mantissa + (1 << f->fraction), exponent - f->bias - f->fraction);
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
