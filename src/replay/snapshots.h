/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disks of a QEMU: an empty disk in QEMU's format, which no device uses, for snapshots; and one
 * for the guest's writes, over the recording's copy of the image, which does not change. Both are
 * unnamed files, which QEMU inherits, and which the kernel removes after the last process has
 * closed them.
 */
#ifndef RS_REPLAY_SNAPSHOTS_H
#define RS_REPLAY_SNAPSHOTS_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>
#include "replay/recording.h"

/* The name of a snapshot, from its instruction. */
#define RS_SNAPSHOT_NAME  "at%" PRIu64
#define RS_SNAPSHOT_START "at0"
#define RS_SNAPSHOTS_MAX  256u

struct rs_snapshots {
	int fd;	  /* 0: none */
	int disk; /* disk for writes over the recording's disk; 0: the guest has no disk */
	int over; /* the recording's disk: borrowed */
	uint64_t icounts[RS_SNAPSHOTS_MAX];
	uint32_t n;
};

/* Creates the disks that a QEMU on this recording needs. wanted: it will take snapshots. like:
 * NULL, or the initial disks, which are copied in their present state. */
struct rs_error *rs_snapshots_make(struct rs_snapshots *snapshots,
				   const struct rs_recording *recording,
				   const struct rs_snapshots *like, bool wanted);
/* Writes an empty disk to a file of the caller. */
struct rs_error *rs_snapshots_write_empty(int fd);
void rs_snapshots_deinit(struct rs_snapshots *snapshots); /* accepts all zero */

/* Adds QEMU's arguments for the disks to those of rs_recording_command(). */
void rs_snapshots_add_to(const struct rs_snapshots *snapshots, struct rs_qemu_command *command);

/* Adds a snapshot. Returns RS_USAGE if there are too many. */
struct rs_error *rs_snapshots_add(struct rs_snapshots *snapshots, uint64_t icount);

/* Resets the count of instructions in the snapshot of a guest that was not recorded, without
 * changing the time of its clock. QEMU's log counts from there, and has 31 bits for the first
 * step. */
struct rs_error *rs_snapshots_reset_count(int fd, const char *name, uint32_t shift);

/* Returns the last snapshot at or before this instruction, or UINT64_MAX. */
uint64_t rs_snapshots_before(const struct rs_snapshots *snapshots, uint64_t icount);

#endif
