/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xentrace's files as a source: the order of records, facts that the file lacks and that are
 * inferred, and files that are cut or damaged, whose reports count the remaining records and add
 * up.
 */
#include "xen_kit.h"

#include <fcntl.h>
#include <pthread.h>

#include "analyze/xen.h"
#include <ringside/source.h>

/* ---- order ---------------------------------------------------------------------------------- */

TEST(windows_are_merged_by_time)
{
	static const char *const expected[] = {
		"0 [0] - xen:gen::window cpu=0 size=32bytes",
		"0 [0] - xdt:sched::block domain=1 vcpu=0",
		"0 [1] - xen:gen::window cpu=1 size=16bytes",
		"0 [1] - xdt:hvm::vmentry",
		"5 [1] - xdt:hvm::vmentry",
		"10 [0] - xdt:hvm::vmentry",
		"10 [0] - xen:gen::window cpu=0 size=12bytes",
		"20 [0] - xdt:hvm::vmentry",
	};
	static struct maker m;
	struct lines lines = { .times = true };

	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x28006, 1000, 1, 0);
	RECORD(&m, 0x81001, 1010);
	window(&m, 1);
	RECORD(&m, 0x81001, 0); /* before the first record with a stamp: the same */
	RECORD(&m, 0x81001, 1005);
	window(&m, 0);
	RECORD(&m, 0x81001, 1020);
	read_made(&m, &lines);
	CHECK(!lines.err);
	CHECK_EQ_U64(lines.tally.records, 8);
	REQUIRE_EQ_U64(lines.n, 8);
	CHECK_STR(lines.line[1], expected[1]);
	CHECK_STR(lines.line[2], "5 [1] - xen:gen::window cpu=1 size=16bytes");
	CHECK_STR(lines.line[3], "5 [1] - xdt:hvm::vmentry");
	for (uint32_t i = 4; i < 8; i++)
		CHECK_STR(lines.line[i], expected[i]);
	lines_free(&lines);
}

struct feed {
	int fd;
	const uint8_t *bytes;
	size_t n, step;
};

static void *feed(void *arg)
{
	struct feed *f = arg;

	for (size_t at = 0; at < f->n; at += f->step) {
		size_t n = f->step < f->n - at ? f->step : f->n - at;

		CHECK(write(f->fd, f->bytes + at, n) == (ssize_t)n);
	}
	close(f->fd);
	return NULL;
}

static void read_pipe(const void *bytes, size_t n, size_t step, struct lines *lines)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	struct feed f = { .bytes = bytes, .n = n, .step = step };
	pthread_t thread;
	int ends[2];

	CHECK(!pipe(ends));
	f.fd = ends[1];
	CHECK(!pthread_create(&thread, NULL, feed, &f));
	read_fd(ends[0], &ghz, lines);
	pthread_join(thread, NULL);
}

/* Rounds of windows: 100 records per CPU and round, in both CPUs' time. */
static void make_rounds(struct maker *m, uint32_t rounds)
{
	m->n = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t cpu = 0; cpu < 3; cpu++) {
			window(m, cpu);
			for (uint32_t i = 0; i < 100; i++)
				RECORD(m, 0x28006, 10000 + round * 1000 + i * 10 + cpu, cpu, i);
		}
	}
}

TEST(a_pipe_gives_the_same_in_any_pieces)
{
	static const size_t steps[] = { 1, 7, 4096, 1u << 20 };
	static struct maker m;
	struct lines file = { .times = true };

	make_rounds(&m, 4);
	read_made(&m, &file);
	CHECK_EQ_U64(file.n, 4 * 3 * 101);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		struct lines lines = { .times = true };
		uint32_t at = 0;

		read_pipe(m.words, m.n * 4, steps[s], &lines);
		CHECK(!lines.err);
		CHECK_EQ_U64(lines.tally.n_remarks, 0);
		for (uint32_t i = 0; i < lines.n; i++) {
			if (strstr(lines.line[i], "window")) /* without a stamp */
				continue;
			while (at < file.n && strstr(file.line[at], "window"))
				at++;
			REQUIRE(at < file.n);
			CHECK_STR(lines.line[i], file.line[at++]);
		}
		CHECK_EQ_U64(lines.n, file.n);
		lines_free(&lines);
	}
	lines_free(&file);
}

