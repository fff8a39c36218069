/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/xentrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/xentrace_file.h"
#include "source/xentrace_survey.h"
#include "source/xentrace_vcpus.h"

#define VIEWS	     256
#define VIEWS_RECORD 4 /* the most that one record makes: what was held, and itself */
#define FREQ_ASSUMED UINT64_C(2400000000) /* as xenalyze does */
#define SKEW_NS_MAX  1000000000		  /* a greater one is not believed */
#define LOG_MAX	     (64u << 20)	  /* bytes of Xen's log that are looked at */

/* A record and what was made of it; rs_view_xen() counts on the order. */
struct slot {
	struct rs_xen_record record;
	_Alignas(8) uint8_t payload[RS_XEN_PAYLOAD_MAX];
};
_Static_assert(offsetof(struct slot, payload) == sizeof(struct rs_xen_record), "side by side");

/* Xen before 4.0 tells who leaves and who comes without their vcpus: they wait for the switch. */
enum held { HELD_PREV, HELD_NEXT, HELDS };

struct pcpu {
	struct rs_xen_vcpu *now; /* the context */
	struct rs_xen_record held[HELDS];
	bool is_held[HELDS];
};

struct xentrace {
	struct rs_foreign foreign;
	struct rs_xen_decoder decoder;
	struct rs_xen_vcpus vcpus;
	struct rs_xen_file file;
	bool file_open, flushed;
	bool freq_known;   /* or estimated: times can be compared with Xen's */
	uint64_t lost_tsc; /* of the last loss: what was known of before is not known */
	uint64_t torn;	   /* vCPUs that came on a CPU while they ran on another */
	bool any_exit;	   /* their ISA has been decided */
	uint64_t isa_changed;
	int64_t last_ns;
	size_t n;
	struct slot slots[VIEWS];
	struct rs_view views[VIEWS];
};

/* ---- remarks -------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void remark(struct xentrace *x, const char *format,
							 ...)
{
	struct rs_foreign_tally *tally = &x->foreign.tally;
	va_list args;

	if (tally->n_remarks == RS_FOREIGN_REMARKS)
		return;
	va_start(args, format);
	vsnprintf(tally->remarks[tally->n_remarks++], RS_FOREIGN_REMARK_MAX, format, args);
	va_end(args);
}

static void remark_count(struct xentrace *x, uint64_t n, const char *what)
{
	if (n)
		remark(x, "%llu %s", (unsigned long long)n, what);
}

static void remarks_at_end(struct xentrace *x)
{
	x->foreign.tally.records = x->file.records;
	remark_count(x, x->decoder.unknown,
		     "records are of no event and layout that is known: xen:raw");
	remark_count(x, x->file.late, "records came too late for their place in time");
	remark_count(x, x->torn, "times a vCPU came on a CPU while it ran on another");
	remark_count(x, x->vcpus.refused, "times a vCPU was one too many, and is not named");
	remark_count(x, x->isa_changed,
		     "exit codes of AMD after others that were taken for Intel's");
}

/* ---- views ---------------------------------------------------------------------------------- */

/* Makes a view of the next slot, which has been filled. */
static void emit(struct xentrace *x, const struct rs_event *event, struct rs_xen_vcpu *vcpu,
		 uint64_t tsc, uint32_t cpu)
{
	struct rs_view *view = &x->views[x->n];
	int64_t ns = rs_clock_ns(&x->foreign.clock, tsc);

	if (ns < x->last_ns) /* late: counted by the file */
		ns = x->last_ns;
	x->last_ns = ns;
	*view = (struct rs_view){ .ts_ns = ns,
				  .tsc = tsc,
				  .event = event,
				  .stream = rs_xen_is_xdt(event) ? &vcpu->xdt : &vcpu->xen,
				  .payload = x->slots[x->n].payload,
				  .payload_bytes = event->fixed_bytes,
				  .cpu = (int)cpu };
	x->n++;
}

