/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight threads log, signal handlers log in the middle of their lines, a ninth thread collects:
 * each number is read once and in order, or a gap in its place reports it; no line is corrupt or
 * made up. Early lines are there once, even if threads log during the switch.
 */
#include "../test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log/collect.h"
#include "log/memory.h"
#include "log_kit.h"

#define THREADS 8u
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint32_t counts[THREADS] = { 12503, 12511, 12517, 12527, 12539, 12541, 12547, 12553 };
#else
static const uint32_t counts[THREADS] = { 125003, 125017, 125029, 125053,
					  125063, 125093, 125101, 125107 };
#endif

static uint8_t *seen[THREADS + 1]; /* by who and n; the last: handlers, shared */

/* A collector's view. */
static struct {
	uint64_t next, lines, missing, bad, twice, gaps_bad;
} view;
static uint32_t counts_of_handlers = 1u << 22;

static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	uint32_t who, n;

	(void)ctx;
	CHECK_EQ_U64(line->seq, view.next);
	view.next = line->seq + 1;
	view.lines++;
	if (!kit_is_line(line, &who, &n) || who > THREADS ||
	    n >= (who == THREADS ? counts_of_handlers : counts[who])) {
		view.bad++;
		return NULL;
	}
	if (seen[who][n]++)
		view.twice++;
	return NULL;
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	(void)ctx;
	if (gap->first != view.next || gap->last < gap->first ||
	    (gap->from_us != UINT64_MAX && gap->from_us > gap->to_us))
		view.gaps_bad++;
	view.missing += gap->last - gap->first + 1;
	view.next = gap->last + 1;
	return NULL;
}

static void view_begin(void)
{
	memset(&view, 0, sizeof(view));
	view.next = 1;
	for (uint32_t i = 0; i <= THREADS; i++)
		seen[i] = calloc(i == THREADS ? counts_of_handlers : counts[i], 1);
}

static void view_end(void)
{
	for (uint32_t i = 0; i <= THREADS; i++)
		free(seen[i]);
}

static bool stop; /* relaxed: the join orders the rest */

static void *collect(void *arg)
{
	struct rs_log_collector *c = arg;
	bool done, last = false;

	while (!last) {
		last = __atomic_load_n(&stop, __ATOMIC_RELAXED);
		CHECK_OK(rs_log_collector_poll(c, kit_now_ms(), &done));
		sched_yield();
	}
	/* The writers have ended: this reads all. */
	CHECK_OK(rs_log_collector_poll(c, kit_now_ms(), &done));
	CHECK_OK(rs_log_collector_end(c, kit_now_ms()));
	return NULL;
}

static void *log_all(void *arg)
{
	uint32_t who = (uint32_t)(uintptr_t)arg;

	for (uint32_t n = 0; n < counts[who]; n++)
		kit_log(who, n);
	return NULL;
}

static struct rs_log_collector *collector_of(const char *path)
{
	const char *paths[] = { path };
	struct rs_log_collect_options options = {
		.paths = paths, .n_paths = 1, .patience_ms = RS_LOG_PATIENCE_MS, .consume = true
	};
	struct rs_log_taker taker = { NULL, on_line, on_gap };
	struct rs_log_collector *c = NULL;

	CHECK_OK(rs_log_collector_create(&options, &taker, &c));
	return c;
}