/*
 * The records of a round were traced after all of the round before the last was written: a pipe's
 * first events are available before its end.
 */
TEST(a_pipe_need_not_end)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	static struct maker m;
	struct rs_foreign *foreign;
	struct rs_batch batch = { 0 };
	int ends[2];

	make_rounds(&m, 4);
	REQUIRE(!pipe(ends));
	CHECK(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
	CHECK(write(ends[1], m.words, m.n * 4) == (ssize_t)m.n * 4);
	REQUIRE_OK(rs_xentrace_open_fd(ends[0], "pipe", "", 0, &ghz, &foreign));
	CHECK_OK(foreign->source.ops->next(&foreign->source, &batch));
	CHECK(batch.kind == RS_NEXT_EVENTS && batch.n > 100);
	rs_source_destroy(&foreign->source);
	close(ends[1]);
}

/* Windows in an order that xentrace does not write: a file is read ahead, and they are sorted. */
TEST(windows_out_of_order)
{
	static struct maker m;
	struct lines lines = { .times = true };

	m.n = 0;
	for (uint32_t i = 0; i < 5; i++) {
		window(&m, 0);
		RECORD(&m, 0x81001, 5000 + i);
	}
	window(&m, 1);
	RECORD(&m, 0x28006, 1000, 7, 7);
	read_made(&m, &lines);
	REQUIRE_EQ_U64(lines.n, 12);
	CHECK_STR(lines.line[1], "0 [1] - xdt:sched::block domain=7 vcpu=7");
	CHECK_EQ_U64(lines.tally.n_remarks, 0);
	lines_free(&lines);
	/* A pipe is not; a late record is shown where it arrives, and reported. */
	read_pipe(m.words, m.n * 4, 1 << 20, &lines);
	REQUIRE_EQ_U64(lines.n, 12);
	REQUIRE_EQ_U64(lines.tally.n_remarks, 1);
	CHECK(strstr(lines.tally.remarks[0], "1 record too late") != NULL);
	lines_free(&lines);
}

/* ---- frequency ------------------------------------------------------------------------------ */

/* Runs of 5 ms at this many cycles per ns / 1000. */
static void make_runs(struct maker *m, uint64_t khz)
{
	uint64_t tsc = 1000000;

	m->n = 0;
	window(m, 0);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t ns = 5000000 + i * 1000;

		tsc += ns * khz / 1000000;
		RECORD(m, 0x2800e, tsc, i % 2, 0, ns);
		RECORD(m, 0x2800f, tsc + 100, (i + 1) % 2, 0, 0, 10000000);
		RECORD(m, 0x2800a, tsc + 200, i % 2, 0, (i + 1) % 2, 0);
	}
}

static void check_clock(const struct maker *m, const struct rs_foreign_options *options,
			uint64_t freq_hz, const char *from, const char *remark)
{
	struct lines lines = { 0 };

	read_bytes(m->words, m->n * 4, options, &lines);
	CHECK(!lines.err);
	/* Run times are whole ns. */
	CHECK(llabs((int64_t)(lines.clock.freq_hz - freq_hz)) <= (options ? 0 : 1000));
	CHECK_STR(lines.clock.freq_from, from);
	if (remark)
		CHECK(lines.tally.n_remarks == 1 && strstr(lines.tally.remarks[0], remark));
	else
		CHECK_EQ_U64(lines.tally.n_remarks, 0);
	lines_free(&lines);
}