/* A time of Xen's in ns has 32 bits, and is short of what did not fit; when it began tells the
 * rest. */
static void time_complete(const struct xentrace *x, uint8_t *at, uint64_t since, uint64_t tsc)
{
	uint64_t ns, whole;

	if (!since || since <= x->lost_tsc || !x->freq_known || tsc < since)
		return;
	whole = (uint64_t)((unsigned __int128)(tsc - since) * x->foreign.clock.ns_mult >>
			   RS_CLOCK_SHIFT);
	memcpy(&ns, at, sizeof(ns));
	if (whole > ns && whole >> 32)
		ns += (whole - ns + (UINT64_C(1) << 31)) >> 32 << 32;
	memcpy(at, &ns, sizeof(ns));
}

/* ---- switches in two steps ------------------------------------------------------------------ */

/* Payload of on-cpu and off-cpu: u32 domain, u32 vcpu, u64 run or wait time, u64 slice. */
#define TIME_AT 8

/* What was held, now that its vcpu is known. */
static void emit_held(struct xentrace *x, struct pcpu *p, enum held which, struct rs_xen_vcpu *vcpu,
		      uint64_t tsc, uint32_t cpu)
{
	static const enum rs_xen_symbol symbols[HELDS][2] = {
		{ RS_XEN_xdt_off_cpu, RS_XEN_xdt_idle_off_cpu },
		{ RS_XEN_xdt_on_cpu, RS_XEN_xdt_idle_on_cpu },
	};
	struct slot *slot = &x->slots[x->n];
	const uint32_t *words = p->held[which].words;
	uint64_t times[2] = { words[1], words[2] };
	uint32_t who[2] = { words[0], (uint32_t)vcpu->vcpu };

	slot->record = p->held[which];
	memcpy(slot->payload, who, sizeof(who));
	memcpy(slot->payload + TIME_AT, times, sizeof(times));
	time_complete(x, slot->payload + TIME_AT,
		      which == HELD_PREV ? vcpu->running_tsc : vcpu->runnable_tsc, tsc);
	p->is_held[which] = false;
	emit(x, rs_xen_event(&x->decoder, symbols[which][words[0] == RS_XEN_DOM_IDLE]), vcpu, tsc,
	     cpu);
}

/* What was held, and no switch followed: as it was. */
static void emit_unmatched(struct xentrace *x, struct pcpu *p, enum held which, uint64_t tsc,
			   uint32_t cpu)
{
	struct slot *slot = &x->slots[x->n];

	if (!p->is_held[which])
		return;
	p->is_held[which] = false;
	slot->record = p->held[which];
	emit(x, rs_xen_decode(&x->decoder, &slot->record, tsc, slot->payload), p->now, tsc, cpu);
}

static void hold(struct xentrace *x, struct pcpu *p, enum held which,
		 const struct rs_xen_record *record, uint64_t tsc, uint32_t cpu)
{
	struct rs_xen_record copy = *record; /* it is in the slot that is now filled */

	emit_unmatched(x, p, which, tsc, cpu);
	p->held[which] = copy;
	p->is_held[which] = true;
}

/* The switch itself: what was held goes before it. Leaves the record in the next slot. */
static void on_switch(struct xentrace *x, struct pcpu *p, uint64_t tsc, uint32_t cpu)
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

