/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a trace.dat with libtracecmd, in a separate process (wire.h), in two passes. The first
 * finds the threads that are vCPUs, the second sends the records in order of time:
 *
 *	lanes (buffer x CPU, each in its own order) --heap--> records --plans--> slots --> pipe
 *
 * A stamp before its lane's last stamp becomes that stamp, after a clock-back.
 */
#include "import/tracedat/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "base/heap.h"
#include "import/tracedat/map.h"

#define EVENTS_MAX     65536  /* common_type has 16 bits */
#define TIDS_MAX       65536u /* threads that are distinguished; a power of two */
#define LANES_MAX      65536u /* buffers times CPUs */
#define BUFFERS_MAX    256
#define CPUS_MAX       4096
#define OUT_BYTES      (64u << 10)
#define ALIVE_RECORDS  (1u << 16) /* records between two ALIVE messages */
#define WHY_MAX	       160
#define VERSION_AT     10   /* bytes of magic before it: trace-cmd.dat.v6(5) */
#define PAGE_BYTES     4096 /* the smallest page of any kernel */
#define PAGE_USED_AT   8
#define PAGE_USED_MASK 0x7ffffffu
#define PAGE_HEAD      16
#define BUFFER_NAME(i) ((i) + 1)	   /* the id of a buffer's name */
#define NAME_BYTES     256u		   /* of a buffer's name: NAME_MAX of a directory */
#define LENGTH_MAX     (UINT64_C(1) << 40) /* the most bytes that a cut file may lack */

/*
 * Exported by libtracecmd 1 (trace-cmd 2.9 to 3.3), but not declared in its header. Without them,
 * the names of a file's clock and host are unknown.
 */
extern const char *tracecmd_get_uname(struct tracecmd_input *handle) __attribute__((weak));
extern const char *tracecmd_get_trace_clock(struct tracecmd_input *handle) __attribute__((weak));
extern unsigned long long tracecmd_page_ts(struct tracecmd_input *handle, struct tep_record *record)
	__attribute__((weak));

struct lane {
	struct tracecmd_input *handle;
	int index;	 /* of libtracecmd's CPUs */
	uint32_t buffer; /* 0: the file's own buffer */
	struct tep_record *record;
	uint64_t tsc; /* the record's stamp, at least the stamp before */
	uint64_t last;
	bool begun;
};

struct thread {
	struct rs_tracedat_thread info;
	bool used;
	bool ended; /* another thread may have the tid, until the next KVM event of the tid */
};

struct reader {
	const struct rs_tracedat_reader *to;
	struct tracecmd_input *handle;
	struct tep_handle *tep;
	struct lane *lanes;
	uint32_t n_lanes, n_buffers;
	uint32_t *heap; /* lanes that have a record; a heap, the earliest first */
	uint32_t n_heap;
	struct rs_tracedat_event **events; /* by their number in the file */
	struct thread *threads;		   /* a hash table by tid, linear probing */
	uint32_t n_threads;
	bool cpu_reported[CPUS_MAX];
	uint64_t since_alive;
	struct rs_tracedat_end end;
	uint8_t *out;
	uint32_t used;
	bool any_ended; /* entries in use */
	bool failed;	/* the parent no longer reads */
};

/* ---- messages ----------------------------------------------------------------------------- */

static void flush(struct reader *r)
{
	uint32_t done = 0;

	while (done < r->used && !r->failed) {
		ssize_t n = write(r->to->out, r->out + done, r->used - done);

		if (n > 0)
			done += (uint32_t)n;
		else if (n == 0 || errno != EINTR)
			r->failed = true;
	}
	r->used = 0;
}

/* Sends a message with a body and a text, either of which may be empty. */
static void send_message(struct reader *r, enum rs_tracedat_kind kind, enum rs_tracedat_class class,
			 uint32_t id, const void *body, uint32_t bytes, const char *text,
			 uint32_t len)
{
	struct rs_tracedat_head head = { .bytes =
						 (uint32_t)sizeof(head) + ((bytes + len + 7) & ~7u),
					 .kind = (uint16_t)kind,
					 .class = (uint16_t) class,
					 .id = id,
					 .text_bytes = len };

	if (r->used + head.bytes > OUT_BYTES)
		flush(r);
	memset(r->out + r->used, 0, head.bytes);
	memcpy(r->out + r->used, &head, sizeof(head));
	if (bytes)
		memcpy(r->out + r->used + sizeof(head), body, bytes);
	if (len)
		memcpy(r->out + r->used + sizeof(head) + bytes, text, len);
	r->used += head.bytes;
}

