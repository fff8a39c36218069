/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements a replay's probes for a running machine. Time is the host's time while the machine
 * runs. A timer fires by stopping the machine; a timer of single instructions steps the processor
 * that stopped last. The processor at a breakpoint leaves it by a single step.
 */
#include "replay/live_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "replay/search.h"
#include "replay/named.h"
#include "replay/probed.h"

#define IDLE_NS UINT64_C(200000000) /* between two checks, without timers */
#define LOOK_NS UINT64_C(50000000)  /* between two searches for the kernel */

struct live {
	struct rs_source source;
	struct rs_live *machine_runs;
	struct rs_live_source_options options;
	struct rs_live_alarm alarm; /* next_ns NULL: none */
	struct rs_probed m;
	struct rs_live_cost *costs; /* of each probe */
	uint64_t from, to;	    /* ns */

	uint64_t now;	     /* time that the machine ran, in ns */
	uint64_t stopped_ns; /* time for which it was stopped, at the last stop */
	uint32_t n_due;	     /* number of probes that fired at that stop */
	uint32_t *due;
	bool reported; /* the distortion was reported */

	const struct rs_event *distortion_event;
	struct rs_distortion distortion;
};

/* Maps the RAM of a machine that was started here, which is a file. The RAM of another machine is
 * read through its stub. */
static void map_ram(struct live *l)
{
	uint64_t bytes = 0;
	const uint8_t *ram = rs_live_ram(l->machine_runs, &bytes);

	if (ram) {
		rs_probed_map(&l->m, ram, bytes);
	} else {
		l->m.memory.read = rs_live_read_phys;
		l->m.memory.ctx = l->machine_runs;
	}
}

static struct rs_error *state_read(struct live *l)
{
	struct rs_error *err = rs_live_registers(l->machine_runs, &l->m.regs, &l->m.stopped);

	if (!err && l->m.stopped.why != RS_GDB_ENDED)
		rs_probed_stopped(&l->m);
	l->now = rs_live_ran_ns(l->machine_runs);
	return err;
}

/* ---- running ------------------------------------------------------------------------------ */

static uint64_t alarm_at(const struct live *l)
{
	return l->alarm.next_ns ? (uint64_t)l->alarm.next_ns(l->alarm.ctx) : UINT64_MAX;
}

/* Returns the time until a timer, the alarm or the end is due. */
static uint64_t due_in(const struct live *l)
{
	const uint64_t alarm = alarm_at(l);
	uint64_t to = l->now + IDLE_NS < l->to ? l->now + IDLE_NS : l->to;
	bool timers = false;

	for (uint32_t i = 0; i < l->m.n_probes; i++) {
		const struct rs_replay_probe *p = &l->m.probes[i];

		if (!p->wanted || p->kind != RS_REPLAY_TIMER)
			continue;
		if (!timers || p->next < to)
			to = p->next < l->to ? p->next : l->to;
		timers = true;
	}
	if (!timers) /* without timers, only points or the end stop the machine */
		to = l->to;
	to = alarm < to ? alarm : to;
	return to > l->now ? to - l->now : 0;
}

/* Charges the time of the last stop to the probes that fired there. */
static void charge(struct live *l)
{
	uint64_t now = rs_live_stopped_ns(l->machine_runs);
	uint64_t each = l->n_due ? (now - l->stopped_ns) / l->n_due : 0;

	for (uint32_t i = 0; i < l->n_due; i++)
		l->costs[l->due[i]].stopped_ns += each;
	l->stopped_ns = now;
	l->n_due = 0;
}

/* Returns whether a timer of single instructions has begun. */
static bool is_stepping(const struct live *l)
{
	for (uint32_t i = 0; i < l->m.n_probes; i++) {
		const struct rs_replay_probe *p = &l->m.probes[i];

		if (p->wanted && p->steps && p->next <= l->now + 1)
			return true;
	}
	return false;
}

static struct rs_error *run_on(struct live *l)
{
	const uint64_t rip = l->m.regs.rip;
	bool steps = rs_probed_breaks(&l->m, rip) || is_stepping(l);
	struct rs_error *err =
		steps ? rs_live_step(l->machine_runs, &l->m.stopped)
		      : rs_live_run(l->machine_runs, due_in(l), l->options.stop, &l->m.stopped);

