/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that logs and traces is killed at random points, two hundred times: the recovered lines
 * are consecutive, up to the last complete line, and none is made up; and so are its traces. After
 * a recovery that is killed, nothing is there twice. Damage is reported, and the undamaged part is
 * recovered.
 */
#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log/memory.h"
#include "log_kit.h"
#include <ringside/reader.h>
#include <ringside/trace.h>

#define KILLS	   200
#define LOG_BYTES  (256u << 10)
#define TRACE_PART (64u << 10)
#define WAIT_MS	   60000

RS_TRACE_CLASS(numbers, 0)
RS_DEFINE_EVENT(number, numbers, "number", (u64, n), (u64, not_n));

static uint32_t random_state = 0x2545f491;

static uint32_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* ---- the program that dies ------------------------------------------------------------------ */

/* Shared with it: the number of complete lines. */
static uint64_t *finished;

static void child(const char *path, bool traces)
{
	struct rs_log_options options = { .path = path,
					  .bytes = LOG_BYTES,
					  .lanes = 1,
					  .trace_bytes = traces ? TRACE_PART : 0,
					  .name = "dies" };
	struct rs_error *err = rs_log_start(&options, NULL);

	if (!err && traces)
		err = rs_trace_start(
			&(struct rs_trace_options){ .provider = "dies", .mask = RS_CLASS_numbers });
	if (err) {
		fprintf(stderr, "# child: %s\n", rs_error_text(err));
		_exit(1);
	}
	for (uint32_t n = 0;; n++) {
		RS_EMIT(number, .n = n, .not_n = ~(uint64_t)n);
		kit_log(7, n);
		__atomic_store_n(finished, n + 1, __ATOMIC_RELEASE);
	}
}

/*
 * Lets it write more than this many lines, and kills it. Returns the lines that were complete
 * before that.
 */
static uint64_t kill_one(const char *path, bool traces, uint32_t lines)
{
	int64_t end = kit_now_ms() + WAIT_MS;
	volatile uint32_t spin = random_next() % 20000;
	uint64_t least;
	pid_t pid;
	int status;

	*finished = 0;
	pid = fork();
	if (!pid)
		child(path, traces);
	while (__atomic_load_n(finished, __ATOMIC_ACQUIRE) <= lines && kit_now_ms() < end &&
	       !waitpid(pid, &status, WNOHANG))
		sched_yield();
	while (spin)
		spin--;
	least = __atomic_load_n(finished, __ATOMIC_ACQUIRE);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	CHECK(least > lines);
	return least;
}

/* ---- recovered data ------------------------------------------------------------------------- */

struct recovered {
	uint64_t lines, bad, first, last, gaps;
};

/* A file of lines of one writer, so n is the number less one. */
static struct recovered read_lines(const char *path)
{
	struct recovered r = { 0 };
	FILE *file = fopen(path, "r");
	char text[1024];

	while (file && fgets(text, sizeof(text), file)) {
		size_t bytes = strcspn(text, "\n");
		struct rs_log_line line;
		uint32_t who, n;

		if (!strncmp(text, "[gap", 4)) {
			r.gaps++;
			r.last = 0;
			continue;
		}
		if (!rs_log_line_parse(text, bytes, &line) || !kit_is_line(&line, &who, &n) ||
		    who != 7 || n + 1 != line.seq || (r.last && line.seq != r.last + 1)) {
			r.bad++;
			continue;
		}
		r.first = r.lines++ ? r.first : line.seq;
		r.last = line.seq;
	}
	if (file)
		fclose(file);
	return r;
}

struct numbers {
	struct rs_sink sink;
	uint64_t n, next, bad;
};

static struct rs_error *on_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct numbers *numbers = (struct numbers *)sink;

	for (size_t i = 0; i < n; i++) {
		uint64_t words[2] = { 0 };

		if (strcmp(views[i].event->name, "number") != 0) {
			numbers->bad++;
			continue;
		}
		memcpy(words, views[i].payload, sizeof(words));
		if (words[1] != ~words[0] || (numbers->n && words[0] != numbers->next))
			numbers->bad++;
		numbers->next = words[0] + 1;
		numbers->n++;
	}
	return NULL;
}

static void check_trace(const char *path, uint64_t least, uint64_t records)
{
	static const struct rs_sink_ops ops = { .name = "numbers", .events = on_events };
	struct numbers numbers = { .sink.ops = &ops };
	struct rs_source *source;
	struct rs_trace *trace;

	REQUIRE_OK(rs_trace_open(path, &trace));
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &numbers.sink, &(volatile bool){ false }));
	CHECK_EQ_U64(numbers.bad, 0);
	CHECK_EQ_U64(numbers.n, records);
	CHECK(numbers.next >= least);
	rs_source_destroy(source);
	rs_trace_close(trace);
}

