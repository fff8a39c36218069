/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine runs to the next timer, breakpoint or watchpoint, is looked at once, and all that is
 * due there fires. QEMU does not leave a breakpoint's own address by `continue`, so it is left by a
 * step; and a step may meet an interrupt or a fault, after which the machine comes to the same
 * address again without having done the instruction: that is not counted twice.
 */
#include "source/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "introspect/memory.h"
#include "source/replay_probe.h"

#define PROBES_MAX	4096u
#define HOLE		UINT64_C(0xa0000) /* devices, up to: */
#define HOLE_END	UINT64_C(0xc0000)
#define INTERRUPTED_MAX 64u

/* An instruction that an interrupt or a fault came before: whose it is. */
struct interrupted {
	uint64_t rip, rsp, cr3;
};

struct replay {
	struct rs_source source;
	const struct rs_recording *recording;
	struct rs_replay_options options;
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_machine machine;
	struct rs_stream stream;
	char *name;

	struct rs_replay_probe *probes;
	uint32_t n_probes, room, pause; /* pause: the next of the pauses */
	uint64_t from, to;		/* instructions: which are wanted */

	struct rs_session *session;
	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_guest_memory memory;
	uint64_t icount;
	bool again; /* it stands where it has fired already */
	struct interrupted interrupted[INTERRUPTED_MAX];
	uint32_t n_interrupted;

	struct rs_view *views; /* of one stop, as many as there are probes */
	uint8_t (*payloads)[RS_REPLAY_PAYLOAD_MAX];
	struct rs_replay_counts counts;
};

/* ---- the machine, as programs see it --------------------------------------------------------- */

static bool machine_reg(void *ctx, const char *name, uint64_t *value)
{
	struct replay *r = ctx;

	return rs_x86_reg(&r->regs, name, value);
}

static bool machine_read(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at)
{
	struct replay *r = ctx;

	return rs_memory_read(&r->memory, gva, buf, bytes, at) == RS_FAULT_NONE;
}

static bool machine_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at)
{
	struct replay *r = ctx;

	*at = gpa;
	return rs_memory_read_phys(&r->memory, gpa, buf, bytes) == RS_FAULT_NONE;
}

/* All of it is below 4 GiB (recording.h). */
static void map_ram(struct replay *r)
{
	const struct rs_session_ram ram = rs_session_ram(r->session);
	struct rs_guest_memory *m = &r->memory;

	m->n_ram = 0;
	m->ram[m->n_ram++] = (struct rs_ram){ 0, ram.bytes < HOLE ? ram.bytes : HOLE, ram.mem };
	if (ram.bytes > HOLE_END)
		m->ram[m->n_ram++] =
			(struct rs_ram){ HOLE_END, ram.bytes - HOLE_END, ram.mem + HOLE_END };
}

/* The machine has stopped: where. */
static struct rs_error *look(struct replay *r)
{
	struct rs_error *err = rs_session_icount(r->session, &r->icount);

	if (!err)
		err = rs_session_registers(r->session, &r->regs);
	if (!err)
		rs_memory_stopped(&r->memory, &(struct rs_paging){ .cr0 = r->regs.cr0,
								   .cr3 = r->regs.cr3,
								   .cr4 = r->regs.cr4,
								   .efer = r->regs.efer });
	r->counts.icount = r->icount;
	return err;
}

/* ---- going on -------------------------------------------------------------------------------- */

static bool is_breakpoint(const struct replay *r, uint64_t rip)
{
	for (uint32_t i = 0; i < r->n_probes; i++) {
		const struct rs_replay_probe *p = &r->probes[i];

		if (p->wanted && rs_replay_probe_is_code(p) && p->address == rip)
			return true;
	}
	return false;
}

/* Whether a step from there came to a handler, and nothing was done: the processor has put the
 * same address and stack on its stack, under an error code or not (Intel SDM volume 3, 6.14). */
