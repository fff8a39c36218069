/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Goes back for a debugger. When QEMU goes back, it stops the machine behind the instruction that
 * hit a watchpoint, and reports a stop without a reason. A debugger shows the old and the new value
 * only if the machine is before that instruction, where memory still has the old value, and if it
 * gets the watchpoint's report. This code finds the instruction by executing it once more:
 *
 *	bc	    |<--------------N     QEMU stops behind the instruction
 *	bs, s	            N-1 --> N     the step reports the watchpoint
 *	bs	            N-1           the debugger gets that report here
 *
 * The instruction that led to the present place is checked before any `bc`, which ignores its
 * watchpoints and may miss a breakpoint there. Only one thread may call.
 */
#ifndef RS_REPLAY_DEBUGGER_BACK_H
#define RS_REPLAY_DEBUGGER_BACK_H

#include "replay/debugger_moves.h"

/* Returns whether going back, or going back by an instruction, may reach a point. If so, the caller
 * uses rs_debugger_back(). */
bool rs_debugger_is_back(const struct rs_debugger_points *points, bool steps);

/* Goes back to a point or, if `steps` is set, by one instruction. */
struct rs_error *rs_debugger_back(struct rs_debugger_moves *moves, bool steps);

#endif
