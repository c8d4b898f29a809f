// SPDX-License-Identifier: Apache-2.0
/* The registry against a plain model: random providers come and go, and after each change every
 * question has the same sequence of answers as a scan of all kernels sorted by the rules.
 *
 * The numbers are pseudo-random and the same in every run; KERNRIG_SEED starts them elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/registry.h>

enum {
    N_OPERATORS = 3,
    N_KEYS = 4, /* of which 0 is none */
    N_NAMES = 6,
    N_DTYPES = 4, /* of which 0 declares nothing */
    N_SCOPES = 8,
    MOST = 400, /* kernels at once */
    BATCH = 6,  /* kernels of a provider, at most */
    CHANGES = 600,
};

static const char *const schemas[N_OPERATORS] = {
    "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "mine::op.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
};
static const char *const operators[N_OPERATORS] = { "aten::relu.out", "aten::abs.out",
                                                    "mine::op.out" };
static const char *const keys[N_KEYS] = { NULL, "6;0|6;0", "6;0,1|6;0,1", "6;1,0|6;1,0" };
static const char *const names[N_NAMES] = { "a", "b", "c", "d", "e", "f" };
static const uint64_t dtypes[N_DTYPES] = { 0, KR_FLOAT_TYPES, KR_INT_TYPES, KR_SET(KR_FLOAT32) };

struct kernel {
    int operator_, key, name, dtypes, scope;
    kr_provider_kind kind;
    uint32_t provider; /* its id, which grows */
    uint32_t index;
};

struct model {
    kr_registry *registry;
    kr_scope scopes[N_SCOPES];
    int parents[N_SCOPES]; /* -1: the global one has none */
    struct kernel kernels[MOST];
    int n_kernels;
    uint64_t random;
};

static uint32_t draw(struct model *model, uint32_t below)
{
    model->random = model->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (model->random >> 33) % below;
}

/* The model's answers. */

struct question {
    int operator_, scope, key, dtype, name; /* name -1: of any provider */
};

static int distance(const struct model *model, int from, int scope)
{
    int steps = 0;
    while (from >= 0 && from != scope) {
        from = model->parents[from];
        steps++;
    }
    return from < 0 ? -1 : steps;
}

static bool matches(const struct model *model, const struct question *question,
                    const struct kernel *kernel)
{
    bool dtype = dtypes[kernel->dtypes] == 0 || question->dtype < 0 ||
                 (dtypes[kernel->dtypes] >> question->dtype & 1);
    bool key = kernel->key == 0 || kernel->key == question->key;
    bool name = question->name < 0 || kernel->name == question->name;
    return kernel->operator_ == question->operator_ && dtype && key && name &&
           distance(model, question->scope, kernel->scope) >= 0;
}

/* Whether a is asked before b. */
static bool is_before(const struct model *model, const struct question *question,
                      const struct kernel *a, const struct kernel *b)
{
    int near_a = distance(model, question->scope, a->scope);
    int near_b = distance(model, question->scope, b->scope);
    if (near_a != near_b)
        return near_a < near_b;
    if ((a->key != 0) != (b->key != 0))
        return a->key != 0;
    if (a->kind != b->kind)
        return a->kind == KR_PROVIDER_USER;
    return a->kind == KR_PROVIDER_USER ? a->provider > b->provider : a->provider < b->provider;
}

static void compare(struct model *model, const struct question *question)
{
    const kr_operator_info *op = kr_registry_operator(model->registry,
                                                      operators[question->operator_]);
    int left = 0;
    bool asked[MOST] = { false };
    for (int i = 0; i < model->n_kernels; i++)
        left += matches(model, question, &model->kernels[i]);
    if (!op) {
        assert_int_equal(left, 0);
        return;
    }
    kr_key key = { 0 };
    const char *text = keys[question->key];
    if (text)
        assert_int_equal(kr_key_parse(text, strlen(text), op->schema, &key, NULL), 0);
    const kr_query query = { .op = op,
                             .scope = model->scopes[question->scope],
                             .key = text ? &key : NULL,
                             .dtype = question->dtype,
                             .provider = question->name < 0 ? NULL : names[question->name] };
    const kr_kernel_info *info = NULL;
    while (kr_registry_match(model->registry, &query, info, &info, NULL) == 0) {
        int first = -1;
        for (int i = 0; i < model->n_kernels; i++)
            if (!asked[i] && matches(model, question, &model->kernels[i]) &&
                (first < 0 ||
                 is_before(model, question, &model->kernels[i], &model->kernels[first])))
                first = i;
        assert_true(first >= 0);
        asked[first] = true;
        left--;
        assert_int_equal(info->provider_id, model->kernels[first].provider);
        assert_int_equal(info->index, model->kernels[first].index);
        assert_int_equal(info->has_key, model->kernels[first].key != 0);
        assert_int_equal(info->scope, model->scopes[model->kernels[first].scope]);
    }
    assert_int_equal(left, 0);
}