	l->m.again = false;
	if (err || l->m.stopped.why == RS_GDB_ENDED)
		return err;
	charge(l);
	err = state_read(l);
	l->m.again =
		!err && steps && l->m.regs.rip == rip; /* an iteration of a repeated instruction */
	return err;
}

/* ---- firing ------------------------------------------------------------------------------- */

static bool is_due(struct live *l, struct rs_replay_probe *p)
{
	if (p->kind != RS_REPLAY_TIMER)
		return rs_probed_hit(&l->m, p);
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
				 .stream = &l->m.stream,
				 .payload = l->m.payloads[n],
				 .payload_bytes = bytes,
				 .cpu = RS_UNKNOWN };
}

/* Returns the first instance of a probe. A program's probe has an instance for each possible base;
 * all costs are the first one's. */
static uint32_t first_of(const struct live *l, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (l->m.probes[k].event && l->m.probes[k].event == l->m.probes[i].event)
			return k;
	return i;
}

static size_t fire(struct live *l)
{
	struct rs_replay_at at = { &l->m.regs, 0, &l->m.memory, &l->m.guest, 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < l->m.n_probes; i++) {
		struct rs_replay_probe *p = &l->m.probes[i];

		if (!p->wanted || !is_due(l, p) || l->now < l->from)
			continue;
		l->m.views[n] =
			view_of(l, p->event, n, rs_replay_probe_payload(p, &at, l->m.payloads[n]));
		l->costs[first_of(l, i)].fired++;
		l->due[l->n_due++] = first_of(l, i);
		n++;
	}
	if (n)
		rs_probed_fired(&l->m);
	return n;
}

/* ---- the end ------------------------------------------------------------------------------ */

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
		.help = "how far the guest's clock is behind a clock without probes",
		.fields = distortion_fields,
		.n_fields = N_FIELDS
	};
	struct rs_error *err = rs_schema_add(l->m.schema, &event);

	l->distortion_event = err ? NULL : rs_schema_find(l->m.schema, event.id);
	return err;
}

/* Reads the distortion up to now. */
static void distortion_read(struct live *l)
{
	charge(l);
	rs_live_distortion(l->machine_runs, &l->distortion);
}

static size_t report_distortion(struct live *l)
{
	const struct rs_distortion *d = &l->distortion;
	uint64_t values[5];

	distortion_read(l);
	values[0] = d->host_ns;
	values[1] = d->guest_ns;
	values[2] = (uint64_t)d->behind_ns;
	values[3] = d->stops;
	values[4] = d->stopped_ns;
	memcpy(l->m.payloads[0], values, sizeof(values));
	l->m.payloads[0][sizeof(values)] = d->clock;
	l->m.views[0] = view_of(l, l->distortion_event, 0, sizeof(values) + 1);
	l->reported = true;
	return 1;
}

static bool is_over(const struct live *l)
{
	return l->m.stopped.why == RS_GDB_ENDED || l->now >= l->to ||
	       (l->options.stop && *l->options.stop);
}

/* ---- points ------------------------------------------------------------------------------- */

static struct rs_error *point_set(struct live *l, const struct rs_replay_probe *p, bool set)
{
	return rs_error_wrap(
		rs_live_point(l->machine_runs, p->point, p->address, p->bytes, set, &l->m.stopped),
		"QEMU cannot stop at 0x%llx", (unsigned long long)p->address);
}

/* Sets and removes points, after places of probes have changed. */
static struct rs_error *points_update(struct live *l)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < l->m.n_probes; i++) {
		struct rs_replay_probe *p = &l->m.probes[i];
		const bool needs = rs_replay_probe_needs_point(p);

		if (needs != p->is_set)
			err = point_set(l, p, needs);
		p->is_set = needs;
	}
	return err;
}

/* Sets the points of probes that are added where the program is found to be. */
static struct rs_error *rebase(struct live *l, bool all)
{
	const uint32_t before = l->m.n_probes;
	struct rs_error *err = rs_probed_rebase(&l->m, all);
	const size_t room = (size_t)l->m.n_probes + 1;
	void *costs, *due;

