// SPDX-License-Identifier: Apache-2.0
/* Who serves a call: each rule of the order by itself, and the errors. test_match_model.c has all
 * rules together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/registry.h>

#define RELU      "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
#define FLOAT_KEY "6;0,1|6;0,1"
#define ORDER_KEY "6;1,0|6;1,0"

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

struct kernel {
    kr_provider_kind kind;
    const char *provider, *schema, *key;
    uint64_t dtypes;
    kr_scope scope;
};

static uint32_t add(kr_registry *registry, struct kernel given, kr_error *err)
{
    const kr_provider_description provider = { .name = given.provider, .kind = given.kind };
    const kr_kernel_description kernel = { .name = "f",
                                           .schema = given.schema ? given.schema : RELU,
                                           .key = given.key,
                                           .dtypes = given.dtypes };
    uint32_t id = 0;
    if (kr_registry_add(registry, given.scope, &provider, &kernel, 1, &id, err))
        return 0;
    return id;
}

static uint32_t must_add(kr_registry *registry, struct kernel given)
{
    kr_error err = { 0 };
    uint32_t id = add(registry, given, &err);
    if (!id)
        fail_msg("%s", err.text);
    return id;
}

#define STOCK(name, ...) \
    must_add(registry,   \
             (struct kernel){ .kind = KR_PROVIDER_STOCK, .provider = (name), __VA_ARGS__ })
#define USER(name, ...) \
    must_add(registry, (struct kernel){ .kind = KR_PROVIDER_USER, .provider = (name), __VA_ARGS__ })

static kr_scope add_scope(kr_registry *registry, kr_scope parent, const char *name)
{
    kr_scope scope = 0;
    assert_int_equal(kr_registry_add_scope(registry, parent, name, &scope, NULL), 0);
    return scope;
}

static kr_key key_of(const char *text)
{
    kr_key key = { 0 };
    assert_int_equal(kr_key_parse(text, strlen(text), NULL, &key, NULL), 0);
    return key;
}

static kr_query relu_query(const kr_registry *registry, kr_scope scope, const kr_key *key)
{
    return (kr_query){ .op = kr_registry_operator(registry, "aten::relu.out"),
                       .scope = scope,
                       .key = key,
                       .dtype = KR_FLOAT32 };
}

/* The providers of all answers, one after the other, are these. */
static void answers(const kr_registry *registry, kr_query query, const char *expected)
{
    char found[512] = "";
    const kr_kernel_info *info = NULL;
    kr_error err = { 0 };
    while (kr_registry_match(registry, &query, info, &info, &err) == 0) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%s%s", length ? " " : "",
                 info->provider->name);
        assert_true(length < 400);
    }
    assert_int_equal(err.code, KR_CODE_NO_KERNEL);
    assert_string_equal(found, expected);
}

static void says(const kr_registry *registry, kr_query query, const char *expected)
{
    kr_error err = { 0 };
    const kr_kernel_info untouched = { 0 }, *found = &untouched;
    assert_int_equal(kr_registry_match(registry, &query, NULL, &found, &err), KR_CODE_NO_KERNEL);
    assert_int_equal(err.code, KR_CODE_NO_KERNEL);
    assert_string_equal(err.text, expected);
    assert_ptr_equal(found, &untouched);
}

/* The rules. */

static void an_exact_key_is_before_the_fallback(void **state)
{
    kr_registry *registry = *state;
    USER("u", .key = NULL);
    STOCK("s", .key = FLOAT_KEY);
    kr_key key = key_of(FLOAT_KEY);
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, &key), "s u");
}

/* Of a call without a tensor argument the key is empty, which is not to have none. */
static void an_empty_key_is_no_fallback(void **state)
{
    kr_registry *registry = *state;
    static const char lists[] = "mine::op.out(Tensor[] self, *, Tensor(a!)[] out) -> ()";
    USER("u", .schema = lists);
    STOCK("s", .schema = lists, .key = "v1/");
    kr_key key = key_of("v1/");
    kr_query query = relu_query(registry, KR_SCOPE_GLOBAL, &key);
    query.op = kr_registry_operator(registry, "mine::op.out");
    answers(registry, query, "s u");
    query.key = NULL;
    answers(registry, query, "u");
}

static void another_key_does_not_match(void **state)
{
    kr_registry *registry = *state;
    STOCK("s", .key = ORDER_KEY);
    STOCK("t");
    kr_key key = key_of(FLOAT_KEY);
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, &key), "t");
}