static void on_runstate(struct xentrace *x, struct pcpu *p, const struct rs_xen_record *record,
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

static void on_lost(struct xentrace *x, struct pcpu *p, struct slot *slot, uint64_t tsc)
{
	uint64_t count = slot->record.words[0], from;
	/* u32 domain, u32 vcpu, u64 count, u64 from */
	const size_t from_at = 16;

	memcpy(&from, slot->payload + from_at, sizeof(from));
	if (from > tsc) /* it makes no sense */
		memcpy(slot->payload + from_at, &tsc, sizeof(tsc));
	x->foreign.tally.lost += count;
	x->lost_tsc = tsc;
	p->is_held[HELD_PREV] = p->is_held[HELD_NEXT] = false;
	p->now = rs_xen_vcpus_find(&x->vcpus, slot->record.words[1] & 0xffff,
				   slot->record.words[1] >> 16);
}

/* Scheduler's records that say whose the CPU is. False: it is held, and no event yet. */
static bool on_sched(struct xentrace *x, struct pcpu *p, struct slot *slot, uint64_t tsc,
		     uint32_t cpu)
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
		time_complete(x, time, p->now->running_tsc, tsc);
		break;
	case RS_XEN_SWITCH_NEXT << 3 | 4:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
		time_complete(x, time, p->now->runnable_tsc, tsc);
		break;
	case RS_XEN_SWITCH_CONTINUE << 3 | 4:
		p->now = rs_xen_vcpus_find(&x->vcpus, words[0], words[1]);
		time_complete(x, time, p->now->running_tsc, tsc);
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

/* Whose exit codes they are shows at the first that only SVM has. The first exit of all is looked
 * at together with those that have been read ahead. */
static void isa_see(void *ctx, const struct rs_xen_record *record, uint64_t tsc, uint32_t pcpu)
{
	struct xentrace *x = ctx;

	(void)tsc;
	(void)pcpu;
	if (record->n && (record->event & ~(RS_XEN_64 | RS_XEN_NESTED)) == RS_XEN_VMEXIT &&
	    rs_xen_is_svm_code(record->words[0]))
		x->decoder.isa = RS_XEN_SVM;
}

static void isa_look(struct xentrace *x, const struct rs_xen_record *record)
{
	if (x->decoder.isa == RS_XEN_SVM)
		return;
	if (!x->any_exit)
		rs_xen_file_survey(&x->file, isa_see, x);
	isa_see(x, record, 0, 0);
	x->isa_changed += x->any_exit && x->decoder.isa == RS_XEN_SVM;
	x->any_exit = true;
}

/* ---- records into views --------------------------------------------------------------------- */

/* The record is in the next slot; makes up to VIEWS_RECORD views. */
static void process(struct xentrace *x, struct rs_xen_pcpu *at, uint64_t tsc)
{
	struct pcpu *p = at->owner;
	struct slot *slot = &x->slots[x->n];
	uint32_t event = slot->record.event;
	const struct rs_event *made;

	if ((event & ~(RS_XEN_64 | RS_XEN_NESTED)) == RS_XEN_VMEXIT)
		isa_look(x, &slot->record);
	if (rs_xen_number(event) == RS_XEN_SWITCH && slot->record.n == 4) {
		on_switch(x, p, tsc, at->cpu);
		slot = &x->slots[x->n];
	}
	made = rs_xen_decode(&x->decoder, &slot->record, tsc, slot->payload);
	if (made == x->decoder.lost) {
		on_lost(x, p, slot, tsc);
		emit(x, made, &x->vcpus.lost, tsc, at->cpu);
		return;
	}
	if (event >> 16 == 2 && !on_sched(x, p, slot, tsc, at->cpu))
		return;
	emit(x, made, p->now, tsc, at->cpu);
}

static struct rs_error *owner_of(struct xentrace *x, struct rs_xen_pcpu *pcpu)
{
	struct pcpu *p = calloc(1, sizeof(*p));

	if (!p)
		return rs_error_no_memory();
	p->now = &x->vcpus.unknown;
	pcpu->owner = p;
	return NULL;
}

/* What was held when the records ended. */
static void flush(struct xentrace *x)
{
	for (uint32_t i = 0; i < x->file.n_pcpus && x->n + HELDS <= VIEWS; i++) {
		struct rs_xen_pcpu *pcpu = x->file.pcpus[i];

		if (!pcpu->owner)
			continue;
		emit_unmatched(x, pcpu->owner, HELD_PREV, x->file.taken_tsc, pcpu->cpu);
		emit_unmatched(x, pcpu->owner, HELD_NEXT, x->file.taken_tsc, pcpu->cpu);
	}
}

static struct rs_error *gather(struct xentrace *x)
{
	struct rs_xen_pcpu *pcpu;
	struct rs_error *err = NULL;
	uint64_t tsc;

	while (!err && x->n + VIEWS_RECORD <= VIEWS) {
		if (!rs_xen_file_take(&x->file, &x->slots[x->n].record, &tsc, &pcpu))
			break;
		if (!pcpu->owner)
			err = owner_of(x, pcpu);
		if (!err)
			process(x, pcpu, tsc);
	}
	return err;
}

static struct rs_error *xentrace_next(struct rs_source *source, struct rs_batch *batch)
{
	struct xentrace *x = (struct xentrace *)source;
	struct rs_error *err = NULL;
	bool enough = true, done;

	x->n = 0;
	while (!err && enough && !x->n && !rs_xen_file_done(&x->file)) {
		err = rs_xen_file_fill(&x->file, &enough);
		if (!err)
			err = gather(x);
	}
	if (err)
		return err;
	done = rs_xen_file_done(&x->file);
	if (done && !x->n)
		flush(x);
	*batch = (struct rs_batch){ .kind = x->n   ? RS_NEXT_EVENTS
					    : done ? RS_NEXT_END
						   : RS_NEXT_IDLE,
				    .views = x->views,
				    .n = x->n,
				    .watermark_ns = x->last_ns };
	if (batch->kind == RS_NEXT_END) {
		remarks_at_end(x);
		err = x->file.error;
		x->file.error = NULL;
	}
	return err;
}

static void xentrace_destroy(struct rs_source *source)
{
	struct xentrace *x = (struct xentrace *)source;

	if (x->file_open)
		rs_xen_file_deinit(&x->file);
	rs_xen_vcpus_deinit(&x->vcpus);
	rs_xen_decoder_deinit(&x->decoder);
	free(x);
}

static const struct rs_source_ops xentrace_ops = {
	.name = "xentrace",
	.next = xentrace_next,
	.destroy = xentrace_destroy,
};

/* ---- the clock ------------------------------------------------------------------------------ */

/* "(XEN) Detected 2596.125 MHz processor." */
static bool log_line(const char *line, uint64_t *freq_hz)
{
	static const char before[] = "Detected ";
	const char *at = strstr(line, before);
	uint64_t hz = 0, unit = 1000000;
	char *end;

	if (!at)
		return false;
	hz = strtoull(at + strlen(before), &end, 10) * unit;
	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9'; end++) {
			unit /= 10;
			hz += unit * (uint64_t)(*end - '0');
		}
	}
	if (strncmp(end, " MHz processor", 14) != 0 || !hz)
		return false;
	*freq_hz = hz;
	return true;
}

