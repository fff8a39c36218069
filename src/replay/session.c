/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a replay to an instruction or a breakpoint, and stops it there. */
#include "replay/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "replay/fast.h"
#include "replay/material.h"
#include "replay/qemu.h"
#include "replay/ram.h"
#include "replay/snapshots.h"

#ifndef CHECK_MS	 /* tests/replay builds a program that asks for the place all the time */
#define CHECK_MS     200 /* between two checks of *stop */
#define ALIVE_CHECKS 25	 /* of these between two checks of its progress */
#define STILL_MAX    3	 /* of these without progress */
#endif
#define REGS_MAX    8192
#define MONITOR_MAX 512
#define SETTLE_MS   30000

struct rs_session {
	struct rs_qemu qemu;
	int memory; /* RAM: a memfd, so that nothing remains afterwards */
	uint8_t *ram;
	uint64_t bytes;
	uint64_t breaks_at; /* the icount of replay_break; UINT64_MAX: none */
	bool may_hide;	    /* the last stop may hide a watchpoint: hidden_hit() */
	bool ended;
	/* The state of the stopped machine, once it was queried. */
	bool is_queried;
	uint64_t icount;
	uint8_t regs[REGS_MAX];
	size_t regs_bytes;
	struct rs_snapshots snapshots;
	/* The fast path: */
	struct rs_fast *fast;
	uint64_t armed_at; /* its stop; UINT64_MAX: none */
	bool checked;	   /* it was verified against the GDB channel */
	bool stands;	   /* the fast path holds the machine, at this place */
	struct rs_fast_stop at;
	/* A stop that arrived while another one was handled. */
	bool pending;
	struct rs_gdb_stopped came;
};

/* ---- beginning and end ---------------------------------------------------------------------- */

static struct rs_error *memory_make(struct rs_session *s, const struct rs_recording *r)
{
	s->bytes = (uint64_t)r->memory_mib << 20;
	return rs_replay_ram_make(s->bytes, &s->memory, &s->ram);
}

static struct rs_error *monitor(struct rs_session *s, const char *command, uint64_t icount);

/* Brings the machine to its start. One that begins with a snapshot loads it. That snapshot was not
 * taken in a replay, so a snapshot of the start, with its position in the log, is taken again. */
static struct rs_error *stand_at_start(struct rs_session *s, const struct rs_recording *r,
				       const struct rs_session_options *options)
{
	struct rs_error *err = NULL;

	if (r->snapshot)
		err = monitor(s, "loadvm", 0);
	s->is_queried = false;
	if (err || options->like || !options->snapshots)
		return err;
	return r->snapshot ? monitor(s, "savevm", 0) : rs_session_snapshot(s);
}

/* Builds the command that starts QEMU. */
static void make_command(struct rs_session *s, const struct rs_recording *recording,
			 const struct rs_session_options *options, int console,
			 struct rs_qemu_command *command)
{
	uint32_t n_inherited = 0;
	const int *inherited;

	rs_recording_command(recording, RS_RECORDING_REPLAY, s->memory, console, command);
	rs_snapshots_add_to(&s->snapshots, command);
	if (options->slow)
		rs_fast_disable(s->fast, "it is disabled");
	if (rs_fast_why(s->fast))
		return;
	command->before = rs_fast_words(s->fast);
	inherited = rs_fast_inherits(s->fast, &n_inherited);
	for (uint32_t i = 0; i < n_inherited; i++)
		rs_qemu_command_inherit(command, inherited[i]);
}

static struct rs_error *start(struct rs_session *s, const struct rs_recording *recording,
			      const struct rs_session_options *options)
{
	struct rs_qemu_command command = { 0 };
	int console = -1;
	struct rs_error *err = NULL;

	if (options->console)
		err = rs_material_console(options->console, &console);
	if (!err) {
		make_command(s, recording, options, console, &command);
		err = rs_qemu_start(&s->qemu, &command);
	}
	rs_qemu_command_deinit(&command);
	if (console >= 0)
		close(console);
	if (!err)
		rs_fast_receive(s->fast);
	return err;
}

