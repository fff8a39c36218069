/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the hooks include: the tracing of a program (libringside-hooks.a) or, freestanding, of a
 * guest (libringside-guest-hooks.a). Each file has the hooks that belong together, so that the
 * linker takes those that are used, and their __real_ functions, alone.
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
