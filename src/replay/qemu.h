/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QEMU of ours: started with two channels, QMP and GDB, and ended with us whatever happens
 * (PR_SET_PDEATHSIG: with the thread that started it). The channels are pairs of sockets without a
 * name, so that nothing is left behind, however either side ends.
 */
#ifndef RS_REPLAY_QEMU_H
#define RS_REPLAY_QEMU_H

#include <sys/types.h>
#include "replay/gdb.h"
#include "replay/qmp.h"

struct rs_qemu {
	pid_t pid;	 /* 0: none, or reaped */
	int status;	 /* of wait(), when it has ended */
	char said[2048]; /* the end of what it wrote on standard error */
	int said_fd;
	int gdb_fd; /* until rs_qemu_gdb() takes it; 0 or -1: none */
	struct rs_qmp *qmp;
	struct rs_gdb *gdb; /* NULL until rs_qemu_gdb() */
};

/* The QEMU of PATH: a recording does not choose what is run. */
#define RS_QEMU "qemu-system-x86_64"

/* Its version as it says it, "7.2.22 (Debian ...)". RS_ABSENT: there is none. */
struct rs_error *rs_qemu_version(char *version, size_t size);

/* Starts it with these arguments (NULL-ended, argv[0] the program) and -qmp and -gdb besides; its
 * standard input is nothing. Returns when QMP answers. */
struct rs_error *rs_qemu_start(struct rs_qemu *qemu, char *const argv[]);

/* A command of its monitor's that says nothing when all went well. */
struct rs_error *rs_qemu_monitor(struct rs_qemu *qemu, const char *command);

/* More that it may be started with. */
struct rs_qemu_more {
	char *const *words; /* before it: a command that starts it, NULL-ended; or NULL */
	const int *fds;	    /* that it inherits, at these numbers */
	uint32_t n_fds;
};
struct rs_error *rs_qemu_start_with(struct rs_qemu *qemu, char *const argv[],
				    const struct rs_qemu_more *more);

/* Connects the GDB channel, which stops the machine. */
struct rs_error *rs_qemu_gdb(struct rs_qemu *qemu);

/* Whether it still runs; reaps it when it does not. */
bool rs_qemu_runs(struct rs_qemu *qemu);

/* Asks it to quit, in good order, and waits for that; what will not go is killed, which is an
 * error. Says so if it ended by a signal or with another status than 0. */
struct rs_error *rs_qemu_quit(struct rs_qemu *qemu);
/* The same of one that is ending by itself. */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu);

/* Kills it where it still runs, and frees; also one of zero bytes. */
void rs_qemu_end(struct rs_qemu *qemu);

#endif