struct rs_error *rs_session_open(const struct rs_recording *recording,
				 const struct rs_session_options *options,
				 struct rs_session **session)
{
	struct rs_session *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->qemu.output_fd = s->memory = -1;
	s->breaks_at = s->armed_at = UINT64_MAX;
	err = memory_make(s, recording);
	if (!err)
		err = rs_snapshots_make(&s->snapshots, recording,
					options->like ? &options->like->snapshots : NULL,
					options->snapshots);
	if (!err)
		err = rs_fast_create(recording->qemu_version, &s->fast);
	if (!err)
		err = start(s, recording, options);
	if (!err)
		err = rs_qemu_gdb(&s->qemu);
	if (!err)
		err = stand_at_start(s, recording, options);
	if (err) {
		rs_session_close(s);
		return err;
	}
	*session = s;
	return NULL;
}

void rs_session_close(struct rs_session *s)
{
	if (!s)
		return;
	rs_qemu_end(&s->qemu);
	rs_fast_destroy(s->fast);
	if (s->ram)
		munmap(s->ram, s->bytes);
	if (s->memory >= 0)
		close(s->memory);
	rs_snapshots_deinit(&s->snapshots);
	free(s);
}

struct rs_session_ram rs_session_ram(const struct rs_session *s)
{
	return (struct rs_session_ram){ s->ram, s->bytes, s->memory };
}

struct rs_gdb *rs_session_gdb(struct rs_session *s)
{
	rs_error_free(
		rs_session_settle(s)); /* if QEMU does not answer, the next request reports that */
	s->is_queried = false;	       /* the caller may change the state through it */
	return s->qemu.gdb;
}

