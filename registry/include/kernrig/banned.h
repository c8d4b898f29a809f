// SPDX-License-Identifier: Apache-2.0
/* Calls that have no safe use turn into compile errors. Included before every file of registry/
 * and server/ by the build; kernels do not see it, they do not see libc either.
 *
 * To format use snprintf, to copy text into a record kr_error_set or snprintf, to parse numbers
 * strtoll with its end checked, to split strings a parser. */
#ifndef KERNRIG_BANNED_H
#define KERNRIG_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#undef alloca
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok
#pragma GCC poison atoi atol atoll atof asctime ctime gmtime localtime mktemp tmpnam alloca

#endif
