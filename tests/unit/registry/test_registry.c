// SPDX-License-Identifier: Apache-2.0
/* Adding and removing: what is kept, what is refused, and that a refusal changes nothing. */

#include "fixture.h"

#define MINE "mine::op.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"

/* What is kept. */

static void what_a_kernel_says_is_copied(void **state)
{
    kr_registry *registry = *state;
    char name[] = "relu_avx2", schema[] = RELU, key[] = "6;0,1|6;0,1|6;0,1", isa[] = "avx2";
    char provider_name[] = "mine", library[] = "a.so";
    kr_provider_description provider = { .name = provider_name,
                                         .kind = KR_PROVIDER_USER,
                                         .abi = "kernrig",
                                         .library = library,
                                         .source_hash = "abc",
                                         .compiler = NULL,
                                         .cflags = "-O3",
                                         .registered_at = 1700000000,
                                         .cookie = 77 };
    kr_kernel_description kernels[] = {
        { .name = "other", .schema = MINE },
        { .name = name,
          .schema = schema,
          .key = key,
          .dtypes = KR_SET(KR_FLOAT32),
          .isa = isa,
          .layout = KR_DENSE,
          .in_place = true },
    };
    uint32_t id = 0;
    assert_int_equal(kr_registry_add(registry, KR_SCOPE_GLOBAL, &provider, kernels, 2, &id, NULL),
                     0);
    memset(name, 'x', sizeof name - 1);
    memset(schema, 'x', sizeof schema - 1);
    memset(key, 'x', sizeof key - 1);
    memset(isa, 'x', sizeof isa - 1);
    memset(provider_name, 'x', sizeof provider_name - 1);
    memset(library, 'x', sizeof library - 1);

    const kr_operator_info *op = kr_registry_operator(registry, "aten::relu.out");
    assert_int_equal(op->n_kernels, 1);
    const kr_kernel_info *info = kr_registry_kernel(registry, op, 0);
    assert_string_equal(info->name, "relu_avx2");
    assert_string_equal(info->operator_, "aten::relu.out");
    assert_int_equal(info->index, 1);
    assert_int_equal(info->scope, KR_SCOPE_GLOBAL);
    assert_true(info->has_key);
    assert_true(info->in_place);
    assert_int_equal(info->layout, KR_DENSE);
    assert_true(info->dtypes == KR_SET(KR_FLOAT32));
    assert_string_equal(info->isa, "avx2");
    char text[KR_KEY_TEXT];
    kr_key_print(&info->key, text);
    assert_string_equal(text, "v1/6;0,1|6;0,1");
    assert_int_equal(info->provider_id, id);
    assert_string_equal(info->provider->name, "mine");
    assert_string_equal(info->provider->abi, "kernrig");
    assert_string_equal(info->provider->library, "a.so");
    assert_string_equal(info->provider->source_hash, "abc");
    assert_string_equal(info->provider->compiler, "");
    assert_string_equal(info->provider->cflags, "-O3");
    assert_int_equal(info->provider->registered_at, 1700000000);
    assert_int_equal(info->provider->cookie, 77);

    op = kr_registry_operator(registry, "mine::op.out");
    info = kr_registry_kernel(registry, op, 0);
    assert_int_equal(info->index, 0);
    assert_false(info->has_key);
    assert_string_equal(info->isa, "");
    assert_null(kr_registry_kernel(registry, op, 1));
}

static void ids_are_never_used_twice(void **state)
{
    kr_registry *registry = *state;
    uint64_t last_kernel = 0;
    uint32_t last_provider = 0;
    for (int i = 0; i < 5; i++) {
        uint32_t id = must_add(registry, KR_SCOPE_GLOBAL, user("u"), kernel(RELU, NULL));
        const kr_operator_info *op = kr_registry_operator(registry, "aten::relu.out");
        assert_true(kr_registry_kernel(registry, op, 0)->id > last_kernel);
        assert_true(id > last_provider);
        last_kernel = kr_registry_kernel(registry, op, 0)->id;
        last_provider = id;
        assert_true(kr_registry_remove(registry, id));
        assert_false(kr_registry_remove(registry, id));
    }
    kr_scope first = add_scope(registry, KR_SCOPE_GLOBAL, "s");
    kr_registry_remove_scope(registry, first);
    assert_true(add_scope(registry, KR_SCOPE_GLOBAL, "s") > first);
}

