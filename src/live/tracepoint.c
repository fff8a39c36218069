/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the running kernel's tracepoints as a live source. */
#include "live/tracepoint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "import/ftrace.h"
#include "live/perf_ring.h"
#include "source/threads.h"
#include "live/tracefs.h"
#include "live/tracepoint_text.h"
#include "live/tracepoint_threads.h"
#include <ringside/ring.h>

#define RING_DEFAULT (1u << 20)
#define RING_MAX     (1u << 30)
#define NAMES_MIN    (1u << 18) /* bytes of the ring of thread changes, each of which takes 64 */
#define NAMES_SHARE  4u		/* or this part of the samples' ring */
#define PROC	     "/proc"
#define IDS_MAX	     65536u /* common_type has 16 bits */

/* The time after its stamp within which a sample appears in the ring, since interrupts may delay
 * its completion. The drain corrects the stamp of a later sample, and reports that. */
#define MAKING_NS 2000000u

/* Room for the records into which one kernel record may be converted, with filler before each. */
#define ROOM_BYTES (2 * (RS_RECORD_SLOTS_MAX + RS_LOST_SLOTS + 1) * RS_SLOT_BYTES)
#define SBUF_MIN   (4 * ROOM_BYTES)

/* A ring of the kernel. */
struct ring {
	void *map;
	size_t map_bytes;
	struct rs_perf_ring records;
};

struct cpu {
	struct rs_tracepoints *session;
	int cpu;
	int output; /* the output of programs that read texts; it has the ring; -1: none */
	int *fds;   /* one for each event; without output, the first has the ring; -1: none */
	struct ring data;
	struct rs_ring_memory memory; /* for the converted records */
	struct rs_sbuf_producer producer;
	struct rs_sbuf_consumer consumer;
	struct rs_port local;
	uint32_t last_tid, last_pid;
	uint64_t last;		   /* stamp of the last record */
	uint64_t reported_lost;	   /* losses that the kernel's records reported */
	uint64_t reported_damaged; /* damage of the ring that was reported */
	uint64_t lost;		   /* all losses by the kernel's counts, once the gate is closed */
	bool reported_end;
};

/* A kernel event. */
struct tracepoint {
	int id;
	struct rs_ftrace_event event;
	struct rs_tracepoint_texts texts; /* if there are any, a program writes its records */
};

/* The ring of a CPU's forks, renames and exits. */
struct names {
	int fd;
	struct ring ring;
};

struct rs_tracepoints {
	pthread_mutex_t names_lock;
	struct names *names; /* changes on all CPUs, since any CPU may rename a thread */
	uint32_t n_names;
	uint64_t names_until; /* all changes of threads until then have been read */
	uint64_t names_lost;  /* changes without room, from records: for kernels before 6.0 */
	struct rs_tracepoint_threads *threads;
	struct rs_tracefs_list list;
	struct tep_handle *tep;
	struct rs_schema *schema;
	struct tracepoint *events;
	const struct tracepoint **by_id;
	uint32_t n_events, n_refused;
	uint32_t n_read;		     /* number of events whose records a program writes */
	struct rs_tracepoint_reader *reader; /* NULL: no event's texts are read */
	uint64_t missed;		     /* missed by its programs before the gate opened */
	uint32_t n_unopened;		     /* number of events that perf refuses */
	int refusal;			     /* errno of the last refusal */
	bool counts_lost; /* the kernel counts the lost samples of each event (since Linux 6.0) */
	struct cpu *cpus;
	uint32_t n_cpus;
	uint32_t ring_bytes;
	/* Written with release by the gate, read with acquire by the drains. */
	uint64_t opened_ns, shut_ns; /* 0, UINT64_MAX: not yet */
	bool closed;		     /* closed, and no more samples are written */
};

bool rs_tracepoints_thread(struct rs_tracepoints *s, uint32_t index, struct rs_thread *thread)
{
	/* Pairs with names_read()'s release. */
	return rs_tracepoint_threads_get(
		s->threads, index, __atomic_load_n(&s->names_until, __ATOMIC_ACQUIRE), thread);
}

/* ---- records ------------------------------------------------------------------------------ */

