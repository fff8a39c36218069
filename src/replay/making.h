/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that runs in QEMU until its folder is a recording or a snapshot. The caller makes the
 * folder (guest.h), begins, runs the guest to its end, and frees:
 *
 *	rs_replay_guest_make(guest, &making.made)
 *	rs_making_begin_record(making)		rs_making_begin_snapshot(making)
 *	rs_making_record(making, limits)	rs_making_snapshot(making, when)
 *	rs_making_deinit(making)
 */
#ifndef RS_REPLAY_MAKING_H
#define RS_REPLAY_MAKING_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/qemu.h"
#include "replay/recording.h"
#include "replay/snapshots.h"

struct rs_making {
	struct rs_recording made;
	struct rs_snapshots states; /* a recording's begin and writes to the disk; a snapshot */
	struct rs_qemu qemu;
	int console_to, console; /* QEMU writes one, and this process reads the other */
	uint64_t log_bytes;
};
#define RS_MAKING_NONE                                                                             \
	{                                                                                          \
		.console_to = -1, .console = -1, .qemu = {.said_fd = -1, .gdb_fd = -1 }            \
	}

/* Frees, and ends QEMU; also after a failure, and RS_MAKING_NONE. */
void rs_making_deinit(struct rs_making *making);

/* Returns how far the guest's time came. */
uint64_t rs_making_guest_ns(const struct rs_making *making);

/* Returns the console's size in bytes. */
uint64_t rs_making_console_bytes(const struct rs_making *making);

/* When a recording ends, besides at the guest's end. */
struct rs_making_limits {
	uint64_t guest_ns;	   /* of the guest's time; 0: none */
	uint64_t log_bytes;	   /* of the log; 0: none */
	volatile bool const *stop; /* set by Ctrl-C */
	bool has_init;		   /* our first process prints how its program ended */
	void (*progress)(const struct rs_making *making); /* NULL, or called some times a second */
};

/* Creates the log and starts QEMU. A failure leaves a folder without a recording. */
struct rs_error *rs_making_begin_record(struct rs_making *making);
/* Records until the guest's end or a limit, and completes the recording, which is valid however
 * QEMU ended. making->made.why says why it ended. */
struct rs_error *rs_making_record(struct rs_making *making, const struct rs_making_limits *limits);

/* When a snapshot is taken: at the first of these. */
struct rs_making_when {
	const char *text; /* on the console; NULL: none */
	uint64_t time_ns; /* of the guest's clock; 0: none */
	volatile bool const *stop;
};

/* Creates the snapshot's file and starts QEMU. */
struct rs_error *rs_making_begin_snapshot(struct rs_making *making);
/* Runs the guest up to `when`, saves its state, and ends it. Returns RS_FAILED if the guest ended
 * before. */
struct rs_error *rs_making_snapshot(struct rs_making *making, const struct rs_making_when *when);

#endif