static const char *log_make(const char *text)
{
	static char path[] = "/tmp/ringside-xen-log-XXXXXX";
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

TEST(the_frequency_s_origins)
{
	static struct maker m;
	struct rs_foreign_options options = { 0 };
	struct lines lines = { 0 };

	make_runs(&m, 2596125);
	check_clock(&m, NULL, 2596125000, "run times, within 0.041 %",
		    "2596.125 MHz within 0.041 %, estimated from 49 run times");
	options.xen_log =
		log_make("(XEN) Xen version 4.17\n(XEN) Detected 2596.125 MHz processor.\n");
	check_clock(&m, &options, 2596125000, "xen log", NULL);
	options.freq_hz = 3000000000;
	check_clock(&m, &options, 3000000000, "option",
		    "3000.000 MHz by --freq, contradicts the trace: 49 run times give 2596.125 MHz "
		    "within 0.041 %");
	unlink(options.xen_log);
	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x81001, 1000);
	check_clock(&m, NULL, 2400000000, "assumed", "times are for 2400 MHz");
	options = (struct rs_foreign_options){ .xen_log = log_make("(XEN) nothing\n") };
	read_bytes(m.words, m.n * 4, &options, &lines);
	CHECK_ERR(lines.err, RS_USAGE, "no line of Xen's 'Detected N MHz processor'");
	lines.err = NULL;
	unlink(options.xen_log);
	read_bytes(m.words, m.n * 4, &options, &lines);
	CHECK_ERR(lines.err, RS_USAGE, "No such file");
}

/* ---- skew ----------------------------------------------------------------------------------- */

/* A vCPU moves between CPUs, 100 us on each, with CPU 1's TSC behind by this much. Each CPU loses
 * records at the end, within 70 us. */
static void make_skewed(struct maker *m, int64_t behind)
{
	m->n = 0;
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		int64_t behind_here = cpu ? behind : 0;

		window(m, cpu);
		for (uint32_t i = cpu; i < 20; i += 2) {
			uint64_t tsc = (uint64_t)(100000000 + (int64_t)i * 100000 - behind_here);

			RECORD(m, 0x21101, tsc, 0x10000);	  /* runs */
			RECORD(m, 0x21011, tsc + 99000, 0x10000); /* is replaced */
		}
		RECORD(m, 0x1f001, (uint64_t)(102100000 - behind_here), 7, 0x10000,
		       (uint32_t)(102030000 - behind_here), 0);
	}
}

/* Checks that a loss is as long as its CPU's own clock says. */
static void check_loss(const char *line)
{
	const char *from = strstr(line, "from="), *to = strstr(line, "to=");

	REQUIRE(from && to);
	CHECK_EQ_U64(strtoul(to + 3, NULL, 10) - strtoul(from + 5, NULL, 10), 70000);
}

static void check_skew(int64_t behind, bool corrected)
{
	static struct maker m;
	struct lines lines = { .times = true };
	uint32_t cpu = 0, n = 0, losses = 0;

	make_skewed(&m, behind);
	read_made(&m, &lines);
	CHECK(!lines.err);
	for (uint32_t i = 0; i < lines.n; i++) {
		const char *at = strchr(lines.line[i], '[');

		if (strstr(lines.line[i], "records-lost") && ++losses)
			check_loss(lines.line[i]);
		if (!strstr(lines.line[i], "runstate"))
			continue;
		CHECK_EQ_U64(strtoul(at + 1, NULL, 10), cpu); /* two on one, two on the other */
		cpu ^= n++ & 1;
	}
	CHECK_EQ_U64(n, 40);
	CHECK_EQ_U64(losses, 2);
	CHECK_EQ_U64(lines.tally.n_remarks, corrected);
	if (corrected) {
		CHECK(strstr(lines.tally.remarks[0], "which is corrected") != NULL);
		printf("# %lld behind: %s\n", (long long)behind, lines.tally.remarks[0]);
	}
	lines_free(&lines);
}

