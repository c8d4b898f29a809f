// SPDX-License-Identifier: Apache-2.0
#include "cmocka_all.h"

#include "no_memory.h"
#include "session/session.h"

#include <string.h>

static struct limits limits;
static struct loop *loop;
static struct sessions *sessions;
static int n_ended, n_told;

static void on_end(void *cookie, struct session *session)
{
    (void) cookie;
    (void) session;
    n_ended++;
    loop_stop(loop);
}

static void on_told(void *cookie)
{
    (void) cookie;
    n_told++;
}

static int prepare(void **state)
{
    kr_error err;
    (void) state;
    limits_init(&limits);
    n_ended = n_told = 0;
    loop = loop_new(&err);
    sessions = loop ? sessions_new(loop, &limits, on_end, NULL) : NULL;
    return sessions ? 0 : -1;
}

static int clean(void **state)
{
    (void) state;
    sessions = sessions_free(sessions);
    loop = loop_free(loop);
    return 0;
}

static struct session *open_one(void)
{
    struct session *session = NULL;
    kr_error err;
    assert_int_equal(session_open(sessions, 1000, 17, &session, &err), 0);
    return session;
}

static void a_session_is_found_by_its_token_and_nothing_else(void **state)
{
    uint8_t wrong[SESSION_TOKEN];
    kr_error err;
    struct session *a = open_one(), *b = open_one();
    (void) state;
    assert_memory_not_equal(a->token, b->token, SESSION_TOKEN);
    assert_ptr_equal(session_find(sessions, a->token, SESSION_TOKEN, &err), a);
    memcpy(wrong, a->token, sizeof wrong);
    wrong[15] ^= 1;
    assert_null(session_find(sessions, wrong, SESSION_TOKEN, &err));
    assert_int_equal(err.code, KR_CODE_NO_SESSION);
    assert_null(session_find(sessions, a->token, SESSION_TOKEN - 1, &err));
    assert_null(session_find(sessions, NULL, 0, &err));
}

static void a_session_that_nobody_binds_ends(void **state)
{
    kr_error err;
    uint8_t token[SESSION_TOKEN];
    (void) state;
    limits.session_bind_ms = 1;
    memcpy(token, open_one()->token, sizeof token);
    loop_run(loop); /* until on_end stops it */
    assert_int_equal(n_ended, 1);
    assert_null(session_find(sessions, token, sizeof token, &err));
}

static void it_is_bound_once_and_by_its_own_user(void **state)
{
    kr_error err;
    struct session *session = open_one();
    (void) state;
    assert_int_equal(session_bind(session, 1001, on_told, NULL, &err), KR_CODE_PERMISSION);
    assert_int_equal(session_bind(session, 1000, on_told, NULL, &err), 0);
    assert_int_equal(session_bind(session, 1000, on_told, NULL, &err), KR_CODE_PERMISSION);
    session_end(sessions, session, "test");
    assert_int_equal(n_told, 1);
    assert_int_equal(n_ended, 1);
}

static void the_limit_is_reached_and_named(void **state)
{
    struct session *session;
    kr_error err;
    (void) state;
    limits.sessions = 2;
    open_one();
    struct session *second = open_one();
    assert_int_equal(session_open(sessions, 0, 0, &session, &err), KR_CODE_LIMIT);
    assert_non_null(strstr(err.text, "'sessions'"));
    session_end(sessions, second, "test");
    open_one();
    assert_int_equal(sessions_count(sessions), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean)
static void a_session_without_memory_is_refused_whole(void **state)
{
    struct session *session = NULL;
    kr_error err;
    (void) state;
    for (int n = 0; n < 4; n++) {
        allocations_left = n;
        const int r = session_open(sessions, 1000, 17, &session, &err);
        allocations_left = -1;
        assert_int_equal(r, KR_CODE_SYSTEM);
        assert_int_equal(sessions_count(sessions), 0);
    }
    open_one();
    assert_int_equal(sessions_count(sessions), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_found_by_its_token_and_nothing_else),
        TEST(a_session_that_nobody_binds_ends),
        TEST(it_is_bound_once_and_by_its_own_user),
        TEST(the_limit_is_reached_and_named),
        TEST(a_session_without_memory_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
