// SPDX-License-Identifier: Apache-2.0
/* What is said of a name that no operator has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/registry.h>

static int setup(void **state)
{
    *state = kr_registry_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    kr_registry_free(*state);
    return 0;
}

static uint32_t add(kr_registry *registry, kr_scope scope, const char *schema)
{
    const kr_provider_description provider = { .name = "p", .kind = KR_PROVIDER_STOCK };
    const kr_kernel_description kernel = { .name = "f", .schema = schema };
    kr_error err = { 0 };
    uint32_t id = 0;
    if (kr_registry_add(registry, scope, &provider, &kernel, 1, &id, &err))
        fail_msg("%s", err.text);
    return id;
}

static void says(const kr_registry *registry, const char *name, const char *expected)
{
    kr_error err = { 0 };
    assert_int_equal(kr_registry_unknown(registry, name, &err), KR_CODE_NO_OPERATOR);
    assert_int_equal(err.code, KR_CODE_NO_OPERATOR);
    assert_string_equal(err.text, expected);
    assert_int_equal(kr_registry_unknown(registry, name, NULL), KR_CODE_NO_OPERATOR);
}

#define ADD \
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"

/* The text begins so; which operators come behind the first depends on operators.txt. */
static void begins(const kr_registry *registry, const char *name, const char *expected)
{
    kr_error err = { 0 };
    assert_int_equal(kr_registry_unknown(registry, name, &err), KR_CODE_NO_OPERATOR);
    err.text[strnlen(expected, sizeof err.text - 1)] = 0;
    assert_string_equal(err.text, expected);
}

static void a_slip_of_the_pen_is_recognised(void **state)
{
    kr_registry *registry = *state;
    static const struct {
        const char *name, *meant;
    } slips[] = {
        { "aten::rleu.out", "aten::relu.out" },        /* a swap */
        { "aten::sigmod.out", "aten::sigmoid.out" },   /* an omission */
        { "aten::relu_out", "aten::relu.out" },        /* a replacement */
        { "aten::sigmooid.out", "aten::sigmoid.out" }, /* an insertion */
        { "aten::Sigmoid.out", "aten::sigmoid.out" },  /* a case */
        { "aten::native_layernorm.out", "aten::native_layer_norm.out" },
        { "aten::max_pool2d_with_index.out", "aten::max_pool2d_with_indices.out" },
    };
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "there is no operator %s; did you mean %s",
                 slips[i].name, slips[i].meant);
        begins(registry, slips[i].name, expected);
    }
}

