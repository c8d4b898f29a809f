// SPDX-License-Identifier: Apache-2.0
/* The error record: texts that are cut, wrapped and always valid UTF-8, and the table's numbers,
 * which are for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/err.h>

static void setting_returns_the_code_and_keeps_the_text(void **state)
{
    (void) state;
    kr_error err = { 0 };
    assert_int_equal(kr_error_set(&err, KR_CODE_KEY, "%s is %d", "answer", 42), KR_CODE_KEY);
    assert_int_equal(err.code, KR_CODE_KEY);
    assert_string_equal(err.text, "answer is 42");
}

static void without_a_record_there_is_still_a_code(void **state)
{
    (void) state;
    assert_int_equal(kr_error_set(NULL, KR_CODE_TYPE, "unseen"), KR_CODE_TYPE);
    assert_int_equal(kr_error_wrap(NULL, "unseen"), KR_CODE_INTERNAL);
}

static void wrapping_says_first_what_was_being_done(void **state)
{
    (void) state;
    kr_error err;
    kr_error_set(&err, KR_CODE_LOAD, "no such file");
    assert_int_equal(kr_error_wrap(&err, "loading %s", "a.so"), KR_CODE_LOAD);
    assert_int_equal(kr_error_wrap(&err, "starting"), KR_CODE_LOAD);
    assert_string_equal(err.text, "starting: loading a.so: no such file");
}

static void the_records_own_text_may_be_an_argument(void **state)
{
    (void) state;
    kr_error err;
    kr_error_set(&err, KR_CODE_TYPE, "inner");
    kr_error_set(&err, KR_CODE_VALUE, "<%s>", err.text);
    assert_string_equal(err.text, "<inner>");
    kr_error_wrap(&err, "[%s]", err.text);
    assert_string_equal(err.text, "[<inner>]: <inner>");
}

/* A text of n bytes 'a' and then a tail. */
static void set_long(kr_error *err, size_t n, const char *tail)
{
    char text[2 * KR_ERROR_TEXT];
    memset(text, 'a', n);
    snprintf(text + n, sizeof text - n, "%s", tail);
    kr_error_set(err, KR_CODE_VALUE, "%s", text);
}

static void a_text_that_just_fits_is_kept(void **state)
{
    (void) state;
    kr_error err;
    set_long(&err, KR_ERROR_TEXT - 2, "b");
    assert_int_equal(strlen(err.text), KR_ERROR_TEXT - 1);
    assert_int_equal(err.text[KR_ERROR_TEXT - 2], 'b');
}

static void a_text_that_does_not_fit_ends_in_an_ellipsis(void **state)
{
    (void) state;
    kr_error err;
    set_long(&err, KR_ERROR_TEXT, "");
    assert_int_equal(strlen(err.text), KR_ERROR_TEXT - 1);
    assert_string_equal(err.text + KR_ERROR_TEXT - 5, "a…");
    memset(&err, 'x', sizeof err);
    set_long(&err, 2 * KR_ERROR_TEXT - 1, "");
    assert_int_equal(strlen(err.text), KR_ERROR_TEXT - 1);
    assert_string_equal(err.text + KR_ERROR_TEXT - 5, "a…");
}

static void a_text_is_cut_between_characters(void **state)
{
    (void) state;
    static const char *const characters[] = { "é", "…", "𝛼" };
    for (size_t c = 0; c < 3; c++) {
        size_t length = strlen(characters[c]);
        for (size_t n = KR_ERROR_TEXT - 12; n < KR_ERROR_TEXT; n++) {
            char tail[64] = "";
            for (size_t i = 0; i < 12; i++)
                memcpy(tail + i * length, characters[c], length + 1);
            kr_error err;
            set_long(&err, n, tail);
            size_t end = strlen(err.text) - strlen("…");
            assert_string_equal(err.text + end, "…");
            size_t kept = n < end ? n : end;
            assert_int_equal((end - kept) % length, 0);
            assert_true(strlen(err.text) > KR_ERROR_TEXT - 1 - length);
        }
    }
}

