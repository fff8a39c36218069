/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts exits from recorded events, with the state machine that the BPF programs run live
 * (src/kvm/exits.bpf.c). Each handler corresponds to the BPF program of its event. A trace has its
 * own schema, so fields are looked up by name, once for each event.
 */
#include "analyze/exits_parts.h"

#include <limits.h>
#include <string.h>

/* An event, with its fields in the order of its row in the table below. */
struct input {
	const struct rs_view *view;
	const struct kind *kind;
	uint64_t now;
	uint32_t tid;
	uint64_t arg[EXITS_FIELDS_MAX]; /* 0 where the event has no such field */
};

typedef struct rs_error *handler(struct exits_sink *sink, struct thread *thread,
				 const struct input *in);

/* A row of the table of events below. */
struct kind {
	const char *class_name, *name;
	handler *run;
	const char *fields[EXITS_FIELDS_MAX];
	/* For on_cause(): the cause if the second field is 0, the cause if it is not 0, and a mask
	 * of the key's bits in the first field (0: all bits). */
	enum rs_cause_kind causes[2];
	uint64_t key_bits;
	uint32_t isa;	 /* of an exit */
	bool threadless; /* the event belongs to no thread */
};

/* ---- counting ------------------------------------------------------------------------------- */

/* Counts the current exit, with its cost if that is known. */
static struct rs_error *settle(struct exits_sink *sink, struct thread *t,
			       const struct rs_vcpu_cost *cost)
{
	struct amounts one = { .count = !t->is_counted };
	struct rs_error *err;
	struct cell *cell;

	if (!t->is_pending)
		return NULL;
	t->is_pending = false;
	err = rs_exits_cell_of(sink, t, t->isa, t->nested, t->code, &cell);
	if (err || !cell)
		return err;
	if (cost && sink->options.latency) {
		one.entered = 1;
		one.sum = *cost;
		one.min_ns = one.max_ns = cost->total_ns;
		err = rs_exits_hist_make(sink, &cell->recent);
		if (err)
			return err;
		cell->recent.hist->count[rs_hist_bucket(cost->total_ns)]++;
	}
	return rs_exits_amounts_add(sink, &cell->recent, &one);
}

/* Begins a new current exit, and counts the one before it. */
static struct rs_error *exit_begin(struct exits_sink *sink, struct thread *t, uint32_t isa,
				   uint32_t code, uint64_t rip)
{
	struct rs_error *err = settle(sink, t, NULL);

	t->is_pending = true;
	t->is_counted = false;
	t->isa = isa;
	t->code = code;
	t->nested = 0;
	t->rip = rip;
	return err;
}

static void forget_cause(struct thread *t)
{
	t->cause_kind = RS_CAUSE_NONE;
	t->cause_key = 0;
}

static struct rs_error *settle_cause(struct exits_sink *sink, struct thread *t,
				     const struct rs_vcpu_cost *cost)
{
	struct rs_error *err;
	struct cause *cause;

	if (!sink->options.causes || t->cause_kind == RS_CAUSE_NONE)
		return NULL;
	err = rs_exits_cause_of(sink, t, t->cause_kind, t->cause_key, &cause);
	if (err || !cause)
		return err;
	cause->recent.entered++;
	cause->recent.total_ns += cost->total_ns;
	if (cost->total_ns > cause->recent.max_ns)
		cause->recent.max_ns = cost->total_ns;
	return NULL;
}

/* Counts a cause. The last cause before the entry gets the exit's cost. An interrupt never does: it
 * is injected on re-entry, independent of the exit's reason. */
static struct rs_error *cause_begin(struct exits_sink *sink, struct thread *t, uint32_t kind,
				    uint64_t key)
{
	struct rs_error *err = NULL;
	struct cause *cause;

	if (sink->options.causes) {
		err = rs_exits_cause_of(sink, t, kind, key, &cause);
		if (!err && cause)
			cause->recent.count++;
	}
	if (kind != RS_CAUSE_INTERRUPT) {
		t->cause_kind = kind;
		t->cause_key = key;
	}
	return err;
}