/* path: as for rs_log_start(); the collector's options point to it. */
static void logged_by_threads(const char *path, uint64_t others, void (*meanwhile)(pthread_t *))
{
	struct rs_log_collector *c = collector_of(path);
	struct rs_log_collected sum;
	pthread_t threads[THREADS], collector;
	uint64_t total = others;

	REQUIRE(c != NULL);
	stop = false;
	REQUIRE(!pthread_create(&collector, NULL, collect, c));
	for (uint32_t i = 0; i < THREADS; i++) {
		REQUIRE(!pthread_create(&threads[i], NULL, log_all, (void *)(uintptr_t)i));
		total += counts[i];
	}
	if (meanwhile)
		meanwhile(threads);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rs_log_stop();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(collector, NULL);
	sum = rs_log_collector_sum(c);
	total += __atomic_load_n(&view.bad, __ATOMIC_RELAXED); /* none; keeps the total right */
	printf("# %lu lines, %lu missing\n", view.lines, view.missing);
	CHECK_EQ_U64(view.bad, 0);
	CHECK_EQ_U64(view.twice, 0);
	CHECK_EQ_U64(view.gaps_bad, 0);
	CHECK_EQ_U64(sum.lines, view.lines);
	CHECK_EQ_U64(sum.missing, view.missing);
	CHECK_EQ_U64(sum.damaged, 0);
	if (!meanwhile)
		CHECK_EQ_U64(view.lines + view.missing, total);
	CHECK(view.lines > 0);
	rs_log_collector_destroy(c);
}

/* ---- early lines ---------------------------------------------------------------------------- */

static bool early_go;

static void *log_early(void *arg)
{
	uint32_t who = (uint32_t)(uintptr_t)arg;

	for (uint32_t n = 0; n < 400; n++) {
		if (n == 200) /* half of them before the start, half during it */
			while (!__atomic_load_n(&early_go, __ATOMIC_ACQUIRE))
				sched_yield();
		kit_log(who, n);
	}
	return NULL;
}

/* 3 x 400 lines of up to four elements: fewer than fit into the early lane. */
TEST(early_lines_are_there_once)
{
	struct rs_log_options options = { .bytes = 8 << 20 };
	struct rs_log_left left;
	struct rs_log_collector *c;
	pthread_t threads[3];
	bool done = false;

	kit_folder_make();
	view_begin();
	options.path = kit_path("early");
	for (uint32_t i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, log_early, (void *)(uintptr_t)i));
	__atomic_store_n(&early_go, true, __ATOMIC_RELEASE);
	REQUIRE_OK(rs_log_start(&options, &left));
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	c = collector_of(options.path);
	REQUIRE(c != NULL);
	CHECK_OK(rs_log_collector_poll(c, kit_now_ms(), &done));
	CHECK_OK(rs_log_collector_end(c, kit_now_ms()));
	CHECK_EQ_U64(view.lines, 1200);
	CHECK_EQ_U64(view.missing + view.bad + view.twice, 0);
	CHECK_ERR(rs_log_start(&options, &left), RS_USAGE, "already has a log");
	rs_log_collector_destroy(c);
	rs_log_stop();
	view_end();
	kit_folder_remove();
}

/* ---- a million ------------------------------------------------------------------------------ */

/* Numbers continue from the previous test: a run records where its own begin. */
static uint64_t first_number(const char *path)
{
	struct rs_log_head head;
	FILE *file = fopen(path, "rb");
	size_t n = file ? fread(&head, sizeof(head), 1, file) : 0;

	if (file)
		fclose(file);
	return n ? head.half[head.current & 1].first : 0;
}

/*
 * Inconsistent sizes fail after the file was created, and leave no file that would block a start
 * with others.
 */
TEST(a_failed_start_leaves_no_file)
{
	struct rs_log_options wrong = { .bytes = 65536, .lanes = RS_LOG_LANES_MAX };
	struct rs_log_options right = { .lanes = 1 };

	kit_folder_make();
	wrong.path = right.path = kit_path("failed");
	CHECK_ERR(rs_log_start(&wrong, NULL), RS_USAGE, "a log of 65536 bytes");
	CHECK(access(right.path, F_OK) != 0);
	REQUIRE_OK(rs_log_start(&right, NULL));
	rs_log_stop();
	CHECK(!access(right.path, F_OK));
	kit_folder_remove();
}