/* Returns whether there is room for a record of any length, and a loss. */
static bool has_room(const struct cpu *c)
{
	uint32_t at = (uint32_t)c->producer.reserve, head = c->consumer.head;
	uint32_t used = (at >= head ? at : at + c->consumer.size) - head;

	return c->consumer.size - used > ROOM_BYTES;
}

static uint64_t cpu_bits(const struct cpu *c)
{
	uint64_t bits = c->cpu < (int)RS_CPU_UNKNOWN ? (uint64_t)c->cpu : RS_CPU_UNKNOWN;

	return bits << RS_CPU_SHIFT;
}

static void put_lost(struct cpu *c, uint64_t count, uint64_t to, enum rs_lost_why why)
{
	struct rs_lost lost = { .count = count, .from = c->last, .to = to, .why = why };
	struct rs_sbuf_room room;

	if (to < c->last)
		lost.to = c->last;
	room = rs_sbuf_reserve(&c->producer, RS_LOST_SLOTS * RS_SLOT_BYTES);
	if (!room.at) /* has_room() has checked this */
		return;
	rs_record_write_lost(room.at, cpu_bits(c), &lost, lost.to);
	rs_sbuf_commit(&c->producer);
}

static void put(struct cpu *c, uint64_t stamp, uint64_t id, const uint8_t *payload, uint32_t bytes)
{
	uint32_t slots = RS_RECORD_SLOTS(bytes);
	struct rs_slot head = { .tsc = stamp, .head = rs_record_head(id, slots) | cpu_bits(c) };
	struct rs_sbuf_room room = rs_sbuf_reserve(&c->producer, slots * RS_SLOT_BYTES);

	if (!room.at)
		return;
	memset(room.at + (slots - 1) * RS_SLOT_BYTES, 0, RS_SLOT_BYTES);
	memcpy(room.at, &head, RS_RECORD_HEAD);
	memcpy(room.at + RS_RECORD_HEAD, payload, bytes);
	rs_sbuf_commit(&c->producer);
}

static void sample_consume(struct cpu *c, const struct rs_perf_record *record)
{
	const struct rs_tracepoints *s = c->session;
	uint8_t payload[RS_FTRACE_PAYLOAD_MAX];
	const struct tracepoint *event = NULL;
	uint16_t type;
	uint32_t bytes = 0;

	if (record->bytes >= sizeof(type)) {
		memcpy(&type, record->raw, sizeof(type));
		event = s->by_id[type];
	}
	if (event)
		bytes = rs_ftrace_payload(&event->event, s->tep, record->raw, record->bytes,
					  payload);
	if (bytes && (record->tid != c->last_tid || record->pid != c->last_pid)) {
		rs_tracepoint_threads_sample(s->threads, record);
		c->last_tid = record->tid;
		c->last_pid = record->pid;
	}
	if (bytes)
		put(c, record->time, RS_ID(RS_IDS_USER, (uint32_t)event->id), payload, bytes);
	else
		put_lost(c, 1, record->time, RS_LOST_DAMAGED);
	c->last = record->time;
}

static void record_consume(struct cpu *c, const struct rs_perf_record *record, uint64_t shut_ns)
{
	if (record->lost) {
		c->reported_lost += record->lost;
		if (record->time >= c->session->opened_ns)
			put_lost(c, record->lost, record->time, RS_LOST_FULL);
		return;
	}
	if (record->time >= c->session->opened_ns && record->time <= shut_ns)
		sample_consume(c, record);
}

/* Reports the losses that no record has reported, after the last record. */
static void end_report(struct cpu *c, uint64_t shut_ns)
{
	c->reported_end = true;
	if (c->lost > c->reported_lost)
		put_lost(c, c->lost - c->reported_lost, shut_ns, RS_LOST_FULL);
}

/* Reads the changes of a CPU's threads until a time. If the kernel dropped some, the names are read
 * from /proc again: threads that ended before that have no name. */
static void names_read_from(struct rs_tracepoints *s, struct rs_perf_ring *ring, uint64_t until)
{
	struct rs_perf_record record;
	bool any = true;

	while (any) {
		bool all = rs_perf_ring_poll(ring);

		any = false;
		while (rs_perf_ring_next(ring, all ? until : UINT64_MAX, &record)) {
			any = true;
			if (record.kind != RS_PERF_LOST) {
				rs_tracepoint_threads_change(s->threads, &record);
				continue;
			}
			__atomic_fetch_add(&s->names_lost, record.lost, __ATOMIC_RELAXED);
			rs_tracepoint_threads_scan(s->threads, PROC, record.time);
		}
	}
}