static bool was_interrupted(struct replay *r, const struct rs_x86_regs *before)
{
	uint64_t frame[6];

	if (rs_memory_read(&r->memory, r->regs.gpr[7], frame, sizeof(frame), NULL))
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

/* Whether it has come back to an instruction that was interrupted; which is then forgotten. */
static bool has_returned(struct replay *r)
{
	const struct interrupted now = of(&r->regs);

	for (uint32_t i = 0; i < INTERRUPTED_MAX; i++) {
		struct interrupted *one = &r->interrupted[i];

		if (!one->rip || memcmp(one, &now, sizeof(now)) != 0)
			continue;
		*one = (struct interrupted){ 0 };
		return true;
	}
	return false;
}

/* The next instruction that it must stop at. */
static uint64_t target(const struct replay *r)
{
	uint64_t to = r->to;

	for (uint32_t i = 0; i < r->n_probes; i++) {
		const struct rs_replay_probe *p = &r->probes[i];

		if (p->wanted && p->kind == RS_REPLAY_TIMER && p->next < to)
			to = p->next;
	}
	if (r->pause < r->options.pauses.n && r->options.pauses.at[r->pause] < to)
		to = r->options.pauses.at[r->pause];
	return to;
}

static struct rs_error *go_on(struct replay *r)
{
	struct rs_session_run run = { .icount = target(r), .stop = r->options.stop };
	const struct rs_x86_regs before = r->regs;
	bool steps = is_breakpoint(r, before.rip);
	struct rs_error *err =
		steps ? rs_session_step(r->session, &run) : rs_session_run(r->session, &run);

	r->stopped = run.stopped;
	r->again = false;
	if (err || run.stopped.why == RS_GDB_ENDED)
		return err;
	r->counts.stops++;
	err = look(r);
	if (err)
		return err;
	if (steps && r->regs.rip == before.rip) /* one round of a repeated instruction */
		r->again = true;
	else if (steps && was_interrupted(r, &before))
		remember(r, &before);
	if (is_breakpoint(r, r->regs.rip) && has_returned(r))
		r->again = true;
	return NULL;
}

/* ---- firing ---------------------------------------------------------------------------------- */

static bool is_due(struct replay *r, struct rs_replay_probe *p)
{
	switch (p->kind) {
	case RS_REPLAY_TIMER:
		if (p->next > r->icount)
			return false;
		rs_replay_timer_next(p, r->icount, r->options.steady, r->options.seed);
		return true;
	case RS_REPLAY_EXEC:
	case RS_REPLAY_USDT:
	case RS_REPLAY_ASSERT:
		return p->address == r->regs.rip && !r->again;
	case RS_REPLAY_MEM:
		return r->stopped.why == RS_GDB_WATCHED && r->stopped.address == p->address &&
		       r->stopped.kind == p->point;
	}
	return false;
}

static size_t fire(struct replay *r)
{
	struct rs_replay_at at = { &r->regs, r->icount, &r->memory, 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_probes; i++) {
		struct rs_replay_probe *p = &r->probes[i];

		if (!p->wanted || !is_due(r, p) || r->icount < r->from)
			continue;
		r->views[n] = (struct rs_view){
			.ts_ns = (int64_t)(r->icount << r->recording->shift),
			.tsc = r->icount << r->recording->shift,
			.event = p->event,
			.stream = &r->stream,
			.payload = r->payloads[n],
			.payload_bytes = rs_replay_probe_payload(p, &at, r->payloads[n]),
			.cpu = RS_UNKNOWN,
		};
		n++;
	}
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
	return r->stopped.why == RS_GDB_ENDED || r->icount >= r->to ||
	       (r->options.stop && *r->options.stop);
}

static struct rs_error *replay_next(struct rs_source *source, struct rs_batch *batch)
{
	struct replay *r = (struct replay *)source;
	struct rs_error *err = NULL;
	size_t n = 0;

	while (!err && !n && !is_over(r)) {
		err = go_on(r);
		if (!err && r->stopped.why != RS_GDB_ENDED)
			err = pause_here(r);
		n = err || is_over(r) ? 0 : fire(r);
	}
	if (err)
		return err;
	*batch = (struct rs_batch){ .kind = n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = r->views,
				    .n = n,
				    .watermark_ns = n ? r->views[0].ts_ns : INT64_MAX };
	return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* The instruction of a time, at the least one; those that no guest comes to are the last. */
static uint64_t at_ns(const struct replay *r, int64_t ns)
{
	if (ns == INT64_MAX)
		return UINT64_MAX;
	return ns > 0 ? (uint64_t)ns >> r->recording->shift : 0;
}

static struct rs_error *set_points(struct replay *r, const struct rs_query *query)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < r->n_probes; i++) {
		struct rs_replay_probe *p = &r->probes[i];

		p->wanted = rs_query_wants(query, p->event);
		if (p->kind == RS_REPLAY_TIMER) {
			rs_replay_timer_start(p, r->from, r->options.steady, r->options.seed);
			continue;
		}
		if (p->wanted)
			err = rs_gdb_point(rs_session_gdb(r->session), p->point, p->address,
					   p->bytes, true);
	}
	return err;
}