static void send_kind(struct reader *r, enum rs_tracedat_kind kind, uint32_t id)
{
	send_message(r, kind, 0, id, NULL, 0, NULL, 0);
}

/* Sends a record, with its payload in slots. */
static void send_record(struct reader *r, enum rs_tracedat_class class, uint32_t cpu, uint64_t tsc,
			uint64_t id, const uint8_t *payload, uint32_t bytes)
{
	uint8_t record[RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES] __attribute__((aligned(8)));
	uint32_t slots = RS_RECORD_SLOTS(bytes);
	uint64_t bits = cpu < RS_CPU_UNKNOWN ? cpu : RS_CPU_UNKNOWN;
	struct rs_slot head = { .tsc = tsc,
				.head = rs_record_head(id, slots) | bits << RS_CPU_SHIFT };

	memset(record, 0, slots * RS_SLOT_BYTES);
	memcpy(record, &head, RS_RECORD_HEAD);
	if (bytes)
		memcpy(record + RS_RECORD_HEAD, payload, bytes);
	send_message(r, RS_TRACEDAT_RECORD, class, cpu, record, slots * RS_SLOT_BYTES, NULL, 0);
}

static int finish(struct reader *r, const char *why)
{
	send_message(r, RS_TRACEDAT_END, 0, 0, &r->end, sizeof(r->end), why, (uint32_t)strlen(why));
	flush(r);
	return why[0] || r->failed;
}

/* ---- lanes, by time ----------------------------------------------------------------------- */

static void lane_next(struct lane *lane)
{
	tracecmd_free_record(lane->record);
	lane->record = lane->begun ? tracecmd_read_data(lane->handle, lane->index)
				   : tracecmd_read_cpu_first(lane->handle, lane->index);
	lane->begun = true;
	if (!lane->record)
		return;
	lane->tsc = lane->record->ts < lane->last ? lane->last : lane->record->ts;
}

static bool before(const struct reader *r, uint32_t a, uint32_t b)
{
	uint64_t x = r->lanes[a].tsc, y = r->lanes[b].tsc;

	return x < y || (x == y && a < b);
}

RS_HEAP_DEFINE(heap, uint32_t, const struct reader *, before)

/* Moves all lanes to their first records. */
static void rewind_lanes(struct reader *r)
{
	r->n_heap = 0;
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		struct lane *lane = &r->lanes[i];

		lane->begun = false;
		lane->last = 0;
		lane_next(lane);
		if (lane->record)
			heap_push(r, r->heap, r->n_heap++, i);
	}
}

/* Replaces the earliest record by the next one of its lane. */
static void advance(struct reader *r)
{
	struct lane *lane = &r->lanes[r->heap[0]];

	lane->last = lane->tsc;
	lane_next(lane);
	if (!lane->record)
		r->heap[0] = r->heap[--r->n_heap];
	if (r->n_heap)
		heap_sift(r, r->heap, r->n_heap, 0);
	if (++r->since_alive >= ALIVE_RECORDS) {
		r->since_alive = 0;
		send_kind(r, RS_TRACEDAT_ALIVE, 0);
		flush(r);
	}
}

static bool add_lanes(struct reader *r, struct tracecmd_input *handle, int cpus, uint32_t buffer)
{
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (r->n_lanes == LANES_MAX)
			return false;
		r->lanes[r->n_lanes++] =
			(struct lane){ .handle = handle, .index = cpu, .buffer = buffer };
	}
	return true;
}