static void names_read(struct rs_tracepoints *s, uint64_t until)
{
	pthread_mutex_lock(&s->names_lock);
	for (uint32_t i = 0; i < s->n_names; i++)
		names_read_from(s, &s->names[i].ring.records, until);
	if (until > s->names_until) /* Pairs with rs_tracepoints_thread()'s acquire. */
		__atomic_store_n(&s->names_until, until, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->names_lock);
}

/* Converts samples that are old enough to records, while there is room. */
static void pump(struct cpu *c)
{
	struct rs_tracepoints *s = c->session;
	/* Each pairs with the gate's release. */
	bool closed = __atomic_load_n(&s->closed, __ATOMIC_ACQUIRE);
	uint64_t opened_ns = __atomic_load_n(&s->opened_ns, __ATOMIC_ACQUIRE);
	uint64_t shut_ns = __atomic_load_n(&s->shut_ns, __ATOMIC_ACQUIRE);
	uint64_t until = closed ? UINT64_MAX : rs_now_ns(CLOCK_MONOTONIC) - MAKING_NS;
	struct rs_perf_record record;
	bool all, any = true;

	if (!opened_ns)
		return;
	if (!c->last)
		c->last = opened_ns;
	names_read(s, until);
	while (any && has_room(c)) {
		all = rs_perf_ring_poll(&c->data.records);
		any = false;
		while (has_room(c) &&
		       rs_perf_ring_next(&c->data.records, all ? until : UINT64_MAX, &record)) {
			record_consume(c, &record, shut_ns);
			any = true;
		}
		if (c->data.records.damaged > c->reported_damaged && has_room(c)) {
			put_lost(c, c->data.records.damaged - c->reported_damaged, c->last,
				 RS_LOST_DAMAGED);
			c->reported_damaged = c->data.records.damaged;
		}
	}
	if (closed && !any && !c->reported_end && has_room(c))
		end_report(c, shut_ns);
}

/* Polls the port of a CPU's converted records, and thereby converts more samples. */
static bool port_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct cpu *c = ctx;

	pump(c);
	return c->local.poll(c->local.ctx, tail, refused);
}

static bool port_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct cpu *c = ctx;

	return c->local.copy(c->local.ctx, offset, to, bytes);
}

static bool port_release(void *ctx, uint32_t head)
{
	struct cpu *c = ctx;

	return c->local.release(c->local.ctx, head);
}

/* ---- the gate ----------------------------------------------------------------------------- */

static struct rs_error *switch_one(int fd, bool on)
{
	if (fd >= 0 && ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
		return rs_error_errno(errno, "cannot turn a tracepoint %s", on ? "on" : "off");
	return NULL;
}

static struct rs_error *switch_all(struct rs_tracepoints *s, bool on)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < s->n_cpus; i++) {
		err = switch_one(s->cpus[i].output, on);
		for (uint32_t j = 0; !err && j < s->n_events; j++)
			err = switch_one(s->cpus[i].fds[j], on);
	}
	return err;
}

/* Returns how many samples an event of a CPU has lost: PERF_FORMAT_LOST. */
static uint64_t lost_of(const struct rs_tracepoints *s, int fd)
{
	struct {
		uint64_t value, lost;
	} counts;

	return s->counts_lost && fd >= 0 && read(fd, &counts, sizeof(counts)) == sizeof(counts)
		       ? counts.lost
		       : 0;
}

uint64_t rs_tracepoints_names_lost(const struct rs_tracepoints *s)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < s->n_names; i++)
		lost += lost_of(s, s->names[i].fd);
	return s->counts_lost ? lost : __atomic_load_n(&s->names_lost, __ATOMIC_RELAXED);
}

/* Reads the losses of all CPUs. The programs' misses belong to no CPU; the first CPU reports
 * them. */
static struct rs_error *losses_read(struct rs_tracepoints *s)
{
	struct rs_error *err = NULL;
	uint64_t missed = 0;

