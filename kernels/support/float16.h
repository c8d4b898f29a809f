// SPDX-License-Identifier: Apache-2.0
/* float16 and bfloat16, which are held as bits, to and from the types of arithmetic.
 *
 * Conversions round to nearest, ties to even, once. They choose between cases with masks, for
 * then the compiler turns the loops around them into vector code; it does not do that with
 * branches. */
#ifndef KR_SUPPORT_FLOAT16_H
#define KR_SUPPORT_FLOAT16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* condition ? yes : no */
static inline uint32_t pick(uint32_t condition, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - condition;
    return (yes & mask) | (no & ~mask);
}

static inline float half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t) (half & 0x8000) << 16, magnitude = half & 0x7FFF;
    /* The exponent's bias is 15 here and 127 there. Below 2^-14 there is no hidden bit. */
    const uint32_t normal = (magnitude << 13) + (112u << 23);
    const uint32_t subnormal = bits_of_float((float) (int32_t) magnitude * 0x1p-24f);
    const uint32_t special = (magnitude << 13) | 0x7F800000;
    return float_of_bits(
        sign | pick(magnitude < 0x400, subnormal, pick(magnitude >= 0x7C00, special, normal)));
}

static inline uint16_t float_to_half(float value)
{
    const uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    /* Adding just less than half a unit, and the unit's own last bit, rounds ties to even. */
    const uint32_t normal = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    /* A float near 0.5 has float16's smallest step as its last place: the addition rounds. */
    const uint32_t subnormal = bits_of_float(float_of_bits(magnitude) + 0.5f) - (126u << 23);
    const uint32_t finite = pick(magnitude < 0x38800000, subnormal,
                                 pick(magnitude >= 0x477FF000, 0x7C00, normal));
    return (uint16_t) (sign | pick(magnitude > 0x7F800000, 0x7E00, finite));
}

static inline float bfloat16_to_float(uint16_t half)
{
    return float_of_bits((uint32_t) half << 16);
}

static inline uint16_t float_to_bfloat16(float value)
{
    const uint32_t bits = bits_of_float(value);
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const uint32_t quiet = (bits >> 16 & 0x8000) | 0x7FC0;
    return (uint16_t) pick((bits & 0x7FFFFFFF) > 0x7F800000, quiet, rounded);
}

/* A float that rounds to any shorter format as the double does: cut to float, with the last bit
 * set if anything was cut off. */
static inline float double_to_odd_float(double value)
{
    const float nearest = (float) value;
    uint32_t bits = bits_of_float(nearest);
    if (!isfinite(nearest) || (double) nearest == value)
        return nearest;
    if (fabs((double) nearest) > fabs(value))
        bits--;
    return float_of_bits(bits | 1);
}

static inline uint16_t double_to_half(double value)
{
    return float_to_half(double_to_odd_float(value));
}

static inline uint16_t double_to_bfloat16(double value)
{
    return float_to_bfloat16(double_to_odd_float(value));
}

#endif