static void without_a_key_only_fallbacks_match(void **state)
{
    kr_registry *registry = *state;
    STOCK("s", .key = FLOAT_KEY);
    STOCK("t");
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "t");
}

static void the_newest_user_is_before_stock_in_its_order(void **state)
{
    kr_registry *registry = *state;
    STOCK("s1");
    USER("u1");
    STOCK("s2");
    USER("u2");
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "u2 u1 s1 s2");
}

static void a_scoped_fallback_is_before_a_global_exact_key(void **state)
{
    kr_registry *registry = *state;
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    kr_scope program = add_scope(registry, session, "program");
    kr_scope method = add_scope(registry, program, "method");
    USER("global", .key = FLOAT_KEY);
    STOCK("session", .scope = session);
    STOCK("method", .scope = method);
    kr_key key = key_of(FLOAT_KEY);
    answers(registry, relu_query(registry, method, &key), "method session global");
    answers(registry, relu_query(registry, program, &key), "session global");
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, &key), "global");
}

static void a_scope_beside_the_chain_is_not_asked(void **state)
{
    kr_registry *registry = *state;
    kr_scope mine = add_scope(registry, KR_SCOPE_GLOBAL, "mine");
    kr_scope other = add_scope(registry, KR_SCOPE_GLOBAL, "other");
    USER("theirs", .scope = other);
    USER("mine", .scope = mine);
    answers(registry, relu_query(registry, mine, NULL), "mine");
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "");
}

static void a_kernel_that_does_not_declare_the_dtype_is_passed_over(void **state)
{
    kr_registry *registry = *state;
    USER("ints", .dtypes = KR_INT_TYPES);
    USER("exact", .key = FLOAT_KEY, .dtypes = KR_SET(KR_FLOAT64));
    STOCK("floats", .dtypes = KR_FLOAT_TYPES);
    STOCK("anything");
    kr_key key = key_of(FLOAT_KEY);
    kr_query query = relu_query(registry, KR_SCOPE_GLOBAL, &key);
    answers(registry, query, "floats anything");
    query.dtype = KR_INT8;
    answers(registry, query, "ints anything");
    query.dtype = 9;
    answers(registry, query, "anything");
    query.dtype = 64;
    answers(registry, query, "anything");
    query.dtype = -1;
    answers(registry, query, "exact ints floats anything");
}

static void a_call_may_name_its_provider(void **state)
{
    kr_registry *registry = *state;
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    STOCK("a");
    STOCK("b", .key = FLOAT_KEY);
    STOCK("b");
    USER("b", .scope = session, .dtypes = KR_SET(KR_INT8));
    USER("c", .scope = session);
    kr_key key = key_of(FLOAT_KEY);
    kr_query query = relu_query(registry, session, &key);
    query.provider = "b";
    answers(registry, query, "b b");
    query.dtype = KR_INT8;
    answers(registry, query, "b b b");
    query.provider = "a";
    answers(registry, query, "a");
    query.provider = "";
    answers(registry, query, "");
    char longest[200];
    memset(longest, 'b', sizeof longest);
    longest[sizeof longest - 1] = 0;
    query.provider = longest;
    answers(registry, query, "");
}

static void what_is_removed_is_not_asked_any_more(void **state)
{
    kr_registry *registry = *state;
    uint32_t first = USER("first"), middle = USER("middle"), last = USER("last");
    assert_true(kr_registry_remove(registry, middle));
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "last first");
    assert_true(kr_registry_remove(registry, last));
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "first");
    STOCK("stock");
    assert_true(kr_registry_remove(registry, first));
    answers(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL), "stock");
}

/* The errors. */

static void an_error_tells_what_each_kernel_takes(void **state)
{
    kr_registry *registry = *state;
    STOCK("portable", .dtypes = KR_SET(KR_UINT8) | KR_SET(KR_INT8));
    kr_query query = relu_query(registry, KR_SCOPE_GLOBAL, NULL);
    query.dtype = 9;
    says(registry, query,
         "aten::relu.out has no kernel for complex64; portable (fallback) takes uint8, int8");
    query.dtype = 63;
    says(registry, query, "aten::relu.out has no kernel; portable (fallback) takes uint8, int8");
    query.provider = "mine";
    query.dtype = KR_INT8;
    says(registry, query,
         "aten::relu.out has no kernel for int8 of provider 'mine'; portable (fallback) is of "
         "another provider");
}