static void every_change_raises_the_generation(void **state)
{
    kr_registry *registry = *state;
    uint64_t before = kr_registry_generation(registry);
    kr_scope scope = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    assert_true(kr_registry_generation(registry) > before);
    before = kr_registry_generation(registry);
    uint32_t id = must_add(registry, scope, user("u"), kernel(RELU, NULL));
    assert_true(kr_registry_generation(registry) > before);
    before = kr_registry_generation(registry);
    assert_true(kr_registry_remove(registry, id));
    assert_true(kr_registry_generation(registry) > before);
    before = kr_registry_generation(registry);
    kr_registry_remove_scope(registry, scope);
    assert_true(kr_registry_generation(registry) > before);
    before = kr_registry_generation(registry);
    /* What changes nothing does not. */
    assert_false(kr_registry_remove(registry, id));
    kr_registry_remove_scope(registry, scope);
    assert_int_equal(add(registry, scope, user("u"), kernel(RELU, NULL), NULL), 0);
    assert_true(kr_registry_generation(registry) == before);
}

static void a_new_operator_lives_as_long_as_its_kernels(void **state)
{
    kr_registry *registry = *state;
    uint32_t count = 0, grown = 0;
    (void) kr_registry_operators(registry, &count);
    assert_null(kr_registry_operator(registry, "mine::op.out"));
    uint32_t first = must_add(registry, KR_SCOPE_GLOBAL, user("a"), kernel(MINE, NULL));
    uint32_t second = must_add(registry, KR_SCOPE_GLOBAL, user("b"), kernel(MINE, NULL));
    const kr_operator_info *op = kr_registry_operator(registry, "mine::op.out");
    assert_non_null(op);
    assert_int_equal(op->n_kernels, 2);
    assert_string_equal(op->schema_text, MINE);
    assert_string_equal(op->tags, "");
    assert_false(op->allows_numbers);
    const kr_operator_info *const *list = kr_registry_operators(registry, &grown);
    assert_int_equal(grown, count + 1);
    assert_ptr_equal(list[grown - 1], kr_registry_operator(registry, list[grown - 1]->name));
    assert_true(kr_registry_remove(registry, first));
    assert_non_null(kr_registry_operator(registry, "mine::op.out"));
    assert_true(kr_registry_remove(registry, second));
    assert_null(kr_registry_operator(registry, "mine::op.out"));
    (void) kr_registry_operators(registry, &grown);
    assert_int_equal(grown, count);
}

static void a_known_operator_stays_without_kernels(void **state)
{
    kr_registry *registry = *state;
    uint32_t id = must_add(registry, KR_SCOPE_GLOBAL, stock("portable"), kernel(RELU, NULL));
    assert_int_equal(kr_registry_operator(registry, "aten::relu.out")->n_kernels, 1);
    assert_true(kr_registry_remove(registry, id));
    assert_int_equal(kr_registry_operator(registry, "aten::relu.out")->n_kernels, 0);
}

static void a_provider_may_have_no_kernels(void **state)
{
    kr_provider_description provider = stock("empty");
    uint32_t id = 0;
    assert_int_equal(kr_registry_add(*state, KR_SCOPE_GLOBAL, &provider, NULL, 0, &id, NULL), 0);
    assert_true(kr_registry_remove(*state, id));
}

