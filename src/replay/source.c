/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the machine to the next timer, breakpoint or watchpoint, reads its state once, and fires all
 * due probes. QEMU does not leave a breakpoint's own address by `continue`, so the source leaves it
 * by a step. A step may be interrupted by an interrupt or a fault, after which the machine reaches
 * the same address again without having executed the instruction. That is not counted twice.
 */
#include "replay/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/search.h"
#include "replay/named.h"
#include "replay/probed.h"
#include "replay/rings.h"

#define INTERRUPTED_MAX 64u

/* An instruction before which an interrupt or a fault occurred, and its thread. */
struct interrupted {
	uint64_t rip, rsp, cr3;
};

struct replay {
	struct rs_source source;
	const struct rs_recording *recording;
	struct rs_replay_options options;
	struct rs_probed m;
	char *name;
	uint32_t pause;	   /* the next of the pauses */
	uint64_t from, to; /* range of instructions */

	struct rs_replay_search search; /* valid until it is opened */
	struct rs_session *session;
	uint64_t icount;
	size_t n_fired;		       /* views of the present stop that were not returned yet */
	struct rs_replay_rings *rings; /* NULL: not requested */
	bool unread;		       /* the rings were not read at the present stop */
	struct interrupted interrupted[INTERRUPTED_MAX];
	uint32_t n_interrupted;
	struct rs_replay_counts counts;
};

/* Reads the state of the stopped machine. */
static struct rs_error *state_read(struct replay *r)
{
	struct rs_error *err = rs_session_icount(r->session, &r->icount);

	if (!err)
		err = rs_session_registers(r->session, &r->m.regs);
	if (!err)
		rs_probed_stopped(&r->m);
	r->counts.icount = r->icount;
	return err;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Returns whether a step entered a handler without executing the instruction: the processor has
 * pushed the same address and stack on its stack, below an optional error code (Intel SDM volume 3,
 * 6.14). */
static bool was_interrupted(struct replay *r, const struct rs_x86_regs *before)
{
	uint64_t frame[6];

	if (rs_memory_read(&r->m.memory, r->m.regs.gpr[7], frame, sizeof(frame), NULL))
		return false;
	return (frame[0] == before->rip && frame[3] == before->gpr[7]) ||
	       (frame[1] == before->rip && frame[4] == before->gpr[7]);
}

static struct interrupted of(const struct rs_x86_regs *regs)
{
	return (struct interrupted){ regs->rip, regs->gpr[7], regs->cr3 };
}

static void remember(struct replay *r, const struct rs_x86_regs *before)
{
	r->interrupted[r->n_interrupted++ % INTERRUPTED_MAX] = of(before);
}

/* Returns whether the machine has returned to an interrupted instruction, and removes it. */
static bool has_returned(struct replay *r)
{
	const struct interrupted now = of(&r->m.regs);

	for (uint32_t i = 0; i < INTERRUPTED_MAX; i++) {
		struct interrupted *one = &r->interrupted[i];

		if (!one->rip || memcmp(one, &now, sizeof(now)) != 0)
			continue;
		*one = (struct interrupted){ 0 };
		return true;
	}
	return false;
}

/* Returns the next instruction at which the machine must stop. */
static uint64_t target(const struct replay *r)
{
	uint64_t to = r->to;

	for (uint32_t i = 0; i < r->m.n_probes; i++) {
		const struct rs_replay_probe *p = &r->m.probes[i];

		if (p->wanted && p->kind == RS_REPLAY_TIMER && p->next < to)
			to = p->next;
	}
	if (r->pause < r->options.pauses.n && r->options.pauses.at[r->pause] < to)
		to = r->options.pauses.at[r->pause];
	if (r->rings && rs_replay_rings_next(r->rings) < to)
		to = rs_replay_rings_next(r->rings);
	return to;
}

static struct rs_error *run_on(struct replay *r)
{
	struct rs_session_run run = { .icount = target(r), .stop = r->options.stop };
	const struct rs_x86_regs before = r->m.regs;
	bool steps = rs_probed_breaks(&r->m, before.rip);
	struct rs_error *err =
		steps ? rs_session_step(r->session, &run) : rs_session_run(r->session, &run);

