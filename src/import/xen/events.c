/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns Xen's records into events with their domain and vCPU. */
#include "base/count.h"
#include "import/xen/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_EARLY     (INT64_C(1) << 26) /* 19 ms were observed with Xen in an emulator */
#define VIEWS_RECORD 4 /* the most views of one record: the held ones, and itself */

/* rs_view_xen() relies on this order. */
_Static_assert(offsetof(struct rs_xen_slot, payload) == sizeof(struct rs_xen_record),
	       "side by side");

/* Xen before 4.0 records the domain that leaves a CPU and the domain that follows without their
 * vCPUs. These records are held until the switch names the vCPUs. */
enum held { HELD_PREV, HELD_NEXT, HELDS };

struct pcpu {
	struct rs_xen_vcpu *now; /* the context */
	struct rs_xen_record held[HELDS];
	bool is_held[HELDS];
};

/* ---- remarks -------------------------------------------------------------------------------- */

void rs_xen_events_remark(struct rs_xen_events *x, const char *format, ...)
{
	struct rs_foreign_tally *tally = x->tally;
	va_list args;

	if (tally->n_remarks == RS_FOREIGN_REMARKS)
		return;
	va_start(args, format);
	vsnprintf(tally->remarks[tally->n_remarks++], RS_FOREIGN_REMARK_MAX, format, args);
	va_end(args);
}

static void remark_count(struct rs_xen_events *x, uint64_t n, const char *noun, const char *what)
{
	if (n)
		rs_xen_events_remark(x, "%s %s", RS_COUNT_OF(n, noun), what);
}

void rs_xen_events_report_skew(struct rs_xen_events *x, const struct rs_xen_survey *survey)
{
	double ns = 1e9 / (double)x->clock->freq_hz;

	if (survey->skew_impossible)
		rs_xen_events_remark(x, "TSCs of physical CPUs differ, but no skew explains the "
					"order of the records: the TSCs are left uncorrected");
	else if (survey->skew_most)
		rs_xen_events_remark(x,
				     "TSCs of physical CPUs are up to %.0f ns apart, which is "
				     "corrected, to within %.0f ns",
				     (double)survey->skew_most * ns,
				     (double)survey->skew_error * ns);
}

void rs_xen_events_end(struct rs_xen_events *x)
{
	remark_count(x, x->decoder.unknown, "record", "of an unknown event or layout: xen:raw");
	remark_count(x, x->records->late, "record", "too late for its place in time");
	remark_count(x, x->torn, "time", "a vCPU began to run on a CPU while it ran on another");
	remark_count(x, x->vcpus.refused, "time",
		     "the limit of vCPUs was exceeded: a vCPU has no name");
	remark_count(x, x->isa_changed, "exit code",
		     "of AMD after others that were decoded as Intel's");
}

/* ---- views ---------------------------------------------------------------------------------- */

/* Makes a view of the next slot, which the caller has filled. */
static inline void emit_slot(struct rs_xen_events *x, const struct rs_xen_slot *slot,
			     const struct rs_event *event, struct rs_xen_vcpu *vcpu, uint64_t tsc,
			     uint32_t cpu)
{
	struct rs_view *view = &x->views[x->n];
	int64_t ns = rs_clock_ns(x->clock, tsc);

	if (ns < x->last_ns) /* a late record: the file counts it */
		ns = x->last_ns;
	x->last_ns = ns;
	*view = (struct rs_view){ .ts_ns = ns,
				  .tsc = tsc,
				  .event = event,
				  .stream = &vcpu->stream,
				  .payload = slot->payload,
				  .payload_bytes = event->fixed_bytes,
				  .cpu = (int)cpu };
	x->n++;
}

static void emit(struct rs_xen_events *x, const struct rs_event *event, struct rs_xen_vcpu *vcpu,
		 uint64_t tsc, uint32_t cpu)
{
	emit_slot(x, &x->slots[x->n], event, vcpu, tsc, cpu);
}

/* Returns the time in ns that a vCPU has been in its state, by the trace, or -1 if it is
 * unknown. */
static int64_t state_duration(const struct rs_xen_events *x, uint64_t since, uint64_t tsc)
{
	if (!since || since <= x->lost_tsc || !x->freq_known || tsc < since)
		return -1;
	return (int64_t)((unsigned __int128)(tsc - since) * x->clock->ns_mult >> RS_CLOCK_SHIFT);
}

/*
 * Completes a time of Xen's, of which the record has the low 32 bits: `now - state_entry_time` in
 * xen/common/sched/core.c. `whole` is the approximate time by the trace, which gives the number of
 * wraps. The time is below 0 if another CPU changed the state after this CPU had read `now` and
 * before it had the lock. A running vCPU was scheduled by this CPU, so its time is below 0 only
 * shortly after a change that the trace has.
 */
