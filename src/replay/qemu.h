/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends a QEMU with two channels, QMP and GDB. It always ends with this process
 * (PR_SET_PDEATHSIG: with the thread that started it). The channels are unnamed pairs of sockets,
 * so that nothing is left behind, however either side ends.
 *
 * The emulated machine may be hostile, so QEMU has few rights: it runs as an unprivileged user if
 * root starts it (confine.h), and in its own sandbox, which refuses to start programs, to raise
 * privileges and to change scheduling. It has no monitor except the QMP channel.
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
	char said[2048]; /* the end of its standard error output */
	int said_fd;
	int gdb_fd; /* until rs_qemu_gdb() consumes it; 0 or -1: none */
	struct rs_qmp *qmp;
	struct rs_gdb *gdb; /* NULL until rs_qemu_gdb() */
};

/* Reads QEMU's version, "7.2.22 (Debian ...)". Returns RS_ABSENT if there is no QEMU. */
struct rs_error *rs_qemu_version(char *version, size_t size);

/* Starts QEMU with this command, to which it adds its channels and its sandbox; its standard input
 * is empty. Returns when QMP answers. */
struct rs_error *rs_qemu_start(struct rs_qemu *qemu, struct rs_qemu_command *command);

/* Runs a monitor command, which prints nothing on success. */
struct rs_error *rs_qemu_monitor(struct rs_qemu *qemu, const char *command);

/* Connects the GDB channel, which stops the machine. */
struct rs_error *rs_qemu_gdb(struct rs_qemu *qemu);

/* Returns whether it still runs; reaps it if not. */
bool rs_qemu_runs(struct rs_qemu *qemu);

/* Asks QEMU to quit, and waits for that. Kills it if it does not, which is an error. Returns an
 * error if it ended by a signal or with a status other than 0. */
struct rs_error *rs_qemu_quit(struct rs_qemu *qemu);
/* Waits for a QEMU that is ending already. */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu);

/* Kills QEMU if it still runs, and frees; also a zeroed one. */
void rs_qemu_end(struct rs_qemu *qemu);

#endif
