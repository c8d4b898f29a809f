// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "base/text.h"

#include <string.h>

static void well_formed_text_stays(void **state)
{
    char text[] = "plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80, \xED\x9F\xBF, \xF4\x8F\xBF\xBF";
    char same[sizeof text];
    (void) state;
    memcpy(same, text, sizeof text);
    text_make_utf8(text);
    assert_string_equal(text, same);
}

static void other_bytes_become_question_marks(void **state)
{
    static const struct {
        const char *bytes, *want;
    } cases[] = {
        { "\x80", "?" },                /* a continuation without a beginning */
        { "\xC3", "?" },                /* a beginning without a continuation */
        { "\xC0\xAF", "??" },           /* overlong */
        { "\xE0\x80\x80", "???" },      /* overlong */
        { "\xED\xA0\x80", "???" },      /* a surrogate */
        { "\xF4\x90\x80\x80", "????" }, /* beyond U+10FFFF */
        { "\xFF\xFE ok", "?? ok" },
        { "\xE2\x82", "??" }, /* cut at the end */
        { "a\xE2\x28\xA1z", "a?(?z" },
    };
    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        memcpy(text, cases[i].bytes, strlen(cases[i].bytes) + 1);
        text_make_utf8(text);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_text_stays),
        cmocka_unit_test(other_bytes_become_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
