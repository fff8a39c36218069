/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As a replay's probes, but that the time is the host's, while the machine runs, and that a timer
 * is met by asking the machine to stop. A breakpoint is left by a step of the processor that is at
 * it, alone.
 */
#include "source/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "introspect/memory.h"
#include "source/replay_probe.h"
#include <ringside/record.h>

#define PROBES_MAX 4096u
#define HOLE	   UINT64_C(0xa0000) /* devices, up to: */
#define HOLE_END   UINT64_C(0xc0000)
#define IDLE_NS	   UINT64_C(200000000) /* between two looks, where no timer is */

struct live {
	struct rs_source source;
	struct rs_live *machine_runs;
	struct rs_live_source_options options;
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_machine machine;
	struct rs_stream stream;

	struct rs_replay_probe *probes;
	struct rs_live_cost *costs; /* of each */
	uint32_t n_probes, room;
	uint64_t from, to; /* ns */

	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_guest_memory memory;
	uint64_t now;	     /* that it ran, in ns */
	uint64_t stopped_ns; /* that it stood, when it last stopped */
	uint32_t n_due;	     /* probes that fired there */
	uint32_t *due;
	bool again; /* it stands where it has fired already */
	bool told;  /* the distortion was */

	const struct rs_event *distortion_event;
	struct rs_distortion distortion;
	struct rs_view *views;
	uint8_t (*payloads)[RS_REPLAY_PAYLOAD_MAX];
};

/* ---- the machine, as programs see it ------------------------------------------------------ */

static bool machine_reg(void *ctx, const char *name, uint64_t *value)
{
	struct live *l = ctx;

	return rs_x86_reg(&l->regs, name, value);
}

static bool machine_read(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at)
{
	struct live *l = ctx;

	return rs_memory_read(&l->memory, gva, buf, bytes, at) == RS_FAULT_NONE;
}

static bool machine_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at)
{
	struct live *l = ctx;

	*at = gpa;
	return rs_memory_read_phys(&l->memory, gpa, buf, bytes) == RS_FAULT_NONE;
}

/* RAM of a machine of ours is below 4 GiB; another's is read through its stub. */
static void map_ram(struct live *l)
{
	struct rs_guest_memory *m = &l->memory;
	uint64_t bytes = 0;
	const uint8_t *ram = rs_live_ram(l->machine_runs, &bytes);

	m->n_ram = 0;
	if (ram)
		m->ram[m->n_ram++] = (struct rs_ram){ 0, bytes < HOLE ? bytes : HOLE, ram };
	if (ram && bytes > HOLE_END)
		m->ram[m->n_ram++] = (struct rs_ram){ HOLE_END, bytes - HOLE_END, ram + HOLE_END };
	if (!ram) {
		m->read = rs_live_read_phys;
		m->ctx = l->machine_runs;
	}
}

static struct rs_error *look(struct live *l)
{
	struct rs_error *err = rs_gdb_registers(rs_live_gdb(l->machine_runs), &l->regs);

	if (!err)
		rs_memory_stopped(&l->memory, &(struct rs_paging){ .cr0 = l->regs.cr0,
								   .cr3 = l->regs.cr3,
								   .cr4 = l->regs.cr4,
								   .efer = l->regs.efer });
	l->now = rs_live_ran_ns(l->machine_runs);
	return err;
}

/* ---- going on ----------------------------------------------------------------------------- */

static bool is_breakpoint(const struct live *l)
{
	for (uint32_t i = 0; i < l->n_probes; i++) {
		const struct rs_replay_probe *p = &l->probes[i];

		if (p->wanted && rs_replay_probe_is_code(p) && p->address == l->regs.rip)
			return true;
	}
	return false;
}