/* Makes the lanes of the file's own buffer, and of its instances. */
static bool make_lanes(struct reader *r)
{
	int cpus = tep_get_cpus(r->tep), buffers = tracecmd_buffer_instances(r->handle);

	if (cpus < 0 || cpus > CPUS_MAX || buffers < 0 || buffers > BUFFERS_MAX)
		return false;
	r->lanes = calloc(LANES_MAX, sizeof(*r->lanes));
	r->heap = calloc(LANES_MAX, sizeof(*r->heap));
	r->n_buffers = (uint32_t)buffers + 1;
	if (!r->lanes || !r->heap || !add_lanes(r, r->handle, cpus, 0))
		return false;
	for (int i = 0; i < buffers; i++) {
		struct tracecmd_input *handle = tracecmd_buffer_instance_handle(r->handle, i);

		if (!handle || !add_lanes(r, handle, cpus, (uint32_t)i + 1))
			return false;
	}
	return true;
}

/* ---- events and threads ------------------------------------------------------------------- */

/* Returns a record's event, or NULL if the file does not describe the event. */
static struct rs_tracedat_event *event_of(struct reader *r, const struct tep_record *record)
{
	struct tep_event *format;
	int type;

	if (record->size < (int)sizeof(uint16_t))
		return NULL;
	type = tep_data_type(r->tep, (struct tep_record *)record);
	if (type < 0 || type >= EVENTS_MAX)
		return NULL;
	if (r->events[type])
		return r->events[type];
	format = tep_find_event(r->tep, type);
	if (!format || !format->system || !format->name)
		return NULL;
	r->events[type] = calloc(1, sizeof(**r->events));
	if (r->events[type])
		rs_tracedat_plan(r->events[type], format, r->to->kvm);
	if (r->events[type] && r->n_buffers > 1)
		r->events[type]->buffer = rs_ftrace_plan_buffer(&r->events[type]->own);
	return r->events[type];
}

/* Returns the entry of a tid, or a free entry for the tid, or NULL if there are too many
 * threads. */
static struct thread *thread_at(struct reader *r, int tid)
{
	uint32_t i = (uint32_t)tid * UINT32_C(0x9e3779b1);

	for (uint32_t n = 0; n < 2 * TIDS_MAX; n++, i++) {
		struct thread *thread = &r->threads[i & (2 * TIDS_MAX - 1)];

		if (!thread->used || thread->info.tid == tid)
			return thread;
	}
	return NULL;
}

static bool is_vcpu(struct reader *r, uint64_t tid)
{
	const struct thread *thread = thread_at(r, (int)tid);

	return thread && thread->used && thread->info.is_vcpu && !thread->ended;
}

/* Notes that a vCPU's thread has ended, or that its tid is a vCPU's again. */
static void set_ended(struct reader *r, const struct rs_ftrace_copy *tid_from,
		      const struct tep_record *record, bool ended)
{
	struct thread *thread;
	uint64_t tid;

	if (ended)
		r->any_ended = true;
	if (!r->any_ended ||
	    !rs_ftrace_get(tid_from, r->tep, record->data, (uint32_t)record->size, &tid))
		return;
	thread = thread_at(r, (int)tid);
	if (thread && thread->used)
		thread->ended = ended;
}

static struct thread *thread_get(struct reader *r, int tid)
{
	struct thread *thread = thread_at(r, tid);

	if (!thread || thread->used)
		return thread;
	if (r->n_threads == TIDS_MAX) {
		r->end.tids++;
		return NULL;
	}
	r->n_threads++;
	*thread = (struct thread){ .used = true, .info = { .tid = tid, .vcpu = -1 } };
	return thread;
}

/* Makes the first pass, which finds the threads that are vCPUs, and their numbers. */
static void vcpus_find(struct reader *r)
{
	for (rewind_lanes(r); r->n_heap && !r->failed; advance(r)) {
		const struct tep_record *record = r->lanes[r->heap[0]].record;
		const struct rs_tracedat_event *event = event_of(r, record);
		uint32_t bytes = record->size > 0 ? (uint32_t)record->size : 0;
		struct thread *thread;
		uint64_t tid, vcpu;

		if (!event || !rs_ftrace_get(&event->tid_from, r->tep, record->data, bytes, &tid))
			continue;
		thread = (int)tid > 0 ? thread_get(r, (int)tid) : NULL;
		if (!thread || !event->is_kvm)
			continue;
		thread->info.is_vcpu = true;
		if (event->vcpu_from.from_bytes && thread->info.vcpu < 0 &&
		    rs_ftrace_get(&event->vcpu_from, r->tep, record->data, bytes, &vcpu) &&
		    vcpu <= INT32_MAX)
			thread->info.vcpu = (int32_t)vcpu;
	}
}