static void operators_with_kernels_are_named_first(void **state)
{
    kr_registry *registry = *state;
    kr_error err;
    kr_registry_unknown(registry, "aten::ad.out", &err);
    assert_non_null(strstr(err.text, "did you mean aten::add.out, "));
    add(registry, KR_SCOPE_GLOBAL, "aten::tan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
    kr_registry_unknown(registry, "aten::ad.out", &err);
    assert_non_null(strstr(err.text, "did you mean aten::tan.out, aten::add.out, "));
    add(registry, KR_SCOPE_GLOBAL, ADD);
    kr_registry_unknown(registry, "aten::ad.out", &err);
    assert_non_null(strstr(err.text, "did you mean aten::add.out, aten::tan.out, "));
}

static void an_unknown_overload_is_told_the_others(void **state)
{
    kr_registry *registry = *state;
    says(registry, "aten::relu.foo", "aten::relu has no overload 'foo'; it has default, out");
    says(registry, "aten::bmm.", "aten::bmm has no overload ''; it has default, out");
    kr_error err;
    kr_registry_unknown(registry, "aten::add.foo", &err);
    assert_non_null(strstr(err.text, "aten::add has no overload 'foo'; it has "));
    add(registry, KR_SCOPE_GLOBAL, ADD);
    kr_registry_unknown(registry, "aten::add.foo", &err);
    assert_non_null(strstr(err.text, "aten::add has no overload 'foo'; it has out, "));
}

static void a_missing_default_overload_is_said_as_such(void **state)
{
    kr_registry *registry = *state;
    add(registry, KR_SCOPE_GLOBAL, ADD);
    kr_error err;
    kr_registry_unknown(registry, "aten::add", &err);
    assert_non_null(strstr(err.text, "aten::add has no default overload; it has out, "));
    says(registry, "aten::relu.default",
         "the default overload of aten::relu is named just so, without '.default'");
    kr_registry_unknown(registry, "aten::add.default", &err);
    assert_non_null(strstr(err.text, "aten::add has no overload 'default'; it has out, "));
}

static void an_unknown_namespace_is_said_as_such(void **state)
{
    kr_registry *registry = *state;
    begins(
        registry, "atn::relu.out",
        "there is no operator atn::relu.out, and no namespace 'atn'; did you mean aten::relu.out");
    says(registry, "nowhere::nothing_like_it",
         "there is no operator nowhere::nothing_like_it, and no namespace 'nowhere'");
    says(registry, "::x", "there is no operator ::x, and no namespace ''");
}

static void a_name_without_a_namespace_is_told_its_form(void **state)
{
    kr_registry *registry = *state;
    begins(registry, "hardtanh.out",
           "'hardtanh.out' is no operator: a name has the form aten::add.out; did you mean "
           "aten::hardtanh.out?");
    says(registry, "", "'' is no operator: a name has the form aten::add.out");
}

static void nothing_near_is_nothing_said(void **state)
{
    says(*state, "aten::xyzzyxyzzyxyzzyxyzzy", "there is no operator aten::xyzzyxyzzyxyzzyxyzzy");
}

static void a_long_name_is_cut(void **state)
{
    char name[5000], expected[400];
    memset(name, 'a', sizeof name);
    memcpy(name, "aten::", 6);
    name[sizeof name - 1] = 0;
    snprintf(expected, sizeof expected, "there is no operator %.200s", name);
    says(*state, name, expected);
    memset(name, 'b', 6);
    snprintf(expected, sizeof expected,
             "'%.200s' is no operator: a name has the form aten::add.out", name);
    says(*state, name, expected);
    memcpy(name + 4000, "::", 2);
    snprintf(expected, sizeof expected, "there is no operator %.200s, and no namespace '%.100s'",
             name, name);
    says(*state, name, expected);
    memcpy(name, "aten::relu.", 11);
    memset(name + 4000, 'a', 2);
    snprintf(expected, sizeof expected, "aten::relu has no overload '%.100s'; it has default, out",
             name + 11);
    says(*state, name, expected);
}

static void what_a_session_registered_is_not_told(void **state)
{
    kr_registry *registry = *state;
    kr_scope scope = 0;
    assert_int_equal(kr_registry_add_scope(registry, KR_SCOPE_GLOBAL, "session", &scope, NULL), 0);
    static const char secret[] = "secret::operation.out(Tensor(a!) out) -> ()";
    uint32_t id = add(registry, scope, secret);
    says(registry, "secret::operation.ou",
         "there is no operator secret::operation.ou, and no namespace 'secret'");
    assert_true(kr_registry_remove(registry, id));
    add(registry, KR_SCOPE_GLOBAL, secret);
    says(registry, "secret::operation.ou", "secret::operation has no overload 'ou'; it has out");
    says(registry, "secret::operatoin.out",
         "there is no operator secret::operatoin.out; did you mean secret::operation.out?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slip_of_the_pen_is_recognised),
        TEST(operators_with_kernels_are_named_first),
        TEST(an_unknown_overload_is_told_the_others),
        TEST(a_missing_default_overload_is_said_as_such),
        TEST(an_unknown_namespace_is_said_as_such),
        TEST(a_name_without_a_namespace_is_told_its_form),
        TEST(nothing_near_is_nothing_said),
        TEST(a_long_name_is_cut),
        TEST(what_a_session_registered_is_not_told),
    };
    return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
