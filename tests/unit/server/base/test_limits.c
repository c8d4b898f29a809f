// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "base/limits.h"

static void a_limit_begins_with_its_default(void **state)
{
    struct limits limits;
    (void) state;
    limits_init(&limits);
    assert_int_equal(limits.sessions, 64);
    assert_int_equal(limits.frame_bytes, 196608);
}

static void a_limit_is_set_by_name(void **state)
{
    struct limits limits;
    kr_error err;
    (void) state;
    limits_init(&limits);
    assert_int_equal(limits_set(&limits, "sessions=3", &err), 0);
    assert_int_equal(limits.sessions, 3);
    assert_int_equal(limits_set(&limits, "total_bytes=18446744073709551615", &err), 0);
    assert_true(limits.total_bytes == UINT64_MAX);
}

static void what_is_no_number_is_refused_and_changes_nothing(void **state)
{
    static const char *const wrong[] = { "sessions",    "sessions=",
                                         "sessions=3x", "sessions=-1",
                                         "sessions=x",  "sessions=18446744073709551616",
                                         "sessions= -1" };
    struct limits limits;
    kr_error err;
    (void) state;
    limits_init(&limits);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(limits_set(&limits, wrong[i], &err), KR_CODE_VALUE);
        assert_non_null(strstr(err.text, "sessions"));
    }
    assert_int_equal(limits.sessions, 64);
}

static void an_unknown_name_is_refused_with_the_names_there_are(void **state)
{
    struct limits limits;
    kr_error err;
    (void) state;
    limits_init(&limits);
    assert_int_equal(limits_set(&limits, "session=3", &err), KR_CODE_VALUE);
    assert_non_null(strstr(err.text, "sessions"));
    assert_non_null(strstr(err.text, "queue"));
}

static void every_limit_is_described(void **state)
{
    struct limits limits;
    struct limit_info info;
    size_t n = 0;
    (void) state;
    limits_init(&limits);
    limits.queue = 7;
    bool found = false;
    for (; limits_describe(&limits, n, &info); n++) {
        assert_true(info.name[0] && info.unit[0] && info.meaning[0]);
        found |= strcmp(info.name, "queue") == 0 && info.value == 7;
    }
    assert_int_equal(n, sizeof limits / sizeof(uint64_t));
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_begins_with_its_default),
        cmocka_unit_test(a_limit_is_set_by_name),
        cmocka_unit_test(what_is_no_number_is_refused_and_changes_nothing),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_names_there_are),
        cmocka_unit_test(every_limit_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
