/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Least privilege for a process that reads untrusted data: a verb that reads traces, or a child
 * process, such as QEMU, a library that parses a foreign format, or the C preprocessor. A child
 * calls this between fork() and its work, or execve(). The process
 *
 *	becomes an unprivileged user, if root started it: "ringside" if the system has that user,
 *	otherwise "nobody"
 *	gives up its capabilities, and the right to gain privileges (no_new_privs)
 *	gets limits on its memory, files and descriptors, and writes no core
 *
 * calls.h limits its system calls.
 */
#ifndef RS_CONFINE_CONFINE_H
#define RS_CONFINE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rs_confine {
	/* Limits; 0: unchanged. */
	uint64_t address_bytes; /* RLIMIT_AS */
	uint64_t data_bytes;	/* RLIMIT_DATA: memory without a file */
	uint64_t file_bytes;	/* RLIMIT_FSIZE */
	uint64_t descriptors;	/* RLIMIT_NOFILE */
	/* The capabilities that the process keeps if it has them; bits by CAP_ number. */
	uint64_t capabilities;
	/* Set by rs_confine_prepare(). If false, the process keeps its user. */
	bool drops;
	uid_t uid;
	gid_t gid;
};

/* Looks up the user. Called in the parent, because a forked child of a process with threads must
 * not. */
void rs_confine_prepare(struct rs_confine *confine);

/*
 * Confines the calling process, which has one thread. Returns NULL, or the name of the call that
 * failed, with errno set; the process must then exit. Async-signal-safe. Clears a parent-death
 * signal, so prctl(PR_SET_PDEATHSIG) comes later.
 */
const char *rs_confine_enter(const struct rs_confine *confine);

/* Reduces the calling thread's capabilities to those of this set that it has (bits by CAP_ number),
 * and clears the inheritable ones. Returns NULL, or the name of the call that failed.
 * Async-signal-safe. */
const char *rs_confine_capabilities(uint64_t kept);

/* Makes the unprivileged user the owner of a file, so that a confined process can open it by
 * /proc/self/fd; rs_confine_reclaim() restores this process's user. No-ops unless root calls them.
 * Return 0, or -1 with errno set. */
int rs_confine_give(int fd);
int rs_confine_reclaim(int fd);

#endif