static void time_complete(uint8_t *at, int64_t whole, bool waits)
{
	int64_t ns;

	memcpy(&ns, at, sizeof(ns));
	if (whole > ns && whole >> 32)
		ns += (whole - ns + (INT64_C(1) << 31)) >> 32 << 32;
	else if (ns <= UINT32_MAX && ns > UINT32_MAX - NS_EARLY &&
		 (whole < 0 ? waits : !(whole >> 31)))
		ns -= INT64_C(1) << 32;
	memcpy(at, &ns, sizeof(ns));
}

/* ---- switches in two steps ------------------------------------------------------------------ */

/* Payload of on-cpu and off-cpu: u32 domain, u32 vcpu, s64 run or wait time, s64 slice. */
#define TIME_AT 8

/* Emits a held record, after its vCPU has become known. */
static void emit_held(struct rs_xen_events *x, struct pcpu *p, enum held which,
		      struct rs_xen_vcpu *vcpu, uint64_t tsc, uint32_t cpu)
{
	static const enum rs_xen_symbol symbols[HELDS][2] = {
		{ RS_XEN_xdt_off_cpu, RS_XEN_xdt_idle_off_cpu },
		{ RS_XEN_xdt_on_cpu, RS_XEN_xdt_idle_on_cpu },
	};
	struct rs_xen_slot *slot = &x->slots[x->n];
	const uint32_t *words = p->held[which].words;
	int64_t times[2] = { words[1], (int32_t)words[2] };
	uint32_t who[2] = { words[0], (uint32_t)vcpu->vcpu };

	slot->record = p->held[which];
	memcpy(slot->payload, who, sizeof(who));
	memcpy(slot->payload + TIME_AT, times, sizeof(times));
	time_complete(
		slot->payload + TIME_AT,
		state_duration(x, which == HELD_PREV ? vcpu->running_tsc : vcpu->runnable_tsc, tsc),
		which == HELD_NEXT);
	p->is_held[which] = false;
	emit(x, rs_xen_event(&x->decoder, symbols[which][words[0] == RS_XEN_DOM_IDLE]), vcpu, tsc,
	     cpu);
}

/* Emits a held record that no switch followed, unchanged. */
static void emit_unmatched(struct rs_xen_events *x, struct pcpu *p, enum held which, uint64_t tsc,
			   uint32_t cpu)
{
	struct rs_xen_slot *slot = &x->slots[x->n];
	const struct rs_event *event;

	if (!p->is_held[which])
		return;
	p->is_held[which] = false;
	slot->record = p->held[which];
	event = rs_xen_decode(&x->decoder, &slot->record, tsc, slot->payload);
	time_complete(slot->payload + event->fields[1].offset, -1, which == HELD_NEXT);
	emit(x, event, p->now, tsc, cpu);
}

static void hold(struct rs_xen_events *x, struct pcpu *p, enum held which,
		 const struct rs_xen_record *record, uint64_t tsc, uint32_t cpu)
{
	struct rs_xen_record copy = *record; /* the caller fills the record's slot next */

	emit_unmatched(x, p, which, tsc, cpu);
	p->held[which] = copy;
	p->is_held[which] = true;
}

/* Handles the switch: emits the held records before it, and leaves its record in the next slot. */
static void on_switch(struct rs_xen_events *x, struct pcpu *p, uint64_t tsc, uint32_t cpu)
{
	struct rs_xen_record record = x->slots[x->n].record;
	const uint32_t *words = record.words;
	struct rs_xen_vcpu *prev = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
	struct rs_xen_vcpu *next = rs_xen_vcpus_find(&x->vcpus, words[2], words[3]);

	if (p->is_held[HELD_PREV] && p->held[HELD_PREV].words[0] == words[0])
		emit_held(x, p, HELD_PREV, prev, tsc, cpu);
	if (p->is_held[HELD_NEXT] && p->held[HELD_NEXT].words[0] == words[2])
		emit_held(x, p, HELD_NEXT, next, tsc, cpu);
	emit_unmatched(x, p, HELD_PREV, tsc, cpu);
	emit_unmatched(x, p, HELD_NEXT, tsc, cpu);
	p->now = next;
	x->slots[x->n].record = record;
}

/* ---- contexts ------------------------------------------------------------------------------- */

