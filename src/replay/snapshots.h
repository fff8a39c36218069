/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a QEMU's snapshots are, an empty disk of QEMU's format that no device has; and what the
 * guest writes on its disk, over the recording's copy of the image, which nobody changes. Both are
 * files without names, which QEMU inherits. They go with the last process that has them.
 */
#ifndef RS_REPLAY_SNAPSHOTS_H
#define RS_REPLAY_SNAPSHOTS_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>
#include "replay/recording.h"

/* By the instruction where it was taken. */
#define RS_SNAPSHOT_NAME  "at%" PRIu64
#define RS_SNAPSHOT_START "at0"
#define RS_SNAPSHOTS_MAX  256u

struct rs_snapshots {
	int fd;	  /* 0: none */
	int disk; /* what is written over the recording's; 0: the guest has none */
	int over; /* the recording's: borrowed */
	uint64_t icounts[RS_SNAPSHOTS_MAX];
	uint32_t n;
};

/* What a QEMU on this recording needs. wanted: it is to take snapshots. like: NULL, or those that
 * it begins with, as they are now: they are copied. */
struct rs_error *rs_snapshots_make(struct rs_snapshots *snapshots,
				   const struct rs_recording *recording,
				   const struct rs_snapshots *like, bool wanted);
/* An empty one, in a file of the caller's. */
struct rs_error *rs_snapshots_write_empty(int fd);
void rs_snapshots_deinit(struct rs_snapshots *snapshots); /* also one of zero bytes */

/* Adds QEMU's arguments for it to those of rs_recording_command(). */
void rs_snapshots_add_to(const struct rs_snapshots *snapshots, struct rs_qemu_command *command);

/* RS_USAGE: there are too many. */
struct rs_error *rs_snapshots_add(struct rs_snapshots *snapshots, uint64_t icount);

/* In the snapshot of a guest that was not recorded: it has done no instruction yet, at the same
 * time of its clock. QEMU's log counts from there, and has 31 bits for the first step. */
struct rs_error *rs_snapshots_count_anew(int fd, const char *name, uint32_t shift);

/* The last at or before this instruction; UINT64_MAX: there is none. */
uint64_t rs_snapshots_before(const struct rs_snapshots *snapshots, uint64_t icount);

#endif