	r->m.stopped = run.stopped;
	r->m.again = false;
	if (err || run.stopped.why == RS_GDB_ENDED)
		return err;
	r->counts.stops++;
	err = state_read(r);
	if (err)
		return err;
	if (steps && r->m.regs.rip == before.rip) /* one iteration of a repeated instruction */
		r->m.again = true;
	else if (steps && was_interrupted(r, &before))
		remember(r, &before);
	if (rs_probed_breaks(&r->m, r->m.regs.rip) && has_returned(r))
		r->m.again = true;
	return NULL;
}

/* ---- firing ---------------------------------------------------------------------------------- */

static bool is_due(struct replay *r, struct rs_replay_probe *p)
{
	if (p->kind != RS_REPLAY_TIMER)
		return rs_probed_hit(&r->m, p);
	if (p->next > r->icount)
		return false;
	rs_replay_timer_next(p, r->icount, r->options.steady, r->options.seed);
	return true;
}

static size_t fire(struct replay *r)
{
	struct rs_replay_at at = { &r->m.regs, r->icount, &r->m.memory, &r->m.guest, 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < r->m.n_probes; i++) {
		struct rs_replay_probe *p = &r->m.probes[i];

		if (!p->wanted || !is_due(r, p) || r->icount < r->from)
			continue;
		r->m.views[n] = (struct rs_view){
			.ts_ns = (int64_t)(r->icount << r->recording->shift),
			.tsc = r->icount << r->recording->shift,
			.event = p->event,
			.stream = &r->m.stream,
			.payload = r->m.payloads[n],
			.payload_bytes = rs_replay_probe_payload(p, &at, r->m.payloads[n]),
			.cpu = RS_UNKNOWN,
		};
		n++;
	}
	if (n)
		rs_probed_fired(&r->m);
	r->counts.fired += n;
	r->counts.unread += at.unread;
	return n;
}

static struct rs_error *pause_here(struct replay *r)
{
	const struct rs_replay_pauses *p = &r->options.pauses;
	struct rs_error *err = NULL;

	while (!err && r->pause < p->n && p->at[r->pause] <= r->icount) {
		if (p->at[r->pause] != r->icount)
			return rs_error_create(RS_FAILED,
					       "the replay does not stop at instruction %llu",
					       (unsigned long long)p->at[r->pause]);
		err = p->paused(p->ctx, r->pause++, r->session);
	}
	return err;
}

static bool is_over(const struct replay *r)
{
	return r->m.stopped.why == RS_GDB_ENDED || r->icount >= r->to ||
	       (r->options.stop && *r->options.stop);
}

/* Sets and removes points, after places of probes have changed. */
static struct rs_error *points_update(struct replay *r)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->m.n_probes; i++) {
		struct rs_replay_probe *p = &r->m.probes[i];
		const bool needs = rs_replay_probe_needs_point(p);

		if (needs != p->is_set)
			err = rs_gdb_point(rs_session_gdb(r->session), p->point, p->address,
					   p->bytes, needs);
		p->is_set = needs;
	}
	return err;
}

static struct rs_error *rebase(struct replay *r, bool all)
{
	struct rs_error *err = rs_probed_rebase(&r->m, all);

	return err ? err : points_update(r);
}

/* Runs to the next stop, and fires the probes that are due there. */
static struct rs_error *stop_next(struct replay *r)
{
	struct rs_error *err = run_on(r);
	uint64_t last = r->recording->icount < r->to ? r->recording->icount : r->to;

	if (!err && r->m.stopped.why != RS_GDB_ENDED)
		err = pause_here(r);
	if (!err && r->m.stopped.why != RS_GDB_ENDED)
		err = rebase(r, false);
	if (err)
		return err;
	r->n_fired = is_over(r) ? 0 : fire(r);
	if (!r->rings)
		return NULL;
	r->unread = true;
	return rs_replay_rings_stopped(
		r->rings, r->m.stopped.why == RS_GDB_ENDED ? last : r->icount, is_over(r));
}

