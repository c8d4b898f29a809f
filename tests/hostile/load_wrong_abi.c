// SPDX-License-Identifier: Apache-2.0
/* Was built against another version of the header. */
#define KR_NO_LIBRARY_TABLE
#include <kernrig/kernel.h>

void kr_library_table(kr_library *ret);
__attribute__((visibility("default"))) void kr_library_table(kr_library *ret)
{
    *ret = (kr_library){ .abi = KR_ABI + 1, .kernel_size = 8, .count = 3 };
}
