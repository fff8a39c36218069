/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of GDB channels, as a user writes them: "unix:PATH", "HOST:PORT", or ":PORT" on the
 * loopback interface.
 */
#ifndef RS_REPLAY_ADDRESS_H
#define RS_REPLAY_ADDRESS_H

#include <netdb.h>

#include <ringside/error.h>

/*
 * Resolves "HOST:PORT" or ":PORT" for stream sockets. `flags` are those of getaddrinfo(). An empty
 * host is 127.0.0.1 and needs no name service. The caller frees *list with freeaddrinfo(). Returns
 * RS_USAGE if the text has no port or is too long, or the host or port is unknown.
 */
struct rs_error *rs_address_resolve(const char *address, int flags, struct addrinfo **list);

#endif
