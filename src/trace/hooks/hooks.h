/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included by the hooks: the tracing of a program (libringside-hooks.a) or, freestanding, of a
 * guest (libringside-guest-hooks.a). Each file has related hooks, so that the linker includes only
 * the hooks that are used, with their __real_ functions.
 */
#ifndef RS_TRACE_HOOKS_H
#define RS_TRACE_HOOKS_H

#include <stddef.h>
#if __STDC_HOSTED__
#include <ringside/trace.h>
#else
#include <ringside/guest.h>
#endif
#include <ringside/memory.h>

#endif
