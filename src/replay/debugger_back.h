/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes back for a debugger. When QEMU goes back, it stops the machine behind the instruction that
 * hit a watchpoint, and reports a stop without a reason. A debugger expects to be before that
 * instruction, where memory still has the old value, and to get the watchpoint's report: only then
 * does it show the old and the new value. This code finds the instruction by executing it once
 * more:
 *
 *	bc	    |<--------------N     QEMU stops behind the instruction
 *	bs, s	            N-1 --> N     the step reports the watchpoint
 *	bs	            N-1           the debugger gets that report here
 *
 * The instruction that led to the present place is checked before any `bc`, which ignores its
 * watchpoints and may miss a breakpoint there.
 *
 * One thread.
 */
#ifndef RS_REPLAY_DEBUGGER_BACK_H
#define RS_REPLAY_DEBUGGER_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_gdb;

#define RS_DEBUGGER_POINTS_MAX 256u
#define RS_DEBUGGER_REPLY_MAX  256u

/* The points that a debugger has set, from its packets. Points beyond the limit are ignored: QEMU's
 * report of their stops is unchanged. */
struct rs_debugger_points {
	struct {
		uint64_t address;
		uint8_t kind; /* as in the packet: 0 and 1 are breakpoints, 2 to 4 watchpoints */
	} at[RS_DEBUGGER_POINTS_MAX];
	uint32_t n;
};

/* Observes a packet of the debugger, from '$' on: Z sets a point, z clears one. Ignores others. */
void rs_debugger_points_observe(struct rs_debugger_points *points, const char *packet,
				size_t bytes);

/* Returns whether the packet goes back to a point, or by an instruction that may hit a watchpoint:
 * the caller then calls rs_debugger_back() for it. */
bool rs_debugger_is_back(const struct rs_debugger_points *points, const char *packet, size_t bytes);

/*
 * Goes back as the packet requests ("bc" or "bs"), and writes the body of the reply for the
 * debugger. Meanwhile a byte 0x03 from the socket `debugger`, its end, or *stop interrupt the
 * machine. Drops other bytes from there, which cannot be a packet.
 */
struct rs_error *rs_debugger_back(const struct rs_debugger_points *points, struct rs_gdb *gdb,
				  const char *packet, int debugger, const volatile bool *stop,
				  char reply[RS_DEBUGGER_REPLY_MAX]);

#endif
