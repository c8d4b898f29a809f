// SPDX-License-Identifier: Apache-2.0
/* The checks that kernels share, and the words with which they refuse. */
#include "context.h"

#include <limits.h>

#include "host.h"

static void scratch_array_refuses_more_than_there_is(void **state)
{
    host *h = *state;
    assert_non_null(scratch_array(&h->context, 10, 8));
    assert_int_equal(h->scratch_used, 80);
    h->scratch_limit = 100;
    assert_null(scratch_array(&h->context, 3, 8));
    assert_int_equal(h->fails, 1);
    assert_null(scratch_array(&h->context, INT64_MAX, 8));
    assert_int_equal(h->fails, 2);
    assert_null(scratch_array(&h->context, -1, 8));
    assert_int_equal(h->fails, 3);
}

static void resize_out_gives_the_shape_or_passes_the_refusal_on(void **state)
{
    host *h = *state;
    kr_tensor *out = host_empty(h, KR_FLOAT32, 6);
    assert_int_equal(resize_out(&h->context, out, SIZES(2, 3)), KR_OK);
    host_has_sizes(out, SIZES(2, 3));
    assert_int_equal(resize_out(&h->context, out, SIZES(7)), KR_E_RESIZE);
    host_has_sizes(out, SIZES(2, 3));
}

static void resize_out_refuses_an_out_that_repeats_elements(void **state)
{
    host *h = *state;
    kr_tensor *out = host_repeated(h, host_tensor(h, KR_FLOAT32, SIZES(2, 1)), 1, 3);
    assert_int_equal(resize_out(&h->context, out, SIZES(2, 3)), KR_E_OVERLAP);
    assert_non_null(strstr(h->text, "more than one element of the written-to tensor"));
    /* Without elements, or with a single one, nothing is repeated. */
    out->sizes[0] = 0;
    assert_int_equal(resize_out(&h->context, out, SIZES(0, 3)), KR_OK);
    out->sizes[1] = 1;
    assert_int_equal(resize_out(&h->context, out, SIZES(0, 1)), KR_OK);
}

static void check_dtype_names_what_is_not_implemented(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_tensor(h, KR_BOOL, NO_SIZES);
    assert_int_equal(check_dtype(&h->context, t, KR_ALL_TYPES, "op"), KR_OK);
    assert_int_equal(check_dtype(&h->context, t, KR_REAL_TYPES, "op"), KR_E_DTYPE);
    assert_string_equal(h->text, "\"op\" not implemented for 'Bool'");
}

static void check_out_dtype_names_both(void **state)
{
    host *h = *state;
    const kr_tensor *t = host_tensor(h, KR_FLOAT16, NO_SIZES);
    assert_int_equal(check_out_dtype(&h->context, t, KR_FLOAT16), KR_OK);
    assert_int_equal(check_out_dtype(&h->context, t, KR_UINT8), KR_E_DTYPE);
    assert_string_equal(
        h->text, "Expected out tensor to have dtype unsigned char, but got c10::Half instead");
}

static kr_status checked(host *h, kr_value scalar, kr_dtype dtype)
{
    return check_scalar(&h->context, &scalar, dtype);
}

static void a_scalar_must_fit_an_integer(void **state)
{
    host *h = *state;
    assert_int_equal(checked(h, integer(127), KR_INT8), KR_OK);
    assert_int_equal(checked(h, integer(-128), KR_INT8), KR_OK);
    assert_int_equal(checked(h, integer(128), KR_INT8), KR_E_OVERFLOW);
    assert_string_equal(h->text, "value cannot be converted to type int8_t without overflow");
    assert_int_equal(checked(h, integer(-129), KR_INT8), KR_E_OVERFLOW);
    assert_int_equal(checked(h, integer(INT64_MIN), KR_INT64), KR_OK);
    assert_int_equal(checked(h, real(-0x1p63), KR_INT64), KR_OK);
    assert_int_equal(checked(h, real(0x1p63), KR_INT64), KR_E_OVERFLOW);
    assert_int_equal(checked(h, real(1.5), KR_INT64), KR_OK);
    assert_int_equal(checked(h, real(NAN), KR_INT32), KR_E_OVERFLOW);
    assert_int_equal(checked(h, real(INFINITY), KR_INT64), KR_E_OVERFLOW);
}

static void an_unsigned_integer_takes_negative_numbers_of_its_magnitude(void **state)
{
    host *h = *state;
    assert_int_equal(checked(h, integer(-255), KR_UINT8), KR_OK);
    assert_int_equal(checked(h, integer(-256), KR_UINT8), KR_E_OVERFLOW);
    assert_int_equal(checked(h, integer(256), KR_UINT8), KR_E_OVERFLOW);
}

static void a_scalar_must_fit_a_float_unless_it_is_infinite(void **state)
{
    host *h = *state;
    assert_int_equal(checked(h, real(65504), KR_FLOAT16), KR_OK);
    assert_int_equal(checked(h, real(65505), KR_FLOAT16), KR_E_OVERFLOW);
    assert_string_equal(h->text, "value cannot be converted to type c10::Half without overflow");
    assert_int_equal(checked(h, integer(-70000), KR_FLOAT16), KR_E_OVERFLOW);
    assert_int_equal(checked(h, real(1e300), KR_FLOAT32), KR_E_OVERFLOW);
    assert_int_equal(checked(h, real(1e300), KR_FLOAT64), KR_OK);
    assert_int_equal(checked(h, real(-INFINITY), KR_FLOAT32), KR_OK);
    assert_int_equal(checked(h, real(NAN), KR_FLOAT16), KR_OK);
    assert_int_equal(checked(h, integer(INT64_MAX), KR_FLOAT32), KR_OK);
}

static void every_scalar_fits_bool(void **state)
{
    host *h = *state;
    assert_int_equal(checked(h, integer(-7), KR_BOOL), KR_OK);
    assert_int_equal(checked(h, boolean(true), KR_BOOL), KR_OK);
    assert_int_equal(checked(h, boolean(true), KR_INT8), KR_OK);
}

static void check_int_takes_the_range_of_c(void **state)
{
    host *h = *state;
    assert_int_equal(check_int(&h->context, INT_MAX), KR_OK);
    assert_int_equal(check_int(&h->context, INT_MIN), KR_OK);
    assert_int_equal(check_int(&h->context, (int64_t) INT_MAX + 1), KR_E_OVERFLOW);
    assert_int_equal(check_int(&h->context, (int64_t) INT_MIN - 1), KR_E_OVERFLOW);
    assert_string_equal(h->text, "value cannot be converted to type int without overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST_TEST(scratch_array_refuses_more_than_there_is),
        HOST_TEST(resize_out_gives_the_shape_or_passes_the_refusal_on),
        HOST_TEST(resize_out_refuses_an_out_that_repeats_elements),
        HOST_TEST(check_dtype_names_what_is_not_implemented),
        HOST_TEST(check_out_dtype_names_both),
        HOST_TEST(a_scalar_must_fit_an_integer),
        HOST_TEST(an_unsigned_integer_takes_negative_numbers_of_its_magnitude),
        HOST_TEST(a_scalar_must_fit_a_float_unless_it_is_infinite),
        HOST_TEST(every_scalar_fits_bool),
        HOST_TEST(check_int_takes_the_range_of_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
