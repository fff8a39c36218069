/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves a replayed machine for a debugger. */
#include "replay/debugger_moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define CHECK_MS   200 /* between two checks for an interrupt of the debugger */
#define INTERRUPT  '\x03'
#define KIND_WATCH 2u /* the first of the watchpoints' kinds */

void rs_debugger_points_observe(struct rs_debugger_points *points, const char *body)
{
	uint64_t address;
	uint32_t i = 0;
	uint8_t kind;
	char set;

	if (sscanf(body, "%c%" SCNu8 ",%" SCNx64, &set, &kind, &address) != 3)
		return;
	while (i < points->n && (points->at[i].address != address || points->at[i].kind != kind))
		i++;
	if (set == 'z' && i < points->n) {
		points->at[i] = points->at[--points->n];
	} else if (set == 'Z' && i == points->n && i < RS_DEBUGGER_POINTS_MAX) {
		points->at[i].address = address;
		points->at[i].kind = kind;
		points->n++;
	}
}

bool rs_debugger_points_watch(const struct rs_debugger_points *points)
{
	for (uint32_t i = 0; i < points->n; i++)
		if (points->at[i].kind >= KIND_WATCH)
			return true;
	return false;
}

bool rs_debugger_points_break(const struct rs_debugger_points *points, uint64_t rip)
{
	for (uint32_t i = 0; i < points->n; i++)
		if (points->at[i].kind < KIND_WATCH && points->at[i].address == rip)
			return true;
	return false;
}

/* Returns whether the debugger sent an interrupt, or disconnected. */
static bool interrupts(int debugger)
{
	char bytes[64];
	ssize_t n = recv(debugger, bytes, sizeof(bytes), MSG_DONTWAIT);

	return !n || (n > 0 && memchr(bytes, INTERRUPT, (size_t)n));
}

struct rs_error *rs_debugger_move(struct rs_debugger_moves *m, rs_debugger_move_fn *how,
				  bool reports)
{
	struct rs_error *err = how(m->gdb);
	bool done = false;

	while (!err && !done) {
		err = rs_gdb_wait(m->gdb, CHECK_MS, &done, &m->stopped);
		if (!err && !done && !m->interrupted && (*m->stop || interrupts(m->debugger))) {
			m->interrupted = true;
			err = rs_gdb_interrupt(m->gdb);
		}
	}
	m->at_begin = err && rs_gdb_text(m->gdb)[0] == 'E';
	if (m->at_begin) {
		rs_error_free(err);
		m->clean = false;
		return NULL;
	}
	m->clean = !err && !m->interrupted && m->stopped.why != RS_GDB_ENDED &&
		   m->stopped.signal == RS_GDB_TRAP;
	if (!err && (reports || !m->clean))
		m->report = m->stopped;
	return err;
}
