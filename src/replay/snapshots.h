/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a replay's snapshots are: an empty disk of QEMU's format that no device has, in a file
 * without a name. QEMU knows it by the number of the file, and it goes with the last who has it.
 */
#ifndef RS_REPLAY_SNAPSHOTS_H
#define RS_REPLAY_SNAPSHOTS_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

/* By the instruction where it was taken. */
#define RS_SNAPSHOT_NAME "at%" PRIu64
#define RS_SNAPSHOTS_MAX 256u

struct rs_snapshots {
	int fd; /* 0: none */
	uint64_t icounts[RS_SNAPSHOTS_MAX];
	uint32_t n;
};

/* like: NULL, or those that it begins with, as they are now: they are copied. */
struct rs_error *rs_snapshots_make(struct rs_snapshots *snapshots, const struct rs_snapshots *like);
void rs_snapshots_deinit(struct rs_snapshots *snapshots); /* also one of zero bytes */

/* Adds QEMU's arguments for it to those of rs_recording_argv(). */
struct rs_error *rs_snapshots_argv(const struct rs_snapshots *snapshots, char **argv);

/* RS_USAGE: there are too many. */
struct rs_error *rs_snapshots_add(struct rs_snapshots *snapshots, uint64_t icount);

/* The last at or before this instruction; UINT64_MAX: there is none. */
uint64_t rs_snapshots_before(const struct rs_snapshots *snapshots, uint64_t icount);

#endif
