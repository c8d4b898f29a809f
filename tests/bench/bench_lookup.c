// SPDX-License-Identifier: Apache-2.0
/* How long a look-up takes among 100 kernels and among 10,000: operator by name, key of the call,
 * match. Both registries are asked in turns, block by block, so that a busy machine slows both;
 * the calls go through the kernels in a scrambled order, so that caches help as little as they do
 * in earnest. Prints medians over the blocks, and the median of the ratios of each pair, as
 * tests/bench/blocks.py does.
 *
 * The operators have ten kernels each: nine keys and a fallback. Every tenth call finds none of the
 * keys. */
#include <kernrig/registry.h>
#include <time.h>

enum {
    KERNELS_EACH = 10, /* of an operator */
    BLOCKS = 60,
    CALLS = 20000, /* in a block */
};

/* The dim orders that make the keys: the permutations of three dims, and three of two. */
static const char *const orders[KERNELS_EACH - 1] = { "0,1,2", "0,2,1", "1,0,2", "1,2,0", "2,0,1",
                                                      "2,1,0", "0,1",   "1,0",   "0" };

struct rig {
    kr_registry *registry;
    uint32_t n_operators;
    char (*names)[32];
    double ns[BLOCKS];
};

/* A call of two equal tensors in the dim order of one of the keys; beyond them, of no key. */
struct call {
    kr_bound bound;
    kr_bound_value values[2];
    kr_bound_tensor tensors[2];
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_lookup: %s\n", what);
    exit(1);
}

/* A figure, what it may be at most, and whether it is; the detail follows on the same line. */
static void report(const char *what, double value, double most, const char *unit)
{
    printf("%-52s %8.3g %-3s of %g %-7s ", what, value, unit, most,
           value <= most ? "met" : "MISSED");
}

static void fill(struct rig *rig, uint32_t n_kernels)
{
    rig->n_operators = n_kernels / KERNELS_EACH;
    rig->registry = kr_registry_new();
    rig->names = calloc(rig->n_operators, sizeof *rig->names);
    if (!rig->registry || !rig->names)
        fail("no memory");
    for (uint32_t i = 0; i < rig->n_operators; i++) {
        char schema[128], keys[KERNELS_EACH][32];
        snprintf(rig->names[i], sizeof rig->names[i], "bench::operator_%u.out", i * 7919 % 10007);
        snprintf(schema, sizeof schema, "%s(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
                 rig->names[i]);
        kr_kernel_description kernels[KERNELS_EACH];
        for (size_t k = 0; k < KERNELS_EACH; k++) {
            kernels[k] = (kr_kernel_description){ .name = "kernel",
                                                  .schema = schema,
                                                  .dtypes = KR_REAL_TYPES };
            if (k == KERNELS_EACH - 1)
                break;
            snprintf(keys[k], sizeof keys[k], "6;%s|6;%s", orders[k], orders[k]);
            kernels[k].key = keys[k];
        }
        const kr_provider_description provider = { .name = "bench", .kind = KR_PROVIDER_STOCK };
        uint32_t id = 0;
        kr_error err;
        if (kr_registry_add(rig->registry, KR_SCOPE_GLOBAL, &provider, kernels, KERNELS_EACH, &id,
                            &err))
            fail(err.text);
    }
}

static void make_call(struct call *call, size_t key)
{
    *call = (struct call){ 0 };
    kr_tensor_ref ref = { .buffer = 1, .dtype = KR_FLOAT32 };
    const char *order = key < KERNELS_EACH - 1 ? orders[key] : "3,2,1,0";
    int64_t stride = 1;
    ref.dim = (uint8_t) ((strlen(order) + 1) / 2);
    for (size_t i = ref.dim; i-- > 0;) {
        ref.sizes[order[2 * i] - '0'] = 4;
        ref.strides[order[2 * i] - '0'] = stride;
        stride *= 4;
    }
    for (uint32_t i = 0; i < 2; i++) {
        call->tensors[i] = (kr_bound_tensor){ .ref = ref, .argument = i };
        call->values[i] = (kr_bound_value){ .tag = KR_TAG_TENSOR, .as.tensor = i };
    }
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

/* Returns ns of a look-up. */
static double run_block(const struct rig *rig, struct call calls[KERNELS_EACH], uint32_t seed)
{
    uint64_t random = seed;
    double begin = now_ns();
    for (uint32_t i = 0; i < CALLS; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        struct call *call = &calls[(random >> 33) % KERNELS_EACH];
        call->bound = (kr_bound){
            .n_values = 2, .n_tensors = 2, .values = call->values, .tensors = call->tensors
        };
        const kr_operator_info *op = kr_registry_operator(
            rig->registry, rig->names[(random >> 40) % rig->n_operators]);
        kr_key key;
        if (!op || !kr_key_of_call(&call->bound, &key))
            fail("an operator is missing");
        const kr_query query = {
            .op = op, .scope = KR_SCOPE_GLOBAL, .key = &key, .dtype = KR_FLOAT32
        };
        const kr_kernel_info *found = NULL;
        if (kr_registry_match(rig->registry, &query, NULL, &found, NULL))
            fail("a kernel is missing");
        bool exact = call != &calls[KERNELS_EACH - 1];
        if (found->has_key != exact)
            fail("a wrong kernel was found");
    }
    return (now_ns() - begin) / CALLS;
}

static int ascending(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static double median(double values[BLOCKS])
{
    qsort(values, BLOCKS, sizeof *values, ascending);
    return (values[BLOCKS / 2 - 1] + values[BLOCKS / 2]) / 2;
}

int main(void)
{
    struct rig few = { 0 }, many = { 0 };
    struct call calls[KERNELS_EACH];
    double ratios[BLOCKS];
    fill(&few, 100);
    fill(&many, 10000);
    for (size_t i = 0; i < KERNELS_EACH; i++)
        make_call(&calls[i], i);
    run_block(&few, calls, 1);
    run_block(&many, calls, 1);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        few.ns[i] = run_block(&few, calls, i);
        many.ns[i] = run_block(&many, calls, i);
        ratios[i] = many.ns[i] / few.ns[i];
    }
    report("look-up among 10,000 kernels / among 100", median(ratios), 2, "x");
    printf("%.0f ns / %.0f ns; %d blocks of %d\n", median(many.ns), median(few.ns), BLOCKS, CALLS);
    report("look-up among 10,000 kernels", median(many.ns) / 1e3, 1, "µs");
    printf("operator by name, key of the call, match\n");
    kr_registry_free(few.registry);
    kr_registry_free(many.registry);
    free(few.names);
    free(many.names);
    return 0;
}
