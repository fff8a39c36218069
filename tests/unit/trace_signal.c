/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The complete trace API under signals: threads start and end, each interrupted by signals whose
 * handlers also trace, mostly in the middle of a put and sometimes before the thread has a ring; a
 * recorder drains all, and the trace is read back. Every event is in it once, in its emitter's
 * order, or is reported as lost.
 */
#include "../test.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ringside/reader.h>
#include <ringside/recorder.h>
#include <ringside/trace.h>

#define THREADS 3u /* at once */
#define WAVES	3u
#define PUTTERS (THREADS * WAVES)
#define SIGNALS 150u /* handled by each */
#define LEVELS	2u   /* the thread, its handlers */
#define CHECKED UINT64_C(0x9e3779b97f4a7c15)

RS_TRACE_CLASS(test, 0)
RS_DEFINE_EVENT(put, test, "put", (u32, putter), (u32, level), (u64, n), (x64, check));
RS_DEFINE_EVENT(small, test, "small", (u64, n));

static struct putter {
	pthread_t thread;
	uint64_t emitted[LEVELS]; /* relaxed; each written only by its level */
	bool done;		  /* relaxed */
} putters[PUTTERS];
static __thread struct putter *self;
static uint64_t small_emitted;

static void put(uint32_t level)
{
	uint64_t n = __atomic_load_n(&self->emitted[level], __ATOMIC_RELAXED);

	__atomic_store_n(&self->emitted[level], n + 1, __ATOMIC_RELAXED);
	RS_EMIT(put, .putter = (uint32_t)(self - putters), .level = level, .n = n,
		.check = n * CHECKED);
}

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	if (self)
		put(1);
	errno = saved;
}

static void *put_always(void *arg)
{
	struct timespec now;
	sigset_t none;

	sigemptyset(&none);
	self = arg;
	/* Half of them have their first event in a handler. */
	while ((self - putters) % 2 && !__atomic_load_n(&self->emitted[1], __ATOMIC_RELAXED))
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (!__atomic_load_n(&self->done, __ATOMIC_RELAXED)) {
		RS_SPAN(test, "a burst");

		for (uint32_t i = 0; i < 50; i++)
			put(0);
		/* As in ring_signal.c, because of ThreadSanitizer. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		sched_yield();
	}
	return NULL;
}

/* Signals each of a wave's threads until it has handled enough. */
static void storm(struct putter *wave)
{
	bool busy = true;

	while (busy) {
		busy = false;
		for (uint32_t i = 0; i < THREADS; i++) {
			struct putter *p = &wave[i];

			if (__atomic_load_n(&p->emitted[1], __ATOMIC_RELAXED) < SIGNALS) {
				pthread_kill(p->thread, SIGUSR1);
				busy = true;
			} else {
				__atomic_store_n(&p->done, true, __ATOMIC_RELAXED);
			}
		}
		sched_yield();
	}
}

static bool run_waves(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &action, NULL);
	for (uint32_t w = 0; w < WAVES; w++) {
		struct putter *wave = &putters[w * THREADS];

		for (uint32_t i = 0; i < THREADS; i++)
			if (!CHECK(!pthread_create(&wave[i].thread, NULL, put_always, &wave[i])))
				return false;
		storm(wave);
		for (uint32_t i = 0; i < THREADS; i++)
			pthread_join(wave[i].thread, NULL);
		RS_EMIT(small, .n = small_emitted++);
	}
	return true;
}

/* ---- reading back ------------------------------------------------------------------------------
 */

struct reader {
	struct rs_sink sink;
	uint64_t next[PUTTERS][LEVELS], kept, small, lost;
};

static uint64_t field_of(const struct rs_view *view, const char *name)
{
	for (uint16_t i = 0; i < view->event->n_fields; i++)
		if (!strcmp(view->event->fields[i].name, name))
			return rs_field_value(&view->event->fields[i], view->payload);
	CHECK(!"the event has that field");
	return 0;
}

static void check_put(struct reader *r, const struct rs_view *view)
{
	uint64_t putter = field_of(view, "putter"), level = field_of(view, "level");
	uint64_t n = field_of(view, "n");

	if (!CHECK(putter < PUTTERS && level < LEVELS))
		return;
	CHECK(field_of(view, "check") == n * CHECKED);
	CHECK(n >= r->next[putter][level]);
	r->next[putter][level] = n + 1;
	r->kept++;
}

static struct rs_error *check_views(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct reader *r = (struct reader *)sink;

	for (size_t i = 0; i < n; i++) {
		const struct rs_view *view = &views[i];

		if (view->event->kind == RS_KIND_LOSS)
			r->lost += rs_view_loss(view).count;
		else if (!strcmp(view->event->name, "put"))
			check_put(r, view);
		else if (!strcmp(view->event->name, "small"))
			CHECK_EQ_U64(field_of(view, "n"), r->small++);
		else if (view->event->kind == RS_KIND_SPAN_BEGIN)
			r->kept++;
		else if (view->event->kind == RS_KIND_SPAN_END)
			r->kept++;
	}
	return NULL;
}

static void read_back(const char *folder, struct reader *r)
{
	static const struct rs_sink_ops ops = { .name = "test", .events = check_views };
	struct rs_source *source;
	struct rs_trace *trace;

	r->sink.ops = &ops;
	REQUIRE_OK(rs_trace_open(folder, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CLOSED);
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &r->sink, NULL));
	/* A stream for each thread that traced, and for this one. */
	CHECK_EQ_U64(rs_trace_stream_count(trace), PUTTERS + 1);
	rs_source_destroy(source);
	rs_trace_close(trace);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

TEST(handlers_threads_and_a_recorder)
{
	char folder[] = "/tmp/ringside-signal-XXXXXX";
	struct rs_recorder_options options = { .directory = folder, .poll_us = 200 };
	struct rs_recorder_summary summary = { 0 };
	struct rs_recorder *recorder;
	static struct reader r;
	uint64_t emitted = 0;
	int status = -1;
	pid_t child;

	REQUIRE(mkdtemp(folder));
	REQUIRE_OK(rs_clock_host(&options.clock));
	REQUIRE_OK(rs_recorder_create(&options, &recorder));
	REQUIRE_OK(rs_trace_start(
		&(struct rs_trace_options){ .provider = "test", .ring_bytes = 64u << 10 }));
	REQUIRE_OK(rs_recorder_add_trace(recorder));
	REQUIRE(run_waves());

	/* A child has the rings mapped, and must not write to them. */
	child = fork();
	if (!child) {
		for (uint32_t i = 0; i < 1000; i++)
			RS_EMIT(small, .n = 77);
		_exit(rs_trace_self.ring != NULL);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	RS_EMIT(small, .n = small_emitted++);

	rs_trace_stop();
	CHECK_OK(rs_recorder_close(recorder, &summary));
	read_back(folder, &r);
	for (uint32_t p = 0; p < PUTTERS; p++)
		for (uint32_t l = 0; l < LEVELS; l++)
			emitted += putters[p].emitted[l];
	/* Spans are two events per burst, and a burst is 50 puts of level 0. */
	for (uint32_t p = 0; p < PUTTERS; p++)
		emitted += putters[p].emitted[0] / 50 * 2;
	CHECK_EQ_U64(r.small, small_emitted);
	CHECK_EQ_U64(r.kept + r.lost, emitted);
	CHECK_EQ_U64(summary.lost, r.lost);
	CHECK_EQ_U64(summary.records, r.kept + r.small);
	printf("# %" PRIu64 " emitted, %" PRIu64 " kept, %" PRIu64 " lost\n", emitted, r.kept,
	       r.lost);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
