/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that trace all the time, and their signal handlers, while recorders come and go: each
 * recorder's file gets the rings that the threads had before. Every event is in one of the traces,
 * in the order of its emitter, or is reported as lost.
 */
#include "shared_kit.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>

#include "trace/trace.h"
#include <ringside/reader.h>
#include <ringside/recorder.h>

#define THREADS	  5u
#define RECORDERS 11u
#define LEVELS	  2u /* the thread, its handlers */
#define PUTS	  151u

RS_TRACE_CLASS(test, 0)
RS_DEFINE_EVENT(put, test, "put", (u32, putter), (u32, level), (u64, n));

static struct putter {
	pthread_t thread;
	uint64_t emitted[LEVELS]; /* relaxed; each written by its level alone */
} putters[THREADS];
static __thread struct putter *self;
static bool done; /* relaxed */

static void put(uint32_t level)
{
	uint64_t n = __atomic_load_n(&self->emitted[level], __ATOMIC_RELAXED);

	__atomic_store_n(&self->emitted[level], n + 1, __ATOMIC_RELAXED);
	RS_EMIT(put, .putter = (uint32_t)(self - putters), .level = level, .n = n);
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
	self = arg;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < 7; i++)
			put(0);
		if (self - putters)
			usleep(50);
		else
			sched_yield();
	}
	return NULL;
}

/* ---- reading back --------------------------------------------------------------------------- */

struct reader {
	struct rs_sink sink;
	uint64_t next[THREADS][LEVELS], kept, lost;
};

static struct rs_error *on_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct reader *r = (struct reader *)sink;

	for (size_t i = 0; i < n; i++) {
		const struct rs_view *view = &views[i];
		const struct rs_field *fields = view->event->fields;
		uint64_t putter, level, number;

		if (view->event->kind == RS_KIND_LOSS)
			r->lost += rs_view_loss(view).count;
		if (strcmp(view->event->name, "put") != 0)
			continue;
		putter = rs_field_value(&fields[0], view->payload);
		level = rs_field_value(&fields[1], view->payload);
		number = rs_field_value(&fields[2], view->payload);
		if (!CHECK(putter < THREADS && level < LEVELS))
			continue;
		CHECK(number >= r->next[putter][level]);
		r->next[putter][level] = number + 1;
		r->kept++;
	}
	return NULL;
}

static void read_back(const char *folder, struct reader *r)
{
	static const struct rs_sink_ops ops = { .name = "test", .events = on_events };
	struct rs_source *source;
	struct rs_trace *trace;

	r->sink.ops = &ops;
	REQUIRE_OK(rs_trace_open(folder, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CLOSED);
	/* A ring that is left for another continues its stream. */
	CHECK_EQ_U64(rs_trace_stream_count(trace), THREADS);
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &r->sink, NULL));
	rs_source_destroy(source);
	rs_trace_close(trace);
}

/* ---- the recorders -------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static uint64_t emitted_all(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < THREADS; i++)
		for (uint32_t l = 0; l < LEVELS; l++)
			sum += __atomic_load_n(&putters[i].emitted[l], __ATOMIC_RELAXED);
	return sum;
}

/* Returns whether each thread has put, and handled signals, so often since. */
static bool have_put(const struct putter *before)
{
	for (uint32_t i = 0; i < THREADS; i++)
		for (uint32_t l = 0; l < LEVELS; l++)
			if (__atomic_load_n(&putters[i].emitted[l], __ATOMIC_RELAXED) <
			    before[i].emitted[l] + (l ? 3 : PUTS))
				return false;
	return true;
}

