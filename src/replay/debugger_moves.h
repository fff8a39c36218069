/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves a replayed machine. One request of a debugger may take several moves here, but the debugger
 * gets one report. Meanwhile a byte 0x03 from its socket, its end, or *stop interrupt the machine;
 * other bytes from the socket cannot be a packet, and are dropped. Only one thread may call.
 */
#ifndef RS_REPLAY_DEBUGGER_MOVES_H
#define RS_REPLAY_DEBUGGER_MOVES_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/gdb.h"

#define RS_DEBUGGER_POINTS_MAX 256u

/* The points that a debugger has set, from its packets. Points beyond the limit are ignored: QEMU's
 * report of their stops is unchanged. */
struct rs_debugger_points {
	struct {
		uint64_t address;
		uint8_t kind; /* as in the packet: 0 and 1 are breakpoints, 2 to 4 watchpoints */
	} at[RS_DEBUGGER_POINTS_MAX];
	uint32_t n;
};

/* Processes the text of a packet: Z sets a point, z clears one. Ignores others. */
void rs_debugger_points_observe(struct rs_debugger_points *points, const char *body);
bool rs_debugger_points_watch(const struct rs_debugger_points *points);
bool rs_debugger_points_break(const struct rs_debugger_points *points, uint64_t rip);

struct rs_debugger_moves {
	const struct rs_debugger_points *points;
	struct rs_gdb *gdb;
	int debugger; /* its socket */
	const volatile bool *stop;
	/* The results. */
	struct rs_gdb_stopped report; /* to the debugger */
	bool at_begin;		      /* QEMU cannot go back from here, the recording's beginning */
	/* Result of the last move. */
	bool interrupted; /* an interrupt was sent */
	bool clean;	  /* it ended as expected */
	struct rs_gdb_stopped stopped;
};

typedef struct rs_error *rs_debugger_move_fn(struct rs_gdb *gdb);

/* Moves the machine and waits until it stops. Sets the report to the stop if `reports` is set, or
 * if the move was not clean. */
struct rs_error *rs_debugger_move(struct rs_debugger_moves *moves, rs_debugger_move_fn *how,
				  bool reports);

#endif