/* Sends the names of the buffers if there are several. Tracefs calls the first buffer the top
 * level. */
static void send_buffers(struct reader *r)
{
	for (uint32_t i = 0; i < r->n_buffers && r->n_buffers > 1; i++) {
		const char *name = i ? tracecmd_buffer_instance_name(r->handle, (int)i - 1) : "top";

		if (name)
			send_message(r, RS_TRACEDAT_BUFFER, 0, BUFFER_NAME(i), NULL, 0, name,
				     (uint32_t)strnlen(name, NAME_BYTES));
	}
}

/* Sends the host's name: the second word of uname(1)'s output, which is in the file. */
static void send_host(struct reader *r)
{
	const char *uname = tracecmd_get_uname ? tracecmd_get_uname(r->handle) : NULL;
	const char *host = uname ? strchr(uname, ' ') : NULL;

	if (host)
		send_message(r, RS_TRACEDAT_HOST, 0, 0, NULL, 0, host + 1,
			     (uint32_t)strcspn(host + 1, " "));
}

static void send_threads(struct reader *r)
{
	for (uint32_t i = 0; i < 2 * TIDS_MAX; i++) {
		struct rs_tracedat_thread *info = &r->threads[i].info;
		const char *comm;

		if (!r->threads[i].used)
			continue;
		comm = tep_data_comm_from_pid(r->tep, info->tid);
		if (comm && strcmp(comm, "<...>") != 0) /* libtraceevent's value for unknown */
			snprintf(info->comm, sizeof(info->comm), "%s", comm);
		send_message(r, RS_TRACEDAT_THREAD, 0, 0, info, sizeof(*info), NULL, 0);
	}
}

/* ---- records ------------------------------------------------------------------------------ */

/* Declares the file's events that do not, or not always, become an event of the catalogue. Scripts
 * are compiled against the declarations. */
static void send_events(struct reader *r)
{
	char text[4096];

	for (uint32_t i = 0; i < EVENTS_MAX; i++) {
		const struct rs_tracedat_event *event = r->events[i];
		bool always = false;

		for (uint32_t j = 0; event && j < event->n_plans; j++)
			always |= !event->plans[j].of_scheduler && !event->plans[j].isa;
		if (!event || always)
			continue;
		r->end.fields += event->own.left_out;
		send_message(r, RS_TRACEDAT_EVENT, RS_TRACEDAT_FTRACE, (uint32_t)event->format->id,
			     NULL, 0, text, rs_ftrace_declare(&event->own, text, sizeof(text)));
	}
}

static void send_own(struct reader *r, struct rs_tracedat_event *event, const struct lane *lane)
{
	const struct tep_record *record = lane->record;
	uint8_t payload[RS_RECORD_PAYLOAD_MAX];
	uint32_t bytes;

	if (event->buffer)
		event->buffer->constant = BUFFER_NAME(lane->buffer);
	bytes = rs_ftrace_payload(&event->own, r->tep, record->data, (uint32_t)record->size,
				  payload);
	if (!bytes)
		r->end.short_ones++;
	else
		send_record(r, RS_TRACEDAT_FTRACE, (uint32_t)record->cpu, lane->tsc,
			    RS_ID(RS_IDS_USER, (uint32_t)event->format->id), payload, bytes);
}

/* Returns whether a plan applies to this record. */
static bool applies(struct reader *r, const struct rs_tracedat_plan *plan,
		    const struct tep_record *record)
{
	uint32_t bytes = (uint32_t)record->size;
	uint64_t value;

	if (plan->isa && (!rs_ftrace_get(&plan->isa_from, r->tep, record->data, bytes, &value) ||
			  value != plan->isa))
		return false;
	return !plan->of_scheduler ||
	       (rs_ftrace_get(&plan->tid_from, r->tep, record->data, bytes, &value) && value &&
		is_vcpu(r, value));
}