	for (uint32_t i = 0; i < s->n_cpus; i++) {
		s->cpus[i].lost += lost_of(s, s->cpus[i].output);
		for (uint32_t j = 0; j < s->n_events; j++)
			s->cpus[i].lost += lost_of(s, s->cpus[i].fds[j]);
	}
	if (s->reader)
		err = rs_tracepoint_reader_missed(s->reader, &missed);
	if (s->reader && !err)
		s->cpus[0].lost += missed - s->missed;
	return err;
}

struct rs_error *rs_tracepoints_gate(struct rs_tracepoints *s, bool open, uint64_t *ns)
{
	struct rs_error *err;

	if (open ? s->opened_ns != 0 : !s->opened_ns || s->shut_ns != UINT64_MAX)
		return rs_error_create(RS_USAGE, "a gate opens once, and closes once");
	if (open) { /* the time from which all are on */
		err = switch_all(s, true);
		if (!err && s->reader)
			err = rs_tracepoint_reader_missed(s->reader, &s->missed);
		*ns = rs_now_ns(CLOCK_MONOTONIC);
		if (!err)
			__atomic_store_n(&s->opened_ns, *ns, __ATOMIC_RELEASE);
		return err;
	}
	*ns = rs_now_ns(CLOCK_MONOTONIC);
	__atomic_store_n(&s->shut_ns, *ns, __ATOMIC_RELEASE);
	err = switch_all(s, false);
	err = rs_error_first(err, losses_read(s));
	__atomic_store_n(&s->closed, true, __ATOMIC_RELEASE);
	return err;
}

bool rs_tracepoints_closed(const struct rs_tracepoints *s)
{
	return __atomic_load_n(&s->closed, __ATOMIC_ACQUIRE); /* pairs with the gate's release */
}

/* ---- the events --------------------------------------------------------------------------- */

/* Returns whether the texts of this event are to be read. */
static bool is_read(const struct rs_tracepoint_options *options, const struct tep_event *format)
{
	const struct rs_event event = { .provider = RS_FTRACE_PROVIDER,
					.class_name = format->system,
					.function = "",
					.name = format->name };
	bool any = false;

	for (uint32_t i = 0; i < options->n_reads; i++)
		any |= rs_probe_match(options->reads[i], &event);
	return any;
}

static struct rs_error *event_load(struct rs_tracepoints *s,
				   const struct rs_tracepoint_options *options,
				   const struct rs_tracefs_event *from)
{
	struct tracepoint *to = &s->events[s->n_events];
	struct tep_event *format = NULL;
	struct rs_error *err;
	char *text = NULL;
	size_t len;

	err = rs_tracefs_format(from, &text, &len);
	/* libtraceevent may fail to parse the format's print format, which is not needed. */
	if (!err && tep_parse_format(s->tep, &format, text, len, from->system) && !format)
		err = rs_error_create(RS_FAILED, "libtraceevent cannot parse its format");
	if (!err && (!format || format->id <= 0 || (uint32_t)format->id >= IDS_MAX))
		err = rs_error_create(RS_FAILED, "its format has no number");
	free(text);
	if (!err && is_read(options, format))
		err = rs_tracepoint_texts_plan(format, &to->texts);
	if (!err) {
		to->id = format->id;
		rs_ftrace_plan(&to->event, format);
		err = rs_ftrace_add(&to->event, s->schema, RS_ID(RS_IDS_USER, (uint32_t)to->id));
	}
	if (err && !from->named && rs_error_code(err) != RS_NO_MEMORY) {
		rs_error_free(err); /* it is one of several that a glob matches */
		s->n_refused++;
		return NULL;
	}
	if (!err) {
		s->by_id[to->id] = to;
		s->n_events++;
		s->n_read += to->texts.n > 0;
	}
	return rs_error_wrap(err, "%s:%s", from->system, from->name);
}

static struct rs_error *events_load(struct rs_tracepoints *s,
				    const struct rs_tracepoint_options *options)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < options->n_globs; i++)
		err = rs_tracefs_match(options->globs[i], &s->list);
	if (err)
		return err;
	s->tep = tep_alloc();
	s->events = calloc(s->list.n + 1, sizeof(*s->events));
	s->by_id = calloc(IDS_MAX, sizeof(const struct tracepoint *));
	if (!s->tep || !s->events || !s->by_id)
		return rs_error_no_memory();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(s->tep, sizeof(long));
	for (uint32_t i = 0; !err && i < s->list.n; i++)
		err = event_load(s, options, &s->list.events[i]);
	if (!err && s->n_read)
		err = rs_tracepoint_reader_create(&s->reader);
	if (!err && !s->n_events)
		err = rs_error_create(RS_ABSENT, "none of these tracepoints can be read");
	return err;
}

