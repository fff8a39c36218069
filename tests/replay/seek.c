/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seek REC FIRST SECOND: a replay goes to two instructions, back and forth, and must have the same
 * state each time; then from each of several places back to the last hit of a breakpoint. Prints
 * the last one's position in one line. Exits with 0, without further output, on success.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/session.h"

static const char *doing;

static void require_ok(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", doing, rs_error_text(err));
	exit(1);
}

static void must(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "%s: %s differs\n", doing, what);
	exit(1);
}

static struct rs_state_hash state(struct rs_session *s)
{
	struct rs_state_hash hash;

	require_ok(rs_session_hash(s, &hash));
	return hash;
}

static void must_be(struct rs_session *s, uint64_t icount, struct rs_state_hash was)
{
	struct rs_state_hash is = state(s);
	uint64_t now = 0;

	require_ok(rs_session_icount(s, &now));
	must(now == icount, "the position");
	must(is.low == was.low && is.high == was.high, "the state");
}

static void back_and_forth(struct rs_session *s, const uint64_t at[2])
{
	struct rs_state_hash was[2];

	doing = "ahead, from the start";
	require_ok(rs_session_seek(s, at[0], NULL));
	was[0] = state(s);
	require_ok(rs_session_seek(s, at[1], NULL));
	was[1] = state(s);
	doing = "back, from the start's snapshot";
	require_ok(rs_session_seek(s, at[0], NULL));
	must_be(s, at[0], was[0]);
	doing = "a snapshot";
	require_ok(rs_session_snapshot(s));
	must_be(s, at[0], was[0]);
	doing = "ahead, from the current position";
	require_ok(rs_session_seek(s, at[1], NULL));
	must_be(s, at[1], was[1]);
	doing = "back, to a snapshot";
	require_ok(rs_session_seek(s, at[0], NULL));
	must_be(s, at[0], was[0]);
	doing = "ahead, from a snapshot";
	require_ok(rs_session_seek(s, 0, NULL));
	require_ok(rs_session_seek(s, at[1], NULL));
	must_be(s, at[1], was[1]);
}

static void snapshot_at(struct rs_session *s, uint64_t icount)
{
	doing = "a snapshot for going back";
	require_ok(rs_session_seek(s, icount, NULL));
	require_ok(rs_session_snapshot(s));
}

/*
 * From `from`, back to a breakpoint at the address of the instruction `first`. The last hit may
 * precede that instruction: if an interrupt arrives there, another one is executed. Returns the
 * hit.
 */
static uint64_t reverse(struct rs_session *s, uint64_t first, uint64_t from)
{
	struct rs_session_run run = { .icount = from };
	struct rs_gdb_stopped stopped = { 0 };
	struct rs_x86_regs regs, now;
	uint64_t hit = 0;
	bool found = false;

	doing = "back to a breakpoint";
	require_ok(rs_session_seek(s, first, NULL));
	require_ok(rs_gdb_registers(rs_session_gdb(s), &regs));
	require_ok(rs_session_seek(s, from, NULL));
	require_ok(rs_gdb_point(rs_session_gdb(s), RS_GDB_EXEC, regs.rip, 1, true));
	require_ok(rs_session_back(s, NULL, &found, &stopped));
	require_ok(rs_gdb_registers(rs_session_gdb(s), &now));
	require_ok(rs_session_icount(s, &hit));
	must(found && now.rip == regs.rip && hit < from, "the hit");

	doing = "that the hit was the last";
	require_ok(rs_session_step(s, &run));
	require_ok(run.at_target ? NULL : rs_session_run(s, &run));
	must(run.at_target, "the next stop");
	require_ok(rs_gdb_point(rs_session_gdb(s), RS_GDB_EXEC, regs.rip, 1, false));
	return hit;
}

static void reverse_without_a_hit(struct rs_session *s)
{
	struct rs_gdb_stopped stopped = { 0 };
	uint64_t now = 1;
	bool found = false;

	doing = "back, without a hit";
	require_ok(rs_session_back(s, NULL, &found, &stopped));
	require_ok(rs_session_icount(s, &now));
	must(!found && !now, "the position");
}

int main(int argc, char **argv)
{
	struct rs_session_options options = { .snapshots = true };
	struct rs_recording recording = { 0 };
	struct rs_session *session = NULL;
	uint64_t at[2], hit;

	if (argc != 4)
		return 2;
	at[0] = strtoull(argv[2], NULL, 10);
	at[1] = strtoull(argv[3], NULL, 10);
	doing = "the recording";
	require_ok(rs_recording_read(argv[1], &recording));
	require_ok(rs_recording_check(&recording));
	require_ok(rs_session_open(&recording, &options, &session));
	back_and_forth(session, at);
	snapshot_at(session, at[0] - 1000); /* so that not much is run again */
	reverse(session, at[0], at[0] + 1);
	snapshot_at(session, at[0] + 1);
	reverse(session, at[0], at[0] + 2);
	reverse(session, at[0] - 2, at[0] + 2);
	hit = reverse(session, at[0], at[1]);
	reverse_without_a_hit(session);
	printf("instruction %" PRIu64 " was the last hit\n", hit);
	rs_session_close(session);
	rs_recording_deinit(&recording);
	return 0;
}
