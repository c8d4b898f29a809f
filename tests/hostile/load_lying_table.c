// SPDX-License-Identifier: Apache-2.0
/* Its table says that it has four thousand million kernels, nowhere. */
#define KR_NO_LIBRARY_TABLE
#include <kernrig/kernel.h>

void kr_library_table(kr_library *ret);
__attribute__((visibility("default"))) void kr_library_table(kr_library *ret)
{
    *ret = (kr_library){ .abi = KR_ABI, .kernel_size = sizeof(kr_kernel), .count = UINT32_MAX };
}
