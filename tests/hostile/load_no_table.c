// SPDX-License-Identifier: Apache-2.0
/* A library, but not of kernels. */
int kernrig_nothing_here(void);
__attribute__((visibility("default"))) int kernrig_nothing_here(void) { return 1; }