static void send_loss(struct reader *r, const struct lane *lane)
{
	bool known = lane->record->missed_events > 0; /* else -1: the kernel did not count them */
	struct rs_lost lost = { .count = known ? (uint64_t)lane->record->missed_events : 1,
				.from = lane->last ? lane->last : lane->tsc,
				.to = lane->tsc,
				.why = RS_LOST_FULL };

	r->end.lost += lost.count;
	r->end.gaps += !known;
	send_record(r, RS_TRACEDAT_KVM, (uint32_t)lane->record->cpu, lane->tsc, RS_ID_LOST,
		    (const uint8_t *)&lost, offsetof(struct rs_lost, reserved));
}

static void send_lane(struct reader *r, const struct lane *lane)
{
	const struct tep_record *record = lane->record;
	uint32_t cpu = (uint32_t)record->cpu;
	struct rs_tracedat_event *event;
	uint8_t payload[RS_RECORD_PAYLOAD_MAX];
	uint64_t stamp = record->ts;
	bool any = false;

	r->end.records++;
	if (record->missed_events)
		send_loss(r, lane);
	event = event_of(r, record);
	if (!event) {
		r->end.undescribed++;
		return;
	}
	if (stamp != lane->tsc)
		send_record(r, event->n_plans ? RS_TRACEDAT_KVM : RS_TRACEDAT_FTRACE, cpu,
			    lane->tsc, RS_ID_CLOCK_BACK, (const uint8_t *)&stamp, sizeof(stamp));
	if (event->is_kvm)
		set_ended(r, &event->tid_from, record, false);
	for (uint32_t i = 0; i < event->n_plans; i++) {
		const struct rs_tracedat_plan *plan = &event->plans[i];
		uint32_t bytes;

		if (!applies(r, plan, record))
			continue;
		any = true;
		bytes = rs_tracedat_known(plan, r->tep, record->data, (uint32_t)record->size,
					  payload);
		if (!bytes) {
			r->end.short_ones++;
			return;
		}
		send_record(r, RS_TRACEDAT_KVM, cpu, lane->tsc, plan->event->id, payload, bytes);
		if (plan->ends)
			set_ended(r, &plan->tid_from, record, true);
	}
	if (!any)
		send_own(r, event, lane);
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* Sends the clock's name, and whether its stamps are cycles. libtracecmd converts cycles to ns if
 * the file has TSC2NSEC. A TSC is faster than 1 GHz, so a converted stamp is less than the page's
 * raw stamp. */
static void send_clock(struct reader *r)
{
	const char *name = tracecmd_get_trace_clock ? tracecmd_get_trace_clock(r->handle) : NULL;
	struct rs_tracedat_clock clock = { 0 };

	snprintf(clock.name, sizeof(clock.name), "%s", name ? name : "unknown");
	if (r->n_heap) {
		const struct lane *lane = &r->lanes[r->heap[0]];

		clock.first = lane->tsc;
		if (!strcmp(clock.name, "x86-tsc"))
			clock.is_cycles =
				!tracecmd_page_ts ||
				tracecmd_page_ts(lane->handle, lane->record) <= lane->record->ts;
	}
	clock.is_cycles |= !strcmp(clock.name, "counter");
	send_message(r, RS_TRACEDAT_CLOCK, 0, 0, &clock, sizeof(clock), NULL, 0);
}

/* Sends the host CPUs with data, in ascending order. */
static void send_cpus(struct reader *r)
{
	for (uint32_t i = 0; i < r->n_heap; i++) {
		int cpu = r->lanes[r->heap[i]].record->cpu;

		if (cpu >= 0 && cpu < CPUS_MAX)
			r->cpu_reported[cpu] = true;
	}
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (r->cpu_reported[cpu])
			send_kind(r, RS_TRACEDAT_CPU, cpu);
	}
}

/* Returns the offset at which a cut file's pages end: after the last whole page, or after the
 * partial page that follows it, if the missing part was not in use. A page begins with a stamp and
 * the number of bytes in use (the kernel's struct buffer_data_page). */