static void kernels_are_listed_as_they_would_be_asked(void **state)
{
    kr_registry *registry = *state;
    kr_scope session = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    kr_scope program = add_scope(registry, session, "program");
    static const char key[] = "6;0|6;0";
    must_add(registry, KR_SCOPE_GLOBAL, stock("s1"), kernel(RELU, NULL));
    must_add(registry, KR_SCOPE_GLOBAL, stock("s2"), kernel(RELU, key));
    must_add(registry, KR_SCOPE_GLOBAL, stock("s3"), kernel(RELU, NULL));
    must_add(registry, KR_SCOPE_GLOBAL, user("u1"), kernel(RELU, NULL));
    must_add(registry, session, user("u2"), kernel(RELU, NULL));
    must_add(registry, KR_SCOPE_GLOBAL, user("u3"), kernel(RELU, NULL));
    must_add(registry, program, stock("s4"), kernel(RELU, NULL));
    must_add(registry, session, user("u4"), kernel(RELU, key));
    must_add(registry, KR_SCOPE_GLOBAL, user("u5"), kernel(RELU, key));
    static const char *const order[] = { "s4", "u4", "u2", "u5", "s2", "u3", "u1", "s1", "s3" };
    const kr_operator_info *op = kr_registry_operator(registry, "aten::relu.out");
    assert_int_equal(op->n_kernels, 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_string_equal(kr_registry_kernel(registry, op, i)->provider->name, order[i]);
    assert_null(kr_registry_kernel(registry, op, 9));
}

/* What is refused. */

static void refuses(kr_registry *registry, kr_kernel_description description, int code,
                    const char *text)
{
    kr_error err = { 0 };
    uint64_t generation = kr_registry_generation(registry);
    assert_int_equal(add(registry, KR_SCOPE_GLOBAL, user("u"), description, &err), 0);
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, text);
    assert_int_equal(add(registry, KR_SCOPE_GLOBAL, user("u"), description, NULL), 0);
    assert_true(kr_registry_generation(registry) == generation);
}

static void a_schema_that_does_not_fit_is_refused(void **state)
{
    kr_registry *registry = *state;
    refuses(registry, kernel(NULL, NULL), KR_CODE_SCHEMA,
            "kernel 0, 'function', of provider 'u': it has no schema");
    refuses(registry, kernel("aten::relu.out(Tensor self", NULL), KR_CODE_SCHEMA,
            "kernel 0, 'function', of provider 'u': column 27: expected ')' but the text ends");
    refuses(
        registry, kernel("aten::relu.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", NULL),
        KR_CODE_SCHEMA,
        "kernel 0, 'function', of provider 'u': the schema differs from the operator's, argument "
        "0 is named x in one and self in the other; it is aten::relu.out(Tensor x, *, Tensor(a!) "
        "out) -> Tensor(a!), the operator's aten::relu.out(Tensor self, *, Tensor(a!) out) -> "
        "Tensor(a!)");
}

static void a_schema_without_an_output_is_refused(void **state)
{
    kr_registry *registry = *state;
    refuses(
        registry, kernel("aten::relu(Tensor self) -> Tensor", NULL), KR_CODE_SCHEMA,
        "kernel 0, 'function', of provider 'u': aten::relu has no output: a kernel writes into a "
        "Tensor(a!) argument");
    refuses(
        registry, kernel("mine::sort(int[](a!) self) -> ()", NULL), KR_CODE_SCHEMA,
        "kernel 0, 'function', of provider 'u': mine::sort has no output: a kernel writes into a "
        "Tensor(a!) argument");
    assert_null(kr_registry_operator(registry, "mine::sort"));
    must_add(registry, KR_SCOPE_GLOBAL, user("a"),
             kernel("aten::relu_(Tensor(a!) self) -> Tensor(a!)", NULL));
    must_add(registry, KR_SCOPE_GLOBAL, user("b"),
             kernel("mine::split.out(Tensor self, *, Tensor(a!)[] out) -> ()", NULL));
}

static void a_key_that_can_never_match_is_refused(void **state)
{
    refuses(*state, kernel(RELU, "6;0"), KR_CODE_KEY,
            "kernel 0, 'function', of provider 'u': kernel key '6;0': aten::relu.out has 2 tensor "
            "arguments (self, out), and a key a section for each, perhaps one more for the return "
            "slot; this one has 1");
    refuses(
        *state, kernel(MINE, ""), KR_CODE_KEY,
        "kernel 0, 'function', of provider 'u': kernel key '': a section begins with a dtype, as "
        "6;0,1 or float32;0,1");
    assert_null(kr_registry_operator(*state, "mine::op.out"));
}