TEST(skew_is_found_and_corrected)
{
	check_skew(0, false);
	check_skew(900, false); /* nothing shows */
	check_skew(-900, false);
	check_skew(5000, true);
	check_skew(-5000, true);
	check_skew(60000, true);
	check_skew(-60000, true);
}

/* ---- damage --------------------------------------------------------------------------------- */

TEST(invalid_xentrace_files)
{
	static const struct {
		uint32_t words[6];
		uint32_t bytes;
		const char *part;
	} bad[] = {
		{ { 0 }, 0, "the trace is empty" },
		{ { 0x2001f003, 0 }, 8, "the file is cut" },
		{ { 0x2001f002, 0, 0 }, 12, "at 0x0: no window begins here" },
		{ { 0x2001f003, 4096, 0 }, 12, "at 0x0: no window begins here" },
		{ { 0x2001f003, 0, 3 }, 12, "at 0x0: no window begins here" },
		{ { 0x2001f003, 0, 0x80000000 }, 12, "at 0x0: no window begins here" },
		{ { 0x2001f003, 0, 4, 0x90028006 }, 16, "at 0xc: a record runs out of its window" },
		{ { 0x2001f003, 0, 4, 0x00028006, 5 }, 20, "at 0x10: the file is cut" },
		{ { 0x2001f003, 0, 4, 0x00000001 }, 16, "at 0xc: not a record" },
		{ { 0x2001f003, 0, 8, 0x00081001, 0x00030001 }, 20, "at 0x10: not a record" },
		{ { 0x2001f003, 0, 12, 0x2001f003, 0, 0 }, 24, "at 0xc: not a record" },
		{ { 0x2001f003, 0, 64, 0x00081001 }, 16, "at 0x10: the file is cut" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct lines lines = { 0 };

		read_bytes(bad[i].words, bad[i].bytes, NULL, &lines);
		if (!CHECK_ERR(lines.err, RS_DAMAGED, bad[i].part))
			printf("# file %zu\n", i);
		lines.err = NULL;
		lines_free(&lines);
	}
}

TEST(time_that_goes_backward_or_leaps)
{
	static struct maker m;
	struct lines lines = { 0 };

	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x81001, 1000);
	RECORD(&m, 0x81001, 999);
	read_made(&m, &lines);
	CHECK_EQ_U64(lines.n, 2);
	CHECK_ERR(lines.err, RS_DAMAGED, "at 0x18: time goes backward");
	lines.err = NULL;
	lines_free(&lines);
	/* The last of three was not the wrong one. */
	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x81001, 1000);
	RECORD(&m, 0x81001, 1000 + (UINT64_C(1) << 40));
	RECORD(&m, 0x81001, 1010);
	read_made(&m, &lines);
	CHECK_EQ_U64(lines.n, 2);
	CHECK_ERR(lines.err, RS_DAMAGED, "at 0x18: time goes backward");
	lines.err = NULL;
	lines_free(&lines);
	m.n = 0;
	window(&m, 0);
	RECORD(&m, 0x81001, 1000);
	RECORD(&m, 0x81001, UINT64_C(1) << 62);
	read_made(&m, &lines);
	CHECK_EQ_U64(lines.n, 2);
	CHECK_ERR(lines.err, RS_DAMAGED, "at 0x18: time leaps ahead");
	lines.err = NULL;
	lines_free(&lines);
}

/* ---- a capture, cut and damaged ------------------------------------------------------------- */

#define RECORDS_MAX 2048

static uint8_t capture[SMALL_CAPTURE_MAX];

/* The records from a source, each as a number for its event and words. */
struct given {
	uint64_t record[RECORDS_MAX];
	uint32_t n;
	bool damaged;
};

static uint64_t hash(const struct rs_xen_record *record)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ record->event ^ (uint64_t)record->n << 32;

	for (uint32_t i = 0; i < record->n && record->event != RS_XEN_WRAP_BUFFER; i++)
		h = (h ^ record->words[i]) * UINT64_C(0x100000001b3);
	return h;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The reports count only the records read, and only the time that passed. */
