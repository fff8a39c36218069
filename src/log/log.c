/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging in a program of the host.
 *
 *	RS_LOG() -> number -> text -> target's lane of this CPU      target: early, shared, or none
 *	                           -> console                        -> event in this thread's trace
 *
 * Targets. The first line makes the early one, a lane in private memory; rs_log_start() makes the
 * shared one. At the switch only rs_log_start() waits:
 *
 *	line:   early_users++;  target?  put;  early_users--
 *	start:  copies what is there;  target = shared;  until early_users is 0;  copies the rest
 *
 * So early lines are in the shared rings when their half is declared in use, and only once: the
 * reader of the early lane continues where it stopped. A shared target is never unmapped, so lines
 * need not mark that they use it.
 */
#include <ringside/log.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "log/memory.h"
#include "trace/trace.h"
#include <ringside/clock.h>

#define EARLY_ELEMENTS 4096u
#define THREAD_MAX     16 /* bytes of a thread's name in the kernel */
#define US_NS	       1000

/* The destination of lines for the memory. Complete before it is published. */
struct target {
	uint32_t lanes;
	struct rs_log_lane lane[RS_LOG_LANES_MAX];
};

static uint32_t private_levels[RS_LOG_SINKS] = {
	[RS_LOG_CONSOLE] = RS_LOG_LEVEL_CONSOLE,
	[RS_LOG_MEMORY] = RS_LOG_LEVEL_MEMORY,
};
const uint32_t *rs_log_levels = private_levels;

static struct {
	const struct target *target; /* NULL: early; acquire, pairs with start's store */
	uint64_t number;	     /* the last number that was assigned */
	uint32_t early_users;
	void *early; /* memory of its lane; NULL: none yet */
	bool closed; /* neither early nor shared memory exists any more */
	/* The origin of µs: the monotonic clock's ns at 0 and, once the TSC's rate is known, the
	 * TSC's. */
	int64_t begin_ns;
	uint64_t origin, us_mult; /* us_mult 0: not known yet; acquire */
} self;

static struct {
	pthread_mutex_t lock; /* start, stop */
	struct rs_log_memory memory;
	struct target targets[2]; /* by half, since an earlier run's half may still be read */
	bool started, prepared;
	uint32_t half;
	uint64_t first; /* the number that the next run begins with */
} owner = { .first = 1, .lock = PTHREAD_MUTEX_INITIALIZER };

/* Filled at the thread's first line. A handler that interrupts this fills in the same. A later name
 * is placed beside the one that handlers may still read. */
static __thread struct {
	struct thread_name {
		char text[THREAD_MAX];
		uint32_t bytes; /* 0: not yet filled */
	} names[2];
	uint32_t at;
} thread __attribute__((tls_model("initial-exec")));

/* ---- time, thread, CPU ---------------------------------------------------------------------- */