static void storm(void)
{
	struct putter before[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		for (uint32_t l = 0; l < LEVELS; l++)
			before[i].emitted[l] =
				__atomic_load_n(&putters[i].emitted[l], __ATOMIC_RELAXED);
	while (!have_put(before)) {
		for (uint32_t i = 0; i < THREADS; i++)
			pthread_kill(putters[i].thread, SIGUSR1);
		usleep(100); /* a thread that only handles signals would never put at level 0 */
	}
}

/* Returns whether a file of rings can be made here. */
static bool has_place(void)
{
	struct rs_trace_file *file = NULL;
	static const uint8_t uuid[16] = { 1 };
	struct rs_error *err;

	shared_folders_own();
	err = rs_trace_file_create(uuid, NULL, &file);
	if (err)
		printf("# %s\n", rs_error_text(err));
	rs_error_free(err);
	rs_trace_file_destroy(file);
	return file != NULL;
}

static uint64_t files(void)
{
	char file[PATH_MAX];

	return shared_rings(getpid(), file);
}

/* Returns how many rings are in the file; UINT32_MAX, which ends a wait, if it cannot be read. */
static uint32_t rings_in_file(void)
{
	struct rs_survive_place place;
	struct rs_survive_head head = { 0 };
	char file[PATH_MAX];
	uint32_t n = 0;
	int fd = -1;

	if (CHECK_EQ_U64(shared_rings(getpid(), file), 1))
		fd = open(file, O_RDONLY);
	if (!CHECK(pread(fd, &head, sizeof(head), 0) == sizeof(head)))
		n = UINT32_MAX;
	for (uint32_t i = 0; i < head.places; i++) {
		uint64_t at = sizeof(head) + head.definition_bytes + (uint64_t)i * head.place_bytes;

		if (pread(fd, &place, sizeof(place), (off_t)at) == sizeof(place))
			n += place.used == 1;
	}
	close(fd);
	return n;
}

TEST(rings_change_while_threads_and_handlers_put)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	char folder[] = "/tmp/ringside-change-XXXXXX", path[64];
	static struct reader r;
	bool place = has_place();

	REQUIRE(mkdtemp(folder));
	sigaction(SIGUSR1, &action, NULL);
	REQUIRE_OK(rs_trace_start(
		&(struct rs_trace_options){ .provider = "test", .ring_bytes = 64u << 10 }));
	for (uint32_t i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&putters[i].thread, NULL, put_always, &putters[i]));
	storm(); /* their rings are private ones */
	for (uint32_t n = 0; n < RECORDERS; n++) {
		struct rs_recorder_options options = { .directory = path, .poll_us = 200 };
		struct rs_recorder *recorder;

		snprintf(path, sizeof(path), "%s/%u", folder, n);
		REQUIRE_OK(rs_clock_host(&options.clock));
		REQUIRE_OK(rs_recorder_create(&options, &recorder));
		REQUIRE_OK(rs_recorder_add_trace(recorder));
		CHECK_EQ_U64(files(), place);
		if (n % 3 == 1) /* others close while threads are leaving */
			storm();
		while (n == 0 && place && rings_in_file() < THREADS)
			storm(); /* each thread leaves its private ring */
		if (n == RECORDERS - 1) {
			__atomic_store_n(&done, true, __ATOMIC_RELAXED);
			for (uint32_t i = 0; i < THREADS; i++)
				pthread_join(putters[i].thread, NULL);
		}
		CHECK_OK(rs_recorder_close(recorder, NULL));
		CHECK_EQ_U64(files(), 0);
		if (n < RECORDERS - 1)
			storm();
	}
	for (uint32_t n = 0; n < RECORDERS; n++) {
		snprintf(path, sizeof(path), "%s/%u", folder, n);
		read_back(path, &r);
	}
	rs_trace_stop();
	CHECK_EQ_U64(r.kept + r.lost, emitted_all());
	printf("# %" PRIu64 " kept, %" PRIu64 " lost%s\n", r.kept, r.lost,
	       place ? "" : "; no ring changes, since there is no tmpfs for a file");
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- one thread, many VMs ------------------------------------------------------------------- */

#define SANDBOXES 2003u /* SANDBOXES sets another number; a million have been run */
#define RING	  (64u << 10)
#define AT_ONCE	  6u /* rings: the thread's, and those whose packets are being written */

static uint32_t sandboxes(void)
{
	const char *text = getenv("SANDBOXES");

	return text ? (uint32_t)strtoul(text, NULL, 10) : SANDBOXES;
}

static uint32_t mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint32_t n = 0;
	int c;

	while (file && (c = fgetc(file)) != EOF)
		n += c == '\n';
	if (file)
		fclose(file);
	return n;
}

/* Returns the memory of the file of rings. */
static uint64_t file_memory(void)
{
	struct stat st = { 0 };
	char file[PATH_MAX];

	if (CHECK_EQ_U64(shared_rings(getpid(), file), 1))
		CHECK(!stat(file, &st));
	return (uint64_t)st.st_blocks * 512;
}

TEST(the_rings_of_vms_that_are_gone_leave_no_memory)
{
	char folder[] = "/tmp/ringside-change-XXXXXX", path[64], vm[32];
	struct rs_recorder_options options = { .directory = path, .poll_us = 200 };
	struct rs_recorder_summary sum = { 0 };
	uint32_t n = sandboxes(), early = 0, late = 0, before = mappings();
	uint64_t memory = 0, most = 0;
	bool place = has_place();
	struct rs_recorder *recorder;

	REQUIRE(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace", folder);
	REQUIRE_OK(rs_clock_host(&options.clock));
	REQUIRE_OK(rs_trace_start(
		&(struct rs_trace_options){ .provider = "test", .ring_bytes = RING }));
	REQUIRE_OK(rs_recorder_create(&options, &recorder));
	REQUIRE_OK(rs_recorder_add_trace(recorder));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(vm, sizeof(vm), "sandbox-%u", i);
		rs_trace_thread(vm, 0);
		RS_EMIT(put, .putter = 0, .level = 0, .n = i);
		/* The records before this one are written, so their rings can go. */
		for (sum.records = 0; sum.records < i; rs_recorder_progress(recorder, &sum))
			usleep(100);
		if (i == n / 4)
			early = mappings();
		memory = place && i % 97 == 0 ? file_memory() : memory;
		most = memory > most ? memory : most;
	}
	late = mappings();
	CHECK(late <= early + 2 * AT_ONCE);
	CHECK(most <= (256u << 10) + AT_ONCE * (RING + 8192));
	rs_trace_thread(NULL, -1);
	rs_trace_stop();
	CHECK_OK(rs_recorder_close(recorder, &sum));
	CHECK_EQ_U64(sum.records, n);
	CHECK_EQ_U64(sum.lost, 0);
	CHECK_EQ_U64(files(), 0);
	CHECK(mappings() <= before + 2 * AT_ONCE);
	printf("# %u sandboxes, %u and later %u mappings, at most %" PRIu64
	       " bytes in the file of rings\n",
	       n, early, late, most);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
