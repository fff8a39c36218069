/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes back for a debugger: finds the previous access and reports the values around it. */
#include "replay/debugger_back.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "replay/gdb.h"

#define CHECK_MS   200 /* between two checks for an interrupt of the debugger */
#define INTERRUPT  '\x03'
#define KIND_WATCH 2u /* the first of the watchpoints' kinds */

/* ---- points --------------------------------------------------------------------------------- */

void rs_debugger_points_observe(struct rs_debugger_points *points, const char *packet, size_t bytes)
{
	char text[64], set;
	uint64_t address;
	uint32_t i = 0;
	uint8_t kind;

	snprintf(text, sizeof(text), "%.*s", (int)(bytes < sizeof(text) ? bytes : sizeof(text)),
		 packet);
	if (sscanf(text, "$%c%" SCNu8 ",%" SCNx64, &set, &kind, &address) != 3)
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

static bool has_watchpoint(const struct rs_debugger_points *points)
{
	for (uint32_t i = 0; i < points->n; i++)
		if (points->at[i].kind >= KIND_WATCH)
			return true;
	return false;
}

static bool has_breakpoint(const struct rs_debugger_points *points, uint64_t rip)
{
	for (uint32_t i = 0; i < points->n; i++)
		if (points->at[i].kind < KIND_WATCH && points->at[i].address == rip)
			return true;
	return false;
}

bool rs_debugger_is_back(const struct rs_debugger_points *points, const char *packet, size_t bytes)
{
	return bytes > 3 && ((!memcmp(packet, "$bc#", 4) && points->n) ||
			     (!memcmp(packet, "$bs#", 4) && has_watchpoint(points)));
}

/* ---- going back ----------------------------------------------------------------------------- */

struct back {
	const struct rs_debugger_points *points;
	struct rs_gdb *gdb;
	int debugger;
	const volatile bool *stop;
	bool asked; /* an interrupt was sent */
	bool clean; /* the last move ended as it should */
	char *reply;
	struct rs_gdb_stopped stopped;
};

/* Returns whether the debugger sent an interrupt, or disconnected. */
static bool interrupts(int debugger)
{
	char bytes[64];
	ssize_t n = recv(debugger, bytes, sizeof(bytes), MSG_DONTWAIT);

	return !n || (n > 0 && memchr(bytes, INTERRUPT, (size_t)n));
}

typedef struct rs_error *move_fn(struct rs_gdb *gdb);

/* Moves the machine and waits until it stops. QEMU's reply is the debugger's reply if the move is
 * the first, or was interrupted. If QEMU refuses a later move, the reply is unchanged: the machine
 * is at the beginning of the recording. */
static struct rs_error *move(struct back *b, move_fn *how, bool first)
{
	struct rs_error *err = how(b->gdb);
	bool done = false, refused;

	while (!err && !done) {
		err = rs_gdb_wait(b->gdb, CHECK_MS, &done, &b->stopped);
		if (!err && !done && !b->asked && (*b->stop || interrupts(b->debugger))) {
			b->asked = true;
			err = rs_gdb_interrupt(b->gdb);
		}
	}
	refused = err && rs_gdb_text(b->gdb)[0] == 'E';
	if (refused) {
		rs_error_free(err);
		err = NULL;
	}
	b->clean = !err && !refused && !b->asked && b->stopped.why != RS_GDB_ENDED &&
		   b->stopped.signal == RS_GDB_TRAP;
	if (!err && (first || (!b->clean && !refused)))
		snprintf(b->reply, RS_DEBUGGER_REPLY_MAX, "%s",
			 b->stopped.why == RS_GDB_ENDED ? "W00" : rs_gdb_text(b->gdb));
	return err;
}

/* Steps back by an instruction and executes it again. If it has a breakpoint or hits a watchpoint,
 * leaves the machine before it, and uses that as the reply. Otherwise the machine returns to its
 * place. */
static struct rs_error *try_behind(struct back *b, bool *met)
{
	struct rs_error *err = move(b, rs_gdb_back_step, false);
	struct rs_x86_regs regs = { 0 };

	*met = false;
	if (!err && b->clean)
		err = rs_gdb_registers(b->gdb, &regs);
	if (err || !b->clean)
		return err;
	err = move(b, rs_gdb_step, false);
	if (err || !b->clean)
		return err;
	*met = b->stopped.why == RS_GDB_WATCHED || has_breakpoint(b->points, regs.rip);
	if (!*met)
		return NULL;
	snprintf(b->reply, RS_DEBUGGER_REPLY_MAX, "%s", rs_gdb_text(b->gdb));
	return move(b, rs_gdb_back_step, false);
}

static struct rs_error *back_far(struct back *b)
{
	struct rs_x86_regs regs;
	bool met;
	/* QEMU does not check the instruction that led here, and may miss its breakpoint. */
	struct rs_error *err = try_behind(b, &met);

	if (err || met || b->asked)
		return err;
	err = move(b, rs_gdb_back, true);
	if (err || !b->clean)
		return err;
	err = rs_gdb_registers(b->gdb, &regs);
	/* QEMU stopped for a breakpoint; the instruction before it is checked next. */
	if (err || has_breakpoint(b->points, regs.rip))
		return err;
	return try_behind(b, &met);
}

static struct rs_error *back_step(struct back *b)
{
	struct rs_error *err = move(b, rs_gdb_back_step, true);

	if (!err && b->clean)
		err = move(b, rs_gdb_step, false);
	if (err || !b->clean)
		return err;
	if (b->stopped.why == RS_GDB_WATCHED)
		snprintf(b->reply, RS_DEBUGGER_REPLY_MAX, "%s", rs_gdb_text(b->gdb));
	return move(b, rs_gdb_back_step, false);
}

struct rs_error *rs_debugger_back(const struct rs_debugger_points *points, struct rs_gdb *gdb,
				  const char *packet, int debugger, const volatile bool *stop,
				  char reply[RS_DEBUGGER_REPLY_MAX])
{
	struct back b = {
		.points = points, .gdb = gdb, .debugger = debugger, .stop = stop, .reply = reply
	};

	reply[0] = '\0';
	return packet[2] == 'c' ? back_far(&b) : back_step(&b);
}
