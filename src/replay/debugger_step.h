/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps a task by an instruction of its program. A system call, a fault or an interrupt leads the
 * processor into the kernel instead of to the next instruction. A debugger of the program does not
 * expect that, so the machine continues until the task is in its program again:
 *
 *	program	N ──┐ fault             ┌── N, again: one more step ── N+1   the stop
 *	kernel	    └── ... other tasks ─┘
 *
 * The kernel returns to the address that the processor saved. When going back, the machine stops at
 * the same address, before the fault or the interrupt, or at the system call before it. Points that
 * the debugger has set stop the machine on the way. If a task does not return there, because it
 * ends or leaves a signal handler in another way, the step does not stop it.
 *
 * Only one thread may call.
 */
#ifndef RS_REPLAY_DEBUGGER_STEP_H
#define RS_REPLAY_DEBUGGER_STEP_H

#include "replay/debugger_moves.h"
#include "replay/debugger_threads.h"

/* Returns whether the processor is in a program. */
bool rs_debugger_is_user(const struct rs_x86_regs *regs);

/* Steps the current task, which must be in its program. Changes the present stop of `threads`. */
struct rs_error *rs_debugger_step(struct rs_debugger_moves *moves,
				  struct rs_debugger_threads *threads);

/* Goes back by an instruction of the current task, which must be in its program. */
struct rs_error *rs_debugger_step_back(struct rs_debugger_moves *moves,
				       struct rs_debugger_threads *threads);

#endif