static void foreign_texts_are_checked(void **state)
{
    kr_registry *registry = *state;
    char long_name[KR_KERNEL_NAME + 1];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[KR_KERNEL_NAME] = 0;
    const char *const names[] = { NULL, "", "a b", "a\n", "\x7f", "\xc3\xa9", long_name };
    kr_kernel_description description = kernel(RELU, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        description.name = names[i];
        refuses(registry, description, KR_CODE_VALUE,
                "kernel 0, '?', of provider 'u': a kernel's name has 1 to 63 characters of ASCII, "
                "without spaces");
        kr_error err = { 0 };
        assert_int_equal(add(registry, KR_SCOPE_GLOBAL, user(names[i]), kernel(RELU, NULL), &err),
                         0);
        assert_int_equal(err.code, KR_CODE_VALUE);
        assert_string_equal(err.text,
                            "a provider's name has 1 to 63 characters of ASCII, without spaces");
    }
    description = kernel(MINE, NULL);
    description.layout = KR_STRIDED + 1;
    refuses(registry, description, KR_CODE_VALUE,
            "kernel 0, 'function', of provider 'u': 3 is no layout");
    char isa[300];
    memset(isa, 'a', sizeof isa);
    isa[sizeof isa - 1] = 0;
    description = kernel(MINE, NULL);
    description.isa = isa;
    refuses(registry, description, KR_CODE_VALUE,
            "kernel 0, 'function', of provider 'u': its list of CPU features is none");
    description.isa = "avx2\n";
    refuses(registry, description, KR_CODE_VALUE,
            "kernel 0, 'function', of provider 'u': its list of CPU features is none");
    assert_null(kr_registry_operator(registry, "mine::op.out"));
    kr_provider_description strange = user("u");
    strange.kind = (kr_provider_kind) 5;
    kr_error err = { 0 };
    assert_int_equal(add(registry, KR_SCOPE_GLOBAL, strange, kernel(RELU, NULL), &err), 0);
    assert_string_equal(err.text, "5 is no kind of provider");
    long_name[KR_KERNEL_NAME - 1] = 0;
    must_add(registry, KR_SCOPE_GLOBAL, user(long_name), kernel(RELU, NULL));
}

static void a_duplicate_names_its_owner(void **state)
{
    kr_registry *registry = *state;
    kr_provider_description owner = user("mine");
    owner.library = "cache/ab.so";
    owner.registered_at = 1700000000;
    uint32_t id = must_add(registry, KR_SCOPE_GLOBAL, owner, kernel(RELU, "6;0|6;0"));
    kr_kernel_description same = kernel(RELU, "v1/float32;0,|6;0|6;0");
    same.name = "another";
    kr_error err = { 0 };
    assert_int_equal(add(registry, KR_SCOPE_GLOBAL, user("mine"), same, &err), 0);
    assert_int_equal(err.code, KR_CODE_DUPLICATE);
    assert_string_equal(
        err.text, "kernel 0, 'another', of provider 'mine': aten::relu.out has a kernel of "
                  "provider 'mine' for v1/6;0|6;0 already: 'function' of library cache/ab.so, "
                  "registered 2023-11-14 22:13:20 UTC");
    assert_true(kr_registry_remove(registry, id));
    must_add(registry, KR_SCOPE_GLOBAL, user("mine"), same);
}

static void what_differs_in_one_thing_is_no_duplicate(void **state)
{
    kr_registry *registry = *state;
    kr_scope scope = add_scope(registry, KR_SCOPE_GLOBAL, "session");
    must_add(registry, KR_SCOPE_GLOBAL, user("a"), kernel(RELU, NULL));
    must_add(registry, KR_SCOPE_GLOBAL, user("b"), kernel(RELU, NULL));
    must_add(registry, scope, user("a"), kernel(RELU, NULL));
    must_add(registry, KR_SCOPE_GLOBAL, user("a"), kernel(RELU, "6;0|6;0"));
    must_add(registry, KR_SCOPE_GLOBAL, user("a"), kernel(RELU, "6;0,1|6;0,1"));
    must_add(registry, KR_SCOPE_GLOBAL, user("a"), kernel(MINE, NULL));
    /* Also where the kind of provider differs is a name a name. */
    kr_error err = { 0 };
    assert_int_equal(add(registry, KR_SCOPE_GLOBAL, stock("a"), kernel(RELU, NULL), &err), 0);
    assert_int_equal(err.code, KR_CODE_DUPLICATE);
    assert_int_equal(kr_registry_operator(registry, "aten::relu.out")->n_kernels, 5);
}

