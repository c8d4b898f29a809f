// SPDX-License-Identifier: Apache-2.0
/* gRPC's core is not built with ThreadSanitizer, so the order that its completion queue makes
 * between two threads is invisible to it. These say so: what was written before a tag was given to
 * the core is seen by whoever gets the tag back. */
#ifndef RPC_TSAN_H
#define RPC_TSAN_H

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define tsan_acquire(tag) __tsan_acquire(tag)
#define tsan_release(tag) __tsan_release(tag)
#else
#define tsan_acquire(tag) ((void) (tag))
#define tsan_release(tag) ((void) (tag))
#endif

#endif