/* Returns the views of the present stop: first the guest's own records, which are older. */
static struct rs_error *batch_take(struct replay *r, struct rs_batch *batch)
{
	struct rs_error *err = NULL;

	*batch = (struct rs_batch){ .kind = RS_NEXT_EVENTS };
	if (r->unread)
		err = rs_replay_rings_read(r->rings, &batch->views, &batch->n);
	if (!err && !batch->n) {
		r->unread = false;
		batch->views = r->m.views;
		batch->n = r->n_fired;
		r->n_fired = 0;
	}
	if (batch->n)
		batch->watermark_ns = batch->views[batch->n - 1].ts_ns;
	return err;
}

static struct rs_error *replay_next(struct rs_source *source, struct rs_batch *batch)
{
	struct replay *r = (struct replay *)source;
	struct rs_error *err = batch_take(r, batch);

	while (!err && !batch->n && !is_over(r)) {
		err = stop_next(r);
		if (!err)
			err = batch_take(r, batch);
	}
	if (!err && !batch->n)
		*batch = (struct rs_batch){ .kind = RS_NEXT_END, .watermark_ns = INT64_MAX };
	return err;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Returns the instruction of a time, at least 1. Times beyond any guest's end give the last
 * instruction. */
static uint64_t at_ns(const struct replay *r, int64_t ns)
{
	if (ns == INT64_MAX)
		return UINT64_MAX;
	return ns > 0 ? (uint64_t)ns >> r->recording->shift : 0;
}

static struct rs_error *set_points(struct replay *r)
{
	struct rs_error *err;

	for (uint32_t i = 0; i < r->m.n_probes; i++)
		if (r->m.probes[i].kind == RS_REPLAY_TIMER)
			rs_replay_timer_start(&r->m.probes[i], r->from, r->options.steady,
					      r->options.seed);
	err = points_update(r);
	for (uint32_t i = 0; !err && i < RS_CHANGES; i++)
		if (r->m.changes[i])
			err = rs_gdb_point(rs_session_gdb(r->session), RS_GDB_EXEC,
					   r->m.changes[i], 1, true);
	return err;
}

static struct rs_error *replay_open(struct rs_source *source, const struct rs_query *query,
				    uint32_t *pushed)
{
	struct replay *r = (struct replay *)source;
	const struct rs_session_options options = { .console = r->options.console,
						    .slow = r->options.slow,
						    .like = r->options.like };
	const bool randomizes = rs_recording_randomizes(r->recording);
	const struct rs_error *why;
	struct rs_session_ram ram;
	struct rs_linux *kernel;
	struct rs_error *err;

	*pushed = RS_PUSHED_PROBES | RS_PUSHED_TIME;
	r->from = at_ns(r, query->from_ns);
	r->to = at_ns(r, query->to_ns);
	err = rs_probed_begin(&r->m, query);
	if (!err && rs_probed_moves(&r->m, randomizes)) {
		err = rs_replay_source_find_kernel(source, &kernel, &why);
		rs_probed_follow(&r->m, randomizes);
	}
	rs_probed_modules_leave(&r->m);
	rs_replay_search_end(&r->search, &r->m.guest);
	if (!err)
		err = rs_session_open(r->recording, &options, &r->session);
	if (err)
		return err;
	ram = rs_session_ram(r->session);
	rs_probed_map(&r->m, ram.mem, ram.bytes);
	if (r->options.like)
		err = rs_session_seek(r->session, r->options.begin, r->options.stop);
	if (!err)
		err = set_points(r);
	if (!err)
		err = state_read(r);
	if (!err && r->options.like)
		err = rebase(r, true);
	if (!err && r->rings)
		err = rs_replay_rings_begin(r->rings, r->session, &r->m.memory, r->from, r->to);
	return err;
}

static void replay_destroy(struct rs_source *source)
{
	struct replay *r = (struct replay *)source;

	rs_replay_search_end(&r->search, &r->m.guest);
	rs_session_close(r->session);
	rs_replay_rings_destroy(r->rings);
	rs_probed_deinit(&r->m);
	free(r->name);
	free(r);
}

static const struct rs_source_ops ops = {
	.name = "replay", .open = replay_open, .next = replay_next, .destroy = replay_destroy
};

struct rs_error *rs_replay_source_create(const struct rs_recording *recording,
					 const struct rs_replay_options *options,
					 struct rs_source **source)
{
	struct replay *r = calloc(1, sizeof(*r));
	const char *slash = strrchr(recording->folder.path, '/');
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->source.ops = &ops;
	r->recording = recording;
	r->options = *options;
	r->name = strdup(slash && slash[1] ? slash + 1 : recording->folder.path);
	err = r->name ? rs_probed_init(
				&r->m,
				&(struct rs_clock){ .name = "guest",
						    .freq_hz = 1000000000,
						    .wall_ns = rs_recording_began_ns(recording),
						    .invariant = true,
						    .freq_from = "instructions" },
				r->name)
		      : rs_error_no_memory();
	if (err) {
		replay_destroy(&r->source);
		return err;
	}
	*source = &r->source;
	return NULL;
}

/* ---- queries --------------------------------------------------------------------------------- */

struct rs_error *rs_replay_source_find_kernel(struct rs_source *source, struct rs_linux **kernel,
					      const struct rs_error **why)
{
	struct replay *r = (struct replay *)source;
	struct rs_error *err = NULL;

	if (!r->m.guest.kernel && !r->m.guest.why)
		err = rs_replay_search(r->recording, &r->options, &r->m.guest, &r->search);
	*kernel = r->m.guest.kernel;
	*why = r->m.guest.why;
	return err;
}

struct rs_error *rs_replay_source_find_rings(struct rs_source *source)
{
	struct replay *r = (struct replay *)source;