static void on_runstate(struct rs_xen_events *x, struct pcpu *p, const struct rs_xen_record *record,
			uint64_t tsc, uint32_t cpu)
{
	enum { RUNNING, RUNNABLE };
	uint32_t old = record->event >> 8 & 3, new = record->event >> 4 & 3;
	struct rs_xen_vcpu *vcpu =
		rs_xen_vcpus_find(&x->vcpus, record->words[0] >> 16, record->words[0] & 0xffff);

	if (old == RUNNING)
		vcpu->on_pcpu = RS_UNKNOWN;
	if (new == RUNNABLE)
		vcpu->runnable_tsc = tsc;
	if (new != RUNNING)
		return;
	if (vcpu->on_pcpu != RS_UNKNOWN && vcpu->on_pcpu != (int)cpu &&
	    vcpu->running_tsc > x->lost_tsc)
		x->torn++;
	vcpu->on_pcpu = (int)cpu;
	vcpu->running_tsc = tsc;
	p->now = vcpu;
}

static void on_lost(struct rs_xen_events *x, const struct rs_xen_pcpu *at, struct rs_xen_slot *slot,
		    uint64_t tsc)
{
	struct pcpu *p = at->owner;
	uint64_t count = slot->record.words[0], from;
	/* u32 domain, u32 vcpu, u64 count, u64 from */
	const size_t from_at = 16;

	memcpy(&from, slot->payload + from_at, sizeof(from));
	from += (uint64_t)at->skew; /* as tsc has */
	if (from > tsc)		    /* the record is invalid */
		from = tsc;
	memcpy(slot->payload + from_at, &from, sizeof(from));
	x->tally->lost += count;
	x->lost_tsc = tsc;
	p->is_held[HELD_PREV] = p->is_held[HELD_NEXT] = false;
	p->now = slot->record.words[1] == UINT32_MAX /* no domain, as live/xen.c encodes it */
			 ? &x->vcpus.unknown
			 : rs_xen_vcpus_find(&x->vcpus, slot->record.words[1] & 0xffff,
					     slot->record.words[1] >> 16);
}

/* Handles the scheduler's records, which name the CPU's vCPU. Returns false if the record is
 * held. */
static bool on_sched(struct rs_xen_events *x, struct pcpu *p, struct rs_xen_slot *slot,
		     uint64_t tsc, uint32_t cpu)
{
	const struct rs_xen_record *record = &slot->record;
	const uint32_t *words = record->words;
	uint8_t *time = slot->payload + TIME_AT;

	switch (rs_xen_number(record->event) << 3 | record->n) {
	case RS_XEN_SWITCH_PREV << 3 | 2:
		hold(x, p, HELD_PREV, record, tsc, cpu);
		return false;
	case RS_XEN_SWITCH_NEXT << 3 | 3:
		hold(x, p, HELD_NEXT, record, tsc, cpu);
		return false;
	case RS_XEN_SWITCH_PREV << 3 | 3:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
		time_complete(time, state_duration(x, p->now->running_tsc, tsc), false);
		break;
	case RS_XEN_SWITCH_NEXT << 3 | 4:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
		time_complete(time, state_duration(x, p->now->runnable_tsc, tsc), true);
		break;
	case RS_XEN_SWITCH_CONTINUE << 3 | 4:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
		time_complete(time, state_duration(x, p->now->running_tsc, tsc), false);
		break;
	case RS_XEN_CONTINUE_RUNNING << 3 | 1:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0] >> 16, words[0] & 0xffff);
		break;
	default:
		if ((record->event & ~0x330u) == RS_XEN_RUNSTATES && record->n == 1)
			on_runstate(x, p, record, tsc, cpu);
		break;
	}
	return true;
}

/* Decides that exits are SVM's once one has a code that only SVM has. At the first exit, the
 * records that were read ahead are checked, too. */
static void isa_of_exit(void *ctx, const struct rs_xen_record *record, uint64_t tsc, uint32_t pcpu)
{
	struct rs_xen_events *x = ctx;

	(void)tsc;
	(void)pcpu;
	if (record->n && (record->event & ~(RS_XEN_64 | RS_XEN_NESTED)) == RS_XEN_VMEXIT &&
	    rs_xen_is_svm_code(record->words[0]))
		x->decoder.isa = RS_XEN_SVM;
}

static void isa_detect(struct rs_xen_events *x, const struct rs_xen_record *record)
{
	if (x->decoder.isa == RS_XEN_SVM)
		return;
	if (!x->any_exit)
		rs_xen_records_survey(x->records, isa_of_exit, x);
	isa_of_exit(x, record, 0, 0);
	x->isa_changed += x->any_exit && x->decoder.isa == RS_XEN_SVM;
	x->any_exit = true;
}