static void an_error_tells_of_keys_and_scopes(void **state)
{
    kr_registry *registry = *state;
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session 1");
    USER("mine", .key = ORDER_KEY, .scope = session);
    kr_key key = key_of(FLOAT_KEY);
    says(registry, relu_query(registry, session, &key),
         "aten::relu.out has no kernel for float32; mine (v1/6;1,0|6;1,0 in session 1) takes this "
         "key only");
}

static void when_all_have_declined_that_is_said(void **state)
{
    kr_registry *registry = *state;
    STOCK("a");
    STOCK("b", .dtypes = KR_SET(KR_BOOL));
    kr_query query = relu_query(registry, KR_SCOPE_GLOBAL, NULL);
    const kr_kernel_info *found = NULL;
    kr_error err = { 0 };
    assert_int_equal(kr_registry_match(registry, &query, NULL, &found, &err), 0);
    assert_int_equal(kr_registry_match(registry, &query, found, &found, &err), KR_CODE_NO_KERNEL);
    assert_string_equal(err.text, "aten::relu.out has no further kernel for float32; a (fallback) "
                                  "declined the call; b (fallback) takes bool");
    assert_string_equal(found->provider->name, "a");
}

static void an_operator_without_kernels_points_to_its_relatives(void **state)
{
    kr_registry *registry = *state;
    kr_query query = { .op = kr_registry_operator(registry, "aten::add.Tensor"), .dtype = KR_INT8 };
    says(registry, query, "aten::add.Tensor has no kernel");
    STOCK("portable", .schema = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, "
                                "Tensor(a!) out) -> Tensor(a!)");
    says(registry, query, "aten::add.Tensor has no kernel; aten::add.out has (portable)");
    query.op = kr_registry_operator(registry, "aten::add_.Tensor");
    says(registry, query, "aten::add_.Tensor has no kernel; aten::add.out has (portable)");
    query.op = kr_registry_operator(registry, "aten::relu.out");
    says(registry, query, "aten::relu.out has no kernel");
}

static void nothing_is_told_of_other_sessions(void **state)
{
    kr_registry *registry = *state;
    kr_scope mine = add_scope(registry, KR_SCOPE_GLOBAL, "mine");
    kr_scope other = add_scope(registry, KR_SCOPE_GLOBAL, "other");
    USER("secret", .scope = other);
    says(registry, relu_query(registry, mine, NULL), "aten::relu.out has no kernel");
    kr_query query = { .op = kr_registry_operator(registry, "aten::relu_"), .scope = mine };
    says(registry, query, "aten::relu_ has no kernel");
    query.scope = other;
    says(registry, query, "aten::relu_ has no kernel; aten::relu.out has (secret)");
}

static void a_long_list_is_counted(void **state)
{
    kr_registry *registry = *state;
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" };
    for (size_t i = 0; i < 10; i++)
        STOCK(names[i], .dtypes = KR_SET(KR_BOOL));
    says(registry, relu_query(registry, KR_SCOPE_GLOBAL, NULL),
         "aten::relu.out has no kernel for float32; a (fallback) takes bool; b (fallback) takes "
         "bool; c (fallback) takes bool; d (fallback) takes bool; e (fallback) takes bool; f "
         "(fallback) takes bool; g (fallback) takes bool; h (fallback) takes bool; and 2 more");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_exact_key_is_before_the_fallback),
        TEST(an_empty_key_is_no_fallback),
        TEST(another_key_does_not_match),
        TEST(without_a_key_only_fallbacks_match),
        TEST(the_newest_user_is_before_stock_in_its_order),
        TEST(a_scoped_fallback_is_before_a_global_exact_key),
        TEST(a_scope_beside_the_chain_is_not_asked),
        TEST(a_kernel_that_does_not_declare_the_dtype_is_passed_over),
        TEST(a_call_may_name_its_provider),
        TEST(what_is_removed_is_not_asked_any_more),
        TEST(an_error_tells_what_each_kernel_takes),
        TEST(an_error_tells_of_keys_and_scopes),
        TEST(when_all_have_declined_that_is_said),
        TEST(an_operator_without_kernels_points_to_its_relatives),
        TEST(nothing_is_told_of_other_sessions),
        TEST(a_long_list_is_counted),
    };
    return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