static struct rs_error *report_long(struct exits_sink *sink, const struct rs_exits_long *exit)
{
	return sink->options.than ? sink->options.than(sink->options.ctx, exit) : NULL;
}

/* ---- exits and entries ---------------------------------------------------------------------- */

/* The arguments are the code, the guest's instruction as rip, upper bits of the code, and the
 * instruction as pc. Arguments that an event lacks are 0. */
static struct rs_error *on_exit(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	uint32_t code = (uint32_t)in->arg[0] | (uint32_t)in->arg[2] << 16;

	if (t->time.exit_at)
		forget_cause(t);
	rs_vcpu_exit(&t->time, in->now);
	t->hardware = true;
	if (sink->options.user)
		return NULL;
	return exit_begin(sink, t, in->kind->isa, code, in->arg[1] | in->arg[3]);
}

/* reason, errno */
static struct rs_error *on_user_exit(struct exits_sink *sink, struct thread *t,
				     const struct input *in)
{
	int32_t errno_value = (int32_t)in->arg[1];

	rs_vcpu_user_exit(&t->time, in->now);
	if (!sink->options.user)
		return NULL;
	return exit_begin(sink, t, RS_ISA_USER,
			  errno_value < 0 ? (uint32_t)errno_value : (uint32_t)in->arg[0], 0);
}

static struct rs_error *on_nested_exit(struct exits_sink *sink, struct thread *t,
				       const struct input *in)
{
	(void)in;
	if (t->is_pending && !t->is_counted && !sink->options.user)
		t->nested = 1;
	return NULL;
}

/* vcpu_id */
static struct rs_error *on_entry(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	struct rs_vcpu_cost cost = { 0 };
	struct rs_error *err = NULL;
	bool ended;

	if ((int32_t)in->arg[0] >= 0)
		t->vcpu = (int32_t)in->arg[0];
	ended = rs_vcpu_entry(&t->time, in->now, &cost);
	if (ended && t->is_pending && sink->options.than_ns &&
	    cost.total_ns > sink->options.than_ns)
		err = report_long(sink, &(struct rs_exits_long){ .ts_ns = in->view->ts_ns,
								 .vm = t->vm,
								 .pid = t->pid,
								 .tid = t->tid,
								 .vcpu = t->vcpu,
								 .isa = t->isa,
								 .code = t->code,
								 .nested = t->nested,
								 .cost = cost,
								 .rip = t->rip,
								 .kind = t->cause_kind,
								 .key = t->cause_key });
	if (!err)
		err = settle(sink, t, ended ? &cost : NULL);
	if (!err && ended)
		err = settle_cause(sink, t, &cost);
	forget_cause(t);
	return err;
}

/* halted */
static struct rs_error *on_wakeup(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)sink;
	rs_vcpu_woken(&t->time, in->now, in->arg[0]);
	return NULL;
}

/* Reports a long exit of a session that keeps no events. If the trace has events, the events show
 * long exits. isa, code, nested, rip, kind, key, total; and the parts by name */
static struct rs_error *on_long_exit(struct exits_sink *sink, struct thread *t,
				     const struct input *in)
{
	static const char *const parts[] = { "kernel", "user", "poll", "off" };
	struct rs_exits_long exit = {
		.ts_ns = in->view->ts_ns,
		.vm = t->vm,
		.pid = t->pid,
		.tid = t->tid,
		.vcpu = t->vcpu,
		.isa = (uint32_t)in->arg[0],
		.code = (uint32_t)in->arg[1],
		.nested = (uint32_t)in->arg[2],
		.rip = in->arg[3],
		.kind = (uint32_t)in->arg[4],
		.key = in->arg[5],
		.cost.total_ns = in->arg[6],
	};
	uint64_t *const to[] = { &exit.cost.kernel_ns, &exit.cost.user_ns, &exit.cost.poll_ns,
				 &exit.cost.off_ns };
	const struct rs_event *event = in->view->event;

	if (t->hardware || !sink->options.than_ns || exit.cost.total_ns <= sink->options.than_ns)
		return NULL;
	for (uint16_t i = 0; i < event->n_fields; i++) {
		for (size_t p = 0; p < 4; p++) {
			if (!strcmp(event->fields[i].name, parts[p]))
				*to[p] = rs_field_value(&event->fields[i], in->view->payload);
		}
	}
	return report_long(sink, &exit);
}

