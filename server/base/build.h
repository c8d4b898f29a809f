// SPDX-License-Identifier: Apache-2.0
/* Which kernrig this is. The build id is a hash of the sources: a daemon starts only workers that
 * were built from the same ones, since the frames between them have no other version. */
#ifndef BASE_BUILD_H
#define BASE_BUILD_H

enum {
    BUILD_API_MAJOR = 1, /* differs: client and daemon cannot talk */
    BUILD_API_MINOR = 0, /* raised when something is added */
};

extern const char build_version[]; /* "0.1.0" */
extern const char build_id[];      /* 16 hexadecimal digits */

#endif
