// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "service/state.h"

#include <utlist.h>

/* A library on its way into the registry: a worker loads it and describes its table, kernel by
 * kernel; when that is complete, all of it is registered or nothing. */
struct loading {
    struct library *library;
    struct worker *worker;
    kr_arena texts;
    kr_kernel_description *kernels;
    uint32_t n, size;
    bool is_out_of_memory;
    char failure[WIRE_TEXT];
    service_loaded_fn done;
    void *cookie;
};

#define ABI "kernrig" /* kernels/include/kernrig/kernel.h; the only one that workers load */

enum { TEXTS_MAX = 64 << 20 }; /* bytes of all descriptions of one library */

static void forget_loading(struct loading *loading)
{
    loading->library->loading = NULL;
    kr_arena_done(&loading->texts);
    free(loading->kernels);
    free(loading);
}

static void free_library(struct library *library)
{
    free(library->path);
    free(library->provider);
    free(library);
}

static void finish(struct loading *loading, const kr_error *err)
{
    const service_loaded_fn done = loading->done;
    void *cookie = loading->cookie;
    forget_loading(loading);
    done(cookie, err);
}

static void fail(struct loading *loading, const char *why)
{
    kr_error err;
    kr_error_set(&err, KR_CODE_LOAD, "%s: %s", loading->library->path, why);
    finish(loading, &err);
}

static char *keep(struct loading *loading, const char *text)
{
    char *copy = kr_arena_text(&loading->texts, text, strlen(text));
    if (copy)
        text_make_utf8(copy);
    else
        loading->is_out_of_memory = true;
    return copy;
}

static void on_kernel(void *cookie, const struct wire_kernel *kernel)
{
    struct loading *loading = cookie;
    if (loading->n == loading->size) {
        const uint32_t size = loading->size ? 2 * loading->size : 64;
        kr_kernel_description *larger = realloc(loading->kernels, size * sizeof *larger);
        if (!larger) {
            loading->is_out_of_memory = true;
            return;
        }
        loading->kernels = larger;
        loading->size = size;
    }
    kr_kernel_description *d = &loading->kernels[loading->n++];
    *d = (kr_kernel_description){ .name = keep(loading, kernel->name),
                                  .schema = keep(loading, kernel->schema),
                                  .key = kernel->key[0] ? keep(loading, kernel->key) : NULL,
                                  .isa = kernel->isa[0] ? keep(loading, kernel->isa) : NULL,
                                  .dtypes = kernel->dtypes,
                                  .layout = kernel->layout,
                                  .in_place = kernel->in_place };
}

static void on_spare_died(void *cookie, const struct wire_died *died)
{
    struct library *library = cookie;
    log_warning("spare.died", log_text("library", library->path), log_text("how", died->text));
    library->spare = NULL;
}
static void on_spare_kernel(void *cookie, const struct wire_kernel *kernel)
{
    (void) cookie;
    (void) kernel;
}
static void on_spare_ready(void *cookie) { (void) cookie; }
static void on_spare_failed(void *cookie, const char *text)
{
    const struct library *library = cookie;
    log_warning("spare.failed", log_text("library", library->path), log_text("why", text));
}

/* Nobody has asked a spare worker anything, so it can only become ready, or end. */
static struct worker_handlers spare_handlers(struct library *library)
{
    return (struct worker_handlers){ .cookie = library,
                                     .kernel = on_spare_kernel,
                                     .ready = on_spare_ready,
                                     .failed = on_spare_failed,
                                     .died = on_spare_died };
}

static void on_ready(void *cookie)
{
    struct loading *loading = cookie;
    struct library *library = loading->library;
    struct service *service = library->service;
    kr_error err;
    /* The worker of our own library is as good as new. A user's may have prepared anything in its
     * constructors: every session gets one of its own. */
    if (library->is_stock) {
        const struct worker_handlers handlers = spare_handlers(library);
        worker_set_handlers(loading->worker, &handlers);
        library->spare = loading->worker;
    } else {
        worker_kill(loading->worker);
    }
    if (loading->is_out_of_memory) {
        fail(loading, "its table takes too much memory");
        return;
    }
    const kr_provider_description provider = {
        .name = library->provider,
        .kind = library->is_stock ? KR_PROVIDER_STOCK : KR_PROVIDER_USER,
        .abi = ABI,
        .library = library->path,
        .source_hash = "",
        .compiler = "",
        .cflags = "",
        .registered_at = (int64_t) time(NULL),
        .cookie = (uint64_t) (uintptr_t) library,
    };
    if (kr_registry_add(service->registry, KR_SCOPE_GLOBAL, &provider, loading->kernels, loading->n,
                        &library->provider_id, &err) < 0) {
        kr_error_wrap(&err, "%s", library->path);
        finish(loading, &err);
        return;
    }
    library->is_loaded = true;
    library->n_kernels = loading->n;
    log_info("library.loaded", log_text("library", library->path),
             log_text("provider", library->provider), log_u64("kernels", loading->n));
    finish(loading, NULL);
}

