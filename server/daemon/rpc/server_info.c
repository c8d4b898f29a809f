// SPDX-License-Identifier: Apache-2.0
/* ServerInfo: who we are, and what we take. */
#include "rpc/state.h"

#include "base/build.h"
#include "kernrig/v1/server.pb-c.h"

#include <unistd.h>

enum { LIMITS = 64, PROVIDERS = 64 };

static void put_limits(const struct limits *limits, Kernrig__V1__Limit *list,
                       Kernrig__V1__Limit **pointers, size_t *ret_n)
{
    struct limit_info info;
    size_t n = 0;
    for (; n < LIMITS && limits_describe(limits, n, &info); n++) {
        kernrig__v1__limit__init(&list[n]);
        list[n].name = (char *) (uintptr_t) info.name;
        list[n].unit = (char *) (uintptr_t) info.unit;
        list[n].meaning = (char *) (uintptr_t) info.meaning;
        list[n].value = info.value;
        pointers[n] = &list[n];
    }
    *ret_n = n;
}

static size_t put_providers(const struct service *service, Kernrig__V1__ProviderInfo *list,
                            Kernrig__V1__ProviderInfo **pointers)
{
    struct service_provider provider;
    size_t n = 0;
    for (; n < PROVIDERS && service_provider(service, (uint32_t) n, &provider); n++) {
        kernrig__v1__provider_info__init(&list[n]);
        list[n].name = (char *) (uintptr_t) provider.name;
        list[n].library = (char *) (uintptr_t) provider.library;
        list[n].abi = (char *) (uintptr_t) provider.abi;
        list[n].kernels = provider.n_kernels;
        pointers[n] = &list[n];
    }
    return n;
}

static void begin(struct rpc_call *call, const ProtobufCMessage *request)
{
    const struct rpc_options *options = &call->rpc->options;
    static char *features[] = { (char *) (uintptr_t) "local", (char *) (uintptr_t) "reflection",
                                (char *) (uintptr_t) "health" };
    Kernrig__V1__Limit limits[LIMITS], *limit_pointers[LIMITS];
    Kernrig__V1__ProviderInfo providers[PROVIDERS], *provider_pointers[PROVIDERS];
    Kernrig__V1__ServerInfoResponse reply = KERNRIG__V1__SERVER_INFO_RESPONSE__INIT;
    (void) request;
    reply.version = (char *) (uintptr_t) build_version;
    reply.api_major = BUILD_API_MAJOR;
    reply.api_minor = BUILD_API_MINOR;
    reply.build_id = (char *) (uintptr_t) build_id;
    reply.binary = (char *) (uintptr_t) options->about.binary;
    reply.pid = (uint32_t) getpid();
    reply.page_size = (uint32_t) sysconf(_SC_PAGESIZE);
    reply.embedded = options->about.is_embedded;
    reply.sandbox_level = (char *) (uintptr_t) options->about.sandbox_level;
    reply.features = features;
    reply.n_features = sizeof features / sizeof *features;
    reply.limits = limit_pointers;
    put_limits(options->limits, limits, limit_pointers, &reply.n_limits);
    reply.providers = provider_pointers;
    reply.n_providers = put_providers(options->service, providers, provider_pointers);
    reply.generation = kr_registry_generation(service_registry(options->service));
    reply.sessions = (uint32_t) service_sessions(options->service);
    call_reply(call, &reply.base);
}

RPC_METHOD(ServerInfo, .request = &kernrig__v1__server_info_request__descriptor, .begin = begin);