/* ---- the scheduler -------------------------------------------------------------------------- */

/* state */
static struct rs_error *on_off(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)sink;
	rs_vcpu_off(&t->time, in->now, !in->arg[0]);
	return NULL;
}

static struct rs_error *on_on(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)sink;
	rs_vcpu_on(&t->time, in->now);
	return NULL;
}

static struct rs_error *on_wake(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)sink;
	rs_vcpu_wake(&t->time, in->now);
	return NULL;
}

/* Ends a thread. Another thread may get its tid. */
static struct rs_error *on_end(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	struct rs_error *err = settle(sink, t, NULL);

	rs_vcpu_end(&t->time, in->now);
	t->ended = true;
	return err;
}

/* ---- causes --------------------------------------------------------------------------------- */

/* key, write */
static struct rs_error *on_cause(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	const struct kind *kind = in->kind;

	return cause_begin(sink, t, kind->causes[in->arg[1] != 0],
			   kind->key_bits ? in->arg[0] & kind->key_bits : in->arg[0]);
}

/* gpa, type: KVM_TRACE_MMIO_ of include/trace/events/kvm.h. Type 0 is a read that is sent to the
 * VMM; KVM traces the read again as type 1 when the VMM answers. */
static struct rs_error *on_mmio(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	if (!in->arg[1])
		return NULL;
	return cause_begin(sink, t, in->arg[1] == 1 ? RS_CAUSE_MMIO_READ : RS_CAUSE_MMIO_WRITE,
			   in->arg[0]);
}

/* vector, again: the earlier delivery was interrupted, and the interrupt is already counted */
static struct rs_error *on_interrupt(struct exits_sink *sink, struct thread *t,
				     const struct input *in)
{
	return in->arg[1] ? NULL : cause_begin(sink, t, RS_CAUSE_INTERRUPT, in->arg[0]);
}

/* op0, op1, crn, crm, op2, write */
static struct rs_error *on_sysreg(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	return cause_begin(sink, t, in->arg[5] ? RS_CAUSE_SYSREG_WRITE : RS_CAUSE_SYSREG_READ,
			   rs_cause_sysreg((uint32_t)in->arg[0], (uint32_t)in->arg[1],
					   (uint32_t)in->arg[2], (uint32_t)in->arg[3],
					   (uint32_t)in->arg[4]));
}

/* event */
static struct rs_error *on_wfx(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	return cause_begin(sink, t, RS_CAUSE_WFX, in->arg[0] != 0);
}

/* ---- events of the session ------------------------------------------------------------------ */

static struct rs_error *on_open(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)t;
	sink->is_open = true;
	sink->opened_ns = in->view->ts_ns;
	return NULL;
}

/* dropped: threads and records that are not in the trace, for lack of room */
static struct rs_error *on_close(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	(void)t;
	sink->dropped_events += in->arg[0];
	return NULL;
}

/* pid, vcpu, sched_known, run, wait, asleep, complete; and the text vm */
static struct rs_error *on_thread(struct exits_sink *sink, struct thread *t, const struct input *in)
{
	const struct rs_event *event = in->view->event;
	const struct rs_field *last = event->n_fields ? &event->fields[event->n_fields - 1] : NULL;

	if ((int32_t)in->arg[0] > 0)
		t->pid = (int32_t)in->arg[0];
	if ((int32_t)in->arg[1] >= 0)
		t->vcpu = (int32_t)in->arg[1];
	if (in->arg[5])
		rs_vcpu_asleep(&t->time);
	t->complete = in->arg[6] != 0;
	if (!t->vm && last && last->type == RS_TYPE_TEXT) {
		size_t len;
		const char *text = rs_view_text(in->view, last, &len);

		if (len)
			t->vm = rs_arena_text(&sink->arena, text, len);
		if (len && !t->vm)
			return rs_error_no_memory();
	}
	if (!in->arg[2])
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		t->sched_last[i] = in->arg[3 + i];
		if (!t->sched_lines)
			t->sched_first[i] = in->arg[3 + i];
	}
	t->sched_lines++;
	return NULL;
}