static uint64_t pages_end(int in, uint64_t size)
{
	uint64_t whole = size & ~(uint64_t)(PAGE_BYTES - 1);
	uint32_t used;

	if (pread(in, &used, sizeof(used), (off_t)(whole + PAGE_USED_AT)) != sizeof(used))
		return whole;
	return whole + PAGE_HEAD + (used & PAGE_USED_MASK) <= size ? size : whole;
}

/*
 * Copies a cut file of version 6, and extends the copy to the declared length, because libtracecmd
 * rejects a file that is shorter than its header declares. The data of version 6 come last, so the
 * extension consists of empty pages. Version 7 has essential sections at its end, and cannot be
 * extended. Returns the copy, or -1 if the file has another version or cannot be copied.
 */
static int lengthen(struct reader *r, uint64_t *end)
{
	static const char version[] = "6"; /* after the magic, with its NUL */
	static uint8_t buffer[1u << 20];
	int in = r->to->in, out = r->to->copy;
	struct stat st;

	if (pread(in, buffer, VERSION_AT + sizeof(version), 0) !=
		    (ssize_t)(VERSION_AT + sizeof(version)) ||
	    memcmp(buffer + VERSION_AT, version, sizeof(version)) != 0 || fstat(in, &st))
		return -1;
	*end = pages_end(in, (uint64_t)st.st_size);
	for (uint64_t at = 0; at < *end;) {
		size_t want = *end - at < sizeof(buffer) ? *end - at : sizeof(buffer);
		ssize_t n = pread(in, buffer, want, (off_t)at);

		if (n <= 0 || pwrite(out, buffer, (size_t)n, (off_t)at) != n)
			return -1;
		at += (uint64_t)n;
		send_kind(r, RS_TRACEDAT_ALIVE, 0);
		flush(r);
	}
	return ftruncate(out, (off_t)(*end + LENGTH_MAX)) ? -1 : out;
}

static struct tracecmd_input *open_file(struct reader *r, char why[WHY_MAX])
{
	struct tracecmd_input *handle = NULL;
	uint64_t end;
	int fd;

	/* Load no plugins: they are code from folders that the user may not control. */
	if (r->to->copy < 0)
		handle = tracecmd_open_fd(dup(r->to->in), TRACECMD_FL_LOAD_NO_PLUGINS);
	if (handle)
		return handle;
	fd = lengthen(r, &end);
	if (fd >= 0 && !lseek(fd, 0, SEEK_SET))
		handle = tracecmd_open_fd(fd, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (handle)
		snprintf(why, WHY_MAX, "the file is cut; its valid part ends at 0x%llx",
			 (unsigned long long)end);
	else
		snprintf(why, WHY_MAX,
			 "libtracecmd finds no trace in it: the file is damaged, or its header is "
			 "cut");
	return handle;
}

static bool make_room(struct reader *r)
{
	r->events = calloc(EVENTS_MAX, sizeof(struct rs_tracedat_event *));
	r->threads = calloc(2 * TIDS_MAX, sizeof(*r->threads));
	r->out = malloc(OUT_BYTES);
	return r->events && r->threads && r->out;
}

int rs_tracedat_read(const struct rs_tracedat_reader *to)
{
	static struct reader reader; /* the process does nothing else */
	struct reader *r = &reader;
	char why[WHY_MAX] = "";

	r->to = to;
	if (!make_room(r))
		return 1;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	r->handle = open_file(r, why);
	if (!r->handle)
		return finish(r, why);
	r->tep = tracecmd_get_tep(r->handle);
	if (!r->tep || !make_lanes(r))
		return finish(r, "it has no valid CPUs or buffers");
	send_kind(r, RS_TRACEDAT_ALIVE, 0);
	flush(r);
	vcpus_find(r);
	send_threads(r);
	rewind_lanes(r);
	send_cpus(r);
	send_clock(r);
	send_host(r);
	send_buffers(r);
	send_events(r);
	send_kind(r, RS_TRACEDAT_READY, 0);
	for (; r->n_heap && !r->failed; advance(r))
		send_lane(r, &r->lanes[r->heap[0]]);
	return finish(r, why);
}
