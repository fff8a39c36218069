/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays to a time, and from there back to the place where a probe last fired, by means of
 * snapshots. */
#include "replay/seek.h"

#include "replay/moment.h"

#define NS_PER_SEC UINT64_C(1000000000)
/* guest time between two snapshots; each takes memory and time */
#define SNAPSHOT_EACH_NS (2 * NS_PER_SEC)
#define SNAPSHOTS	 64u

uint64_t rs_seek_guest_ns(const struct rs_seek *s, uint64_t icount)
{
	return icount << s->recording.shift;
}

static void report_progress(const struct rs_seek *s, bool back, uint64_t icount)
{
	if (s->o->progress)
		s->o->progress(s->o->ctx, back, rs_seek_guest_ns(s, icount));
}

struct rs_error *rs_seek_open(const struct rs_seek_options *o, struct rs_seek *s)
{
	struct rs_error *err = rs_recording_read(o->directory, &s->recording);
	struct rs_moment to = o->to;
	char text[RS_MOMENT_TEXT_MAX];
	bool ours = true;

	s->o = o;
	if (!err)
		err = rs_recording_check(&s->recording);
	if (err)
		return err;
	err = rs_moment_find(&s->recording, &to);
	if (err)
		return err;
	s->to = to.ns == UINT64_MAX ? s->recording.icount : to.ns >> s->recording.shift;
	if (s->to > s->recording.icount)
		return rs_error_create(
			RS_USAGE, "%s ends at %s of the guest's time", o->directory,
			rs_moment_text(rs_seek_guest_ns(s, s->recording.icount), text));
	if (o->back)
		err = rs_replay_probe_parse(o->back, s->recording.shift, &s->probe, &ours);
	if (!err && o->back && (!ours || s->probe.kind == RS_REPLAY_TIMER))
		err = rs_error_create(RS_USAGE,
				      "--back '%s': expected guest:addr:0xADDRESS:exec or "
				      "guest:mem:0xADDRESS:write",
				      o->back);
	if (!err && o->binary)
		err = rs_program_read(o->binary, &s->program);
	if (!err && o->binary)
		err = rs_symbols_read(s->program.path, &s->symbols);
	if (!err && o->gdb)
		err = rs_debugger_bind(o->gdb, &s->debugger);
	return err;
}

/* Replays ahead. Takes snapshots on the way if they are needed to go back. */
static struct rs_error *run_ahead(struct rs_seek *s)
{
	const struct rs_session_options how = { .snapshots = s->o->back || s->o->gdb,
						.slow = true /* there are only a few stops */ };
	uint64_t each = SNAPSHOT_EACH_NS >> s->recording.shift;
	struct rs_error *err = rs_session_open(&s->recording, &how, &s->session);

	if (each < s->to / SNAPSHOTS)
		each = s->to / SNAPSHOTS;
	for (uint64_t at = each; !err && how.snapshots && at < s->to; at += each) {
		report_progress(s, false, at);
		err = rs_session_seek(s->session, at, s->o->stop);
		if (!err)
			err = rs_session_snapshot(s->session);
	}
	report_progress(s, false, s->to);
	return err ? err : rs_session_seek(s->session, s->to, s->o->stop);
}

static struct rs_error *run_back(struct rs_seek *s)
{
	const struct rs_replay_probe *p = &s->probe;
	struct rs_gdb_stopped stopped;
	struct rs_error *err;

	report_progress(s, true, s->to);
	err = rs_gdb_point(rs_session_gdb(s->session), p->point, p->address, p->bytes, true);
	if (!err)
		err = rs_session_back(s->session, s->o->stop, &s->found, &stopped);
	if (!err)
		err = rs_gdb_point(rs_session_gdb(s->session), p->point, p->address, p->bytes,
				   false);
	return err;
}

/* Writes the name of the function at the stop: of the kernel, or of the program if that is
 * executed. */
static void name_place(struct rs_seek *s)
{
	uint64_t base = 0;

	if (s->program.kernel ||
	    rs_program_is_executed(&s->program, rs_session_gdb(s->session), s->regs.rip, &base))
		rs_symbols_text(s->symbols, s->regs.rip - base, s->symbol);
}

struct rs_error *rs_seek_run(struct rs_seek *s)
{
	struct rs_error *err = run_ahead(s);

	if (!err && s->o->back)
		err = run_back(s);
	if (!err)
		err = rs_session_icount(s->session, &s->icount);
	if (!err)
		err = rs_session_registers(s->session, &s->regs);
	if (!err && s->o->binary)
		name_place(s);
	return err;
}

void rs_seek_close(struct rs_seek *s)
{
	rs_session_close(s->session);
	rs_debugger_close(&s->debugger);
	rs_symbols_destroy(s->symbols);
	rs_program_deinit(&s->program);
	rs_recording_deinit(&s->recording);
}