/* ---- records into views --------------------------------------------------------------------- */

/* Handles records of losses, and the scheduler's, which change the context. */
static __attribute__((noinline)) void process_context(struct rs_xen_events *x,
						      struct rs_xen_pcpu *at,
						      struct rs_xen_slot *slot, uint64_t tsc)
{
	struct pcpu *p = at->owner;
	const struct rs_event *made;

	if (rs_xen_number(slot->record.event) == RS_XEN_SWITCH && slot->record.n == 4) {
		on_switch(x, p, tsc, at->cpu);
		slot = &x->slots[x->n];
	}
	made = rs_xen_decode(&x->decoder, &slot->record, tsc, slot->payload);
	if (made == x->decoder.lost) {
		on_lost(x, at, slot, tsc);
		emit(x, made, &x->vcpus.lost, tsc, at->cpu);
	} else if (slot->record.event >> 16 != 2 || on_sched(x, p, slot, tsc, at->cpu)) {
		emit_slot(x, slot, made, p->now, tsc, at->cpu);
	}
}

/* Makes up to VIEWS_RECORD views of the record in the next slot. */
static inline void process(struct rs_xen_events *x, struct rs_xen_pcpu *at,
			   struct rs_xen_slot *slot, uint64_t tsc)
{
	const struct pcpu *p = at->owner;
	const uint32_t event = slot->record.event;

	if (event >> 16 <= 2) { /* GEN, SCHED */
		process_context(x, at, slot, tsc);
		return;
	}
	if ((event & ~(RS_XEN_64 | RS_XEN_NESTED)) == RS_XEN_VMEXIT)
		isa_detect(x, &slot->record);
	emit_slot(x, slot, rs_xen_decode(&x->decoder, &slot->record, tsc, slot->payload), p->now,
		  tsc, at->cpu);
}

static struct rs_error *owner_of(struct rs_xen_events *x, struct rs_xen_pcpu *pcpu)
{
	struct pcpu *p = calloc(1, sizeof(*p));

	if (!p)
		return rs_error_no_memory();
	p->now = &x->vcpus.unknown;
	pcpu->owner = p;
	return NULL;
}

void rs_xen_events_flush(struct rs_xen_events *x)
{
	for (uint32_t i = 0; i < x->records->n_pcpus && x->n + HELDS <= RS_XEN_EVENTS_VIEWS; i++) {
		struct rs_xen_pcpu *pcpu = x->records->pcpus[i];

		if (!pcpu->owner)
			continue;
		emit_unmatched(x, pcpu->owner, HELD_PREV, x->records->taken_tsc, pcpu->cpu);
		emit_unmatched(x, pcpu->owner, HELD_NEXT, x->records->taken_tsc, pcpu->cpu);
	}
}

struct rs_error *rs_xen_events_gather(struct rs_xen_events *x)
{
	struct rs_xen_pcpu *pcpu;
	struct rs_error *err = NULL;
	uint64_t tsc;

	while (!err && x->n + VIEWS_RECORD <= RS_XEN_EVENTS_VIEWS) {
		struct rs_xen_slot *slot = &x->slots[x->n];

		if (!rs_xen_records_consume(x->records, &slot->record, &tsc, &pcpu))
			break;
		if (!pcpu->owner)
			err = owner_of(x, pcpu);
		if (x->runs)
			rs_xen_runs_add(x->runs, &slot->record, tsc, pcpu->cpu);
		if (!err)
			process(x, pcpu, slot, tsc);
	}
	return err;
}

/* ---- making one ----------------------------------------------------------------------------- */

struct rs_error *rs_xen_events_init(struct rs_xen_events *x, struct rs_xen_records *records,
				    const struct rs_clock *clock, struct rs_foreign_tally *tally,
				    struct rs_xen_decoder *lent)
{
	struct rs_error *err = lent ? NULL : rs_xen_decoder_init(&x->decoder);

	if (err)
		return err;
	if (lent) {
		x->decoder = *lent;
		x->decoder.clock = (struct rs_clock){ .name = "tsc" };
		x->decoder.isa = RS_XEN_VMX;
		x->decoder.unknown = 0;
		x->lent = lent;
	}
	x->records = records;
	x->clock = clock;
	x->tally = tally;
	x->last_ns = INT64_MIN;
	rs_xen_vcpus_init(&x->vcpus, x->decoder.schema, clock);
	return NULL;
}

void rs_xen_events_deinit(struct rs_xen_events *x)
{
	rs_xen_vcpus_deinit(&x->vcpus);
	if (x->lent)
		*x->lent = x->decoder;
	else
		rs_xen_decoder_deinit(&x->decoder);
}