/* How long until something is due. */
static uint64_t until(const struct live *l)
{
	uint64_t to = l->now + IDLE_NS < l->to ? l->now + IDLE_NS : l->to;
	bool timers = false;

	for (uint32_t i = 0; i < l->n_probes; i++) {
		const struct rs_replay_probe *p = &l->probes[i];

		if (!p->wanted || p->kind != RS_REPLAY_TIMER)
			continue;
		if (!timers || p->next < to)
			to = p->next < l->to ? p->next : l->to;
		timers = true;
	}
	if (!timers) /* points alone: nothing but an end stops it else */
		to = l->to;
	return to > l->now ? to - l->now : 0;
}

/* What the last stop cost is theirs that were due there. */
static void charge(struct live *l)
{
	uint64_t now = rs_live_stopped_ns(l->machine_runs);
	uint64_t each = l->n_due ? (now - l->stopped_ns) / l->n_due : 0;

	for (uint32_t i = 0; i < l->n_due; i++)
		l->costs[l->due[i]].stopped_ns += each;
	l->stopped_ns = now;
	l->n_due = 0;
}

static struct rs_error *go_on(struct live *l)
{
	const uint64_t rip = l->regs.rip;
	bool steps = is_breakpoint(l);
	struct rs_error *err =
		steps ? rs_live_step(l->machine_runs, &l->stopped)
		      : rs_live_run(l->machine_runs, until(l), l->options.stop, &l->stopped);

	l->again = false;
	if (err || l->stopped.why == RS_GDB_ENDED)
		return err;
	charge(l);
	err = look(l);
	l->again = !err && steps && l->regs.rip == rip; /* a round of a repeated instruction */
	return err;
}

/* ---- firing ------------------------------------------------------------------------------- */

static bool is_due(struct live *l, struct rs_replay_probe *p)
{
	if (p->kind == RS_REPLAY_MEM)
		return l->stopped.why == RS_GDB_WATCHED && l->stopped.address == p->address &&
		       l->stopped.kind == p->point;
	if (p->kind != RS_REPLAY_TIMER)
		return p->address == l->regs.rip && !l->again;
	if (p->next > l->now)
		return false;
	rs_replay_timer_next(p, l->now, l->options.steady, l->options.seed);
	return true;
}

static struct rs_view view_of(const struct live *l, const struct rs_event *event, size_t n,
			      uint32_t bytes)
{
	return (struct rs_view){ .ts_ns = (int64_t)l->now,
				 .tsc = l->now,
				 .event = event,
				 .stream = &l->stream,
				 .payload = l->payloads[n],
				 .payload_bytes = bytes,
				 .cpu = RS_UNKNOWN };
}

static size_t fire(struct live *l)
{
	struct rs_replay_at at = { &l->regs, 0, &l->memory, 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < l->n_probes; i++) {
		struct rs_replay_probe *p = &l->probes[i];

		if (!p->wanted || !is_due(l, p) || l->now < l->from)
			continue;
		l->views[n] =
			view_of(l, p->event, n, rs_replay_probe_payload(p, &at, l->payloads[n]));
		l->costs[i].fired++;
		l->due[l->n_due++] = i;
		n++;
	}
	return n;
}

/* ---- its end ------------------------------------------------------------------------------ */

static const struct rs_field distortion_fields[] = {
	{ .name = "host_ns", .unit = "ns", .type = RS_TYPE_U64 },
	{ .name = "guest_ns", .unit = "ns", .type = RS_TYPE_U64 },
	{ .name = "behind_ns", .unit = "ns", .type = RS_TYPE_S64 },
	{ .name = "stops", .unit = "", .type = RS_TYPE_U64 },
	{ .name = "stopped_ns", .unit = "ns", .type = RS_TYPE_U64 },
	{ .name = "clock", .unit = "", .type = RS_TYPE_U8 },
};
#define N_FIELDS (sizeof(distortion_fields) / sizeof(distortion_fields[0]))

static struct rs_error *declare_distortion(struct live *l)
{
	const struct rs_event event = {
		.id = RS_ID(RS_IDS_USER, 0),
		.class_name = "live",
		.function = "",
		.name = "distortion",
		.help = "how far the guest's clock is behind where it would be without probes",
		.fields = distortion_fields,
		.n_fields = N_FIELDS
	};
	struct rs_error *err = rs_schema_add(l->schema, &event);

