/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a GDB channel is, as a user writes it: "unix:PATH", "HOST:PORT", or ":PORT" on the loopback
 * interface.
 */
#ifndef RS_REPLAY_ADDRESS_H
#define RS_REPLAY_ADDRESS_H

#include <netdb.h>

#include <ringside/error.h>

/*
 * Resolves "HOST:PORT" or ":PORT" for stream sockets. `flags` are getaddrinfo()'s. An empty host is
 * 127.0.0.1 and needs no name service. The caller frees *list with freeaddrinfo(). RS_USAGE: the
 * text has no port, is too long, or the host or port is unknown.
 */
struct rs_error *rs_address_resolve(const char *address, int flags, struct addrinfo **list);

#endif