/* ---- the kernel's rings ------------------------------------------------------------------- */

/* Opens an event of a CPU, or the output of programs if event is NULL. */
static int perf_open(const struct rs_tracepoints *s, const struct tracepoint *event, int cpu)
{
	struct perf_event_attr attr = {
		.type = event ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event ? (uint64_t)event->id : PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = event && event->texts.n ? 0 : 1, /* a program writes the samples */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.read_format = s->counts_lost ? PERF_FORMAT_LOST : 0,
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/* Nothing waits for a wake-up; the ring is polled. */
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens an event without PERF_FORMAT_LOST if the kernel is older than Linux 6.0. */
static int perf_open_either(struct rs_tracepoints *s, const struct tracepoint *event, int cpu)
{
	int fd = perf_open(s, event, cpu);

	if (fd >= 0 || errno != EINVAL || !s->counts_lost)
		return fd;
	s->counts_lost = false;
	fd = perf_open(s, event, cpu);
	if (fd < 0) /* PERF_FORMAT_LOST was not the reason */
		s->counts_lost = true;
	return fd;
}

static struct rs_error *perf_error(const struct rs_tracepoints *s, const struct tep_event *format)
{
	int error = errno;

	if (error == EACCES || error == EPERM)
		return rs_error_create(RS_ABSENT,
				       "%s:%s: the kernel does not let user %u trace it: run it as "
				       "root (sudo), or with CAP_PERFMON",
				       format->system, format->name, (unsigned int)geteuid());
	if (error == EMFILE || error == ENFILE)
		return rs_error_create(RS_FAILED,
				       "%u tracepoints on each CPU need more open files than this "
				       "process may have: use fewer, or a larger 'ulimit -n'",
				       s->n_events);
	return rs_error_errno(error, "%s:%s: perf_event_open", format->system, format->name);
}

static bool is_named(const struct rs_tracepoints *s, const struct tep_event *format)
{
	for (uint32_t i = 0; i < s->list.n; i++) {
		if (!strcmp(s->list.events[i].system, format->system) &&
		    !strcmp(s->list.events[i].name, format->name))
			return s->list.events[i].named;
	}
	return false;
}

static uint32_t pages_of(uint32_t bytes)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE), rounded = page;

	while (rounded < bytes)
		rounded *= 2;
	return rounded;
}

static struct rs_error *ring_map(struct ring *ring, int cpu, uint32_t bytes, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	ring->map_bytes = page + bytes;
	ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->map == MAP_FAILED) {
		ring->map = NULL;
		return rs_error_errno(
			errno, "cannot create a ring of %u bytes for CPU %d (smaller: --buffer)",
			bytes, cpu);
	}
	if (!rs_perf_ring_init(&ring->records, ring->map, (const uint8_t *)ring->map + page, bytes))
		return rs_error_no_memory();
	return NULL;
}

static void ring_unmap(struct ring *ring)
{
	rs_perf_ring_deinit(&ring->records);
	if (ring->map)
		munmap(ring->map, ring->map_bytes);
}

/* Opens the ring of a CPU's forks, renames and exits, which is separate from that of the samples,
 * so that a flood of samples loses no names. It is active from here on. */
static struct rs_error *names_open(struct rs_tracepoints *s, int cpu)
{
	struct names *names = &s->names[s->n_names];
	uint32_t bytes = s->ring_bytes / NAMES_SHARE;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = s->counts_lost ? PERF_FORMAT_LOST : 0,
		.comm = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};

	names->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (names->fd < 0 && errno == ENODEV) /* the CPU is offline */
		return NULL;
	if (names->fd < 0)
		return perf_error(s, s->events[0].event.format);
	s->n_names++;
	return ring_map(&names->ring, cpu, bytes < NAMES_MIN ? NAMES_MIN : bytes, names->fd);
}

