// SPDX-License-Identifier: Apache-2.0
#include "worker/load.h"

#include <dlfcn.h>

int load_library(const char *path, uint32_t max_kernels, struct library *ret, kr_error *err)
{
    /* Local, so that no two libraries see each other's symbols; now, so that a missing one is
     * found here and not in a call. Never closed: the process ends with its library. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return kr_error_set(err, KR_CODE_LOAD, "%s", dlerror());
    void *symbol = dlsym(handle, "kr_library_table");
    if (!symbol)
        return kr_error_set(err, KR_CODE_LOAD,
                            "%s is no kernel library: it does not export kr_library_table, which "
                            "kernrig/kernel.h brings",
                            path);
    void (*table)(kr_library *);
    memcpy(&table, &symbol, sizeof table); /* C has no cast from object to function */
    kr_library library = { 0 };
    table(&library);
    if (library.abi != KR_ABI || library.kernel_size != sizeof(kr_kernel))
        return kr_error_set(
            err, KR_CODE_LOAD,
            "%s is built for kernel ABI %u with descriptions of %u bytes; this "
            "worker has ABI %d and %zu bytes. Rebuild it with this kernrig's header",
            path, library.abi, library.kernel_size, KR_ABI, sizeof(kr_kernel));
    if (library.count > max_kernels)
        return kr_error_set(err, KR_CODE_LIMIT, "%s holds %u kernels; at most %u are taken", path,
                            library.count, max_kernels);
    if (library.count && !library.kernels)
        return kr_error_set(err, KR_CODE_LOAD, "%s: its table of %u kernels is nowhere", path,
                            library.count);
    *ret = (struct library){ .count = library.count, .kernels = library.kernels };
    return 0;
}

static int describe(const kr_kernel *kernel, uint32_t index, struct wire_kernel *ret, kr_error *err)
{
    if (!kernel || !kernel->run || !kernel->name || !kernel->schema)
        return kr_error_set(err, KR_CODE_LOAD,
                            "kernel %u of the table lacks its name, its function or its schema",
                            index);
    if (kernel->layout > KR_STRIDED)
        return kr_error_set(err, KR_CODE_LOAD, "kernel '%s' declares layout %u, which is none",
                            kernel->name, kernel->layout);
    *ret = (struct wire_kernel){ .name = kernel->name,
                                 .schema = kernel->schema,
                                 .key = kernel->key ? kernel->key : "",
                                 .isa = kernel->isa ? kernel->isa : "",
                                 .dtypes = kernel->dtypes,
                                 .layout = kernel->layout,
                                 .in_place = kernel->in_place };
    return 0;
}

int load_describe(const struct library *library, int socket, uint8_t *buffer, kr_error *err)
{
    struct wire_kernels_writer out;
    wire_kernels_begin(&out, buffer, WIRE_FRAME_MAX);
    for (uint32_t i = 0; i < library->count; i++) {
        struct wire_kernel kernel;
        int r = describe(library->kernels[i], i, &kernel, err);
        if (r < 0)
            return r;
        if (wire_kernels_put(&out, &kernel))
            continue;
        if (out.count == 0)
            return kr_error_set(err, KR_CODE_LIMIT, "the description of kernel %u is too long", i);
        r = wire_send(socket, wire_kernels_end(&out), NULL, 0, err);
        if (r < 0)
            return r;
        wire_kernels_begin(&out, buffer, WIRE_FRAME_MAX);
        i--; /* it did not fit: once more, into the next frame */
    }
    return wire_send(socket, wire_kernels_end(&out), NULL, 0, err);
}
