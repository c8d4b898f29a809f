// SPDX-License-Identifier: Apache-2.0
/* Scopes: chains that end in the global one, of which none goes while it is in use. */

#include "fixture.h"

static void scopes_have_names(void **state)
{
    kr_registry *registry = *state;
    assert_string_equal(kr_registry_scope_name(registry, KR_SCOPE_GLOBAL), "global");
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session 1");
    kr_scope program = add_scope(registry, session, "");
    assert_string_equal(kr_registry_scope_name(registry, session), "session 1");
    assert_string_equal(kr_registry_scope_name(registry, program), "");
    assert_null(kr_registry_scope_name(registry, 999));
}

static void a_scope_in_use_stays(void **state)
{
    kr_registry *registry = *state;
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    kr_scope program = add_scope(registry, session, "program");
    kr_registry_remove_scope(registry, session);
    assert_non_null(kr_registry_scope_name(registry, session));
    uint32_t id = must_add(registry, program, user("u"), kernel(RELU, NULL));
    kr_registry_remove_scope(registry, program);
    assert_non_null(kr_registry_scope_name(registry, program));
    assert_true(kr_registry_remove(registry, id));
    kr_registry_remove_scope(registry, program);
    assert_null(kr_registry_scope_name(registry, program));
    kr_registry_remove_scope(registry, session);
    assert_null(kr_registry_scope_name(registry, session));
    kr_registry_remove_scope(registry, KR_SCOPE_GLOBAL);
    assert_non_null(kr_registry_scope_name(registry, KR_SCOPE_GLOBAL));
}

static void a_scope_that_does_not_exist_is_refused(void **state)
{
    kr_registry *registry = *state;
    kr_error err = { 0 };
    kr_scope scope = 4711;
    assert_int_equal(kr_registry_add_scope(registry, 9, "x", &scope, &err), KR_CODE_VALUE);
    assert_string_equal(err.text, "there is no scope 9");
    assert_int_equal(scope, 4711);
    assert_int_equal(add(registry, 9, user("u"), kernel(RELU, NULL), &err), 0);
    assert_string_equal(err.text, "there is no scope 9");
    kr_query query = { .op = kr_registry_operator(registry, "aten::relu.out"), .scope = 9 };
    const kr_kernel_info *found = NULL;
    assert_int_equal(kr_registry_match(registry, &query, NULL, &found, &err), KR_CODE_VALUE);
}

static void scopes_are_fifteen_deep_at_most(void **state)
{
    kr_registry *registry = *state;
    kr_scope scope = KR_SCOPE_GLOBAL;
    for (int i = 0; i < 15; i++)
        scope = add_scope(registry, scope, "deeper");
    kr_error err = { 0 };
    assert_int_equal(kr_registry_add_scope(registry, scope, "x", &scope, &err), KR_CODE_LIMIT);
    assert_string_equal(err.text, "scopes are at most 15 deep");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scopes_have_names),
        TEST(a_scope_in_use_stays),
        TEST(a_scope_that_does_not_exist_is_refused),
        TEST(scopes_are_fifteen_deep_at_most),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