static void report(struct rs_sink *sink, uint32_t given)
{
	struct rs_xen_result result;
	uint64_t records = 0;

	REQUIRE_OK(rs_xen_collect(sink, &result));
	CHECK_OK(rs_xen_check(&result));
	for (size_t i = 0; i < result.n_rows; i++)
		records += result.rows[i].kind == RS_XEN_VOLUME ? result.rows[i].count : 0;
	CHECK_EQ_U64(records, given);
	rs_xen_sink_destroy(sink);
}

static void give(const uint8_t *bytes, size_t n, struct given *given)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	int fd = memfd_create("xentrace", MFD_CLOEXEC);
	struct rs_batch batch = { .kind = RS_NEXT_IDLE };
	struct rs_foreign *foreign;
	struct rs_sink *sink;
	struct rs_error *err;

	given->n = 0;
	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	err = rs_xentrace_open_fd(fd, "capture", "", 0, &ghz, &foreign);
	given->damaged = err != NULL;
	if (err) {
		rs_error_free(err);
		return;
	}
	REQUIRE_OK(rs_xen_sink_create(RS_XEN_ALL_KINDS, &sink));
	while (batch.kind != RS_NEXT_END && !err) {
		err = foreign->source.ops->next(&foreign->source, &batch);
		if (!err && batch.kind == RS_NEXT_EVENTS)
			CHECK_OK(sink->ops->events(sink, batch.views, batch.n));
		for (size_t i = 0; !err && i < batch.n; i++) {
			if (CHECK(given->n < RECORDS_MAX))
				given->record[given->n++] = hash(rs_view_xen(&batch.views[i]));
		}
	}
	given->damaged = err != NULL;
	if (err)
		CHECK(rs_error_code(err) == RS_DAMAGED);
	rs_error_free(err);
	report(sink, given->n);
	rs_source_destroy(&foreign->source);
	qsort(given->record, given->n, sizeof(given->record[0]), by_value);
}

/* Returns how many of a are not in b. */
static uint32_t strangers(const struct given *a, const struct given *b)
{
	uint32_t j = 0, n = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		while (j < b->n && b->record[j] < a->record[i])
			j++;
		if (j < b->n && b->record[j] == a->record[i])
			j++;
		else
			n++;
	}
	return n;
}

static struct given whole, part;

static void cut(size_t bytes)
{
	uint32_t last = 0;

	give(capture, bytes, &whole);
	CHECK(!whole.damaged && whole.n > 20);
	for (size_t n = 0; n < bytes; n++) {
		give(capture, n, &part);
		if (!CHECK_EQ_U64(strangers(&part, &whole), 0))
			printf("# cut at %zu\n", n);
		CHECK(part.n >= last && part.n <= whole.n);
		last = part.n;
	}
}

TEST(cut_at_every_byte)
{
	for (size_t i = 0; i < N_SMALL_CAPTURES; i++)
		cut(small_capture_read(i, capture));
}

/* One record may change: the one with the byte. None may be made up. */
static void turn(size_t bytes, size_t step)
{
	uint32_t unsaid = 0;

	give(capture, bytes, &whole);
	for (size_t at = 0; at < bytes; at += step) {
		uint8_t bit = (uint8_t)(1u << at * 5 % 8);

		capture[at] ^= bit;
		give(capture, bytes, &part);
		capture[at] ^= bit;
		if (!CHECK(strangers(&part, &whole) <= 1))
			printf("# byte %zu, %u made up\n", at, strangers(&part, &whole));
		CHECK(part.n <= whole.n);
		unsaid += part.n < whole.n && !part.damaged;
	}
	CHECK_EQ_U64(unsaid, 0);
}

/* All bytes of the first capture; some bytes of the others, because it takes long. */
TEST(with_a_flipped_bit_in_each_byte)
{
	for (size_t i = 0; i < N_SMALL_CAPTURES; i++)
		turn(small_capture_read(i, capture), i ? 7 : 1);
}