/* ---- the table of events -------------------------------------------------------------------- */

static const struct kind kinds[] = {
#define RS_ISA(name, NAME, number, mask, base, module)                                             \
	{ #name, "exit", on_exit, { "reason", "rip", "flags", "pc" }, .isa = RS_ISA_##NAME },
#include <ringside/event/isa.def>
	{ "user", "exit", on_user_exit, { "reason", "errno" } },
	{ "vcpu", "entry", on_entry, { "vcpu_id" } },
	{ "vcpu", "wakeup", on_wakeup, { "halted" } },
	{ "vcpu", "nested-exit", on_nested_exit, { NULL } },
	{ "vcpu",
	  "long-exit",
	  on_long_exit,
	  { "isa", "code", "nested", "rip", "kind", "key", "total" } },
	{ "io", "pio", on_cause, { "port", "write" }, { RS_CAUSE_PIO_READ, RS_CAUSE_PIO_WRITE } },
	{ "io", "mmio", on_mmio, { "gpa", "type" } },
	{ "cpu", "msr", on_cause, { "msr", "write" }, { RS_CAUSE_MSR_READ, RS_CAUSE_MSR_WRITE } },
	{ "cpu", "cpuid", on_cause, { "leaf" }, { RS_CAUSE_CPUID } },
	{ "cpu", "hypercall", on_cause, { "nr" }, { RS_CAUSE_HYPERCALL } },
	{ "cpu", "interrupt", on_interrupt, { "vector", "again" } },
	{ "mmu",
	  "page-fault",
	  on_cause,
	  { "error_code" },
	  { RS_CAUSE_PAGE_FAULT },
	  RS_CAUSE_PAGE_FAULT_BITS },
	{ "arm64", "sysreg", on_sysreg, { "op0", "op1", "crn", "crm", "op2", "write" } },
	{ "arm64", "hvc", on_cause, { "nr" }, { RS_CAUSE_HYPERCALL } },
	{ "arm64", "wfx", on_wfx, { "event" } },
	{ "arm64",
	  "guest-fault",
	  on_cause,
	  { "esr" },
	  { RS_CAUSE_GUEST_FAULT },
	  RS_CAUSE_GUEST_FAULT_BITS },
	{ "sched", "off-cpu", on_off, { "state" } },
	{ "sched", "on-cpu", on_on, { NULL } },
	{ "sched", "wakeup", on_wake, { NULL } },
	{ "sched", "end", on_end, { NULL } },
	{ "session", "open", on_open, { NULL }, .threadless = true },
	{ "session", "close", on_close, { "dropped" }, .threadless = true },
	{ "session",
	  "thread",
	  on_thread,
	  { "pid", "vcpu", "sched_known", "run", "wait", "asleep", "complete" } },
};

static const struct rs_field *field_of(const struct rs_event *event, const char *name)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		if (!rs_type_is_tail(event->fields[i].type) && !strcmp(event->fields[i].name, name))
			return &event->fields[i];
	}
	return NULL;
}

static void known_resolve(struct known *known, const struct rs_event *event)
{
	*known = (struct known){ .event = event };
	if (strcmp(event->provider, "kvm") != 0)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kinds[i].class_name, event->class_name) &&
		    !strcmp(kinds[i].name, event->name))
			known->kind = &kinds[i];
	}
	if (!known->kind)
		return;
	known->tid = field_of(event, "tid");
	for (size_t i = 0; i < EXITS_FIELDS_MAX && known->kind->fields[i]; i++)
		known->fields[i] = field_of(event, known->kind->fields[i]);
}

/* ---- the thread of an event ----------------------------------------------------------------- */

