/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to mapped files that somebody else may cut short at any time: the kernel answers an
 * access behind the new end with SIGBUS. The first call installs a handler for it in this process,
 * which passes every SIGBUS that is not ours to the previous handler. Any thread may call.
 */
#ifndef RS_RING_GUARD_H
#define RS_RING_GUARD_H

#include <stdbool.h>

/* Calls access(ctx); false: the memory went away half-way. access takes no lock and allocates
 * nothing: it may be left anywhere. Not to be nested. */
bool rs_guard(void (*access)(void *ctx), void *ctx);

#endif
