/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Going back on a debugger's behalf. QEMU stops a machine that goes back behind the instruction
 * that met a watchpoint, and reports a stop without a reason. A debugger expects to be before that
 * instruction, where memory still has the old value, and to have its watchpoint reported: only then
 * does it show the old and the new value. The instruction is found by doing it once more:
 *
 *	bc	    |<--------------N     QEMU stops behind the instruction
 *	bs, s	            N-1 --> N     the step reports the watchpoint
 *	bs	            N-1           the debugger gets that report here
 *
 * The instruction that led to where the machine stands is looked at before any `bc`, which
 * ignores its watchpoints and may miss a breakpoint there.
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

/* The points that a debugger has set, of its packets. Beyond the most, they are not noticed: a stop
 * is reported as QEMU reports it. */
struct rs_debugger_points {
	struct {
		uint64_t address;
		uint8_t kind; /* as in the packet: 0 and 1 are breakpoints, 2 to 4 watchpoints */
	} at[RS_DEBUGGER_POINTS_MAX];
	uint32_t n;
};

/* Takes a packet of the debugger's, from '$' on: Z sets a point, z clears one. Ignores others. */
void rs_debugger_points_take(struct rs_debugger_points *points, const char *packet, size_t bytes);

/* Whether the packet goes back to a point, or by an instruction that may meet a watchpoint:
 * rs_debugger_back() is to do it then. */
bool rs_debugger_goes_back(const struct rs_debugger_points *points, const char *packet,
			   size_t bytes);

/*
 * Goes back as the packet says ("bc" or "bs"), and writes the body of the reply that the debugger
 * is to have. Until then a byte 0x03 from the socket `debugger`, its end, or *stop interrupt the
 * machine. The other bytes that come from there meanwhile are dropped: they can be no packet.
 */
struct rs_error *rs_debugger_back(const struct rs_debugger_points *points, struct rs_gdb *gdb,
				  const char *packet, int debugger, const volatile bool *stop,
				  char reply[RS_DEBUGGER_REPLY_MAX]);

#endif
