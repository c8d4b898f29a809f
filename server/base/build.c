// SPDX-License-Identifier: Apache-2.0
#include "base/build.h"

/* Both come from the build (server/module.mk): VERSION, and a hash of every C source. */
const char build_version[] = KERNRIG_VERSION;
const char build_id[] = KERNRIG_BUILD_ID;
