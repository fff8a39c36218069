/* SPDX-License-Identifier: BSD-2-Clause */
/* The parent's side: starts the reader, checks its messages, and makes views of them. */
#include "import/tracedat/tracedat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/count.h"
#include "confine/confine.h"
#include "confine/calls.h"
#include "base/copy.h"
#include "base/given.h"
#include "base/now.h"
#include "base/utf8.h"
#include "event/layout.h"
#include "event/view.h"
#include "source/threads.h"
#include "import/tracedat/wire.h"
#include "base/vector.h"

#define VIEWS		  256
#define BUFFER_BYTES	  (256u << 10)
#define TICK_MS		  50
#define STUCK_MS	  30000
#define CPUS_MAX	  4096
#define THREADS_MAX	  65536u
#define FILE_EVENTS	  65536u			      /* the range of a file's event ids */
#define WALL_MIN	  (UINT64_C(1000000000) * 1000000000) /* ns; as Unix time in 2001 */
#define CHILD_IN	  (STDERR_FILENO + 1)
#define CHILD_OUT	  (STDERR_FILENO + 2)
#define CHILD_COPY	  (STDERR_FILENO + 3)
#define CHILD_DESCRIPTORS 64
#define CHILD_BYTES	  (UINT64_C(4) << 30) /* of memory: a small file can declare much */

/* A thread of the file, in both classes. */
struct thread {
	int tid;
	struct rs_stream streams[RS_TRACEDAT_CLASSES];
};

struct tracedat {
	struct rs_foreign foreign;
	char *path;
	int fd;	     /* the pipe's reading end */
	pid_t child; /* 0: none */
	int stuck_ms;
	int64_t heard_ms; /* the time of the last message */
	struct rs_arena arena;
	struct rs_schema *schemas[RS_TRACEDAT_CLASSES];
	struct rs_layouts layouts[RS_TRACEDAT_CLASSES];
	struct rs_stream *cpus[RS_TRACEDAT_CLASSES][CPUS_MAX];
	struct rs_idle *idle[CPUS_MAX]; /* of the class FTRACE */
	struct thread **threads;	/* by tid, once ready */
	uint32_t n_threads, threads_room;
	const struct thread *last_thread;
	uint8_t refused[FILE_EVENTS / 8]; /* events that the schema rejected */
	uint64_t n_refused;
	bool ready, ended, died;
	char why[256];	       /* the reason if the reader did not send everything */
	struct rs_error *held; /* an error after the last views */
	struct rs_tracedat_end end;
	uint64_t given; /* records */
	uint64_t last_tsc;
	int64_t last_ns;
	uint8_t *buffer;
	uint32_t used, at;
	struct rs_view views[VIEWS];
};

static struct rs_error *invalid_message(const struct tracedat *t)
{
	return rs_error_create(RS_DAMAGED,
			       "%s: its reader sent invalid messages after %s; "
			       "the records before are valid",
			       t->path, RS_COUNT_OF(t->given, "record"));
}

/* ---- messages before the events ----------------------------------------------------------- */

static struct rs_error *add_cpu(struct tracedat *t, uint32_t cpu)
{
	if (cpu >= CPUS_MAX || t->cpus[0][cpu] || t->ready)
		return invalid_message(t);
	for (uint32_t i = 0; i < RS_TRACEDAT_CLASSES; i++) {
		struct rs_stream *stream = rs_arena_alloc(&t->arena, sizeof(*stream));

		if (!stream)
			return rs_error_no_memory();
		*stream = (struct rs_stream){ .cpu = (int)cpu,
					      .vcpu = RS_UNKNOWN,
					      .tid = RS_UNKNOWN,
					      .mixed = true,
					      .schema = t->schemas[i],
					      .clock = &t->foreign.clock };
		t->cpus[i][cpu] = stream;
	}
	t->idle[cpu] = rs_arena_alloc(&t->arena, sizeof(*t->idle[cpu]));
	if (!t->idle[cpu])
		return rs_error_no_memory();
	rs_idle_init(t->idle[cpu], t->cpus[RS_TRACEDAT_FTRACE][cpu]);
	t->foreign.n_streams += RS_TRACEDAT_CLASSES;
	return NULL;
}