/* Returns the µs since the first line. */
static uint64_t us_now(void)
{
	/* Pairs with the release in tsc_begin(). */
	uint64_t mult = __atomic_load_n(&self.us_mult, __ATOMIC_ACQUIRE);
	int64_t now, begin;

	if (mult)
		return rs_log_us(rs_tsc(), __atomic_load_n(&self.origin, __ATOMIC_RELAXED), mult);
	now = rs_now_ns(CLOCK_MONOTONIC);
	begin = __atomic_load_n(&self.begin_ns, __ATOMIC_RELAXED);
	if (!begin) {
		begin = 0;
		if (__atomic_compare_exchange_n(&self.begin_ns, &begin, now, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			begin = now;
	}
	return now > begin ? (uint64_t)(now - begin) / US_NS : 0;
}

/* Replaces brackets and controls, which would change how the line is parsed. */
static void tidy(char *name)
{
	for (; *name; name++) {
		if (*name == '[' || *name == ']' || (unsigned char)*name < ' ' || *name == 0x7f)
			*name = '_';
	}
}

static void name_thread(struct thread_name *name)
{
	uint32_t at = !thread.at;

	tidy(name->text);
	name->bytes = (uint32_t)strlen(name->text);
	thread.names[at] = *name;
	__atomic_signal_fence(__ATOMIC_RELEASE); /* for handlers */
	thread.at = at;
}

static const struct thread_name *own_name(void)
{
	struct thread_name name = { 0 };

	if (!thread.names[thread.at].bytes) {
		prctl(PR_GET_NAME, name.text);
		if (!name.text[0])
			name.text[0] = '?';
		name_thread(&name);
	}
	return &thread.names[thread.at];
}

void rs_log_thread(const char *name)
{
	struct thread_name own;

	snprintf(own.text, sizeof(own.text), "%s", name);
	name_thread(&own);
}

/* ---- the early target ----------------------------------------------------------------------- */

static size_t early_bytes(void)
{
	return rs_log_lane_bytes(EARLY_ELEMENTS);
}

/* Creates the early lane. A handler may do the same during this call: both may map memory, and one
 * mapping is used. */
static bool early_lane(struct rs_log_lane *lane)
{
	void *mem = __atomic_load_n(&self.early, __ATOMIC_ACQUIRE);
	void *none = NULL;

	if (!mem) {
		mem = mmap(NULL, early_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
		if (mem == MAP_FAILED)
			return false;
		rs_log_lane_create(lane, mem, EARLY_ELEMENTS);
		/* Pairs with the acquire above. */
		if (!__atomic_compare_exchange_n(&self.early, &none, mem, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			munmap(mem, early_bytes());
			mem = none;
		}
	}
	rs_log_lane_init(lane, mem, EARLY_ELEMENTS);
	return true;
}

/* Puts a line into the early lane. Returns false if there is now a shared target. */
static bool put_early(struct rs_log_line_buffer *line)
{
	struct rs_log_lane lane;
	bool early;

	/* A Dekker pair, with the load that follows: start stores target and loads early_users.
	 */
	__atomic_fetch_add(&self.early_users, 1, __ATOMIC_SEQ_CST);
	early = !__atomic_load_n(&self.target, __ATOMIC_SEQ_CST);
	if (early && !__atomic_load_n(&self.closed, __ATOMIC_RELAXED) && early_lane(&lane))
		rs_log_lane_put(&lane, line);
	__atomic_fetch_sub(&self.early_users, 1, __ATOMIC_SEQ_CST);
	return early;
}

static void put_memory(struct rs_log_line_buffer *line, uint32_t cpu)
{
	const struct target *target = __atomic_load_n(&self.target, __ATOMIC_ACQUIRE);

	if (!target && put_early(line))
		return;
	if (!target)
		target = __atomic_load_n(&self.target, __ATOMIC_ACQUIRE);
	rs_log_lane_put(&target->lane[cpu < target->lanes ? cpu : cpu % target->lanes], line);
}

/* ---- a line --------------------------------------------------------------------------------- */

static void put_console(struct rs_log_line_buffer *line)
{
	char text[RS_LOG_LINE_MAX + 1];
	ssize_t n;

	memcpy(text, line->words, line->bytes);
	text[line->bytes] = '\n';
	do {
		n = write(STDERR_FILENO, text, line->bytes + 1);
	} while (n < 0 && errno == EINTR);
}

static void put_event(const struct rs_log_line_buffer *line, const struct rs_log_prefix *prefix)
{
	struct rs_log_message event = { .seq = prefix->seq, .level = prefix->level };
	uint32_t bytes;
	const char *text = rs_log_line_message(line, &bytes);

	rs_emit_text(&rs_trace_self, RS_ID_LOG, &event, sizeof(event), text, bytes);
}

void rs_log_vput(enum rs_log_level level, const char *format, va_list args)
{
	const uint32_t *levels = __atomic_load_n(&rs_log_levels, __ATOMIC_ACQUIRE);
	bool memory =
		__atomic_load_n(&levels[RS_LOG_MEMORY], __ATOMIC_RELAXED) >= (uint32_t)level &&
		!__atomic_load_n(&self.closed, __ATOMIC_RELAXED);
	bool console =
		__atomic_load_n(&levels[RS_LOG_CONSOLE], __ATOMIC_RELAXED) >= (uint32_t)level;
	struct rs_log_line_buffer line;
	struct rs_log_prefix prefix = { .level = level };
	const struct thread_name *name;
	int cpu, saved = errno;

	if (!memory && !console)
		return;
	cpu = sched_getcpu();
	prefix.cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	prefix.us = us_now();
	name = own_name();
	prefix.thread = name->text;
	prefix.thread_bytes = name->bytes;
	if (memory)
		prefix.seq = __atomic_add_fetch(&self.number, 1, __ATOMIC_RELAXED);
	rs_log_line_make(&line, &prefix, format, args);
	if (memory) {
		put_memory(&line, prefix.cpu);
		if (__atomic_load_n(&rs_trace_mask, __ATOMIC_RELAXED) & RS_CLASS_log)
			put_event(&line, &prefix);
	}
	if (console)
		put_console(&line);
	errno = saved;
}

void rs_log_put(enum rs_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rs_log_vput(level, format, args);
	va_end(args);
}

void rs_log_set_level(enum rs_log_sink sink, uint32_t level)
{
	/* The levels are in this program, or in memory that it may write. */
	uint32_t *levels = (uint32_t *)__atomic_load_n(&rs_log_levels, __ATOMIC_ACQUIRE);

	__atomic_store_n(&levels[sink], level, __ATOMIC_RELAXED);
}

/* ---- start ---------------------------------------------------------------------------------- */

/* Computes µs from the TSC from now on, continuing from the present value. */
static void tsc_begin(struct rs_log_half *half)
{
	struct rs_clock clock;
	struct rs_error *err = rs_clock_host(&clock);
	uint64_t us = us_now();
	uint64_t now = rs_tsc();

	if (!err && !self.us_mult) {
		self.origin = now - (uint64_t)((unsigned __int128)us * clock.freq_hz / 1000000);
		/* Pairs with the acquire in us_now(). */
		__atomic_store_n(&self.us_mult, rs_log_us_mult(clock.freq_hz), __ATOMIC_RELEASE);
	}
	half->origin = self.origin;
	half->freq_hz = err ? 0 : clock.freq_hz;
	half->wall_ns = err ? 0 : clock.wall_ns - (int64_t)us * US_NS;
	rs_error_free(err);
}

static struct rs_error *check_sizes(const struct rs_log_options *options)
{
	if (options->bytes > RS_LOG_BYTES_MAX || options->lanes > RS_LOG_LANES_MAX)
		return rs_error_create(RS_USAGE,
				       "a log of %llu bytes, %u lanes: up to %llu and %u are "
				       "possible",
				       (unsigned long long)options->bytes, options->lanes,
				       (unsigned long long)RS_LOG_BYTES_MAX, RS_LOG_LANES_MAX);
	return NULL;
}

static uint32_t lanes_of(const struct rs_log_options *options)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (options->lanes)
		return options->lanes;
	return cpus < 1 ? 1 : cpus > (long)RS_LOG_LANES_MAX ? RS_LOG_LANES_MAX : (uint32_t)cpus;
}

static void half_prepare(struct rs_log_memory *m, uint32_t at, const char *name)
{
	struct rs_log_half *half = &m->head->half[at];
	struct target *target = &owner.targets[at];
	uint64_t runs[2] = { m->head->half[0].run, m->head->half[1].run };

	*half = (struct rs_log_half){ .run = (runs[0] > runs[1] ? runs[0] : runs[1]) + 1,
				      .pid = (uint64_t)getpid(),
				      .first = owner.first };
	if (name)
		snprintf(half->name, sizeof(half->name), "%s", name);
	else
		prctl(PR_GET_NAME, half->name);
	tsc_begin(half);
	target->lanes = m->layout.lanes;
	for (uint32_t i = 0; i < m->layout.lanes; i++) {
		rs_log_memory_lane(m, at, i, &target->lane[i]);
		rs_log_lane_create(&target->lane[i], target->lane[i].ring, m->layout.elements);
	}
	memset((uint8_t *)m->map.mem + rs_log_traces_at(&m->layout, at), 0, m->layout.trace_bytes);
}

/* Switches to the shared target. Afterwards no line uses the early lane, which is freed. */
static void early_end(const struct target *target)
{
	void *early = __atomic_load_n(&self.early, __ATOMIC_ACQUIRE);
	struct rs_log_reader reader = { 0 };
	struct rs_log_lane lane;

	if (early) {
		rs_log_lane_init(&lane, early, EARLY_ELEMENTS);
		rs_log_reader_init(&reader, &lane, 0);
		rs_log_move(&reader, target->lane, target->lanes);
	}
	__atomic_store_n(&self.target, target, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&self.early_users, __ATOMIC_SEQ_CST))
		sched_yield();
	early = __atomic_exchange_n(&self.early, NULL, __ATOMIC_ACQ_REL);
	if (!early)
		return;
	if (!reader.lane.ring) {
		rs_log_lane_init(&lane, early, EARLY_ELEMENTS);
		rs_log_reader_init(&reader, &lane, 0);
	}
	rs_log_move(&reader, target->lane, target->lanes);
	munmap(early, early_bytes());
}

static void levels_use(uint32_t *levels, bool carry)
{
	const uint32_t *old = rs_log_levels;

	for (uint32_t i = 0; carry && i < RS_LOG_SINKS; i++)
		__atomic_store_n(&levels[i], old[i], __ATOMIC_RELAXED);
	/* Pairs with the acquires of threads that log. */
	__atomic_store_n(&rs_log_levels, levels, __ATOMIC_RELEASE);
}

/* Detaches the child, which has the memory mapped, and would continue the parent's numbers. */
static void after_fork_in_child(void)
{
	__atomic_store_n(&self.closed, true, __ATOMIC_RELAXED);
	private_levels[RS_LOG_CONSOLE] = rs_log_levels[RS_LOG_CONSOLE];
	private_levels[RS_LOG_MEMORY] = rs_log_levels[RS_LOG_MEMORY];
	__atomic_store_n(&rs_log_levels, private_levels, __ATOMIC_RELEASE);
	if (owner.memory.map.fd > 0) { /* otherwise the child would keep the lock */
		close(owner.memory.map.fd);
		owner.memory.map.fd = -1;
	}
	owner.started = false;
	owner.first = __atomic_load_n(&self.number, __ATOMIC_RELAXED) + 1;
}

static void begin(struct rs_log_memory *m, uint32_t half, bool made)
{
	if (!owner.prepared)
		pthread_atfork(NULL, NULL, after_fork_in_child);
	owner.prepared = true;
	owner.memory = *m;
	owner.half = half;
	owner.started = true;
	early_end(&owner.targets[half]);
	rs_trace_survive((uint8_t *)m->map.mem + rs_log_traces_at(&m->layout, half),
			 m->layout.trace_bytes);
	__atomic_store_n(&self.closed, false, __ATOMIC_RELAXED);
	levels_use(m->head->level, made);
	/* Pairs with the acquires of collectors: the early lines are in the rings. */
	__atomic_store_n(&m->head->half[half].state, RS_LOG_HALF_IN_USE, __ATOMIC_RELEASE);
	__atomic_store_n(&m->head->current, half, __ATOMIC_RELEASE);
}

static struct rs_error *start(const struct rs_log_options *options, struct rs_log_left *left)
{
	struct rs_log_memory memory;
	uint32_t half = 0;
	bool made = false;
	struct rs_error *err = rs_log_memory_claim(options, left, &memory, &half, &made);

	if (err)
		return err;
	half_prepare(&memory, half, options->name);
	begin(&memory, half, made);
	return NULL;
}

struct rs_error *rs_log_start(const struct rs_log_options *options, struct rs_log_left *left)
{
	struct rs_log_options own = *options;
	struct rs_log_left unused;
	char path[RS_LOG_NAME_MAX + 32], name[THREAD_MAX] = "";
	struct rs_error *err = check_sizes(options);

	if (err)
		return err;
	if (!left)
		left = &unused;
	memset(left, 0, sizeof(*left));
	prctl(PR_GET_NAME, name);
	snprintf(path, sizeof(path), "shm:ringside-log-%s", options->name ? options->name : name);
	own.path = options->path ? options->path : path;
	own.lanes = lanes_of(options);
	pthread_mutex_lock(&owner.lock);
	if (owner.started)
		err = rs_error_create(RS_USAGE, "this program already has a log: %s",
				      owner.memory.name);
	else
		err = start(&own, left);
	pthread_mutex_unlock(&owner.lock);
	return err;
}

void rs_log_stop(void)
{
	pthread_mutex_lock(&owner.lock);
	if (owner.started) {
		__atomic_store_n(&self.closed, true, __ATOMIC_RELAXED);
		private_levels[RS_LOG_CONSOLE] = rs_log_levels[RS_LOG_CONSOLE];
		private_levels[RS_LOG_MEMORY] = rs_log_levels[RS_LOG_MEMORY];
		__atomic_store_n(&rs_log_levels, private_levels, __ATOMIC_RELEASE);
		rs_log_memory_end(&owner.memory, owner.half);
		close(owner.memory.map.fd); /* releases the lock; the mapping stays */
		owner.memory.map.fd = -1;
		owner.started = false;
		owner.first = __atomic_load_n(&self.number, __ATOMIC_RELAXED) + 1;
	}
	pthread_mutex_unlock(&owner.lock);
}