	if (!r->options.rings)
		return NULL;
	return rs_replay_rings_find(r->recording, &r->options, &r->m.clock, r->name, &r->rings);
}

struct rs_replay_rings_result rs_replay_source_rings(const struct rs_source *source)
{
	return rs_replay_rings_result(((const struct replay *)source)->rings);
}

const struct rs_stream *rs_replay_source_rings_stream(const struct rs_source *source)
{
	const struct replay *r = (const struct replay *)source;

	return r->rings ? rs_replay_rings_stream(r->rings) : NULL;
}

struct rs_error *rs_replay_source_make(void *source, const char *description,
				       const struct rs_event **event)
{
	struct replay *r = source;
	char module[RS_WORD_MAX + 1];
	const bool is_of_module = rs_named_module(&r->m, description, module);
	const struct rs_error *why;
	struct rs_linux *kernel;
	struct rs_error *err = NULL;

	*event = NULL;
	if (rs_named_of_kernel(description) || is_of_module)
		err = rs_replay_source_find_kernel(&r->source, &kernel, &why);
	if (!err && is_of_module)
		err = rs_replay_search_module(&r->search, &r->m.guest, module, r->options.stop);
	return err ? err : rs_probed_make(&r->m, description, r->recording->shift, event);
}

struct rs_error *rs_replay_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					    const struct rs_program *program)
{
	return rs_probed_add_notes(&((struct replay *)source)->m, notes, program);
}

struct rs_probed *rs_replay_source_probed(struct rs_source *source)
{
	return &((struct replay *)source)->m;
}

const struct rs_stream *rs_replay_source_stream(const struct rs_source *source)
{
	return &((const struct replay *)source)->m.stream;
}

struct rs_replay_counts rs_replay_source_counts(const struct rs_source *source)
{
	return ((const struct replay *)source)->counts;
}

const char *rs_replay_source_slow(const struct rs_source *source)
{
	const struct replay *r = (const struct replay *)source;

	return r->session ? rs_session_slow(r->session) : NULL;
}
