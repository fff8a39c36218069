/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps over the kernel. */
#include "replay/debugger_step.h"

#include "replay/debugger_back.h"

#define CPL_MASK      3u
#define RSP	      7
#define SYSCALL_BYTES 2
#define TRIES	      64 /* interrupts and faults of one instruction */

bool rs_debugger_is_user(const struct rs_x86_regs *regs)
{
	return (regs->cs & CPL_MASK) == CPL_MASK;
}

/* Reads the state of the stopped machine. */
static struct rs_error *state_read(struct rs_debugger_moves *m, struct rs_debugger_threads *t)
{
	struct rs_x86_regs regs;
	struct rs_error *err = rs_gdb_registers(m->gdb, &regs);

	if (!err)
		rs_debugger_threads_stopped(t, &regs, false);
	return err;
}

/* Returns whether the instruction at an address of the current task is `syscall`. */
static bool is_syscall(struct rs_debugger_threads *t, uint64_t rip)
{
	uint8_t code[SYSCALL_BYTES];

	return !rs_memory_read(&t->memory, rip, code, sizeof(code), NULL) && code[0] == 0x0f &&
	       code[1] == 0x05;
}

/* Finds the kernel's return address at its first instruction: a fault or an interrupt has saved it
 * on the stack, below an optional error code (Intel SDM volume 3, 6.14). */
static bool return_find(struct rs_debugger_threads *t, const struct rs_x86_regs *before,
			bool by_syscall, uint64_t *rip)
{
	uint64_t frame[6];

	*rip = before->rip + SYSCALL_BYTES;
	if (by_syscall)
		return true;
	if (rs_memory_read(&t->memory, t->regs.gpr[RSP], frame, sizeof(frame), NULL))
		return false;
	for (int at = 0; at < 2; at++) {
		*rip = frame[at];
		if (frame[at + 1] == before->cs && frame[at + 3] == before->gpr[RSP])
			return true;
	}
	return false;
}

/* Continues to an address in the program of a task. If the machine stops elsewhere, sets *there to
 * false, and this stop is the report. */
static struct rs_error *run_to(struct rs_debugger_moves *m, struct rs_debugger_threads *t,
			       uint64_t rip, int64_t task, bool *there)
{
	struct rs_error *err = NULL;

	*there = false;
	while (!err && !*there) {
		err = rs_debugger_move(m, rs_gdb_continue, true);
		if (err || !m->clean || m->stopped.why == RS_GDB_WATCHED)
			return err;
		err = state_read(m, t);
		if (err)
			return err;
		*there = t->regs.rip == rip && t->current == task && rs_debugger_is_user(&t->regs);
		if (*there || t->regs.rip != rip || rs_debugger_points_break(m->points, rip))
			return NULL;
		/* Another task reached the address. The machine leaves it by a step. */
		err = rs_debugger_move(m, rs_gdb_step, true);
		if (err || !m->clean || m->stopped.why == RS_GDB_WATCHED)
			return err;
	}
	return err;
}

/* The same, with a breakpoint at the address. */
static struct rs_error *return_to(struct rs_debugger_moves *m, struct rs_debugger_threads *t,
				  uint64_t rip, int64_t task, bool *there)
{
	bool ours = !rs_debugger_points_break(m->points, rip);
	struct rs_error *err = ours ? rs_gdb_point(m->gdb, RS_GDB_EXEC, rip, 1, true) : NULL;

	if (!err)
		err = run_to(m, t, rip, task, there);
	if (!err && ours && m->report.why != RS_GDB_ENDED)
		err = rs_gdb_point(m->gdb, RS_GDB_EXEC, rip, 1, false);
	return err;
}

struct rs_error *rs_debugger_step(struct rs_debugger_moves *m, struct rs_debugger_threads *t)
{
	const int64_t task = t->current;
	bool again = true, by_syscall, there;
	struct rs_error *err = state_read(m, t); /* the debugger may have changed registers */

