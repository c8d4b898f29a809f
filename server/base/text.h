// SPDX-License-Identifier: Apache-2.0
/* Text from elsewhere: what a kernel prints or calls itself may hold any bytes, but a reply with a
 * string that is not UTF-8 would be refused whole by its reader. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

/* Replaces every byte that is not part of a well-formed character by '?', in place. */
void text_make_utf8(char *text);

#endif