	l->distortion_event = err ? NULL : rs_schema_find(l->schema, event.id);
	return err;
}

static size_t tell_distortion(struct live *l)
{
	struct rs_distortion *d = &l->distortion;
	uint64_t values[5];

	charge(l);
	rs_live_distortion(l->machine_runs, d);
	values[0] = d->host_ns;
	values[1] = d->guest_ns;
	values[2] = (uint64_t)d->behind_ns;
	values[3] = d->stops;
	values[4] = d->stopped_ns;
	memcpy(l->payloads[0], values, sizeof(values));
	l->payloads[0][sizeof(values)] = d->clock;
	l->views[0] = view_of(l, l->distortion_event, 0, sizeof(values) + 1);
	l->told = true;
	return 1;
}

static bool is_over(const struct live *l)
{
	return l->stopped.why == RS_GDB_ENDED || l->now >= l->to ||
	       (l->options.stop && *l->options.stop);
}

static struct rs_error *live_next(struct rs_source *source, struct rs_batch *batch)
{
	struct live *l = (struct live *)source;
	struct rs_error *err = NULL;
	size_t n = 0;

	while (!err && !n && !is_over(l)) {
		err = go_on(l);
		if (!err && !is_over(l))
			n = fire(l);
	}
	if (err)
		return err;
	if (!n && !l->told)
		n = tell_distortion(l);
	*batch = (struct rs_batch){ .kind = n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = l->views,
				    .n = n,
				    .watermark_ns = n ? l->views[0].ts_ns : INT64_MAX };
	return NULL;
}

/* ---- beginning ---------------------------------------------------------------------------- */

static struct rs_error *set_points(struct live *l, const struct rs_query *query)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < l->n_probes; i++) {
		struct rs_replay_probe *p = &l->probes[i];

		p->wanted = rs_query_wants(query, p->event);
		l->costs[i].event = p->wanted ? p->event : NULL;
		if (p->kind == RS_REPLAY_TIMER)
			rs_replay_timer_start(p, 0, l->options.steady, l->options.seed);
		else if (p->wanted)
			err = rs_error_wrap(rs_gdb_point(rs_live_gdb(l->machine_runs), p->point,
							 p->address, p->bytes, true),
					    "QEMU can't stop at 0x%llx",
					    (unsigned long long)p->address);
	}
	return err;
}

static struct rs_error *live_open(struct rs_source *source, const struct rs_query *query,
				  uint32_t *pushed)
{
	struct live *l = (struct live *)source;
	struct rs_error *err;

	*pushed = RS_PUSHED_PROBES | RS_PUSHED_TIME;
	l->from = query->from_ns > 0 ? (uint64_t)query->from_ns : 0;
	l->to = query->to_ns == INT64_MAX ? UINT64_MAX : (uint64_t)query->to_ns;
	l->views = calloc(l->n_probes + 1, sizeof(*l->views));
	l->payloads = calloc(l->n_probes + 1, sizeof(*l->payloads));
	l->costs = calloc(l->n_probes + 1, sizeof(*l->costs));
	l->due = calloc(l->n_probes + 1, sizeof(*l->due));
	if (!l->views || !l->payloads || !l->costs || !l->due)
		return rs_error_no_memory();
	map_ram(l);
	err = rs_live_calibrate(l->machine_runs, l->options.stop);
	if (!err)
		err = set_points(l, query);
	return err ? err : look(l);
}

static void live_destroy(struct rs_source *source)
{
	struct live *l = (struct live *)source;

	rs_live_close(l->machine_runs);
	rs_schema_destroy(l->schema);
	free(l->probes);
	free(l->costs);
	free(l->due);
	free(l->views);
	free(l->payloads);
	free(l);
}