	for (int i = 0; !err && again && i < TRIES; i++) {
		const struct rs_x86_regs before = t->regs;
		uint64_t rip;

		by_syscall = is_syscall(t, before.rip);
		err = rs_debugger_move(m, rs_gdb_step, true);
		if (err || !m->clean || m->stopped.why == RS_GDB_WATCHED)
			return err;
		err = state_read(m, t);
		if (err || rs_debugger_is_user(&t->regs) ||
		    !return_find(t, &before, by_syscall, &rip))
			return err;
		err = return_to(m, t, rip, task, &there);
		again = there && rip == before.rip;
	}
	return err;
}

/* ---- back ----------------------------------------------------------------------------------- */

/* Sets or clears a private breakpoint, unless the debugger has one there. `points` contains it. */
static struct rs_error *own_point(struct rs_debugger_moves *m, struct rs_debugger_points *points,
				  uint64_t rip, bool set)
{
	if (rs_debugger_points_break(m->points, rip))
		return NULL;
	if (set && points->n < RS_DEBUGGER_POINTS_MAX) {
		points->at[points->n].address = rip;
		points->at[points->n].kind = RS_GDB_EXEC;
		points->n++;
	}
	return rs_gdb_point(m->gdb, RS_GDB_EXEC, rip, 1, set);
}

/* Goes back to one of two addresses in the program of a task. If the machine stops elsewhere, sets
 * *there to false, and this stop is the report. */
static struct rs_error *back_to(struct rs_debugger_moves *m, struct rs_debugger_threads *t,
				const uint64_t rips[2], int64_t task, bool *there)
{
	struct rs_debugger_points points = *m->points;
	struct rs_debugger_moves with = *m;
	struct rs_error *err = own_point(m, &points, rips[0], true);

	if (!err && rips[1] != rips[0])
		err = own_point(m, &points, rips[1], true);
	with.points = &points;
	*there = false;
	while (!err && !*there) {
		err = rs_debugger_back(&with, false);
		if (!err && with.report.why == RS_GDB_STOPPED)
			err = state_read(m, t);
		if (err || !with.clean || with.at_begin || with.report.why != RS_GDB_STOPPED)
			break;
		*there = rs_debugger_is_user(&t->regs) && t->current == task &&
			 (t->regs.rip == rips[0] || t->regs.rip == rips[1]);
		if (rs_debugger_points_break(m->points, t->regs.rip))
			break;
	}
	m->report = with.report;
	m->at_begin = with.at_begin;
	m->clean = with.clean;
	if (!err && with.report.why != RS_GDB_ENDED)
		err = own_point(m, &points, rips[0], false);
	if (!err && with.report.why != RS_GDB_ENDED && rips[1] != rips[0])
		err = own_point(m, &points, rips[1], false);
	return err;
}

static struct rs_error *back_once(struct rs_debugger_moves *m)
{
	return rs_debugger_is_back(m->points, true) ? rs_debugger_back(m, true)
						    : rs_debugger_move(m, rs_gdb_back_step, true);
}

struct rs_error *rs_debugger_step_back(struct rs_debugger_moves *m, struct rs_debugger_threads *t)
{
	const int64_t task = t->current;
	bool again = true, there;
	struct rs_error *err = state_read(m, t); /* the debugger may have changed registers */

	for (int i = 0; !err && again && i < TRIES; i++) {
		const uint64_t at = t->regs.rip, syscall = at - SYSCALL_BYTES;
		const uint64_t rips[2] = { at, is_syscall(t, syscall) ? syscall : at };

		err = back_once(m);
		if (err || !m->clean || m->at_begin || m->report.why != RS_GDB_STOPPED)
			return err;
		err = state_read(m, t);
		if (err || rs_debugger_is_user(&t->regs))
			return err;
		err = back_to(m, t, rips, task, &there);
		again = !err && there && t->regs.rip == at;
	}
	return err;
}