static void bytes_that_are_no_character_become_question_marks(void **state)
{
    (void) state;
    static const struct {
        const char *given, *kept;
    } texts[] = {
        { "a\x80z", "a?z" },                /* a continuation alone */
        { "a\xc3z", "a?z" },                /* a lead alone */
        { "a\xc3", "a?" },                  /* a lead at the end */
        { "\xc0\xaf", "??" },               /* overlong */
        { "\xe0\x80\xaf", "???" },          /* overlong */
        { "\xf0\x80\x80\xaf", "????" },     /* overlong */
        { "\xed\xa0\x80", "???" },          /* a surrogate */
        { "\xf4\x90\x80\x80", "????" },     /* beyond U+10FFFF */
        { "\xff\xfe", "??" },               /* never bytes of UTF-8 */
        { "\xe2\x82\xac", "\xe2\x82\xac" }, /* the euro */
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
        { "\xed\x9f\xbf", "\xed\x9f\xbf" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kr_error err;
        kr_error_set(&err, KR_CODE_VALUE, "%s", texts[i].given);
        assert_string_equal(err.text, texts[i].kept);
    }
}

/* Written down a second time on purpose: a number that changes breaks clients of other versions. */
static const struct {
    const char *name;
    int number, grpc;
} pinned[] = {
    { "VALUE", -1, 3 },
    { "SHAPE", -2, 3 },
    { "DTYPE", -3, 3 },
    { "CAST", -4, 3 },
    { "INDEX", -5, 11 },
    { "OVERLAP", -6, 3 },
    { "RESIZE", -7, 3 },
    { "MEMORY", -8, 8 },
    { "ZERO_DIVISION", -9, 3 },
    { "OVERFLOW", -10, 11 },
    { "TYPE", -20, 3 },
    { "NO_OPERATOR", -21, 5 },
    { "NO_KERNEL", -22, 12 },
    { "SCHEMA", -23, 3 },
    { "KEY", -24, 3 },
    { "DUPLICATE", -25, 6 },
    { "EXTENT", -26, 3 },
    { "CRASHED", -30, 10 },
    { "EXITED", -31, 10 },
    { "TIMEOUT", -32, 4 },
    { "TAMPERED", -33, 10 },
    { "LOAD", -34, 9 },
    { "WORKER", -35, 14 },
    { "NO_SESSION", -40, 9 },
    { "NO_BUFFER", -41, 5 },
    { "LIMIT", -42, 8 },
    { "BUSY", -43, 8 },
    { "MALFORMED", -44, 3 },
    { "PERMISSION", -45, 7 },
    { "CANCELLED", -46, 1 },
    { "STOPPING", -47, 14 },
    { "SYSTEM", -48, 14 },
    { "INTERNAL", -49, 13 },
    { "DEVICE", -60, 3 },
    { "AUTOGRAD", -61, 3 },
    { "LOST", -62, 14 },
    { "VERSION_MISMATCH", -63, 9 },
    { "FORKED", -64, 9 },
    { "NO_DAEMON", -65, 5 },
};

static void the_numbers_of_errors_never_change(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        assert_non_null(kr_code_name(pinned[i].number));
        assert_string_equal(kr_code_name(pinned[i].number), pinned[i].name);
        assert_int_equal(kr_code_grpc(pinned[i].number), pinned[i].grpc);
    }
}

static void every_error_has_a_sentence_and_one_number(void **state)
{
    (void) state;
    size_t count = 0;
    for (int code = -1; code > -200; code--) {
        if (!kr_code_name(code))
            continue;
        count++;
        assert_true(strlen(kr_code_sentence(code)) > 10);
    }
#define KR_STATUS(name, number, grpc, python, base, sentence) +1
    size_t in_table = 0
#include <kernrig/status.def>
        ;
#undef KR_STATUS
    assert_int_equal(count, in_table);
}

static void a_code_that_does_not_exist_is_internal(void **state)
{
    (void) state;
    static const int codes[] = { 0, 1, -11, -27, -1000 };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        assert_null(kr_code_name(codes[i]));
        assert_null(kr_code_sentence(codes[i]));
        assert_int_equal(kr_code_grpc(codes[i]), 13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_returns_the_code_and_keeps_the_text),
        cmocka_unit_test(without_a_record_there_is_still_a_code),
        cmocka_unit_test(wrapping_says_first_what_was_being_done),
        cmocka_unit_test(the_records_own_text_may_be_an_argument),
        cmocka_unit_test(a_text_that_just_fits_is_kept),
        cmocka_unit_test(a_text_that_does_not_fit_ends_in_an_ellipsis),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(bytes_that_are_no_character_become_question_marks),
        cmocka_unit_test(the_numbers_of_errors_never_change),
        cmocka_unit_test(every_error_has_a_sentence_and_one_number),
        cmocka_unit_test(a_code_that_does_not_exist_is_internal),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