	if (err || before == l->m.n_probes)
		return err ? err : points_update(l);
	costs = realloc(l->costs, room * sizeof(*l->costs));
	l->costs = costs ? costs : l->costs;
	due = realloc(l->due, room * sizeof(*l->due));
	l->due = due ? due : l->due;
	if (!costs || !due)
		return rs_error_no_memory();
	for (uint32_t i = before; i < l->m.n_probes; i++)
		l->costs[i] = (struct rs_live_cost){ 0 };
	return points_update(l);
}

static struct rs_error *live_next(struct rs_source *source, struct rs_batch *batch)
{
	struct live *l = (struct live *)source;
	struct rs_error *err = NULL;
	size_t n = 0;

	while (!err && !n && !is_over(l)) {
		err = run_on(l);
		if (!err && !is_over(l))
			err = rebase(l, false);
		if (!err && !is_over(l))
			n = fire(l);
		if (!err && !n && alarm_at(l) <= l->now)
			l->alarm.due(l->alarm.ctx, (int64_t)l->now);
	}
	if (err)
		return err;
	if (!n && !l->reported)
		n = report_distortion(l);
	*batch = (struct rs_batch){ .kind = n ? RS_NEXT_EVENTS : RS_NEXT_END,
				    .views = l->m.views,
				    .n = n,
				    .watermark_ns = n ? l->m.views[0].ts_ns : INT64_MAX };
	return NULL;
}

void rs_live_source_set_alarm(struct rs_source *source, const struct rs_live_alarm *alarm)
{
	((struct live *)source)->alarm = *alarm;
}

/* ---- starting ----------------------------------------------------------------------------- */

static struct rs_error *set_points(struct live *l)
{
	struct rs_error *err;

	for (uint32_t i = 0; i < l->m.n_probes; i++) {
		struct rs_replay_probe *p = &l->m.probes[i];

		l->costs[i].event = p->wanted && first_of(l, i) == i ? p->event : NULL;
		if (p->kind == RS_REPLAY_TIMER)
			rs_replay_timer_start(p, 0, l->options.steady, l->options.seed);
	}
	err = points_update(l);
	for (uint32_t i = 0; !err && i < RS_CHANGES; i++)
		if (l->m.changes[i])
			err = point_set(l,
					&(struct rs_replay_probe){ .address = l->m.changes[i],
								   .bytes = 1,
								   .point = RS_GDB_EXEC },
					true);
	return err;
}

static struct rs_error *live_open(struct rs_source *source, const struct rs_query *query,
				  uint32_t *pushed)
{
	struct live *l = (struct live *)source;
	const struct rs_error *why;
	struct rs_linux *kernel;
	struct rs_error *err;

	*pushed = RS_PUSHED_PROBES | RS_PUSHED_TIME;
	l->from = query->from_ns > 0 ? (uint64_t)query->from_ns : 0;
	l->to = query->to_ns == INT64_MAX ? UINT64_MAX : (uint64_t)query->to_ns;
	l->costs = calloc(l->m.n_probes + 1, sizeof(*l->costs));
	l->due = calloc(l->m.n_probes + 1, sizeof(*l->due));
	err = l->costs && l->due ? rs_probed_begin(&l->m, query) : rs_error_no_memory();
	if (err)
		return err;
	map_ram(l);
	if (rs_probed_moves(&l->m, l->options.randomizes)) {
		err = rs_live_source_find_kernel(source, &kernel, &why);
		rs_probed_follow(&l->m, l->options.randomizes);
	}
	if (!err)
		err = rs_live_calibrate(l->machine_runs, l->options.stop);
	if (!err) {
		rs_live_measure(l->machine_runs);
		err = set_points(l);
	}
	if (!err)
		err = state_read(l);
	return err ? err : rebase(l, true);
}

static void live_destroy(struct rs_source *source)
{
	struct live *l = (struct live *)source;

	rs_live_close(l->machine_runs);
	rs_probed_deinit(&l->m);
	free(l->costs);
	free(l->due);
	free(l);
}

