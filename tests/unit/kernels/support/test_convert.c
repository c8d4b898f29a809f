// SPDX-License-Identifier: Apache-2.0
/* The sixty conversion loops: each dtype into each type of arithmetic and back. */
#include "elements.h"
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
                const kr_tensor *from =
                    host_ints(h, dtypes[d], SIZES(5), INTS(0, 1, 1, 0, 1));
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