static void begin(void)
{
	kit_folder_make();
	finished = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(finished != MAP_FAILED);
}

static void finish(void)
{
	munmap(finished, 4096);
	kit_folder_remove();
}

TEST(two_hundred_kills)
{
	const char *memory, *directory;
	char path[1100];

	begin();
	memory = kit_path("memory");
	directory = kit_path("left");
	for (int i = 0; i < KILLS; i++) {
		bool traces = i % 4 == 0;
		/* Some before the ring's first lap is full, some laps later. */
		uint64_t least = kill_one(memory, traces, i % 3 ? 5000 : random_next() % 500);
		struct rs_log_left left;
		struct recovered r;

		REQUIRE_OK(rs_log_recover(memory, directory, 2, &left));
		CHECK_EQ_U64(left.runs, 1);
		CHECK_EQ_U64(left.damaged, 0);
		CHECK(left.torn <= 4);
		r = read_lines(left.file);
		CHECK_EQ_U64(r.bad, 0);
		CHECK(r.last >= least && r.last <= least + (1u << 24));
		CHECK_EQ_U64(r.lines, left.lines);
		CHECK_EQ_U64(r.gaps + left.missing, 0);
		snprintf(path, sizeof(path), "%s.trace", left.file);
		if (traces)
			check_trace(path, least, left.records);
		if (!traces)
			unlink(memory); /* of other sizes next time */
		if (traces && i % 8 == 0)
			unlink(memory);
		if (test_failures)
			break;
	}
	finish();
}

/* ---- recoveries that are killed ------------------------------------------------------------- */

