/* SPDX-License-Identifier: BSD-2-Clause */
/* Accepts the connection of a debugger, and checks its owner. */
#include "replay/debugger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libgen.h>
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

#define UNIX	   "unix:" /* prefix of the address of a named socket */
#define CHECK_MS   200	   /* between two checks of *stop */
#define LINE_BYTES 512u	   /* of /proc/net/tcp */

/* ---- the socket ----------------------------------------------------------------------------- */

/*
 * Checks that no other user can replace the socket by another one, to which a debugger would
 * connect: the directory of the path belongs to this user or root, and only its owner may enter it.
 */
static struct rs_error *check_directory(const char *path)
{
	char copy[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	const char *directory = dirname(strcpy(copy, path));
	struct stat st;

	if (stat(directory, &st))
		return rs_error_errno(errno, "its directory, %s", directory);
	if ((st.st_uid == geteuid() || !st.st_uid) && !(st.st_mode & (S_IRWXG | S_IRWXO)))
		return NULL;
	return rs_error_create(
		RS_USAGE,
		"its directory, %s, belongs to user %u and has mode %04o: other users could "
		"put their own socket there. Make a directory for it, mkdir -m 700 "
		"DIR, and name " UNIX "DIR/NAME",
		directory, st.st_uid, st.st_mode & 07777u);
}

/* Creates the socket and its file. */
static struct rs_error *bind_unix(const char *path, struct rs_debugger *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rs_error *err;

	if (!path[0] || strlen(path) >= sizeof(address.sun_path))
		return rs_error_create(RS_USAGE, "not a valid path for a socket");
	err = check_directory(path);
	if (err)
		return err;
	strcpy(address.sun_path, path);
	d->listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* bind() creates the file with the mode of the socket, so that no other user can ever
	 * connect. */
	if (d->listens < 0 || fchmod(d->listens, S_IRUSR | S_IWUSR) ||
	    bind(d->listens, (struct sockaddr *)&address, sizeof(address)))
		return rs_error_errno(errno, "listening");
	d->path = strdup(path);
	return d->path ? NULL : rs_error_no_memory();
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
		       IN_LOOPBACKNET;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static bool binds_at(const struct addrinfo *at, int *fd)
{
	const int one = 1;

	*fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
	if (*fd < 0)
		return false;
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(*fd, at->ai_addr, at->ai_addrlen))
		return true;
	close(*fd);
	*fd = -1;
	return false;
}

static struct rs_error *bind_tcp(const char *address, struct rs_debugger *d)
{
	struct addrinfo *list = NULL;
	struct rs_error *err = rs_address_resolve(address, AI_PASSIVE, &list);
	int failed;

