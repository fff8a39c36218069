/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses mapped files that another process may truncate at any time: an access after the new end
 * raises SIGBUS. The first call installs a handler in this process, which passes each SIGBUS from
 * outside rs_guard() to the previous handler. Any thread may call.
 */
#ifndef RS_RING_GUARD_H
#define RS_RING_GUARD_H

#include <stdbool.h>

/* Calls access(ctx). Returns false if the memory was truncated during the call. access() must not
 * take a lock or allocate memory, because a SIGBUS can end it anywhere. Calls do not nest. */
bool rs_guard(void (*access)(void *ctx), void *ctx);

#endif
