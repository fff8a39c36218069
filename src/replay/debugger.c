/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/debugger.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "replay/address.h"
#include "replay/gdb.h"

#define LOOK_MS 200 /* between two looks whether we are to stop */
#define PIECE	4096u

/* ---- the way here ------------------------------------------------------------------------- */

static struct rs_error *listen_unix(const char *path, struct rs_debugger *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!path[0] || strlen(path) >= sizeof(address.sun_path))
		return rs_error_create(RS_USAGE, "no path that a socket can have");
	strcpy(address.sun_path, path);
	d->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (d->listens < 0 || bind(d->listens, (struct sockaddr *)&address, sizeof(address)))
		return rs_error_errno(errno, "listening");
	d->path = strdup(path);
	if (!d->path)
		return rs_error_no_memory();
	return listen(d->listens, 1) ? rs_error_errno(errno, "listening") : NULL;
}

static bool listens_at(const struct addrinfo *at, int *fd)
{
	const int one = 1;

	*fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
	if (*fd < 0)
		return false;
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(*fd, at->ai_addr, at->ai_addrlen) && !listen(*fd, 1))
		return true;
	close(*fd);
	*fd = -1;
	return false;
}

static struct rs_error *listen_tcp(const char *address, struct rs_debugger *d)
{
	struct addrinfo *list = NULL;
	struct rs_error *err = rs_address_resolve(address, AI_PASSIVE, &list);
	int failed;

	if (err)
		return err;
	errno = ENOENT;
	for (const struct addrinfo *at = list; at && !listens_at(at, &d->listens); at = at->ai_next)
		;
	failed = errno;
	freeaddrinfo(list);
	return d->listens < 0 ? rs_error_errno(failed, "listening") : NULL;
}

struct rs_error *rs_debugger_listen(const char *address, struct rs_debugger *d)
{
	struct rs_error *err;

	*d = (struct rs_debugger)RS_DEBUGGER_NONE;
	if (!strncmp(address, "unix:", 5))
		err = listen_unix(address + 5, d);
	else
		err = listen_tcp(address, d);
	if (err)
		rs_debugger_close(d);
	return rs_error_wrap(err, "%s", address);
}

void rs_debugger_close(struct rs_debugger *d)
{
	if (d->listens >= 0)
		close(d->listens);
	if (d->path)
		unlink(d->path);
	free(d->path);
	*d = (struct rs_debugger)RS_DEBUGGER_NONE;
}

/* ---- words through ------------------------------------------------------------------------ */

/* What one side says goes to the other; *open false: one of them has gone. */
static struct rs_error *pass(int from, int to, bool *open)
{
	char piece[PIECE];
	ssize_t n = read(from, piece, sizeof(piece)), at = 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return NULL;
	if (n < 0 && errno != ECONNRESET)
		return rs_error_errno(errno, "between the debugger and QEMU");
	*open = n > 0;
	while (*open && at < n) {
		ssize_t sent = send(to, piece + at, (size_t)(n - at), MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			*open = false;
		else if (sent > 0)
			at += sent;
	}
	return NULL;
}

static struct rs_error *await(int fd, const volatile bool *stop, int *debugger)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	*debugger = -1;
	while (!*stop && *debugger < 0) {
		int ready = poll(&wait, 1, LOOK_MS);

		if (ready < 0 && errno != EINTR)
			return rs_error_errno(errno, "waiting for a debugger");
		if (ready <= 0)
			continue;
		*debugger = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (*debugger < 0 && errno != EINTR && errno != ECONNABORTED)
			return rs_error_errno(errno, "waiting for a debugger");
	}
	return NULL;
}

struct rs_error *rs_debugger_serve(struct rs_debugger *d, struct rs_gdb *gdb,
				   const volatile bool *stop)
{
	bool pending, open = true;
	int stub = rs_gdb_fd(gdb, &pending), debugger;
	struct rs_error *err = await(d->listens, stop, &debugger);
	struct pollfd both[2] = { { .fd = debugger, .events = POLLIN },
				  { .fd = stub, .events = POLLIN } };

	while (!err && debugger >= 0 && open && !*stop) {
		int ready = poll(both, 2, LOOK_MS);

		if (ready < 0 && errno != EINTR)
			err = rs_error_errno(errno, "between the debugger and QEMU");
		if (ready > 0 && both[0].revents)
			err = pass(debugger, stub, &open);
		if (!err && ready > 0 && open && both[1].revents)
			err = pass(stub, debugger, &open);
	}
	if (debugger >= 0)
		close(debugger);
	return err;
}