/* Returns whether a thread has the name "CPU n/KVM", which QEMU sets. It contains the vCPU's
 * number, but not the VM's name. */
static bool is_qemu(const char *comm, int *vcpu)
{
	int end = 0;

	return sscanf(comm, "CPU %d/KVM%n", vcpu, &end) == 1 && end && !comm[end] && *vcpu >= 0;
}

static struct rs_error *add_thread(struct tracedat *t, const struct rs_tracedat_thread *told)
{
	struct thread *thread = rs_arena_alloc(&t->arena, sizeof(*thread));
	size_t len = strnlen(told->comm, sizeof(told->comm));
	char *comm = len ? rs_arena_text(&t->arena, told->comm, len) : NULL;
	struct rs_stream stream = { .vcpu = told->vcpu >= 0 ? told->vcpu : RS_UNKNOWN,
				    .cpu = RS_UNKNOWN,
				    .tid = told->tid,
				    .clock = &t->foreign.clock };
	int vcpu;

	if (t->n_threads == THREADS_MAX || told->tid <= 0 || t->ready)
		return invalid_message(t);
	if (!RS_VECTOR_RESERVE(t->threads, t->threads_room, t->n_threads + 1) || !thread ||
	    (len && !comm))
		return rs_error_no_memory();
	if (comm) {
		rs_utf8_mend(comm, len);
		stream.thread = comm;
	}
	if (comm && told->is_vcpu) {
		if (!is_qemu(comm, &vcpu))
			stream.vm = comm;
		else if (stream.vcpu < 0)
			stream.vcpu = vcpu;
	}
	thread->tid = told->tid;
	for (uint32_t i = 0; i < RS_TRACEDAT_CLASSES; i++) {
		thread->streams[i] = stream;
		thread->streams[i].schema = t->schemas[i];
	}
	t->threads[t->n_threads++] = thread;
	return NULL;
}

/* Returns the Unix time of a stamp, or 0 if it is unknown. After trace-cmd record --date, stamps
 * are Unix times; no kernel has run for so long. TAI is ahead by leap seconds, which are unknown
 * here. */
static int64_t wall_of(uint64_t stamp, const char *clock)
{
	return stamp >= WALL_MIN && stamp <= INT64_MAX && strcmp(clock, "tai") != 0 ? (int64_t)stamp
										    : 0;
}

static struct rs_error *set_clock(struct tracedat *t, const struct rs_tracedat_clock *told)
{
	struct rs_clock *clock = &t->foreign.clock;
	char name[sizeof(told->name) + 1];

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(told->name), told->name);
	for (char *c = name; *c; c++) {
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9'))
			*c = '_';
	}
	*clock = (struct rs_clock){ .freq_hz = 1000000000,
				    .origin = told->first,
				    .wall_ns = wall_of(told->first, name),
				    .invariant = !told->is_cycles,
				    .monotonic = !strcmp(name, "mono") };
	snprintf(clock->name, sizeof(clock->name), "ftrace_%s", name);
	snprintf(clock->freq_from, sizeof(clock->freq_from), "%s",
		 clock->monotonic  ? "monotonic"
		 : told->is_cycles ? "unknown: 1 GHz is assumed"
				   : "ftrace");
	return rs_clock_init(clock);
}