/* Begins a thread. A thread's own stream has VM, process and vCPU; a mixed stream has none of
 * these. */
static struct rs_error *thread_begin(struct exits_sink *sink, const struct rs_stream *stream,
				     const struct input *in, struct thread **out)
{
	struct rs_error *err = rs_exits_thread_make(sink, out);
	struct thread *t = *out;

	if (err || !t)
		return err;
	t->tid = (int)in->tid;
	t->stream = stream;
	rs_vcpu_begin(&t->time, in->now);
	if (!stream || stream->mixed)
		return NULL;
	t->pid = stream->pid > 0 ? stream->pid : 0;
	t->vcpu = stream->vcpu;
	if (stream->vm) {
		t->vm = rs_exits_name_copy(sink, stream->vm);
		if (!t->vm)
			return rs_error_no_memory();
	}
	return NULL;
}

/* Finds or begins the thread of an event. The tid belongs to another thread if the previous one has
 * ended, or the streams differ. The session's last line of a thread follows its end. */
static struct rs_error *thread_of(struct exits_sink *sink, const struct kind *kind,
				  const struct input *in, struct thread **out)
{
	const struct rs_stream *stream = in->view->stream;
	struct place *place = rs_exits_thread_place(sink, stream->schema, (int)in->tid);
	struct thread *t;
	struct rs_error *err;

	*out = NULL;
	if (!place)
		return rs_error_no_memory();
	t = place->value;
	if (t && (!t->ended || kind->run == on_thread) &&
	    (t->stream == stream || t->stream->mixed || stream->mixed)) {
		*out = t;
		return NULL;
	}
	err = thread_begin(sink, stream, in, out);
	if (err || !*out)
		return err;
	place->value = *out;
	return NULL;
}

/* Handles a loss. It may concern any thread, so the state of all threads is unknown from here
 * on. */
static struct rs_error *on_loss(struct exits_sink *sink, const struct rs_view *view)
{
	sink->lost += rs_view_loss(view).count;
	for (size_t i = 0; i < sink->threads.n; i++) {
		struct thread *t = sink->threads.at[i];
		struct rs_error *err = t->is_live || t->ended ? NULL : settle(sink, t, NULL);

		if (err)
			return err;
		forget_cause(t);
		if (!t->is_live && !t->ended)
			rs_vcpu_forget(&t->time);
	}
	return NULL;
}

static struct rs_error *on_view(struct exits_sink *sink, const struct known *known,
				const struct rs_view *view)
{
	struct input in = { .view = view, .now = exits_stamp(view->ts_ns) };
	struct thread *t = NULL;
	struct rs_error *err;

	sink->last_ns = view->ts_ns;
	if (!sink->is_begun) {
		sink->is_begun = true;
		sink->first_ns = view->ts_ns;
	}
	if (view->event->kind == RS_KIND_LOSS)
		return strcmp(view->event->provider, "kvm") ? NULL : on_loss(sink, view);
	if (!known->kind)
		return NULL;
	in.kind = known->kind;
	for (size_t i = 0; i < EXITS_FIELDS_MAX; i++) {
		if (known->fields[i])
			in.arg[i] = rs_field_value(known->fields[i], view->payload);
	}
	if (known->kind->threadless)
		return known->kind->run(sink, NULL, &in);
	if (known->tid)
		in.tid = (uint32_t)rs_field_value(known->tid, view->payload);
	if (!in.tid || in.tid > INT_MAX)
		return NULL;
	err = thread_of(sink, known->kind, &in, &t);
	return err || !t ? err : known->kind->run(sink, t, &in);
}

struct rs_error *rs_exits_events(struct rs_sink *rs_sink, const struct rs_view *views, size_t n)
{
	struct exits_sink *sink = (struct exits_sink *)rs_sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		const struct rs_event *event = views[i].event;
		struct known *known = &sink->known[((uintptr_t)event >> 6) % EXITS_KNOWN];

		if (known->event != event)
			known_resolve(known, event);
		err = on_view(sink, known, &views[i]);
	}
	return err;
}