/* The mapping stays, here and in a child, which would keep a lock on its file. */
TEST(the_lock_is_released_with_the_log)
{
	struct rs_log_options options = { .lanes = 1 };
	struct rs_log_memory memory;
	char byte = 0;
	int ends[2];
	pid_t child;

	kit_folder_make();
	options.path = kit_path("lock");
	REQUIRE_OK(rs_log_start(&options, NULL));
	REQUIRE_OK(rs_log_memory_open(options.path, &memory));
	CHECK(rs_log_memory_is_locked(&memory, RS_LOG_LOCK_WRITER));
	REQUIRE(!pipe(ends));
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ends[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	REQUIRE(child > 0);
	CHECK(read(ends[0], &byte, 1) == 1); /* it runs: pthread_atfork() has been called */
	CHECK(rs_log_memory_is_locked(&memory, RS_LOG_LOCK_WRITER));
	rs_log_stop();
	CHECK(!rs_log_memory_is_locked(&memory, RS_LOG_LOCK_WRITER));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	rs_log_memory_close(&memory);
	kit_folder_remove();
}

TEST(eight_threads)
{
	struct rs_log_options options = { .lanes = 5 };

	kit_folder_make();
	view_begin();
	options.path = kit_path("threads");
	REQUIRE_OK(rs_log_start(&options, NULL));
	view.next = first_number(options.path);
	CHECK_EQ_U64(view.next, 1201);
	logged_by_threads(options.path, 0, NULL);
	view_end();
	kit_folder_remove();
}

/* ---- with room for all ----------------------------------------------------------------------- */

#define FEW 1511u /* 8 of them, of four elements at most, fit into each lane's ring */

static void *log_few(void *arg)
{
	for (uint32_t n = 0; n < FEW; n++)
		kit_log((uint32_t)(uintptr_t)arg, n);
	return NULL;
}

TEST(nothing_is_lost_with_enough_room)
{
	struct rs_log_options options = { .lanes = 1, .bytes = 16 << 20 };
	struct rs_log_collector *c;
	pthread_t threads[THREADS];
	bool done;

	kit_folder_make();
	view_begin();
	options.path = kit_path("few");
	REQUIRE_OK(rs_log_start(&options, NULL));
	view.next = first_number(options.path);
	for (uint32_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, log_few, (void *)(uintptr_t)i));
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	c = collector_of(options.path);
	REQUIRE(c != NULL);
	CHECK_OK(rs_log_collector_poll(c, kit_now_ms(), &done));
	CHECK_OK(rs_log_collector_end(c, kit_now_ms()));
	CHECK_EQ_U64(view.lines, THREADS * FEW);
	CHECK_EQ_U64(view.missing + view.bad + view.twice, 0);
	rs_log_collector_destroy(c);
	rs_log_stop();
	view_end();
	kit_folder_remove();
}

/* ---- handlers ------------------------------------------------------------------------------- */

#define SIGNALS 5003u
static uint32_t handled; /* relaxed */

static void handler(int sig)
{
	(void)sig;
	kit_log(THREADS, __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED));
}

static void storm(pthread_t *threads)
{
	for (uint32_t i = 0; i < SIGNALS; i++) {
		/* Threads that have ended still have an id, because they are not joined yet. */
		pthread_kill(threads[i % THREADS], i % 2 ? SIGUSR1 : SIGUSR2);
		if (i % 16 == 0)
			sched_yield();
	}
}

TEST(handlers_in_the_middle)
{
	struct sigaction action = { .sa_handler = handler };
	struct rs_log_options options = { .lanes = 1, .bytes = 1 << 20 };

	kit_folder_make();
	view_begin();
	options.path = kit_path("handlers");
	REQUIRE_OK(rs_log_start(&options, NULL));
	view.next = first_number(options.path);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	logged_by_threads(options.path, 0, storm);
	CHECK(__atomic_load_n(&handled, __ATOMIC_RELAXED) > 0);
	view_end();
	kit_folder_remove();
}
