// SPDX-License-Identifier: Apache-2.0
/* Registries for the tests: made, filled with a kernel or a scope, and freed. */
#ifndef TESTS_REGISTRY_FIXTURE_H
#define TESTS_REGISTRY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kernrig/registry.h>

#define UNUSED __attribute__((unused)) /* not every program needs every function */

#define RELU "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"

UNUSED static int setup(void **state)
{
    *state = kr_registry_new();
    return *state ? 0 : -1;
}

UNUSED static int teardown(void **state)
{
    kr_registry_free(*state);
    return 0;
}

UNUSED static kr_provider_description stock(const char *name)
{
    return (kr_provider_description){ .name = name,
                                      .kind = KR_PROVIDER_STOCK,
                                      .abi = "kernrig",
                                      .library = "lib.so",
                                      .source_hash = "",
                                      .compiler = "",
                                      .cflags = "" };
}

UNUSED static kr_provider_description user(const char *name)
{
    kr_provider_description made = stock(name);
    made.kind = KR_PROVIDER_USER;
    return made;
}

UNUSED static kr_kernel_description kernel(const char *schema, const char *key)
{
    return (kr_kernel_description){ .name = "function", .schema = schema, .key = key };
}

/* Adds one kernel and returns its provider's id; 0 if it is refused. */
UNUSED static uint32_t add(kr_registry *registry, kr_scope scope, kr_provider_description provider,
                           kr_kernel_description description, kr_error *err)
{
    uint32_t id = 0;
    int code = kr_registry_add(registry, scope, &provider, &description, 1, &id, err);
    assert_int_equal(code != 0, id == 0);
    assert_true(!err || err->code == code);
    return id;
}

UNUSED static uint32_t must_add(kr_registry *registry, kr_scope scope,
                                kr_provider_description provider, kr_kernel_description description)
{
    kr_error err = { 0 };
    uint32_t id = add(registry, scope, provider, description, &err);
    if (!id)
        fail_msg("%s", err.text);
    return id;
}

UNUSED static kr_scope add_scope(kr_registry *registry, kr_scope parent, const char *name)
{
    kr_scope scope = 0;
    assert_int_equal(kr_registry_add_scope(registry, parent, name, &scope, NULL), 0);
    return scope;
}

#endif