/* Opens these rings on all CPUs, and then reads the existing names. */
static struct rs_error *names_open_all(struct rs_tracepoints *s)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct rs_error *err = NULL;

	s->names = calloc((size_t)(n > 0 ? n : 1), sizeof(*s->names));
	if (!s->names)
		return rs_error_no_memory();
	for (int cpu = 0; !err && cpu < n; cpu++)
		err = names_open(s, cpu);
	if (!err)
		rs_tracepoint_threads_scan(s->threads, PROC, 0);
	return err;
}

/* Directs the samples of an event to the CPU's ring, which the first event has. */
static struct rs_error *ring_share(struct cpu *c, int fd, int *with_ring, const char *what)
{
	if (*with_ring < 0) {
		*with_ring = fd;
		return ring_map(&c->data, c->cpu, c->session->ring_bytes, fd);
	}
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, *with_ring))
		return rs_error_errno(errno, "cannot set the ring of %s", what);
	return NULL;
}

/* Opens the output of a CPU's programs. */
static struct rs_error *output_open(struct cpu *c, int *with_ring, bool *online)
{
	struct rs_tracepoints *s = c->session;
	struct rs_error *err;

	c->output = perf_open_either(s, NULL, c->cpu);
	if (c->output < 0 && errno == ENODEV) {
		*online = false;
		return NULL;
	}
	if (c->output < 0)
		return perf_error(s, s->events[0].event.format);
	err = ring_share(c, c->output, with_ring, "cannot set the output of BPF");
	return err ? err : rs_tracepoint_reader_output(s->reader, c->cpu, c->output);
}

/* Opens an event on a CPU, with the CPU's ring. Sets *online to false if the CPU is offline. */
static struct rs_error *event_open(struct cpu *c, uint32_t at, int *with_ring, bool *online)
{
	struct rs_tracepoints *s = c->session;
	const struct tracepoint *event = &s->events[at];
	const struct tep_event *format = event->event.format;
	int fd;

	if (event->texts.n && c != s->cpus) /* the first CPU's event runs the program on all CPUs */
		return NULL;
	fd = perf_open_either(s, event, c->cpu);
	if (fd < 0 && errno == ENODEV) {
		*online = false;
		return NULL;
	}
	/* perf refuses some events to every user, such as irq_vectors:irq_work_exit. */
	if (fd < 0 && !is_named(s, format) &&
	    (errno == EINVAL || errno == ENOENT || errno == EOPNOTSUPP || errno == EPERM ||
	     errno == EACCES)) {
		s->refusal = errno;
		return NULL;
	}
	if (fd < 0)
		return perf_error(s, format);
	c->fds[at] = fd;
	if (event->texts.n)
		return rs_tracepoint_reader_attach(s->reader, format, &event->texts, fd);
	return ring_share(c, fd, with_ring, format->name);
}

static struct rs_error *sbuf_make(struct cpu *c)
{
	uint32_t bytes = c->session->ring_bytes < SBUF_MIN ? SBUF_MIN : c->session->ring_bytes;
	struct rs_error *err;

	err = rs_ring_map_anonymous(rs_sbuf_bytes(bytes / RS_SLOT_BYTES, RS_SLOT_BYTES),
				    &c->memory);
	if (err)
		return err;
	rs_sbuf_create(c->memory.mem, c->memory.bytes, RS_SLOT_BYTES);
	rs_sbuf_producer_init(&c->producer, c->memory.mem, c->memory.bytes);
	rs_sbuf_attach(&c->consumer, c->memory.mem, c->memory.bytes);
	c->local = rs_port_local(&c->consumer);
	return NULL;
}

/* Opens the next CPU with all its events. Sets *online to false if it is offline. */
static struct rs_error *cpu_open(struct rs_tracepoints *s, int number, bool *online)
{
	struct cpu *c = &s->cpus[s->n_cpus];
	struct rs_error *err = NULL;
	int with_ring = -1;

	*c = (struct cpu){ .session = s, .cpu = number, .output = -1 };
	c->fds = malloc(s->n_events * sizeof(*c->fds));
	if (!c->fds)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < s->n_events; i++)
		c->fds[i] = -1;
	s->n_cpus++; /* rs_tracepoints_close() closes it from now on */
	*online = true;
	if (s->reader)
		err = output_open(c, &with_ring, online);
	for (uint32_t i = 0; !err && *online && i < s->n_events; i++)
		err = event_open(c, i, &with_ring, online);
	if (!err && *online && with_ring < 0) {
		errno = s->refusal;
		err = perf_error(s, s->events[0].event.format);
	}
	return err || !*online ? err : sbuf_make(c);
}