static int by_tid(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static struct rs_error *set_ready(struct tracedat *t)
{
	struct rs_foreign *foreign = &t->foreign;
	uint32_t n = 0;

	if (t->ready || !foreign->clock.freq_hz)
		return invalid_message(t);
	if (t->n_threads)
		qsort(t->threads, t->n_threads, sizeof(*t->threads), by_tid);
	foreign->streams =
		rs_arena_alloc(&t->arena, (foreign->n_streams + 1) * sizeof(*foreign->streams));
	if (!foreign->streams)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < RS_TRACEDAT_CLASSES; i++) {
		for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
			if (!t->cpus[i][cpu])
				continue;
			t->cpus[i][cpu]->index = n;
			foreign->streams[n++] = t->cpus[i][cpu];
		}
	}
	for (uint32_t i = 0; i < t->n_threads; i++) {
		for (uint32_t j = 0; j < RS_TRACEDAT_CLASSES; j++)
			t->threads[i]->streams[j].index = n++;
	}
	t->last_tsc = foreign->clock.origin;
	t->ready = true;
	return NULL;
}

/* Adds an event to the schema. If the schema rejects the event, only its own records are lost. */
static struct rs_error *add_event(struct tracedat *t, const struct rs_tracedat_head *head,
				  const char *text)
{
	struct rs_error *err;

	if (head->id >= FILE_EVENTS)
		return invalid_message(t);
	err = rs_schema_declare(t->schemas[RS_TRACEDAT_FTRACE], RS_ID(RS_IDS_USER, head->id), text,
				head->text_bytes);
	if (err && rs_error_code(err) == RS_DAMAGED) {
		t->refused[head->id / 8] |= (uint8_t)(1u << head->id % 8);
		rs_error_free(err);
		err = NULL;
	}
	return err;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void set_end(struct tracedat *t, const struct rs_tracedat_end *end)
{
	struct rs_foreign_tally *tally = &t->foreign.tally;

	t->ended = true;
	tally->records = end->records;
	tally->lost = end->lost;
	tally->gaps = end->gaps;
	tally->left_out = end->undescribed + end->short_ones + t->n_refused;
	if (end->undescribed)
		rs_foreign_remark(tally, "%s left out: the file does not describe their events",
				  RS_COUNT_OF(end->undescribed, "record"));
	if (end->short_ones)
		rs_foreign_remark(tally, "%s left out: they are shorter than their events",
				  RS_COUNT_OF(end->short_ones, "record"));
	if (t->n_refused)
		rs_foreign_remark(tally, "%s left out: their events' descriptions are invalid",
				  RS_COUNT_OF(t->n_refused, "record"));
	if (end->gaps)
		rs_foreign_remark(tally,
				  "%llu losses have no number in the file: each counts as one",
				  (unsigned long long)end->gaps);
	if (end->fields)
		rs_foreign_remark(tally, "%llu fields left out: those beyond %d in an event",
				  (unsigned long long)end->fields, RS_FIELDS_MAX - 1);
	if (end->tids)
		rs_foreign_remark(tally, "more than %u threads: %s without a thread", THREADS_MAX,
				  RS_COUNT_OF(end->tids, "record"));
	if (!t->foreign.clock.invariant && t->ready)
		rs_foreign_remark(tally, "its clock does not count time: a count is shown as 1 ns; "
					 "use trace-cmd record -C mono, or tsc2nsec, for ns");
}

/* Returns the error for a pipe that ended without the reader's last message. */
static struct rs_error *reader_died(struct tracedat *t)
{
	char how[64] = "ended early";
	int status;

	if (t->child && waitpid(t->child, &status, 0) == t->child) {
		t->child = 0;
		if (WIFSIGNALED(status))
			snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
	}
	t->ended = t->died = true;
	return rs_error_create(RS_DAMAGED,
			       "%s: it is damaged: libtracecmd %s in it, after %s, which "
			       "are valid",
			       t->path, how, RS_COUNT_OF(t->given, "record"));
}

/* ---- records ------------------------------------------------------------------------------ */

/* Returns the stream of a record: its thread's, else its CPU's. Returns NULL if the file has no
 * such CPU. */
static const struct rs_stream *stream_of(struct tracedat *t, uint32_t class, uint32_t cpu,
					 const struct rs_event *event, const uint8_t *payload)
{
	const struct rs_field *field = event->fields;
	struct thread key, *at = &key, **found;

	if (cpu >= CPUS_MAX || !t->cpus[class][cpu])
		return NULL;
	if (!event->n_fields || field->type != RS_TYPE_U32 || strcmp(field->name, "tid") != 0)
		return t->cpus[class][cpu];
	key.tid = (int)rs_field_value(field, payload);
	if (!key.tid && class == RS_TRACEDAT_FTRACE)
		return &t->idle[cpu]->stream;
	if (!t->last_thread || t->last_thread->tid != key.tid) {
		found = t->n_threads ? bsearch(&at, t->threads, t->n_threads, sizeof(*t->threads),
					       by_tid)
				     : NULL;
		if (!found)
			return t->cpus[class][cpu];
		t->last_thread = *found;
	}
	return &t->last_thread->streams[class];
}

static struct rs_error *add_record(struct tracedat *t, const struct rs_tracedat_head *head,
				   const uint8_t *body, uint32_t bytes, struct rs_view *view,
				   bool *added)
{
	const struct rs_slot *slot = (const struct rs_slot *)(const void *)body;
	const struct rs_layout *layout;
	const struct rs_stream *stream;
	uint64_t id;

	if (!t->ready || head->class >= RS_TRACEDAT_CLASSES || bytes < RS_SLOT_BYTES ||
	    bytes % RS_SLOT_BYTES)
		return invalid_message(t);
	id = rs_slot_id(slot->head);
	if (RS_ID_PROVIDER(id) == RS_IDS_USER && (id & RS_ID_N_MAX) < FILE_EVENTS &&
	    t->refused[(id & RS_ID_N_MAX) / 8] & 1u << id % 8) {
		t->n_refused++;
		return NULL;
	}
	if (rs_layouts_check(&t->layouts[head->class], slot, bytes / RS_SLOT_BYTES, &layout) !=
		    bytes / RS_SLOT_BYTES ||
	    slot->tsc < t->last_tsc)
		return invalid_message(t);
	stream = stream_of(t, head->class, head->id, layout->event, slot->payload);
	if (!stream)
		return invalid_message(t);
	rs_view_fill(view, stream, slot, layout->event, bytes / RS_SLOT_BYTES);
	view->cpu = (int)head->id;
	if (view->ts_ns < t->last_ns) /* the stamp cannot be a time */
		return invalid_message(t);
	t->last_tsc = slot->tsc;
	t->last_ns = view->ts_ns;
	t->given++;
	*added = true;
	return NULL;
}

/* Sets the host's name, unless it contains characters other than letters, digits, '-' and '.'. */
static void set_host(struct tracedat *t, const char *host, uint32_t bytes)
{
	bool good = bytes < sizeof(t->foreign.host);

	for (uint32_t i = 0; good && i < bytes; i++)
		good = isalnum((unsigned char)host[i]) || strchr("-._", host[i]);
	if (good)
		memcpy(t->foreign.host, host, bytes);
}

/* ---- the pipe ----------------------------------------------------------------------------- */

/* Handles a message. A RECORD becomes a view. */
static struct rs_error *handle_message(struct tracedat *t, const struct rs_tracedat_head *head,
				       const uint8_t *body, struct rs_view *view, bool *added)
{
	uint32_t bytes = head->bytes - (uint32_t)sizeof(*head);
	struct rs_tracedat_thread thread;
	struct rs_tracedat_clock clock;

	switch (head->kind) {
	case RS_TRACEDAT_ALIVE:
		return NULL;
	case RS_TRACEDAT_CPU:
		return add_cpu(t, head->id);
	case RS_TRACEDAT_THREAD:
		if (bytes != sizeof(thread))
			return invalid_message(t);
		memcpy(&thread, body, sizeof(thread));
		return add_thread(t, &thread);
	case RS_TRACEDAT_CLOCK:
		if (bytes != sizeof(clock) || t->ready)
			return invalid_message(t);
		memcpy(&clock, body, sizeof(clock));
		return set_clock(t, &clock);
	case RS_TRACEDAT_BUFFER:
		if (head->text_bytes > bytes || t->ready)
			return invalid_message(t);
		return rs_schema_set_name(t->schemas[RS_TRACEDAT_FTRACE], head->id,
					  (const char *)body, head->text_bytes);
	case RS_TRACEDAT_HOST:
		if (head->text_bytes > bytes || t->ready)
			return invalid_message(t);
		set_host(t, (const char *)body, head->text_bytes);
		return NULL;
	case RS_TRACEDAT_READY:
		return set_ready(t);
	case RS_TRACEDAT_EVENT:
		if (head->text_bytes > bytes)
			return invalid_message(t);
		return add_event(t, head, (const char *)body);
	case RS_TRACEDAT_RECORD:
		return add_record(t, head, body, bytes, view, added);
	case RS_TRACEDAT_END:
		if (bytes < sizeof(t->end) || head->text_bytes > bytes - sizeof(t->end))
			return invalid_message(t);
		memcpy(&t->end, body, sizeof(t->end));
		snprintf(t->why, sizeof(t->why), "%.*s", (int)head->text_bytes,
			 (const char *)body + sizeof(t->end));
		rs_utf8_mend(t->why, strlen(t->why));
		set_end(t, &t->end);
		return NULL;
	default:
		return invalid_message(t);
	}
}

/* Reads from the pipe. Clears *any if nothing arrived within a tick. Returns an error at the pipe's
 * end, and if the reader has been silent for too long. */
static struct rs_error *fill(struct tracedat *t, bool *any)
{
	struct pollfd wait = { .fd = t->fd, .events = POLLIN };
	ssize_t n;

	*any = false;
	memmove(t->buffer, t->buffer + t->at, t->used - t->at);
	t->used -= t->at;
	t->at = 0;
	if (poll(&wait, 1, TICK_MS) <= 0) {
		if (rs_now_ms() - t->heard_ms < t->stuck_ms)
			return NULL;
		t->ended = true;
		return rs_error_create(RS_DAMAGED,
				       "%s: it is damaged: libtracecmd makes no progress "
				       "after %s, which are valid",
				       t->path, RS_COUNT_OF(t->given, "record"));
	}
	n = read(t->fd, t->buffer + t->used, BUFFER_BYTES - t->used);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return NULL;
	if (n <= 0)
		return reader_died(t);
	t->used += (uint32_t)n;
	t->heard_ms = rs_now_ms();
	*any = true;
	return NULL;
}

/* Handles the whole messages in the buffer, until there is no room for another view. Sets *n to the
 * number of views. */
static struct rs_error *parse(struct tracedat *t, size_t *n)
{
	struct rs_error *err = NULL;

	while (!err && !t->ended && *n < VIEWS &&
	       t->used - t->at >= sizeof(struct rs_tracedat_head)) {
		struct rs_tracedat_head head;
		bool added = false, was_ready = t->ready;

		memcpy(&head, t->buffer + t->at, sizeof(head));
		if (head.bytes < sizeof(head) || head.bytes > RS_TRACEDAT_MESSAGE_MAX ||
		    head.bytes % 8)
			return invalid_message(t);
		if (head.bytes > t->used - t->at)
			break;
		err = handle_message(t, &head, t->buffer + t->at + sizeof(head), &t->views[*n],
				     &added);
		t->at += head.bytes;
		*n += added;
		if (t->ready && !was_ready)
			break; /* next() handles the rest */
	}
	return err;
}

/* ---- as a source -------------------------------------------------------------------------- */

/* Returns the pending error: one after views, or the reader's own. */
static struct rs_error *end_error(struct tracedat *t)
{
	struct rs_error *err = t->held;

	t->held = NULL;
	if (!err && t->why[0])
		err = rs_error_create(RS_DAMAGED, "%s: %s", t->path, t->why);
	t->why[0] = '\0';
	return err;
}

static struct rs_error *tracedat_next(struct rs_source *source, struct rs_batch *batch)
{
	struct tracedat *t = (struct tracedat *)source;
	struct rs_error *err = NULL;
	bool any = true;
	size_t n = 0;

	while (!err && !n && any && !t->ended) {
		err = parse(t, &n);
		if (!err && !n && !t->ended)
			err = fill(t, &any);
	}
	if (err && n) { /* the records before it are valid */
		t->held = err;
		err = NULL;
		t->ended = true;
	}
	t->ended |= err != NULL;
	*batch = (struct rs_batch){ .kind = n	       ? RS_NEXT_EVENTS
					    : t->ended ? RS_NEXT_END
						       : RS_NEXT_IDLE,
				    .views = t->views,
				    .n = n,
				    .watermark_ns = t->ended && !n ? INT64_MAX : t->last_ns };
	if (err || n || !t->ended)
		return err;
	return end_error(t);
}

static void tracedat_destroy(struct rs_source *source)
{
	struct tracedat *t = (struct tracedat *)source;

	close(t->fd);
	if (t->child) {
		kill(t->child, SIGKILL);
		waitpid(t->child, NULL, 0);
	}
	for (uint32_t i = 0; i < RS_TRACEDAT_CLASSES; i++)
		rs_schema_destroy(t->schemas[i]);
	rs_error_free(t->held);
	rs_arena_deinit(&t->arena);
	free(t->threads);
	free(t->buffer);
	free(t->path);
	free(t);
}

static const struct rs_source_ops ops = {
	.name = "trace.dat",
	.next = tracedat_next,
	.destroy = tracedat_destroy,
};

/* Takes ownership of fd, also after an error. */
static struct rs_error *create(const char *path, int fd, int stuck_ms, struct tracedat **out)
{
	struct tracedat *t = calloc(1, sizeof(*t));
	struct rs_error *err;

	if (!t) {
		close(fd);
		return rs_error_no_memory();
	}
	t->foreign.source.ops = &ops;
	t->fd = fd;
	t->stuck_ms = stuck_ms;
	t->heard_ms = rs_now_ms();
	t->last_ns = INT64_MIN;
	t->path = strdup(path);
	t->buffer = aligned_alloc(64, BUFFER_BYTES);
	err = t->path && t->buffer ? rs_schema_create("kvm", &t->schemas[RS_TRACEDAT_KVM])
				   : rs_error_no_memory();
	if (!err)
		err = rs_schema_add_catalogue(t->schemas[RS_TRACEDAT_KVM], "kvm");
	if (!err)
		err = rs_schema_create(RS_FTRACE_PROVIDER, &t->schemas[RS_TRACEDAT_FTRACE]);
	if (err) {
		tracedat_destroy(&t->foreign.source);
		return err;
	}
	for (uint32_t i = 0; i < RS_TRACEDAT_CLASSES; i++)
		rs_layouts_init(&t->layouts[i], t->schemas[i]);
	*out = t;
	return NULL;
}

/* Handles the messages before the events. */
static struct rs_error *begin(struct tracedat *t)
{
	struct rs_error *err = NULL;
	size_t n = 0;
	bool any;

	while (!err && !t->ready && !t->ended) {
		err = parse(t, &n);
		if (!err && !t->ready && !t->ended)
			err = fill(t, &any);
	}
	if (!err && !t->ready)
		err = end_error(t);
	if (!err && !t->ready)
		err = invalid_message(t);
	return err;
}

/* ---- the reader --------------------------------------------------------------------------- */

/* Confines the child: it prints nothing, leaves no files and ends with the parent, and libtracecmd
 * can only read the file and write to the pipe. Returns false if the child must exit. */
static bool child_confine(const struct rs_confine *confine, pid_t parent, const int fds[3])
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	signal(SIGINT, SIG_IGN); /* the parent kills the child */
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd); /* libtracecmd's messages are discarded */
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0 && dup3(fds[i], CHILD_IN + i, O_CLOEXEC) < 0)
			return false;
	close_range(fds[2] < 0 ? CHILD_COPY : CHILD_COPY + 1, ~0u, 0);
	if (null < 0 || rs_confine_enter(confine))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears it */
	return getppid() == parent && !rs_confine_calls(RS_CONFINE_PARSER);
}

