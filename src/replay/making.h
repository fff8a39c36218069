/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a guest in QEMU until its folder is a recording or a snapshot. The caller creates the folder
 * (guest.h), begins, runs the guest to its end, and frees:
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
	/* a recording's snapshot at its begin and disk for writes; a new snapshot */
	struct rs_snapshots states;
	struct rs_qemu qemu;
	int console_to, console; /* QEMU writes to one, and this process reads from the other */
	uint64_t log_bytes;
};
#define RS_MAKING_NONE                                                                             \
	{                                                                                          \
		.console_to = -1, .console = -1, .qemu = {.output_fd = -1, .gdb_fd = -1 }          \
	}

/* Frees it, and ends QEMU. Also valid after a failure, and for RS_MAKING_NONE. */
void rs_making_deinit(struct rs_making *making);

/* Returns the guest's present time. */
uint64_t rs_making_guest_ns(const struct rs_making *making);

/* Returns the console's size in bytes. */
uint64_t rs_making_console_bytes(const struct rs_making *making);

/* Conditions that end a recording before the guest ends. */
struct rs_making_limits {
	uint64_t guest_ns;	   /* limit of the guest's time; 0: none */
	uint64_t log_bytes;	   /* limit of the log's size; 0: none */
	volatile bool const *stop; /* set by Ctrl-C */
	bool has_init;		   /* our first process prints its program's exit status */
	void (*progress)(const struct rs_making *making); /* NULL, or called some times a second */
};

/* Creates the log and starts QEMU. A failure leaves a folder without a recording. */
struct rs_error *rs_making_begin_record(struct rs_making *making);
/* Records until the guest's end or a limit, and completes the recording, which is valid however
 * QEMU ended. Sets making->made.why to the reason for its end. */
struct rs_error *rs_making_record(struct rs_making *making, const struct rs_making_limits *limits);

/* Conditions for taking a snapshot; the first that holds counts. */
struct rs_making_when {
	const char *text; /* text on the console; NULL: none */
	uint64_t time_ns; /* time of the guest's clock; 0: none */
	volatile bool const *stop;
};

/* Creates the snapshot's file and starts QEMU. */
struct rs_error *rs_making_begin_snapshot(struct rs_making *making);
/* Runs the guest up to `when`, saves its state, and ends it. Returns RS_FAILED if the guest ended
 * earlier. */
struct rs_error *rs_making_snapshot(struct rs_making *making, const struct rs_making_when *when);

#endif