const char *rs_session_slow(const struct rs_session *s)
{
	return rs_fast_why(s->fast);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Queries the instruction count ("Replaying execution 'log': instruction count = 123") and the
 * registers in one round trip. */
static struct rs_error *state_query(struct rs_session *s)
{
	static const char words[] = "instruction count = ";
	char output[MONITOR_MAX];
	struct rs_error *err;
	const char *at;

	if (s->is_queried)
		return NULL;
	err = rs_gdb_monitor_registers(s->qemu.gdb, "info replay", output, sizeof(output), s->regs,
				       sizeof(s->regs), &s->regs_bytes);
	if (err)
		return err;
	at = strstr(output, words);
	if (!at || sscanf(at + strlen(words), "%" SCNu64, &s->icount) != 1)
		return rs_error_create(RS_FAILED, "QEMU reports no position of the replay: %.80s",
				       output);
	s->is_queried = true;
	return NULL;
}

struct rs_error *rs_session_icount(struct rs_session *s, uint64_t *icount)
{
	struct rs_error *err = s->stands ? NULL : state_query(s);

	if (!err)
		*icount = s->stands ? s->at.icount : s->icount;
	return err;
}

struct rs_error *rs_session_registers(struct rs_session *s, struct rs_x86_regs *regs)
{
	struct rs_error *err;

	if (s->stands)
		return rs_x86_regs_parse(s->at.raw, s->at.bytes, regs);
	err = state_query(s);
	return err ? err : rs_x86_regs_parse(s->regs, s->regs_bytes, regs);
}

/* Sets a stop at icount through the GDB channel, and continues the machine if `goes` is set. */
static struct rs_error *break_at(struct rs_session *s, uint64_t icount, bool goes)
{
	char command[64], output[MONITOR_MAX];
	struct rs_error *err;

	if (s->breaks_at == icount)
		return goes ? rs_gdb_continue(s->qemu.gdb) : NULL;
	if (icount == UINT64_MAX)
		snprintf(command, sizeof(command), "replay_delete_break");
	else
		snprintf(command, sizeof(command), "replay_break %" PRIu64, icount);
	err = (goes ? rs_gdb_monitor_continue : rs_gdb_monitor)(s->qemu.gdb, command, output,
								sizeof(output));
	if (!err && output[0] && icount != UINT64_MAX)
		err = rs_error_create(RS_FAILED, "QEMU rejects a stop at %" PRIu64 ": %.80s",
				      icount, output);
	if (!err)
		s->breaks_at = icount;
	return err;
}

/* ---- the fast path -------------------------------------------------------------------------- */

struct rs_error *rs_session_settle(struct rs_session *s)
{
	struct rs_gdb_stopped stopped = { .why = RS_GDB_STOPPED };
	struct rs_error *err;
	bool done = false;

	if (!s->stands)
		return NULL;
	s->stands = s->is_queried = false;
	s->armed_at = UINT64_MAX;
	err = rs_fast_hold(s->fast);
	if (!err)
		err = rs_gdb_wait(s->qemu.gdb, SETTLE_MS, &done, &stopped);
	if (!err && !done)
		err = rs_error_create(RS_FAILED, "QEMU does not stop the machine");
	if (err)
		return err;
	rs_fast_disarm(s->fast);
	/* Reports a watchpoint of the same instruction, unless QEMU paused the machine before its
	 * processor asked for that stop. */
	s->pending = stopped.why == RS_GDB_WATCHED;
	s->came = stopped;
	s->may_hide = stopped.why == RS_GDB_STOPPED && rs_gdb_has_watches(s->qemu.gdb);
	return NULL;
}

static void disarm(struct rs_session *s)
{
	rs_fast_disarm(s->fast);
	s->armed_at = UINT64_MAX;
}

/* Verifies the fast path once: its registers must equal those of GDB, which are authoritative. */
static struct rs_error *check(struct rs_session *s, const struct rs_fast_stop *stop)
{
	struct rs_error *err = state_query(s);

	if (err)
		return err;
	s->checked = true;
	if (stop->icount == s->icount && stop->bytes && stop->bytes <= s->regs_bytes &&
	    !memcmp(stop->raw, s->regs, stop->bytes))
		return NULL;
	disarm(s);
	rs_fast_disable(s->fast, "the registers of this QEMU are not as expected");
	return NULL;
}

/* Sets a stop through the fast path, while QEMU has stopped the machine. Sets *armed to false if
 * the fast path cannot. */
static struct rs_error *arm(struct rs_session *s, uint64_t icount, bool *armed)
{
	struct rs_fast_stop stop;
	struct rs_error *err;

	*armed = false;
	if (icount == UINT64_MAX || rs_fast_why(s->fast))
		return NULL;
	*armed = s->armed_at == icount;
	if (*armed)
		return NULL;
	err = break_at(s, UINT64_MAX, false);
	if (err || !rs_fast_arm(s->fast, icount, &stop))
		return err;
	s->armed_at = icount;
	if (!s->checked)
		err = check(s, &stop);
	*armed = s->armed_at == icount;
	return err;
}

struct rs_error *rs_session_tsc(struct rs_session *s, uint64_t *tsc, bool *known)
{
	struct rs_fast_stop stop = s->at;
	uint64_t icount = 0;
	struct rs_error *err = rs_session_icount(s, &icount);

	*known = false;
	if (err)
		return err;
	if (!s->stands) {
		s->armed_at = UINT64_MAX;
		if (!rs_fast_poll(s->fast, &stop))
			return NULL;
		if (!s->checked)
			err = check(s, &stop);
	}
	*known = !err && !rs_fast_why(s->fast) && stop.icount == icount;
	*tsc = stop.tsc;
	return err;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Handles the end of QEMU, orderly or not. QEMU reports it before its processor is at rest; the
 * processor may still reach the stop, and the fast path must not wait for an answer there. */
static struct rs_error *end_handle(struct rs_session *s)
{
	s->ended = true;
	s->stands = false;
	rs_fast_leave(s->fast);
	return rs_error_wrap(rs_qemu_ended(&s->qemu), "the replay differs from the recording");
}

/* State for detecting that QEMU waits forever for an event that the log lacks. */
struct alive {
	uint64_t icount;
	uint32_t looks, still;
};

static struct rs_error *moved(struct alive *alive, uint64_t now)
{
	alive->still = now == alive->icount ? alive->still + 1 : 0;
	alive->icount = now;
	if (alive->still < STILL_MAX)
		return NULL;
	return rs_error_create(RS_FAILED,
			       "the replay makes no progress at instruction %" PRIu64
			       ": its log lacks the next event",
			       now);
}

/* Checks through QMP that the replay makes progress, while it continues. */
static struct rs_error *check_alive(struct rs_session *s, struct alive *alive)
{
	json_t *result = NULL, *icount;
	struct rs_error *err = rs_qmp_execute(s->qemu.qmp, "query-replay", NULL, &result);
	uint64_t now;

	icount = json_object_get(result, "icount");
	now = json_is_integer(icount) ? (uint64_t)json_integer_value(icount) : 0;
	json_decref(result);
	if (err && rs_error_code(err) == RS_ABSENT) { /* the GDB channel will report it */
		rs_error_free(err);
		return NULL;
	}
	return err ? err : moved(alive, now);
}

struct wait {
	struct rs_session_run *run;
	struct alive alive;
	bool done, stop_requested;
};

static struct rs_error *request_stop(struct rs_session *s, struct wait *w)
{
	bool already = w->stop_requested;

	w->stop_requested = true;
	return already ? NULL : rs_gdb_interrupt(s->qemu.gdb);
}

/* Waits until the GDB channel or the fast path reports, or a time has passed. */
static struct rs_error *listen_both(struct rs_session *s, struct wait *w, bool *spoke)
{
	bool pending;
	struct pollfd fds[3] = { { .fd = rs_gdb_fd(s->qemu.gdb, &pending), .events = POLLIN },
				 { .fd = rs_fast_fd(s->fast), .events = POLLIN },
				 { .fd = rs_fast_asked_fd(s->fast), .events = POLLIN } };
	int ready = poll(fds, 3, pending ? 0 : CHECK_MS);
	struct rs_error *err = NULL;
	uint64_t now;

	if (ready < 0 && errno != EINTR)
		return rs_error_errno(errno, "waiting for QEMU");
	*spoke = pending || ready > 0;
	if (ready > 0 && fds[1].revents && rs_fast_stopped(s->fast, &s->at)) {
		s->stands = true;
		/* The requested stop also follows, and there is no other. */
		w->run->stopped = (struct rs_gdb_stopped){ .why = RS_GDB_STOPPED };
		w->done = true;
		return w->stop_requested ? rs_session_settle(s) : NULL;
	}
	if (ready > 0 && fds[2].revents && rs_fast_answered(s->fast, &now))
		err = moved(&w->alive, now);
	return err || !*spoke ? err : rs_gdb_wait(s->qemu.gdb, 0, &w->done, &w->run->stopped);
}

static struct rs_error *wait_stop(struct rs_session *s, struct rs_session_run *run)
{
	struct wait w = { .run = run };
	struct rs_error *err = NULL;

	while (!err && !w.done) {
		bool fast = rs_fast_fd(s->fast) >= 0, spoke = false;

		err = fast ? listen_both(s, &w, &spoke)
			   : rs_gdb_wait(s->qemu.gdb, CHECK_MS, &w.done, &run->stopped);
		if (err || w.done)
			break;
		/* QMP would wait for a machine that the fast path holds. */
		if (!spoke && !(++w.alive.looks % ALIVE_CHECKS)) {
			if (fast)
				rs_fast_ask(s->fast);
			else
				err = check_alive(s, &w.alive);
		}
		if (!err && run->stop && *run->stop)
			err = request_stop(s, &w);
	}
	return err;
}

/* Handles a stop: queries the place. The machine may still end during the query. */
static struct rs_error *stop_handle(struct rs_session *s, struct rs_session_run *run, uint64_t *now)
{
	struct rs_error *err = NULL;

	if (run->stopped.why != RS_GDB_ENDED)
		err = rs_session_icount(s, now);
	if (err && rs_error_code(err) == RS_ABSENT) {
		rs_error_free(err);
		err = NULL;
		run->stopped.why = RS_GDB_ENDED;
	}
	return !err && run->stopped.why == RS_GDB_ENDED ? end_handle(s) : err;
}

/* Continues the machine up to run->icount. */
static struct rs_error *machine_continue(struct rs_session *s, const struct rs_session_run *run)
{
	struct rs_error *err;
	bool armed;

	if (s->stands) {
		s->stands = false;
		s->armed_at = run->icount;
		return rs_fast_continue(s->fast, run->icount);
	}
	err = arm(s, run->icount, &armed);
	if (err)
		return err;
	s->is_queried = false;
	if (armed)
		return rs_gdb_continue(s->qemu.gdb);
	disarm(s);
	return break_at(s, run->icount, true);
}

/* Returns whether a stop is pending. If so, that stop is the result of the run. */
static bool is_pending(struct rs_session *s, struct rs_session_run *run)
{
	if (!s->pending)
		return false;
	s->pending = false;
	run->stopped = s->came;
	return true;
}

/* Waits for a stop, and handles it. */
static struct rs_error *stop_await(struct rs_session *s, struct rs_session_run *run, uint64_t *now)
{
	struct rs_error *err = wait_stop(s, run);

	if (!err)
		err = stop_handle(s, run, now);
	if (err || s->ended)
		return err;
	run->at_target = *now == run->icount;
	if (run->stopped.why == RS_GDB_STOPPED && rs_gdb_has_watches(s->qemu.gdb) &&
	    (*now == s->breaks_at || run->stopped.signal == RS_GDB_INTERRUPT))
		s->may_hide = true;
	if (*now >= s->breaks_at)
		s->breaks_at = UINT64_MAX; /* QEMU forgets a break that was reached */
	return NULL;
}

/*
 * Finds a watchpoint that the last instruction before a stop at an instruction hit, before the
 * machine continues. For such a stop QEMU pauses the machine, and then neither reports the hit nor
 * forgets it: it takes the next hit for a repetition of this one, and aborts (QEMU 7.2,
 * replay_break() and cpu_check_watchpoint()). A breakpoint on the next instruction makes QEMU stop
 * for the debugger at the same place, and report the hit.
 *
 * Sets *is_over if there was a hit, or if an interrupt came first and the machine continued, up to
 * run->icount or, if it steps, by an instruction: that stop is the result of the run.
 */
static struct rs_error *hidden_hit(struct rs_session *s, struct rs_session_run *run, bool steps,
				   bool *is_over)
{
	struct rs_gdb *gdb = s->qemu.gdb;
	struct rs_x86_regs regs;
	uint64_t pc, before = 0, now = 0;
	struct rs_error *err = rs_session_icount(s, &before);

	*is_over = s->may_hide = false;
	if (!err)
		err = rs_session_registers(s, &regs);
	if (err)
		return err;
	pc = regs.cr0 & 1 ? regs.rip : ((uint64_t)regs.cs << 4) + regs.rip; /* real mode */
	err = rs_gdb_point(gdb, RS_GDB_EXEC, pc, 1, true);
	s->is_queried = false;
	if (!err)
		err = break_at(s, steps ? before + 1 : run->icount, true);
	if (!err)
		err = stop_await(s, run, &now);
	if (err || s->ended) {
		*is_over = true;
		return err;
	}
	*is_over = now != before || run->stopped.why != RS_GDB_STOPPED || (run->stop && *run->stop);
	if (steps && !*is_over) /* a step and a break must not stop it twice */
		err = break_at(s, UINT64_MAX, false);
	return rs_error_first(err, rs_gdb_point(gdb, RS_GDB_EXEC, pc, 1, false));
}

/* Returns the result of a run that needs no execution. Sets *is_over if there is one. */
static struct rs_error *run_begin(struct rs_session *s, struct rs_session_run *run, bool steps,
				  bool *is_over)
{
	run->at_target = false;
	*is_over = s->ended || is_pending(s, run);
	if (s->ended)
		run->stopped.why = RS_GDB_ENDED;
	return *is_over || !s->may_hide ? NULL : hidden_hit(s, run, steps, is_over);
}

struct rs_error *rs_session_run(struct rs_session *s, struct rs_session_run *run)
{
	uint64_t now = 0;
	bool is_over;
	struct rs_error *err = run_begin(s, run, false, &is_over);

	if (!err && !is_over)
		err = machine_continue(s, run);
	return err || is_over ? err : stop_await(s, run, &now);
}

/* ---- seeking -------------------------------------------------------------------------------- */

/* Runs a monitor command, which prints nothing on success. */
static struct rs_error *monitor(struct rs_session *s, const char *command, uint64_t icount)
{
	char line[64];

	snprintf(line, sizeof(line), "%s " RS_SNAPSHOT_NAME, command, icount);
	return rs_qemu_monitor(&s->qemu, line);
}

struct rs_error *rs_session_snapshot(struct rs_session *s)
{
	uint64_t icount = 0;
	struct rs_error *err;

	if (!s->snapshots.fd)
		return rs_error_create(RS_USAGE, "this session keeps no snapshots");
	if (s->ended)
		return rs_error_create(RS_USAGE, "the replay has ended");
	err = rs_session_settle(s);
	if (!err)
		err = rs_session_icount(s, &icount);
	if (err || rs_snapshots_before(&s->snapshots, icount) == icount)
		return err;
	err = monitor(s, "savevm", icount);
	return err ? err : rs_snapshots_add(&s->snapshots, icount);
}

/* Loads a snapshot. QEMU's break is not part of it, and is set again. The mapping of RAM remains
 * valid. */
static struct rs_error *load(struct rs_session *s, uint64_t icount)
{
	struct rs_error *err = rs_session_settle(s);

	disarm(s);
	if (!err)
		err = monitor(s, "loadvm", icount);
	s->breaks_at = UINT64_MAX - 1; /* unknown */
	s->is_queried = s->may_hide = false;
	return err;
}

static struct rs_error *check_stop(const volatile bool *stop)
{
	return stop && *stop ? rs_error_create(RS_FAILED, "stopped") : NULL;
}

struct rs_error *rs_session_seek(struct rs_session *s, uint64_t icount, const volatile bool *stop)
{
	struct rs_session_run run = { .icount = icount, .stop = stop };
	uint64_t now = 0, before = rs_snapshots_before(&s->snapshots, icount);
	struct rs_error *err;

	if (s->ended)
		return rs_error_create(RS_USAGE, "the replay has ended");
	err = rs_session_icount(s, &now);
	if (!err && now > icount && before == UINT64_MAX)
		err = rs_error_create(RS_USAGE,
				      "no snapshot precedes instruction %" PRIu64
				      ", and the replay is at %" PRIu64,
				      icount, now);
	if (!err && before != UINT64_MAX && (now > icount || now < before)) {
		err = load(s, before);
		now = before;
	}
	while (!err && now < icount && !run.at_target) {
		err = rs_session_run(s, &run);
		if (!err)
			err = check_stop(stop);
		if (!err && run.stopped.why == RS_GDB_ENDED)
			err = rs_error_create(
				RS_FAILED, "the replay ends before instruction %" PRIu64, icount);
	}
	return err ? err : rs_session_settle(s);
}

/* ---- going back ----------------------------------------------------------------------------- */

/* Moves the machine back, to a hit or by one instruction; does not stop on the way. */
static struct rs_error *move_back(struct rs_session *s, struct rs_error *(*how)(struct rs_gdb *gdb),
				  struct rs_session_run *run)
{
	struct rs_error *err = break_at(s, UINT64_MAX, false);

	s->is_queried = false;
	if (!err)
		err = how(s->qemu.gdb);
	if (!err)
		err = wait_stop(s, run);
	s->breaks_at = UINT64_MAX - 1; /* unknown */
	if (!err && run->stopped.why == RS_GDB_ENDED)
		err = rs_error_first(end_handle(s),
				     rs_error_create(RS_FAILED, "QEMU ended on the way back"));
	return err ? err : check_stop(run->stop);
}

/* The machine is at `end`. Goes to the instruction before it if that has a breakpoint. Otherwise
 * the machine returns to `end`. */
static struct rs_error *back_by_one(struct rs_session *s, uint64_t end, struct rs_session_run *run,
				    bool *found)
{
	struct rs_error *err = move_back(s, rs_gdb_back_step, run);

	run->icount = end;
	if (!err)
		err = rs_session_run(s, run);
	if (!err)
		err = check_stop(run->stop);
	*found = !err && !s->ended && !run->at_target;
	if (!err)
		err = rs_session_settle(s);
	disarm(s);
	return err ? err : break_at(s, UINT64_MAX, false);
}

/* QEMU went back from `begin` to `hit`. Does the same as back_by_one() at each snapshot in between.
 * If there is no breakpoint, the machine returns to `hit`. */
static struct rs_error *back_by_snapshots(struct rs_session *s, uint64_t begin, uint64_t hit,
					  struct rs_session_run *run, bool *found)
{
	uint64_t end = rs_snapshots_before(&s->snapshots, begin - 1), last = 0;
	struct rs_error *err = NULL;
	bool has = false;

	while (!err && !has && end != UINT64_MAX && end > hit + 1) {
		err = load(s, end);
		if (!err)
			err = back_by_one(s, end, run, &has);
		last = end;
		end = rs_snapshots_before(&s->snapshots, end - 1);
	}
	*found = *found || has;
	if (err || has || !last)
		return err;
	err = load(s, last);
	return err ? err : move_back(s, rs_gdb_back, run);
}

/*
 * To go back, QEMU runs the machine from the last snapshot to the present instruction, then from
 * each earlier snapshot to the one after it, until there was a hit. It stops the machine before the
 * last instruction of each of these parts, and misses a breakpoint there.
 */
struct rs_error *rs_session_back(struct rs_session *s, const volatile bool *stop, bool *found,
				 struct rs_gdb_stopped *stopped)
{
	const bool breaks = rs_gdb_has_breaks(s->qemu.gdb);
	struct rs_session_run run = { .stop = stop };
	uint64_t begin = 0, hit = 0;
	struct rs_error *err = rs_session_settle(s);

	*found = false;
	disarm(s);
	if (s->ended || s->snapshots.fd <= 0)
		err = rs_error_first(err, rs_error_create(RS_USAGE, "no snapshots for going back"));
	if (!err)
		err = rs_session_icount(s, &begin);
	if (!err && breaks && begin)
		err = back_by_one(s, begin, &run, found);
	if (!err && !*found) {
		err = move_back(s, rs_gdb_back, &run);
		if (!err)
			err = rs_session_icount(s, &hit);
		*found = !err && hit; /* without a hit, the machine is at the start */
		if (!err && breaks)
			err = back_by_snapshots(s, begin, hit, &run, found);
	}
	*stopped = run.stopped;
	return err;
}

struct rs_error *rs_session_step(struct rs_session *s, struct rs_session_run *run)
{
	uint64_t now = 0;
	bool is_over = false;
	struct rs_error *err = s->ended ? NULL : rs_session_settle(s);

	if (!err)
		err = run_begin(s, run, true, &is_over);
	if (err || is_over)
		return err;
	s->is_queried = false;
	err = rs_gdb_step(s->qemu.gdb);
	return err ? err : stop_await(s, run, &now);
}

/* ---- state ---------------------------------------------------------------------------------- */

struct rs_error *rs_session_hash(struct rs_session *s, struct rs_state_hash *hash)
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t sum;
	struct rs_error *err = state ? NULL : rs_error_no_memory();

	if (!err)
		err = rs_session_settle(s);
	if (!err)
		err = state_query(s);
	if (!err) {
		XXH3_128bits_reset(state);
		XXH3_128bits_update(state, &s->icount, sizeof(s->icount));
		XXH3_128bits_update(state, s->regs, s->regs_bytes);
		XXH3_128bits_update(state, s->ram, s->bytes);
		sum = XXH3_128bits_digest(state);
		*hash = (struct rs_state_hash){ sum.low64, sum.high64 };
	}
	XXH3_freeState(state);
	return err;
}
