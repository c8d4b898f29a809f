// SPDX-License-Identifier: Apache-2.0
/* Its table leads to an address that is not mapped. */
#define KR_NO_LIBRARY_TABLE
#include <kernrig/kernel.h>

void kr_library_table(kr_library *ret);
__attribute__((visibility("default"))) void kr_library_table(kr_library *ret)
{
    volatile uintptr_t nowhere = 16;
    *ret = (kr_library){ .abi = KR_ABI,
                         .kernel_size = sizeof(kr_kernel),
                         .count = 1,
                         .kernels = (const kr_kernel *const *) nowhere };
}