static const struct rs_source_ops ops = {
	.name = "live", .open = live_open, .next = live_next, .destroy = live_destroy
};

static int64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

struct rs_error *rs_live_source_create(struct rs_live *live,
				       const struct rs_live_source_options *options,
				       struct rs_source **source)
{
	struct live *l = calloc(1, sizeof(*l));
	struct rs_error *err;

	if (!l) {
		rs_live_close(live);
		return rs_error_no_memory();
	}
	l->source.ops = &ops;
	l->machine_runs = live;
	l->options = *options;
	l->clock = (struct rs_clock){ .name = "guest",
				      .freq_hz = 1000000000,
				      .wall_ns = wall_ns(),
				      .invariant = true,
				      .freq_from = "the time that it runs" };
	l->machine = (struct rs_machine){ l, machine_reg, machine_read, machine_read_phys };
	err = rs_clock_init(&l->clock);
	if (!err)
		err = rs_schema_create("guest", &l->schema);
	if (!err)
		err = declare_distortion(l);
	if (err) {
		live_destroy(&l->source);
		return err;
	}
	l->stream = (struct rs_stream){ .vm = "live",
					.vcpu = 0,
					.cpu = RS_UNKNOWN,
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = l->schema,
					.clock = &l->clock,
					.machine = &l->machine };
	*source = &l->source;
	return NULL;
}

/* ---- probes on demand --------------------------------------------------------------------- */

static struct rs_error *make_room(struct live *l)
{
	uint32_t room = l->room ? l->room * 2 : 16;
	struct rs_replay_probe *more;

	if (l->n_probes == PROBES_MAX)
		return rs_error_create(RS_USAGE, "more than %u probes of a machine", PROBES_MAX);
	if (l->n_probes < l->room)
		return NULL;
	more = reallocarray(l->probes, room, sizeof(*more));
	if (!more)
		return rs_error_no_memory();
	l->probes = more;
	l->room = room;
	return NULL;
}

struct rs_error *rs_live_source_make(void *source, const char *description,
				     const struct rs_event **event)
{
	struct live *l = source;
	struct rs_replay_probe probe;
	size_t len = strlen(description);
	bool ours;
	struct rs_error *err;

	*event = NULL;
	for (uint32_t i = 0; i < l->n_probes; i++) {
		if (rs_probe_match(description, l->probes[i].event))
			return NULL; /* it is there */
	}
	err = rs_replay_probe_parse(description, 0, &probe, &ours);
	if (err || !ours)
		return err;
	if (probe.kind == RS_REPLAY_TIMER && len > 5 && !strcmp(description + len - 5, "insns"))
		return rs_error_create(RS_USAGE, "a machine that runs does not count instructions: "
						 "guest:timer::1ms");
	err = make_room(l);
	if (!err)
		err = rs_replay_probe_declare(l->schema, l->n_probes, description, &probe);
	if (err)
		return err;
	l->probes[l->n_probes++] = probe;
	*event = probe.event;
	return NULL;
}

struct rs_error *rs_live_source_add_notes(struct rs_source *source, const struct rs_notes *notes)
{
	struct live *l = (struct live *)source;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < notes->n; i++) {
		struct rs_replay_probe probe;

		err = make_room(l);
		if (!err)
			err = rs_replay_note_declare(l->schema, l->n_probes, &notes->at[i], &probe);
		if (!err)
			l->probes[l->n_probes++] = probe;
	}
	return err;
}

const struct rs_stream *rs_live_source_stream(const struct rs_source *source)
{
	return &((const struct live *)source)->stream;
}

bool rs_live_source_cost(const struct rs_source *source, uint32_t index, struct rs_live_cost *cost)
{
	const struct live *l = (const struct live *)source;

	if (!l->costs || index >= l->n_probes)
		return false;
	*cost = l->costs[index];
	return true;
}

void rs_live_source_distortion(const struct rs_source *source, struct rs_distortion *distortion)
{
	*distortion = ((const struct live *)source)->distortion;
}