static struct rs_error *log_frequency(const char *path, uint64_t *freq_hz)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	size_t seen = 0;
	bool found = false;

	if (!file)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	while (!found && seen < LOG_MAX && fgets(line, sizeof(line), file)) {
		seen += strlen(line) + 1;
		found = log_line(line, freq_hz);
	}
	fclose(file);
	if (found)
		return NULL;
	return rs_error_create(RS_USAGE, "%s: no line of Xen's 'Detected N MHz processor' in it",
			       path);
}

static struct rs_error *clock_make(struct xentrace *x, const struct rs_foreign_options *options,
				   const struct rs_xen_survey *survey)
{
	struct rs_clock *clock = &x->foreign.clock;
	const char *from = "option";
	struct rs_error *err;

	*clock = (struct rs_clock){ .name = "tsc", .freq_hz = options->freq_hz, .invariant = true };
	if (!clock->freq_hz && options->xen_log) {
		err = log_frequency(options->xen_log, &clock->freq_hz);
		if (err)
			return err;
		from = "xen log";
	}
	if (!clock->freq_hz && survey->freq_hz) {
		clock->freq_hz = survey->freq_hz;
		from = "run times";
		remark(x,
		       "the TSC's frequency is not in the file: %.3f MHz, estimated from %u run "
		       "times; --freq or --xen-log tells it",
		       (double)clock->freq_hz / 1e6, survey->freq_runs);
	}
	x->freq_known = clock->freq_hz != 0;
	if (!clock->freq_hz) {
		clock->freq_hz = FREQ_ASSUMED;
		from = "assumed";
		remark(x,
		       "the TSC's frequency is not in the file, nor anything to tell it by: "
		       "times are for %.0f MHz; give --freq or --xen-log",
		       (double)clock->freq_hz / 1e6);
	}
	snprintf(clock->freq_from, sizeof(clock->freq_from), "%s", from);
	if (x->file.n_heap)
		clock->origin = x->file.pcpus[x->file.heap[0]]->next_tsc;
	return rs_clock_init(clock);
}

