/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QEMU of ours: started with two channels, QMP and GDB, and ended with us whatever happens
 * (PR_SET_PDEATHSIG: with the thread that started it). The channels are pairs of sockets without a
 * name, so that nothing is left behind, however either side ends.
 *
 * What it emulates may be hostile, so it has little to lose: it runs as an unprivileged user where
 * root starts it (confine.h), and in its own sandbox, which refuses to start programs, to raise
 * privileges and to change scheduling. It has no monitor but the QMP channel.
 */
#ifndef RS_REPLAY_QEMU_H
#define RS_REPLAY_QEMU_H

#include <sys/types.h>
#include "replay/command.h"
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

/* Its version as it says it, "7.2.22 (Debian ...)". RS_ABSENT: there is none. */
struct rs_error *rs_qemu_version(char *version, size_t size);

/* Starts it with this command, to which it adds its channels and its sandbox; its standard input is
 * nothing. Returns when QMP answers. */
struct rs_error *rs_qemu_start(struct rs_qemu *qemu, struct rs_qemu_command *command);

/* Runs a command of its monitor's that says nothing when all went well. */
struct rs_error *rs_qemu_monitor(struct rs_qemu *qemu, const char *command);

/* Connects the GDB channel, which stops the machine. */
struct rs_error *rs_qemu_gdb(struct rs_qemu *qemu);

/* Whether it still runs; reaps it when it does not. */
bool rs_qemu_runs(struct rs_qemu *qemu);

/* Asks it to quit, in good order, and waits for that; what will not go is killed, which is an
 * error. Says so if it ended by a signal or with another status than 0. */
struct rs_error *rs_qemu_quit(struct rs_qemu *qemu);
/* Waits for one that is ending already. */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu);

/* Kills it where it still runs, and frees; also one of zero bytes. */
void rs_qemu_end(struct rs_qemu *qemu);

#endif