static struct rs_error *replay_open(struct rs_source *source, const struct rs_query *query,
				    uint32_t *pushed)
{
	struct replay *r = (struct replay *)source;
	const struct rs_session_options options = { .console = r->options.console,
						    .slow = r->options.slow,
						    .like = r->options.like };
	struct rs_error *err;

	*pushed = RS_PUSHED_PROBES | RS_PUSHED_TIME;
	r->from = at_ns(r, query->from_ns);
	r->to = at_ns(r, query->to_ns);
	r->views = calloc(r->n_probes + 1, sizeof(*r->views));
	r->payloads = calloc(r->n_probes + 1, sizeof(*r->payloads));
	if (!r->views || !r->payloads)
		return rs_error_no_memory();
	err = rs_session_open(r->recording, &options, &r->session);
	if (err)
		return err;
	map_ram(r);
	if (r->options.like)
		err = rs_session_seek(r->session, r->options.begin, r->options.stop);
	if (!err)
		err = set_points(r, query);
	return err ? err : look(r);
}

static void replay_destroy(struct rs_source *source)
{
	struct replay *r = (struct replay *)source;

	rs_session_close(r->session);
	rs_schema_destroy(r->schema);
	free(r->probes);
	free(r->views);
	free(r->payloads);
	free(r->name);
	free(r);
}

static const struct rs_source_ops ops = {
	.name = "replay", .open = replay_open, .next = replay_next, .destroy = replay_destroy
};

/* When the guest began, as the recording's folder says: it was closed when it was over. */
static int64_t began_ns(const struct rs_recording *recording)
{
	struct stat of;
	char *path;
	int64_t ns = 0;

	if (asprintf(&path, "%s/recording.json", recording->directory) < 0)
		return 0;
	if (!stat(path, &of))
		ns = of.st_mtim.tv_sec * INT64_C(1000000000) + of.st_mtim.tv_nsec -
		     (int64_t)(recording->icount << recording->shift);
	free(path);
	return ns > 0 ? ns : 0;
}

struct rs_error *rs_replay_source_create(const struct rs_recording *recording,
					 const struct rs_replay_options *options,
					 struct rs_source **source)
{
	struct replay *r = calloc(1, sizeof(*r));
	const char *slash = strrchr(recording->directory, '/');
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->source.ops = &ops;
	r->recording = recording;
	r->options = *options;
	r->clock = (struct rs_clock){ .name = "guest",
				      .freq_hz = 1000000000,
				      .wall_ns = began_ns(recording),
				      .invariant = true,
				      .freq_from = "instructions" };
	r->machine = (struct rs_machine){ r, machine_reg, machine_read, machine_read_phys };
	r->name = strdup(slash && slash[1] ? slash + 1 : recording->directory);
	err = r->name ? rs_clock_init(&r->clock) : rs_error_no_memory();
	if (!err)
		err = rs_schema_create("guest", &r->schema);
	if (err) {
		replay_destroy(&r->source);
		return err;
	}
	r->stream = (struct rs_stream){ .vm = r->name,
					.vcpu = 0,
					.cpu = RS_UNKNOWN,
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = r->schema,
					.clock = &r->clock,
					.machine = &r->machine };
	*source = &r->source;
	return NULL;
}

/* ---- probes on demand ------------------------------------------------------------------------ */

static struct rs_error *make_room(struct replay *r)
{
	uint32_t room = r->room ? r->room * 2 : 16;
	struct rs_replay_probe *more;

	if (r->n_probes == PROBES_MAX)
		return rs_error_create(RS_USAGE, "more than %u probes of a replay", PROBES_MAX);
	if (r->n_probes < r->room)
		return NULL;
	more = reallocarray(r->probes, room, sizeof(*more));
	if (!more)
		return rs_error_no_memory();
	r->probes = more;
	r->room = room;
	return NULL;
}

struct rs_error *rs_replay_source_make(void *source, const char *description,
				       const struct rs_event **event)
{
	struct replay *r = source;
	struct rs_replay_probe probe;
	bool ours;
	struct rs_error *err;

	*event = NULL;
	for (uint32_t i = 0; i < r->n_probes; i++) {
		if (rs_probe_match(description, r->probes[i].event))
			return NULL; /* it is there */
	}
	err = rs_replay_probe_parse(description, r->recording->shift, &probe, &ours);
	if (err || !ours)
		return err;
	err = make_room(r);
	if (!err)
		err = rs_replay_probe_declare(r->schema, r->n_probes, description, &probe);
	if (err)
		return err;
	r->probes[r->n_probes++] = probe;
	*event = probe.event;
	return NULL;
}

struct rs_error *rs_replay_source_add_notes(struct rs_source *source, const struct rs_notes *notes)
{
	struct replay *r = (struct replay *)source;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < notes->n; i++) {
		struct rs_replay_probe probe;

		err = make_room(r);
		if (!err)
			err = rs_replay_note_declare(r->schema, r->n_probes, &notes->at[i], &probe);
		if (!err)
			r->probes[r->n_probes++] = probe;
	}
	return err;
}

const struct rs_stream *rs_replay_source_stream(const struct rs_source *source)
{
	return &((const struct replay *)source)->stream;
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