/* Starts the child. copy: an empty file, for a copy of a file that is cut, or -1. */
static struct rs_error *start(struct tracedat *t, int in, int copy, int out)
{
	struct rs_confine confine = { .descriptors = CHILD_DESCRIPTORS, .data_bytes = CHILD_BYTES };
	pid_t parent = getpid(), child;

	rs_confine_prepare(&confine);
	child = fork();
	if (child < 0)
		return rs_error_errno(errno, "%s: cannot start a process to read it", t->path);
	if (!child) {
		const int fds[] = { fcntl(in, F_DUPFD, CHILD_COPY + 1), /* above those below */
				    fcntl(out, F_DUPFD, CHILD_COPY + 1),
				    copy < 0 ? -1 : fcntl(copy, F_DUPFD, CHILD_COPY + 1) };

		if (!child_confine(&confine, parent, fds))
			_exit(1);
		_exit(rs_tracedat_read(&(struct rs_tracedat_reader){
			.in = CHILD_IN,
			.out = CHILD_OUT,
			.kvm = t->schemas[RS_TRACEDAT_KVM],
			.copy = copy < 0 ? -1 : CHILD_COPY,
		}));
	}
	t->child = child;
	return NULL;
}

/* Starts a reader, and waits until it is ready. Sets *died if the child ended before that. */
static struct rs_error *attempt(const char *path, int in, int stuck_ms, int copy, bool *died,
				struct rs_foreign **out)
{
	struct tracedat *t = NULL;
	struct rs_error *err;
	int ends[2];

