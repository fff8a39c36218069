/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes back for a debugger: finds the previous access, and reports the values before and after
 * it. */
#include "replay/debugger_back.h"

/* Steps back by an instruction and executes it again. If it has a breakpoint or hits a watchpoint,
 * leaves the machine before it, and reports that. Otherwise the machine returns to its
 * place. */
static struct rs_error *try_behind(struct rs_debugger_moves *m, bool *met)
{
	struct rs_error *err = rs_debugger_move(m, rs_gdb_back_step, false);
	struct rs_x86_regs regs = { 0 };

	*met = false;
	if (!err && m->clean)
		err = rs_gdb_registers(m->gdb, &regs);
	if (err || !m->clean)
		return err;
	err = rs_debugger_move(m, rs_gdb_step, false);
	if (err || !m->clean)
		return err;
	*met = m->stopped.why == RS_GDB_WATCHED || rs_debugger_points_break(m->points, regs.rip);
	if (!*met)
		return NULL;
	m->report = m->stopped;
	return rs_debugger_move(m, rs_gdb_back_step, false);
}

static struct rs_error *back_far(struct rs_debugger_moves *m)
{
	struct rs_x86_regs regs;
	bool met;
	/* QEMU does not check the instruction that led here, and may miss its breakpoint. */
	struct rs_error *err = try_behind(m, &met);

	if (err || met || m->interrupted)
		return err;
	err = rs_debugger_move(m, rs_gdb_back, true);
	if (err || !m->clean)
		return err;
	err = rs_gdb_registers(m->gdb, &regs);
	/* QEMU stopped for a breakpoint; the instruction before it is checked next. */
	if (err || rs_debugger_points_break(m->points, regs.rip))
		return err;
	return try_behind(m, &met);
}

static struct rs_error *back_step(struct rs_debugger_moves *m)
{
	struct rs_error *err = rs_debugger_move(m, rs_gdb_back_step, true);

	if (!err && m->clean)
		err = rs_debugger_move(m, rs_gdb_step, false);
	if (err || !m->clean)
		return err;
	if (m->stopped.why == RS_GDB_WATCHED)
		m->report = m->stopped;
	return rs_debugger_move(m, rs_gdb_back_step, false);
}

bool rs_debugger_is_back(const struct rs_debugger_points *points, bool steps)
{
	return steps ? rs_debugger_points_watch(points) : points->n;
}

struct rs_error *rs_debugger_back(struct rs_debugger_moves *m, bool steps)
{
	return steps ? back_step(m) : back_far(m);
}
