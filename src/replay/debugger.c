/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects a debugger to the machine, through the packet filter of gdb_gate.c. */
#include "replay/debugger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "replay/address.h"
#include "replay/gdb.h"
#include "replay/gdb_gate.h"

#define LOOK_MS	   200 /* between two looks whether we are to stop */
#define PIECE	   4096u
#define LINE_BYTES 512u /* of /proc/net/tcp */

/* ---- the way here ------------------------------------------------------------------------- */

static struct rs_error *listen_unix(const char *path, struct rs_debugger *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!path[0] || strlen(path) >= sizeof(address.sun_path))
		return rs_error_create(RS_USAGE, "no path that a socket can have");
	strcpy(address.sun_path, path);
	d->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* bind() makes the file with the mode of the socket: nobody else may ever connect. */
	if (d->listens < 0 || fchmod(d->listens, S_IRUSR | S_IWUSR) ||
	    bind(d->listens, (struct sockaddr *)&address, sizeof(address)))
		return rs_error_errno(errno, "listening");
	d->path = strdup(path);
	if (!d->path)
		return rs_error_no_memory();
	return listen(d->listens, 1) ? rs_error_errno(errno, "listening") : NULL;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
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
	for (const struct addrinfo *at = list; at && d->listens < 0 && !err; at = at->ai_next) {
		if (is_loopback(at->ai_addr))
			listens_at(at, &d->listens);
		else
			err = rs_error_create(RS_USAGE,
					      "not a loopback address: other hosts could reach the "
					      "machine there; use :PORT, and ssh -L");
	}
	failed = errno;
	freeaddrinfo(list);
	if (err)
		return err;
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

/* ---- who may connect ------------------------------------------------------------------------ */

/*
 * The uid that owns a connected TCP socket of this host, of its line in /proc/net/tcp or tcp6. A
 * socket that was closed already is root's for older kernels, so only an established one counts.
 */
static bool tcp_owner(const char *table, uint16_t local, uint16_t remote, uid_t *uid)
{
	FILE *file = fopen(table, "re");
	char line[LINE_BYTES];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		unsigned int from, to, state, owner;

		/* sl local:port remote:port st queues tr:when retransmits uid ... */
		found = sscanf(line,
			       " %*[0-9]: %*[0-9A-F]:%X %*[0-9A-F]:%X %X %*X:%*X %*X:%*X %*X %u",
			       &from, &to, &state, &owner) == 4 &&
			from == local && to == remote && state == TCP_ESTABLISHED;
		if (found)
			*uid = owner;
	}
	if (file)
		fclose(file);
	return found;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
	/* sin_port and sin6_port are at the same place. */
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

/* The uid of the process at the other end; both ends are on this host. */
static bool peer_uid(int fd, uid_t *uid)
{
	struct sockaddr_storage ours, theirs;
	socklen_t n_ours = sizeof(ours), n_theirs = sizeof(theirs), n_cred;
	struct ucred cred;

	if (getsockname(fd, (struct sockaddr *)&ours, &n_ours))
		return false;
	if (ours.ss_family == AF_UNIX) {
		n_cred = sizeof(cred);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n_cred))
			return false;
		*uid = cred.uid;
		return true;
	}
	if (getpeername(fd, (struct sockaddr *)&theirs, &n_theirs))
		return false;
	return tcp_owner("/proc/net/tcp", port_of(&theirs), port_of(&ours), uid) ||
	       tcp_owner("/proc/net/tcp6", port_of(&theirs), port_of(&ours), uid);
}

/* ---- packets through ------------------------------------------------------------------------ */

static bool send_all(int to, const char *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t sent = send(to, bytes + at, n - at, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return false;
		if (sent > 0)
			at += (size_t)sent;
	}
	return true;
}

/* Reads what one side has to say. *n is 0 at its end; -1: nothing yet. */
static struct rs_error *take(int from, char piece[PIECE], ssize_t *n)
{
	*n = read(from, piece, PIECE);
	if (*n >= 0 || errno == EINTR || errno == EAGAIN)
		return NULL;
	if (errno != ECONNRESET)
		return rs_error_errno(errno, "between the debugger and QEMU");
	*n = 0;
	return NULL;
}

/* The stub's replies go to the debugger as they are. *open: false when one of them has gone. */
static struct rs_error *pass_replies(int stub, int debugger, bool *open)
{
	char piece[PIECE];
	ssize_t n;
	struct rs_error *err = take(stub, piece, &n);

	if (!err && n >= 0)
		*open = n > 0 && send_all(debugger, piece, (size_t)n);
	return err;
}

/* The debugger's packets go to the stub through the gate; *foreign: they are none. */
static struct rs_error *pass_packets(struct rs_gdb_gate *gate, int debugger, int stub, bool *open,
				     bool *foreign)
{
	char piece[PIECE];
	ssize_t n;
	struct rs_error *err = take(debugger, piece, &n);

	if (!err && !n)
		*open = false;
	for (ssize_t i = 0; !err && *open && !*foreign && i < n; i++) {
		switch (rs_gdb_gate_take(gate, piece[i])) {
		case RS_GDB_MORE:
			break;
		case RS_GDB_PASS:
			*open = send_all(stub, gate->packet, gate->used);
			break;
		case RS_GDB_REFUSE:
			*open = send_all(debugger, RS_GDB_REFUSAL, strlen(RS_GDB_REFUSAL));
			break;
		case RS_GDB_FOREIGN:
			*foreign = true;
			break;
		}
	}
	return err;
}

/* Waits for a debugger of our own user's, or root's. Others are turned away. */
static struct rs_error *await(int fd, const volatile bool *stop, int *debugger)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uid_t uid;

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
		if (*debugger >= 0 &&
		    (!peer_uid(*debugger, &uid) || (uid != geteuid() && uid != 0))) {
			close(*debugger);
			*debugger = -1;
		}
	}
	return NULL;
}

/* Until the debugger goes, the machine ends or *stop becomes true. *foreign: it was none. */
static struct rs_error *serve_one(int debugger, int stub, const volatile bool *stop, bool *foreign)
{
	struct rs_gdb_gate gate = { .used = 0 };
	struct pollfd both[2] = { { .fd = debugger, .events = POLLIN },
				  { .fd = stub, .events = POLLIN } };
	struct rs_error *err = NULL;
	bool open = true;

	*foreign = false;
	while (!err && open && !*foreign && !*stop) {
		int ready = poll(both, 2, LOOK_MS);

		if (ready < 0 && errno != EINTR)
			err = rs_error_errno(errno, "between the debugger and QEMU");
		if (ready > 0 && both[0].revents)
			err = pass_packets(&gate, debugger, stub, &open, foreign);
		if (!err && ready > 0 && open && both[1].revents)
			err = pass_replies(stub, debugger, &open);
	}
	return err;
}

struct rs_error *rs_debugger_serve(struct rs_debugger *d, struct rs_gdb *gdb,
				   const volatile bool *stop)
{
	bool pending, foreign = true;
	int stub = rs_gdb_fd(gdb, &pending), debugger = -1;
	struct rs_error *err = NULL;

	/* What does not speak the protocol, such as a browser, is no debugger: another may come. */
	while (!err && foreign && !*stop) {
		err = await(d->listens, stop, &debugger);
		if (err || debugger < 0)
			break;
		err = serve_one(debugger, stub, stop, &foreign);
		close(debugger);
	}
	return err;
}
