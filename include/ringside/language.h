/* SPDX-License-Identifier: BSD-2-Clause */
/* What C and C++ write differently, for the other headers. Libc-free. */
#ifndef RINGSIDE_LANGUAGE_H
#define RINGSIDE_LANGUAGE_H

/* Marks a function that inline functions call. C++ then needs no landing pad for it, so an inlined
 * span has the same instructions as in C. */
#define RS_NOTHROW __attribute__((nothrow))

/* RS_C_BEGIN and RS_C_END enclose the declarations of a header: they have C's linkage. */
#ifdef __cplusplus
#define RS_STATIC_ASSERT(what, why) static_assert(what, why)
#define RS_C_BEGIN		    extern "C" {
#define RS_C_END		    }
#else
#define RS_STATIC_ASSERT(what, why) _Static_assert(what, why)
#define RS_C_BEGIN
#define RS_C_END
#endif

#endif