static uint32_t files_in(const char *directory, const char *tail)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	uint32_t n = 0;

	while (dir && (entry = readdir(dir))) {
		size_t have = strlen(entry->d_name), want = strlen(tail);

		n += have >= want && !strcmp(entry->d_name + have - want, tail);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Killed after this many loop iterations: before, within, or after its work. */
static void recovery_killed(const char *memory, const char *directory, uint32_t turns)
{
	struct rs_log_left left;
	int status;
	pid_t pid = fork();

	if (!pid) {
		__atomic_store_n(finished, 1, __ATOMIC_RELEASE);
		rs_error_free(rs_log_recover(memory, directory, 0, &left));
		_exit(0);
	}
	while (!__atomic_load_n(finished, __ATOMIC_ACQUIRE))
		sched_yield();
	for (volatile uint32_t i = 0; i < turns; i++)
		;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

TEST(a_killed_recovery)
{
	const char *memory, *directory;

	begin();
	memory = kit_path("memory");
	directory = kit_path("left");
	for (uint32_t i = 0; i < 30; i++) {
		uint64_t least = kill_one(memory, i % 2, 3000);
		struct rs_log_left left;
		char path[1100];
		struct recovered r;

		for (uint32_t k = 0; k < 3; k++) {
			*finished = 0;
			recovery_killed(memory, directory, random_next() % 400000);
		}
		REQUIRE_OK(rs_log_recover(memory, directory, 0, &left));
		CHECK(left.runs <= 1); /* an earlier one may have completed */
		snprintf(path, sizeof(path), "%s/memory_last.%u", directory, i);
		r = read_lines(path);
		CHECK_EQ_U64(r.bad + r.gaps, 0);
		CHECK(r.last >= least);
		CHECK_EQ_U64(files_in(directory, ".part"), 0);
		snprintf(path, sizeof(path), "memory_last.%u", i + 1);
		CHECK_EQ_U64(files_in(directory, path), 0); /* nothing twice */
		snprintf(path, sizeof(path), "memory_last.%u.trace", i);
		CHECK_EQ_U64(files_in(directory, path), i % 2);
		unlink(memory);
	}
	finish();
}

/* ---- the next start ------------------------------------------------------------------------- */

static void starts(const char *path, const char *last, bool fails, const char *file, uint64_t runs)
{
	struct rs_log_options options = { .path = path, .last = last };
	struct rs_log_left left;
	struct rs_error *err = rs_log_start(&options, &left);

	if (fails) {
		CHECK_ERR(err, RS_FAILED, "both halves contain");
		return;
	}
	REQUIRE_OK(err);
	CHECK_EQ_U64(left.runs, runs);
	if (file)
		CHECK_STR(left.file, file);
	rs_log_stop();
}

/* A program is killed twice without a recovery: the third start recovers, or fails. */
TEST(both_halves_full)
{
	const char *memory, *directory;
	char file[256];

	begin();
	memory = kit_path("memory");
	directory = kit_path("left");
	kill_one(memory, false, 10);
	kill_one(memory, false, 10);
	starts(memory, NULL, true, NULL, 0);
	CHECK_EQ_U64(files_in(kit_folder, "left"), 0);
	snprintf(file, sizeof(file), "%s/memory_last.1", directory);
	starts(memory, directory, false, file, 2);
	for (int i = 0; i < 2; i++) {
		struct recovered r;

		snprintf(file, sizeof(file), "%s/memory_last.%d", directory, i);
		r = read_lines(file);
		CHECK(r.last > 10);
		CHECK_EQ_U64(r.bad + r.gaps, 0);
	}
	finish();
}

/* ---- damage --------------------------------------------------------------------------------- */

static void overwrite_at(const char *path, off_t at, size_t bytes)
{
	static const char junk[4096] = { [0 ... 4095] = 'x' };
	int fd = open(path, O_WRONLY);

	CHECK(pwrite(fd, junk, bytes, at) == (ssize_t)bytes);
	close(fd);
}

TEST(damaged_head)
{
	const char *memory, *directory;
	struct rs_log_left left;
	struct recovered r;
	uint64_t least;

	begin();
	memory = kit_path("memory");
	directory = kit_path("left");
	least = kill_one(memory, false, 5000);
	overwrite_at(memory, 0, 4096);
	REQUIRE_OK(rs_log_recover(memory, directory, 0, &left));
	CHECK(left.damaged && strstr(left.remark, "the head is damaged"));
	r = read_lines(left.file);
	CHECK_EQ_U64(r.bad + r.gaps, 0);
	CHECK(r.last >= least);
	/* Once is enough; the next start creates it again. */
	CHECK_ERR(rs_log_recover(memory, directory, 0, &left), RS_USAGE, "Ringside log");
	starts(memory, directory, false, NULL, 0);
	finish();
}

static bool says(const char *path, const char *what)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[n] = 0;
	if (file)
		fclose(file);
	return strstr(text, what);
}

/* An element's position in a lane's ring: half a ring away from the kill. */
static off_t far_from_newest(const char *path, off_t lane)
{
	struct rs_sbuf header = { 0 };
	int fd = open(path, O_RDONLY);

	CHECK(pread(fd, &header, sizeof(header), lane) == sizeof(header) && header.size);
	close(fd);
	if (!header.size)
		return 0;
	return (off_t)((header.tail / 80 + header.ele_num / 2) % header.ele_num * 80);
}

TEST(damaged_lane)
{
	const char *memory, *directory;
	struct rs_log_left left;
	struct recovered r;
	const off_t lane = 4096 + (LOG_BYTES - 4096) / 2; /* the second half's: it is used first */
	uint64_t least;

	begin();
	memory = kit_path("memory");
	directory = kit_path("left");
	least = kill_one(memory, false, 5000);
	overwrite_at(memory, lane + (off_t)sizeof(struct rs_sbuf) + far_from_newest(memory, lane),
		     80);
	overwrite_at(memory, lane, sizeof(struct rs_sbuf));
	REQUIRE_OK(rs_log_recover(memory, directory, 0, &left));
	CHECK(left.damaged == 1 && strstr(left.remark, "lane 0: its header is damaged"));
	CHECK(left.torn >= 1);
	CHECK(left.missing <= 1);
	r = read_lines(left.file);
	CHECK_EQ_U64(r.bad, 0);
	CHECK_EQ_U64(r.gaps, left.missing);
	CHECK(!says(left.file, "cpu unknown")); /* it is known whose lane it was */
	CHECK(r.last >= least);
	finish();
}

TEST(no_log)
{
	struct rs_log_left left;
	const char *path;
	FILE *file;

	begin();
	path = kit_path("text");
	file = fopen(path, "w");
	for (int i = 0; i < 10000; i++)
		fputs("this is a text\n", file);
	fclose(file);
	CHECK_ERR(rs_log_recover(path, kit_folder, 0, &left), RS_USAGE, "Ringside log");
	CHECK_ERR(rs_log_start(&(struct rs_log_options){ .path = path }, &left), RS_USAGE,
		  "Ringside log");
	CHECK_ERR(rs_log_recover(kit_path("none"), kit_folder, 0, &left), RS_FAILED, "cannot open");
	CHECK_ERR(rs_log_start(&(struct rs_log_options){ .path = path, .lanes = 300 }, &left),
		  RS_USAGE, "300 lanes");
	CHECK_ERR(rs_log_start(&(struct rs_log_options){ .path = kit_path("small"),
							 .bytes = 9000,
							 .lanes = 8 },
			       &left),
		  RS_USAGE, "8 lanes");
	finish();
}