static void skew_tell(struct xentrace *x, const struct rs_xen_survey *survey)
{
	const struct rs_clock *clock = &x->foreign.clock;
	double ns = 1e9 / (double)clock->freq_hz;

	if (survey->skew_impossible)
		remark(x, "TSCs of physical CPUs are apart, but by no skew that explains what came "
			  "after what: they are left as they are");
	else if (survey->skew_most)
		remark(x,
		       "TSCs of physical CPUs are up to %.0f ns apart, which is corrected, to "
		       "within %.0f ns",
		       (double)survey->skew_most * ns, (double)survey->skew_error * ns);
}

/* Reads the beginning, and what it says of the whole. */
static struct rs_error *survey(struct xentrace *x, const struct rs_foreign_options *options)
{
	struct rs_xen_survey found;
	struct rs_error *err;
	bool enough = false;
	uint64_t skew_max =
		(options->freq_hz ? options->freq_hz : FREQ_ASSUMED) / 1000000000 * SKEW_NS_MAX;

	while (!enough) {
		err = rs_xen_file_fill(&x->file, &enough);
		if (err)
			return err;
	}
	if (!x->file.windows) {
		err = x->file.error;
		x->file.error = NULL;
		return err ? err
			   : rs_error_create(RS_DAMAGED, "%s: there is nothing in it",
					     x->file.path);
	}
	err = rs_xen_survey_make(&x->file, skew_max, &found);
	if (err)
		return err;
	if (found.skew_most)
		rs_xen_file_correct(&x->file, found.skews);
	x->decoder.isa = found.isa;
	x->any_exit = found.any_exit;
	err = clock_make(x, options, &found);
	x->decoder.clock = x->foreign.clock;
	if (!err)
		skew_tell(x, &found);
	rs_xen_survey_deinit(&found);
	return err;
}

/* ---- making one ----------------------------------------------------------------------------- */

struct rs_error *rs_xentrace_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign)
{
	static const struct rs_foreign_options none;
	struct xentrace *x = calloc(1, sizeof(*x));
	struct rs_error *err;

	if (!x) {
		close(fd);
		return rs_error_no_memory();
	}
	x->foreign.source.ops = &xentrace_ops;
	x->last_ns = INT64_MIN;
	err = rs_xen_file_init(&x->file, fd, path, head, bytes);
	x->file_open = !err;
	if (!err)
		err = rs_xen_decoder_init(&x->decoder);
	if (!err) {
		rs_xen_vcpus_init(&x->vcpus, &x->decoder, &x->foreign.clock);
		err = survey(x, options ? options : &none);
	}
	if (err)
		xentrace_destroy(&x->foreign.source);
	else
		*foreign = &x->foreign;
	return err;
}

struct rs_error *rs_xentrace_open(const char *path, const struct rs_foreign_options *options,
				  struct rs_foreign **foreign)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	return rs_xentrace_open_fd(fd, path, "", 0, options, foreign);
}
