/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the address of a GDB channel. */
#include "replay/address.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HOST_MAX 256u
#define LOOPBACK "127.0.0.1"

struct rs_error *rs_address_resolve(const char *address, int flags, struct addrinfo **list)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	const char *colon = strrchr(address, ':');
	char host[HOST_MAX];
	int failed;

	if (!colon || !colon[1])
		return rs_error_create(RS_USAGE, "no port; write unix:PATH, HOST:PORT or :PORT");
	if (colon - address >= (ptrdiff_t)sizeof(host))
		return rs_error_create(RS_USAGE, "the host name is too long");
	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	failed = getaddrinfo(host[0] ? host : LOOPBACK, colon + 1, &hints, list);
	return failed ? rs_error_create(RS_USAGE, "%s", gai_strerror(failed)) : NULL;
}
