/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * emitter DIR [NAME=NUMBER...]: threads emit numbered events into a recorded trace, wave after
 * wave, while a resource is scarce. Prints the numbers of emitted, kept and lost events, and the
 * resident size after half of the waves and after all. Exits with 1 and the recorder's error, if
 * any.
 *
 *	waves, threads, records   waves of concurrent threads, and the events of each thread
 *	minutes      duration of the waves instead of their number
 *	ring         bytes of a ring
 *	memory       kilobytes of address space that are left once it records
 *	files        the limit on descriptors, from the start
 *	files_late   descriptors that are left once the first wave has ended
 *	fail         each n-th call of the preloaded library fails during recording
 *	ask          prints "half" after half of the waves, and waits for a line
 *	behind       a wave begins when at most this many records are not drained yet
 */
#include <ringside/recorder.h>
#include <ringside/trace.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)
#define LATE_MAX    64

RS_TRACE_CLASS(seq, 0)
RS_DEFINE_EVENT(numbered, seq, "numbered", (u64, n), (u32, self));

static struct option {
	const char *name;
	uint64_t value;
} options[] = {
	{ "waves", 1 },	  { "threads", 4 }, { "records", 1009 }, { "minutes", 0 },
	{ "ring", 8192 }, { "memory", 0 },  { "files", 0 },	 { "files_late", LATE_MAX },
	{ "fail", 0 },	  { "ask", 0 },	    { "behind", 0 },
};

static uint64_t option(const char *name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!strcmp(options[i].name, name))
			return options[i].value;
	}
	abort();
}

static bool option_set(char *text)
{
	char *value = strchr(text, '=');

	for (size_t i = 0; value && i < sizeof(options) / sizeof(options[0]); i++) {
		if (strlen(options[i].name) == (size_t)(value - text) &&
		    !strncmp(options[i].name, text, (size_t)(value - text))) {
			options[i].value = strtoull(value + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t emitted, done;
static bool may_end;

/* A wave's threads are concurrent: none ends before all have emitted. */
static void *emit(void *unused)
{
	uint32_t self = (uint32_t)syscall(SYS_gettid);
	uint64_t records = option("records");

	for (uint64_t i = 0; i < records; i++)
		RS_EMIT(numbered, .n = i, .self = self);
	pthread_mutex_lock(&lock);
	emitted += records;
	done++;
	pthread_cond_broadcast(&changed);
	while (!may_end)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

/* Threads without memory emit nothing. */
static void wave(pthread_t *threads)
{
	uint64_t n = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	may_end = false;
	done = 0;
	for (uint64_t i = 0; i < option("threads"); i++)
		n += !pthread_create(&threads[n], &attr, emit, NULL);
	pthread_mutex_lock(&lock);
	while (done < n)
		pthread_cond_wait(&changed, &lock);
	may_end = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (uint64_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attr);
}

/* Returns the size of the process, total or resident. 0: no resources left to read it. */
static long pages(bool in_all)
{
	long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%ld %ld", &size, &resident) != 2)
		size = resident = 0;
	fclose(file);
	return in_all ? size : resident;
}

static void limit(int what, uint64_t to)
{
	struct rlimit limit;

	getrlimit(what, &limit);
	limit.rlim_cur = to;
	if (setrlimit(what, &limit))
		abort();
}

static void limits_set(void)
{
	uint64_t page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;

	if (option("memory"))
		limit(RLIMIT_AS, ((uint64_t)pages(true) * page_kb + option("memory")) * 1024);
}

/* Uses up all descriptors but this many. */
static void files_use_up(void)
{
	int last = 0;

	if (option("files_late") == LATE_MAX)
		return;
	last = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(last);
	limit(RLIMIT_NOFILE, (uint64_t)last + option("files_late"));
}

static void fail_every(uint64_t n)
{
	void (*arm)(unsigned int) = (void (*)(unsigned int))dlsym(RTLD_DEFAULT, "failing_arm");

	if (arm)
		arm((unsigned int)n);
	else if (n)
		abort();
}

static void report_half(void)
{
	char line[16];

	puts("half");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		abort();
}

/* Waits until the recorder has drained all but a few records. */
static void catch_up(const struct rs_recorder *recorder)
{
	struct rs_recorder_summary sum = { 0 };

	while (option("behind")) {
		rs_recorder_progress(recorder, &sum);
		if (sum.records + sum.lost + option("behind") >= emitted)
			return;
		usleep(1000);
	}
}

static void run(pthread_t *threads, const struct rs_recorder *recorder, long resident[2])
{
	uint64_t waves = option("waves");
	time_t minutes = (time_t)option("minutes"), half = time(NULL) + minutes * 30;
	time_t end = half + minutes * 30;
	bool half_done = false;

	for (uint64_t i = 0; minutes ? time(NULL) < end : i < waves; i++) {
		wave(threads);
		catch_up(recorder);
		if (!i)
			files_use_up();
		if (!half_done && (minutes ? time(NULL) >= half : i + 1 >= (waves + 1) / 2)) {
			half_done = true;
			resident[0] = pages(false);
			if (option("ask"))
				report_half();
		}
	}
	resident[1] = pages(false);
}

static int fail(struct rs_error *err)
{
	if (err)
		fprintf(stderr, "emitter: %s\n", rs_error_text(err));
	rs_error_free(err);
	return err != NULL;
}

int main(int argc, char **argv)
{
	struct rs_recorder_options o = { .directory = argv[1] };
	struct rs_recorder_summary sum = { 0 };
	struct rs_recorder *recorder;
	long resident[2] = { 0 };
	pthread_t *threads;
	struct rs_error *err;

	for (int i = 2; i < argc; i++) {
		if (!option_set(argv[i]))
			return 2;
	}
	if (option("files"))
		limit(RLIMIT_NOFILE, option("files"));
	threads = calloc(option("threads"), sizeof(*threads));
	if (argc < 2 || !threads || fail(rs_clock_host(&o.clock)) ||
	    fail(rs_trace_start(&(struct rs_trace_options){
		    .provider = "app", .ring_bytes = (uint32_t)option("ring") })) ||
	    fail(rs_recorder_create(&o, &recorder)) || fail(rs_recorder_add_trace(recorder)))
		return 1;
	limits_set();
	fail_every(option("fail"));
	run(threads, recorder, resident);
	err = rs_recorder_close(recorder, &sum);
	fail_every(0);
	printf("emitted %" PRIu64 " kept %" PRIu64 " lost %" PRIu64 " streams %" PRIu64
	       " resident %ld %ld\n",
	       emitted, sum.records, sum.lost, sum.streams, resident[0], resident[1]);
	free(threads);
	return fail(err);
}