	if (err)
		return err;
	errno = ENOENT;
	for (const struct addrinfo *at = list; at && d->listens < 0 && !err; at = at->ai_next) {
		if (is_loopback(at->ai_addr))
			binds_at(at, &d->listens);
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

static bool is_unix(const char *address)
{
	return !strncmp(address, UNIX, strlen(UNIX));
}

static void unbind(struct rs_debugger *d)
{
	if (d->listens >= 0)
		close(d->listens);
	if (d->path)
		unlink(d->path);
	free(d->path);
	d->path = NULL;
	d->listens = -1;
}

struct rs_error *rs_debugger_bind(const char *address, struct rs_debugger *d)
{
	struct rs_error *err;

	*d = (struct rs_debugger){ .listens = -1, .address = address };
	/* An existing file would signal that a debugger can connect, so this only checks that the
	 * file can be created. */
	err = is_unix(address) ? bind_unix(address + strlen(UNIX), d) : bind_tcp(address, d);
	if (err || is_unix(address))
		unbind(d);
	return rs_error_wrap(err, "%s", address);
}

/* Writes where a debugger can connect. The port may be one that the kernel chose. */
static struct rs_error *where_format(struct rs_debugger *d)
{
	struct sockaddr_storage ours;
	socklen_t n = sizeof(ours);
	char host[64], port[8];

	if (d->path) {
		snprintf(d->where, sizeof(d->where), "%s", d->path);
		return NULL;
	}
	if (getsockname(d->listens, (struct sockaddr *)&ours, &n))
		return rs_error_errno(errno, "its port");
	if (getnameinfo((struct sockaddr *)&ours, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return rs_error_create(RS_FAILED, "its port is unknown");
	snprintf(d->where, sizeof(d->where), ours.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		 port);
	return NULL;
}

struct rs_error *rs_debugger_listen(struct rs_debugger *d)
{
	struct rs_error *err = NULL;

	if (is_unix(d->address))
		err = bind_unix(d->address + strlen(UNIX), d);
	if (!err && listen(d->listens, 1))
		err = rs_error_errno(errno, "listening");
	if (!err)
		err = where_format(d);
	if (err)
		unbind(d);
	return rs_error_wrap(err, "%s", d->address);
}

void rs_debugger_close(struct rs_debugger *d)
{
	unbind(d);
	*d = (struct rs_debugger)RS_DEBUGGER_NONE;
}

/* ---- permission ----------------------------------------------------------------------------- */

/* One end of a TCP connection, as IPv6. */
struct end {
	struct in6_addr address;
	uint32_t port;
};

static struct end end_of(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	struct end end = { .port = ntohs(v4->sin_port) }; /* sin6_port has the same offset */

	if (address->ss_family == AF_INET6) {
		end.address = v6->sin6_addr;
		return end;
	}
	end.address.s6_addr32[2] = htonl(0xffff);
	end.address.s6_addr32[3] = v4->sin_addr.s_addr;
	return end;
}

/* Compares an end with one of /proc/net/tcp or tcp6: an address of 8 or 32 digits, which are words
 * in the host's byte order. */
static bool is_end(const struct end *end, const char *digits, uint32_t port)
{
	struct in6_addr address = { .s6_addr32 = { [2] = htonl(0xffff) } };
	size_t words = strlen(digits) / 8;

	if (strlen(digits) % 8 || (words != 1 && words != 4))
		return false;
	for (size_t i = 0; i < words; i++) {
		char word[9] = { 0 };

		memcpy(word, digits + i * 8, 8);
		address.s6_addr32[4 - words + i] = (uint32_t)strtoul(word, NULL, 16);
	}
	return port == end->port && !memcmp(&address, &end->address, sizeof(address));
}

/*
 * Returns the uid that owns a connected TCP socket of this host, from /proc/net/tcp or tcp6. The
 * addresses are compared too: another socket, of another user, may have the same two ports. Older
 * kernels show a closed socket as root's, so only an established one counts.
 */
static bool tcp_owner(const char *table, const struct end *local, const struct end *remote,
		      uid_t *uid)
{
	FILE *file = fopen(table, "re");
	char line[LINE_BYTES];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char from[33], to[33];
		unsigned int from_port, to_port, state, owner;

		/* columns: sl local:port remote:port st queues tr:when retransmits uid ... */
		found = sscanf(line,
			       " %*[0-9]: %32[0-9A-F]:%X %32[0-9A-F]:%X %X %*X:%*X %*X:%*X %*X %u",
			       from, &from_port, to, &to_port, &state, &owner) == 6 &&
			is_end(local, from, from_port) && is_end(remote, to, to_port) &&
			state == TCP_ESTABLISHED;
		if (found)
			*uid = owner;
	}
	if (file)
		fclose(file);
	return found;
}

/* Returns the uid of the process at the other end; both ends are on this host. */
static bool peer_uid(int fd, uid_t *uid)
{
	struct sockaddr_storage ours, theirs;
	struct end local, remote;
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
	local = end_of(&theirs); /* as the peer sees it */
	remote = end_of(&ours);
	return tcp_owner("/proc/net/tcp", &local, &remote, uid) ||
	       tcp_owner("/proc/net/tcp6", &local, &remote, uid);
}

/* ---- serving ------------------------------------------------------------------------------ */

/* Waits for a debugger of this user or root. Refuses others. */
static struct rs_error *debugger_accept(int fd, const volatile bool *stop, int *debugger)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uid_t uid;

	*debugger = -1;
	while (!*stop && *debugger < 0) {
		int ready = poll(&wait, 1, CHECK_MS);

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

struct rs_error *rs_debugger_serve(struct rs_debugger *d, struct rs_gdb *gdb,
				   const struct rs_debugger_options *options)
{
	struct rs_error *err = NULL;
	bool foreign = true;

	/* A peer that does not use the protocol, such as a browser, is not a debugger; another may
	 * connect. */
	while (!err && foreign && !*options->stop) {
		int debugger;

		err = debugger_accept(d->listens, options->stop, &debugger);
		if (err || debugger < 0)
			break;
		err = rs_debugger_session(debugger, gdb, options, &foreign);
		close(debugger);
	}
	return err;
}