static void cpu_close(struct cpu *c, uint32_t n_events)
{
	ring_unmap(&c->data);
	for (uint32_t i = 0; c->fds && i < n_events; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	if (c->output >= 0)
		close(c->output);
	free(c->fds);
	if (c->memory.mem)
		rs_ring_unmap(&c->memory);
}

/* Raises the limit of open files: each event on each CPU needs one. */
static void files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct rs_error *cpus_open(struct rs_tracepoints *s, const struct rs_cpu_set *only)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	struct rs_error *err = NULL;

	s->cpus = calloc((size_t)(n > 0 ? n : 1), sizeof(*s->cpus));
	if (!s->cpus)
		return rs_error_no_memory();
	files_allow();
	for (int cpu = 0; !err && cpu < n; cpu++) {
		bool online = true;

		if (only && only->some && !rs_cpu_set_has(only, cpu))
			continue;
		err = cpu_open(s, cpu, &online);
		if (!online)
			cpu_close(&s->cpus[--s->n_cpus], s->n_events);
	}
	if (!err && !s->n_cpus)
		err = rs_error_create(RS_USAGE, "none of these CPUs is online");
	/* Removes the events that each CPU refuses. */
	for (uint32_t i = 0; !err && i < s->n_events; i++)
		s->n_unopened += s->cpus[0].fds[i] < 0;
	return err;
}

/* ---- the session -------------------------------------------------------------------------- */

struct rs_error *rs_tracepoints_open(const struct rs_tracepoint_options *options,
				     struct rs_tracepoints **out)
{
	uint32_t bytes = options->ring_bytes ? options->ring_bytes : RING_DEFAULT;
	struct rs_tracepoints *s = calloc(1, sizeof(*s));
	struct rs_error *err = NULL;

	if (!s)
		return rs_error_no_memory();
	if (bytes > RING_MAX)
		err = rs_error_create(RS_USAGE, "a ring has at most %u bytes, not %u", RING_MAX,
				      bytes);
	else
		s->ring_bytes = pages_of(bytes);
	pthread_mutex_init(&s->names_lock, NULL);
	if (!err)
		err = rs_tracepoint_threads_create(&s->threads);
	s->counts_lost = true;
	s->shut_ns = UINT64_MAX;
	if (!err)
		err = rs_schema_create(RS_FTRACE_PROVIDER, &s->schema);
	if (!err)
		err = events_load(s, options);
	if (!err)
		err = cpus_open(s, options->cpus);
	if (!err)
		err = names_open_all(s);
	if (err)
		rs_tracepoints_close(s);
	else
		*out = s;
	return err;
}

void rs_tracepoints_close(struct rs_tracepoints *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_cpus; i++)
		cpu_close(&s->cpus[i], s->n_events);
	free(s->cpus);
	rs_tracepoint_reader_destroy(s->reader);
	for (uint32_t i = 0; i < s->n_names; i++) {
		ring_unmap(&s->names[i].ring);
		close(s->names[i].fd);
	}
	free(s->names);
	pthread_mutex_destroy(&s->names_lock);
	free(s->by_id);
	free(s->events);
	rs_tracepoint_threads_destroy(s->threads);
	rs_schema_destroy(s->schema);
	if (s->tep)
		tep_free(s->tep);
	rs_tracefs_list_deinit(&s->list);
	free(s);
}

uint32_t rs_tracepoints_count(const struct rs_tracepoints *s, uint32_t *refused)
{
	*refused = s->n_refused + s->n_unopened;
	return s->n_events - s->n_unopened;
}

struct rs_schema *rs_tracepoints_schema(const struct rs_tracepoints *s)
{
	return s->schema;
}

bool rs_tracepoints_port(struct rs_tracepoints *s, uint32_t index, int *cpu, struct rs_port *port)
{
	struct cpu *c = index < s->n_cpus ? &s->cpus[index] : NULL;

	if (!c)
		return false;
	*cpu = c->cpu;
	*port = c->local;
	port->ctx = c;
	port->poll = port_poll;
	port->copy = port_copy;
	port->release = port_release;
	return true;
}
