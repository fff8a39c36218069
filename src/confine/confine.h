/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Least privilege for a process that reads what others made: a verb that reads traces, or a child
 * process, such as QEMU, a library that parses a foreign format, the C preprocessor. A child does
 * this between fork() and its work, or execve(). The process
 *
 *	becomes an unprivileged user, if root started it: "ringside" if the system has that user,
 *	otherwise "nobody"
 *	gives up its capabilities, and the right to gain privileges (no_new_privs)
 *	gets limits on its memory, files and descriptors, and writes no core
 *
 * confine_calls.h limits its system calls.
 */
#ifndef RS_CONFINE_CONFINE_H
#define RS_CONFINE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rs_confine {
	/* Limits; 0: the process keeps the one that it has. */
	uint64_t address_bytes; /* RLIMIT_AS */
	uint64_t data_bytes;	/* RLIMIT_DATA: memory that is no file's */
	uint64_t file_bytes;	/* RLIMIT_FSIZE */
	uint64_t descriptors;	/* RLIMIT_NOFILE */
	/* Those that the process keeps if it has them; bits by CAP_ number. */
	uint64_t capabilities;
	/* Set by rs_confine_prepare(); false, and the process keeps its user: */
	bool drops;
	uid_t uid;
	gid_t gid;
};

/* Looks up the user, in the parent: a child of a process with threads must not. */
void rs_confine_prepare(struct rs_confine *confine);

/*
 * Confines the calling process, which has one thread. Returns NULL, or the name of the call that
 * failed; errno says why. The process must end then. Async-signal-safe. A parent-death signal is
 * lost: prctl(PR_SET_PDEATHSIG) comes after this.
 */
const char *rs_confine_enter(const struct rs_confine *confine);

/* Reduces the calling thread's capabilities to those that it has of this set (bits by CAP_ number),
 * and makes none inheritable. Returns NULL, or the name of the call that failed.
 * Async-signal-safe. */
const char *rs_confine_capabilities(uint64_t kept);

/* Gives a file to the unprivileged user, so that a confined process can open it by /proc/self/fd;
 * and back to this process' user. No-ops unless root calls. 0, or -1 and errno. */
int rs_confine_give(int fd);
int rs_confine_reclaim(int fd);

#endif