static const struct rs_source_ops ops = {
	.name = "live", .open = live_open, .next = live_next, .destroy = live_destroy
};

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
	l->m.awaits_modules = true;
	err = rs_probed_init(&l->m,
			     &(struct rs_clock){ .name = "guest",
						 .freq_hz = 1000000000,
						 .wall_ns = rs_now_ns(CLOCK_REALTIME),
						 .invariant = true,
						 .freq_from = "the time that the machine runs" },
			     "live");
	if (!err)
		err = declare_distortion(l);
	if (err) {
		live_destroy(&l->source);
		return err;
	}
	*source = &l->source;
	return NULL;
}

/* ---- queries ------------------------------------------------------------------------------ */

/* Searches for the kernel at the present stop. */
static struct rs_error *find_here(struct live *l, bool *found)
{
	struct rs_error *err = state_read(l);

	if (!err && l->m.stopped.why != RS_GDB_ENDED)
		*found = rs_guest_kernel_find(&l->m.guest, &l->m.memory, &l->m.regs);
	return err;
}

/* A machine that was started here has no kernel yet. Runs it until it has. The clock is calibrated
 * before: the time between this and the first probe is time in which a boot is not probed. */
static struct rs_error *find_kernel(struct live *l)
{
	bool found = false, started = l->m.memory.n_ram;
	struct rs_error *err = find_here(l, &found);

	if (!err && !found && started)
		err = rs_live_calibrate(l->machine_runs, l->options.stop);
	for (uint64_t ns = 0; !err && !found && started && ns < RS_SEARCH_NS_MAX; ns += LOOK_NS) {
		err = rs_live_run(l->machine_runs, LOOK_NS, l->options.stop, &l->m.stopped);
		if (err || l->m.stopped.why == RS_GDB_ENDED ||
		    (l->options.stop && *l->options.stop))
			break;
		err = find_here(l, &found);
	}
	return err;
}

struct rs_error *rs_live_source_find_kernel(struct rs_source *source, struct rs_linux **kernel,
					    const struct rs_error **why)
{
	struct live *l = (struct live *)source;
	struct rs_error *err = NULL;

	if (!l->m.guest.kernel && !l->m.guest.why) {
		map_ram(l);
		err = find_kernel(l);
	}
	*kernel = l->m.guest.kernel;
	*why = l->m.guest.why;
	return err;
}

struct rs_error *rs_live_source_make(void *source, const char *description,
				     const struct rs_event **event)
{
	struct live *l = source;
	struct rs_replay_probe probe;
	const struct rs_error *why;
	struct rs_linux *kernel;
	bool ours;
	struct rs_error *err = rs_replay_probe_parse(description, 0, &probe, &ours);

	*event = NULL;
	if (!err && (rs_named_of_kernel(description) || rs_named_module(&l->m, description, NULL)))
		err = rs_live_source_find_kernel(&l->source, &kernel, &why);
	if (err)
		return err;
	if (ours && probe.counts)
		return rs_error_create(RS_USAGE,
				       "a running machine does not count instructions: "
				       "guest:timer::1ms, or guest:timer::1insns to step it");
	return rs_probed_make(&l->m, description, 0, event);
}

struct rs_error *rs_live_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					  const struct rs_program *program)
{
	return rs_probed_add_notes(&((struct live *)source)->m, notes, program);
}

struct rs_probed *rs_live_source_probed(struct rs_source *source)
{
	return &((struct live *)source)->m;
}

const struct rs_stream *rs_live_source_stream(const struct rs_source *source)
{
	return &((const struct live *)source)->m.stream;
}

bool rs_live_source_cost(const struct rs_source *source, uint32_t index, struct rs_live_cost *cost)
{
	const struct live *l = (const struct live *)source;

	if (!l->costs || index >= l->m.n_probes)
		return false;
	*cost = l->costs[index];
	return true;
}

void rs_live_source_distortion(struct rs_source *source, struct rs_distortion *distortion)
{
	struct live *l = (struct live *)source;

	if (!l->reported)
		distortion_read(l);
	*distortion = l->distortion;
}