static void all_kernels_are_added_or_none(void **state)
{
    kr_registry *registry = *state;
    must_add(registry, KR_SCOPE_GLOBAL, stock("first"), kernel(RELU, NULL));
    uint32_t count = 0, after = 0;
    (void) kr_registry_operators(registry, &count);
    kr_kernel_description kernels[] = { kernel(MINE, NULL), kernel(RELU, NULL),
                                        kernel(RELU, "6;0|6;0"), kernel(MINE, "6;0|6;0"),
                                        kernel(RELU, NULL) };
    kr_provider_description provider = user("all");
    kr_error err = { 0 };
    uint32_t id = 4711;
    assert_int_equal(kr_registry_add(registry, KR_SCOPE_GLOBAL, &provider, kernels, 5, &id, &err),
                     KR_CODE_DUPLICATE);
    assert_non_null(strstr(err.text,
                           "kernel 4, 'function', of provider 'all': aten::relu.out has a "
                           "kernel of provider 'all' for the fallback already"));
    assert_int_equal(id, 4711);
    assert_null(kr_registry_operator(registry, "mine::op.out"));
    (void) kr_registry_operators(registry, &after);
    assert_int_equal(after, count);
    const kr_operator_info *op = kr_registry_operator(registry, "aten::relu.out");
    assert_int_equal(op->n_kernels, 1);
    assert_string_equal(kr_registry_kernel(registry, op, 0)->provider->name, "first");
    kr_query query = { .op = op, .scope = KR_SCOPE_GLOBAL, .dtype = KR_FLOAT32 };
    const kr_kernel_info *found = NULL;
    assert_int_equal(kr_registry_match(registry, &query, NULL, &found, NULL), 0);
    assert_string_equal(found->provider->name, "first");
    assert_int_equal(kr_registry_add(registry, KR_SCOPE_GLOBAL, &provider, kernels, 4, &id, &err),
                     0);
    assert_int_equal(op->n_kernels, 3);
}

static void two_kernels_of_a_library_may_not_contradict_each_other(void **state)
{
    kr_kernel_description kernels[] = {
        kernel("mine::op.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", NULL),
        kernel("mine::op.out(Tensor self, int x, *, Tensor(a!) out) -> Tensor(a!)", "6;0|6;0"),
    };
    kr_provider_description provider = user("u");
    kr_error err = { 0 };
    uint32_t id = 0;
    assert_int_equal(kr_registry_add(*state, KR_SCOPE_GLOBAL, &provider, kernels, 2, &id, &err),
                     KR_CODE_SCHEMA);
    assert_null(kr_registry_operator(*state, "mine::op.out"));
}

static void freeing_nothing_gives_nothing(void **state)
{
    (void) state;
    assert_null(kr_registry_free(NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_kernel_says_is_copied),
        TEST(ids_are_never_used_twice),
        TEST(every_change_raises_the_generation),
        TEST(a_new_operator_lives_as_long_as_its_kernels),
        TEST(a_known_operator_stays_without_kernels),
        TEST(a_provider_may_have_no_kernels),
        TEST(kernels_are_listed_as_they_would_be_asked),
        TEST(a_schema_that_does_not_fit_is_refused),
        TEST(a_schema_without_an_output_is_refused),
        TEST(a_key_that_can_never_match_is_refused),
        TEST(foreign_texts_are_checked),
        TEST(a_duplicate_names_its_owner),
        TEST(what_differs_in_one_thing_is_no_duplicate),
        TEST(all_kernels_are_added_or_none),
        TEST(two_kernels_of_a_library_may_not_contradict_each_other),
        cmocka_unit_test(freeing_nothing_gives_nothing),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
