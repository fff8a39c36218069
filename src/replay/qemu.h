/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends a QEMU with two channels, QMP and GDB. It always ends with this process
 * (PR_SET_PDEATHSIG: with the thread that started it). The channels are unnamed pairs of sockets,
 * so that nothing remains, however either side ends.
 *
 * The emulated machine may be hostile, so QEMU has few rights: it runs as an unprivileged user if
 * root starts it (confine.h), and in its own sandbox, which forbids it to start programs, to raise
 * privileges and to change scheduling. It has no monitor except the QMP channel.
 */
#ifndef RS_REPLAY_QEMU_H
#define RS_REPLAY_QEMU_H

#include <sys/types.h>
#include "replay/command.h"
#include "replay/gdb.h"
#include "replay/qmp.h"

struct rs_qemu {
	pid_t pid;	   /* 0: no process, or it was reaped */
	int status;	   /* status from wait(), after it has ended */
	char output[8192]; /* the end of its standard error output */
	int output_fd;
	int gdb_fd; /* valid until rs_qemu_gdb() consumes it; 0 or -1: none */
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

/* Returns whether QEMU still runs. Reaps it if not. */
bool rs_qemu_runs(struct rs_qemu *qemu);

/* Sends QEMU a quit, and waits for its end. Kills it if it does not quit, and returns an error.
 * Also returns an error if a signal ended it, or its exit status is not 0. */
struct rs_error *rs_qemu_quit(struct rs_qemu *qemu);
/* Waits for a QEMU that is already ending. */
struct rs_error *rs_qemu_ended(struct rs_qemu *qemu);

/* Kills QEMU if it still runs, and frees the structure. Accepts all zero. */
void rs_qemu_end(struct rs_qemu *qemu);

#endif