	if (lseek(in, 0, SEEK_SET) || pipe2(ends, O_CLOEXEC))
		return rs_error_errno(errno, "%s", path);
	err = create(path, ends[0], stuck_ms, &t);
	if (!err)
		err = start(t, in, copy, ends[1]);
	close(ends[1]);
	if (!err)
		err = begin(t);
	*died = t && t->died;
	if (err && t)
		tracedat_destroy(&t->foreign.source);
	else if (!err)
		*out = &t->foreign;
	return err;
}

struct rs_error *rs_tracedat_open_within(const char *path, int stuck_ms, struct rs_foreign **out)
{
	int in = -1, copy = -1;
	struct rs_error *err = rs_given_open(path, RS_GIVEN_FILE, &in);
	bool died;

	if (err)
		return err;
	err = attempt(path, in, stuck_ms, -1, &died, out);
	if (err && died) { /* libtracecmd 3.1.6 crashes on some cut files */
		rs_error_free(err);
		err = rs_nameless_file(path, &copy);
		if (!err)
			err = attempt(path, in, stuck_ms, copy, &died, out);
	}
	if (copy >= 0)
		close(copy);
	close(in);
	return err;
}

struct rs_error *rs_tracedat_open(const char *path, struct rs_foreign **out)
{
	return rs_tracedat_open_within(path, STUCK_MS, out);
}

struct rs_error *rs_tracedat_open_pipe(int fd, int stuck_ms, struct rs_foreign **out)
{
	struct tracedat *t = NULL;
	struct rs_error *err = create("pipe", fd, stuck_ms, &t);

	if (!err)
		err = begin(t);
	if (err && t)
		tracedat_destroy(&t->foreign.source);
	else if (!err)
		*out = &t->foreign;
	return err;
}