static void on_failed(void *cookie, const char *text)
{
    struct loading *loading = cookie;
    snprintf(loading->failure, sizeof loading->failure, "%s", text);
}

static void on_died(void *cookie, const struct wire_died *died)
{
    struct loading *loading = cookie;
    if (loading->failure[0]) {
        fail(loading, loading->failure);
        return;
    }
    char text[2 * WIRE_TEXT];
    snprintf(text, sizeof text, "its worker %s while it loaded the library%s%s", died->text,
             died->printed[0] ? "; it printed: " : "", died->printed);
    fail(loading, text);
}

int service_load(struct service *service, const struct service_library *description,
                 service_loaded_fn done, void *cookie, kr_error *err)
{
    struct library *library = calloc(1, sizeof *library);
    struct loading *loading = calloc(1, sizeof *loading);
    char *path = strdup(description->path), *provider = strdup(description->provider);
    if (!library || !loading || !path || !provider) {
        free(library);
        free(loading);
        free(path);
        free(provider);
        return kr_error_set(err, KR_CODE_SYSTEM, "no memory for a library");
    }
    *library = (struct library){ .service = service,
                                 .path = path,
                                 .provider = provider,
                                 .is_stock = description->is_stock,
                                 .loading = loading };
    *loading = (struct loading){ .library = library, .done = done, .cookie = cookie };
    kr_arena_init(&loading->texts, TEXTS_MAX);
    LL_APPEND(service->libraries, library);
    const struct worker_handlers handlers = { .cookie = loading,
                                              .kernel = on_kernel,
                                              .ready = on_ready,
                                              .failed = on_failed,
                                              .died = on_died };
    const int r = worker_start(&service->workers, path, &handlers, &loading->worker, err);
    if (r < 0) {
        forget_loading(loading);
        LL_DELETE(service->libraries, library);
        free_library(library);
    }
    return r;
}

bool service_provider(const struct service *service, uint32_t i, struct service_provider *ret)
{
    const struct library *library;
    LL_FOREACH (service->libraries, library) {
        if (!library->is_loaded || i-- > 0)
            continue;
        *ret = (struct service_provider){ .name = library->provider,
                                          .library = library->path,
                                          .abi = ABI,
                                          .n_kernels = library->n_kernels };
        return true;
    }
    return false;
}

struct library *library_of(struct service *service, const kr_kernel_info *kernel)
{
    (void) service;
    return (struct library *) (uintptr_t) kernel->provider->cookie;
}

static void start_spare(struct library *library)
{
    kr_error err;
    const struct worker_handlers handlers = spare_handlers(library);
    if (worker_start(&library->service->workers, library->path, &handlers, &library->spare, &err) <
        0)
        log_info("spare.not_started", log_text("why", err.text));
}

int library_worker(struct library *library, const struct worker_handlers *handlers,
                   struct worker **ret, kr_error *err)
{
    struct workers *workers = &library->service->workers;
    int r = workers_check(workers, err);
    if (r < 0)
        return r;
    if (library->spare) {
        *ret = steal_pointer(&library->spare);
        worker_set_handlers(*ret, handlers);
    } else {
        r = worker_start(workers, library->path, handlers, ret, err);
        if (r < 0)
            return r;
    }
    worker_use(*ret);
    if (library->is_stock)
        start_spare(library);
    return 0;
}

void libraries_stop(struct service *service)
{
    struct library *library;
    LL_FOREACH (service->libraries, library) {
        library->spare = worker_kill(library->spare);
        if (library->loading) {
            worker_kill(library->loading->worker);
            forget_loading(library->loading);
        }
    }
}

void libraries_free(struct service *service)
{
    struct library *library, *next;
    LL_FOREACH_SAFE(service->libraries, library, next) { free_library(library); }
    service->libraries = NULL;
}
