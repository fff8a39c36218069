/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to mapped files that another process may truncate at any time: the kernel answers an
 * access behind the new end with SIGBUS. The first call installs a handler in this process, which
 * passes every SIGBUS from outside rs_guard() to the previous handler. Any thread may call.
 */
#ifndef RS_RING_GUARD_H
#define RS_RING_GUARD_H

#include <stdbool.h>

/* Calls access(ctx). Returns false if the memory was truncated meanwhile. access must take no lock
 * and allocate nothing, since a SIGBUS can end it anywhere. Calls do not nest. */
bool rs_guard(void (*access)(void *ctx), void *ctx);

#endif
