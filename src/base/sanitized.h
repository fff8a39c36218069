/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether this build has a sanitizer, which needs additional memory and system calls. */
#ifndef RS_BASE_SANITIZED_H
#define RS_BASE_SANITIZED_H

#define RS_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef RS_SANITIZED
#define RS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef RS_SANITIZED
#define RS_SANITIZED 1
#endif
#endif

#endif