static void ask_everything(struct model *model)
{
    for (int op = 0; op < N_OPERATORS; op++) {
        uint32_t expected = 0;
        for (int i = 0; i < model->n_kernels; i++)
            expected += model->kernels[i].operator_ == op;
        const kr_operator_info *info = kr_registry_operator(model->registry, operators[op]);
        assert_int_equal(info ? info->n_kernels : 0, expected);
    }
    for (int i = 0; i < 60; i++) {
        static const int asked_dtypes[] = { KR_FLOAT32, KR_FLOAT64, KR_INT8, KR_BOOL, -1 };
        const struct question question = {
            .operator_ = (int) draw(model, N_OPERATORS),
            .scope = (int) draw(model, N_SCOPES),
            .key = (int) draw(model, N_KEYS),
            .dtype = asked_dtypes[draw(model, 5)],
            .name = draw(model, 3) ? -1 : (int) draw(model, N_NAMES),
        };
        compare(model, &question);
    }
}

/* Changes. */

static bool is_duplicate(const struct model *model, const struct kernel *kernel, int until)
{
    for (int i = 0; i < until; i++) {
        const struct kernel *other = &model->kernels[i];
        if (other->operator_ == kernel->operator_ && other->key == kernel->key &&
            other->name == kernel->name && other->scope == kernel->scope)
            return true;
    }
    return false;
}

static void add(struct model *model)
{
    kr_kernel_description kernels[BATCH];
    int count = 1 + (int) draw(model, BATCH);
    int scope = (int) draw(model, N_SCOPES), name = (int) draw(model, N_NAMES);
    kr_provider_kind kind = draw(model, 2) ? KR_PROVIDER_USER : KR_PROVIDER_STOCK;
    if (model->n_kernels + count > MOST)
        return;
    bool duplicate = false;
    for (int i = 0; i < count; i++) {
        struct kernel *kernel = &model->kernels[model->n_kernels + i];
        *kernel = (struct kernel){ .operator_ = (int) draw(model, N_OPERATORS),
                                   .key = (int) draw(model, N_KEYS),
                                   .name = name,
                                   .dtypes = (int) draw(model, N_DTYPES),
                                   .scope = scope,
                                   .kind = kind,
                                   .index = (uint32_t) i };
        duplicate |= is_duplicate(model, kernel, model->n_kernels + i);
        kernels[i] = (kr_kernel_description){ .name = "f",
                                              .schema = schemas[kernel->operator_],
                                              .key = keys[kernel->key],
                                              .dtypes = dtypes[kernel->dtypes] };
    }
    const kr_provider_description provider = { .name = names[name], .kind = kind };
    uint64_t generation = kr_registry_generation(model->registry);
    uint32_t id = 0;
    int code = kr_registry_add(model->registry, model->scopes[scope], &provider, kernels,
                               (uint32_t) count, &id, NULL);
    assert_int_equal(code, duplicate ? KR_CODE_DUPLICATE : 0);
    assert_int_equal(kr_registry_generation(model->registry) > generation, !duplicate);
    for (int i = 0; !duplicate && i < count; i++)
        model->kernels[model->n_kernels++].provider = id;
}

static void remove_one(struct model *model)
{
    if (model->n_kernels == 0)
        return;
    uint32_t id = model->kernels[draw(model, (uint32_t) model->n_kernels)].provider;
    assert_true(kr_registry_remove(model->registry, id));
    int kept = 0;
    for (int i = 0; i < model->n_kernels; i++)
        if (model->kernels[i].provider != id)
            model->kernels[kept++] = model->kernels[i];
    model->n_kernels = kept;
}

static void the_registry_answers_as_the_model_does(void **state)
{
    (void) state;
    const char *seed = getenv("KERNRIG_SEED");
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->random = seed ? strtoull(seed, NULL, 10) : 1;
    model->registry = kr_registry_new();
    assert_non_null(model->registry);
    model->parents[0] = -1;
    model->scopes[0] = KR_SCOPE_GLOBAL;
    for (int i = 1; i < N_SCOPES; i++) {
        model->parents[i] = (int) draw(model, (uint32_t) i);
        assert_int_equal(kr_registry_add_scope(model->registry, model->scopes[model->parents[i]],
                                               "scope", &model->scopes[i], NULL),
                         0);
    }
    int most = 0;
    for (int i = 0; i < CHANGES; i++) {
        /* Grows for a while, then shrinks, and so on. */
        if (draw(model, 10) < (i / 100 % 2 ? 3u : 8u))
            add(model);
        else
            remove_one(model);
        most = model->n_kernels > most ? model->n_kernels : most;
        ask_everything(model);
    }
    assert_true(most > 50);
    while (model->n_kernels)
        remove_one(model);
    ask_everything(model);
    assert_null(kr_registry_operator(model->registry, "mine::op.out"));
    kr_registry_free(model->registry);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_answers_as_the_model_does),
    };
    return cmocka_run_group_tests_name("match_model", tests, NULL, NULL);
}
