/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of many threads: each event's thread, the effect of filters, and an invalid description.
 */
#include "store_kit.h"

#define ON   7	/* c::on(u32 tid, u64 n) */
#define TIDY 8	/* c::tidy(u64 tid): not an event with a thread's tid */
#define BASE 97 /* a tid */

static void declare(struct kit_store *k)
{
	static const char on[] = "c::on(u32 tid, u64 n)", tidy[] = "c::tidy(u64 tid)";

	CHECK_OK(rs_schema_declare(k->schema, USER(ON), on, strlen(on)));
	CHECK_OK(rs_schema_declare(k->schema, USER(TIDY), tidy, strlen(tidy)));
}

static void put_on(struct slots *s, uint64_t tsc, uint32_t tid, uint64_t n)
{
	struct {
		uint32_t tid;
		uint64_t n;
	} __attribute__((packed)) payload = { tid, n };

	slots_record(s, tsc, USER(ON), &payload, sizeof(payload));
}

static void add(struct kit_store *k, int tid, const char *vm, int vcpu, uint64_t from)
{
	CHECK_OK(rs_store_add_thread(
		k->store, k->class_index,
		&(struct rs_thread){
			.tid = tid, .pid = 13, .vm = vm, .vcpu = vcpu, .from = from }));
}

/* Two CPUs' streams, on which two vCPUs' threads alternate; one tid is reused by another thread. */
static bool make(struct kit_store *k)
{
	static const struct rs_stream cpu0 = { .vcpu = -1, .cpu = 0, .tid = -1 };
	static const struct rs_stream cpu1 = { .vcpu = -1, .cpu = 1, .tid = -1 };
	struct slots a = { 0 }, b = { 0 };
	uint64_t other = BASE;

	if (!kit_store_init(k, NULL))
		return false;
	declare(k);
	CHECK_OK(kit_store_stream(k, 0, &cpu0));
	CHECK_OK(kit_store_stream(k, 1, &cpu1));
	/* out of order, and one of them twice */
	add(k, BASE, "second", 3, ORIGIN + 50);
	add(k, BASE + 1, "one", -1, ORIGIN);
	add(k, BASE, "first", 0, ORIGIN + 10);
	add(k, BASE + 1, "one", 1, ORIGIN);
	put_on(&a, ORIGIN + 1, BASE, 1); /* before its line's stamp */
	put_on(&a, ORIGIN + 10, BASE, 2);
	put_on(&b, ORIGIN + 11, BASE + 1, 3);
	put_on(&b, ORIGIN + 49, BASE, 4); /* it moved to the other CPU */
	put_on(&b, ORIGIN + 50, BASE, 5);
	put_on(&b, ORIGIN + 51, BASE + 2, 6); /* of no line */
	put_on(&a, ORIGIN + 52, 0, 7);
	put_on(&a, ORIGIN + 53, UINT32_MAX, 8);
	slots_record(&a, ORIGIN + 54, USER(TIDY), &other, sizeof(other));
	slots_lost(&a, ORIGIN + 55, 5, ORIGIN + 54, RS_LOST_FULL);
	put_on(&a, ORIGIN + 56, BASE + 2, 9);
	put_on(&a, ORIGIN + 57, BASE, 10);
	CHECK_OK(kit_store_put(k, 0, &a));
	CHECK_OK(kit_store_flush(k, 0));
	CHECK_OK(kit_store_put(k, 1, &b));
	return CHECK_OK(kit_store_close(k, NULL));
}

static const struct {
	const char *vm;
	int vcpu, tid, cpu;
} expected[] = {
	{ "first", 0, BASE, 0 }, { "first", 0, BASE, 0 },   { "one", 1, BASE + 1, 1 },
	{ "first", 0, BASE, 1 }, { "second", 3, BASE, 1 },  { NULL, -1, BASE + 2, 1 },
	{ NULL, -1, -1, 0 },	 { NULL, -1, -1, 0 },	    { NULL, -1, -1, 0 },
	{ NULL, -1, -1, 0 },	 { NULL, -1, BASE + 2, 0 }, { "second", 3, BASE, 0 },
};
#define N_EXPECTED (sizeof(expected) / sizeof(expected[0]))

static void check_identities(const struct got_sink *got)
{
	REQUIRE_EQ_U64(got->n, N_EXPECTED);
	for (size_t i = 0; i < got->n; i++) {
		const struct rs_stream *stream = got->at[i].stream;

		if (expected[i].vm && CHECK(stream->vm != NULL))
			CHECK_STR(stream->vm, expected[i].vm);
		CHECK(expected[i].vm || !stream->vm);
		CHECK_EQ_S64(stream->vcpu, expected[i].vcpu);
		CHECK_EQ_S64(stream->tid, expected[i].tid);
		CHECK_EQ_S64(stream->pid, expected[i].vm ? 13 : 0);
		CHECK_EQ_S64(got->at[i].cpu, expected[i].cpu);
	}
}

TEST(each_event_belongs_to_its_thread)
{
	struct got_sink got = got_sink();
	struct rs_source *source = NULL;
	struct rs_trace *trace;
	struct kit_store k;

	REQUIRE(make(&k));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	REQUIRE_OK(rs_trace_source(trace, &source)); /* with tids without a line */
	CHECK_OK(rs_run(source, NULL, &got.sink, NULL));
	check_identities(&got);
	/* a stream for each thread, wherever it ran */
	CHECK(got.at[0].stream == got.at[3].stream);
	CHECK(got.at[4].stream == got.at[11].stream);
	CHECK(got.at[0].stream->index != got.at[4].stream->index);
	CHECK(got.at[9].stream->mixed && !got.at[0].stream->mixed);
	/* two files, and four lines of threads */
	CHECK_EQ_U64(rs_trace_stream_count(trace), 6);
	CHECK_EQ_S64(rs_trace_stream(trace, 2)->tid, BASE);
	CHECK_EQ_U64(rs_trace_stream(trace, 2)->index, 2);
	got_free(&got);
	rs_source_destroy(source);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

static size_t count(struct rs_trace *trace, const struct rs_query *query, uint64_t *lost)
{
	struct got_sink got = got_sink();
	size_t n;

	CHECK_OK(trace_read(trace, query, &got));
	n = got.n;
	*lost = got.lost;
	got_free(&got);
	return n;
}

TEST(filters_by_vm_and_vcpu_keep_threads_that_may_match)
{
	struct rs_query query;
	struct rs_trace *trace;
	struct kit_store k;
	uint64_t lost;

	REQUIRE(make(&k));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	rs_query_init(&query);
	CHECK_OK(rs_cpu_set_parse(&query.vcpus, "3"));
	CHECK_EQ_U64(count(trace, &query, &lost), 2 + 1);
	CHECK_EQ_U64(lost, 5);
	rs_query_init(&query);
	query.vm = "f*";
	CHECK_EQ_U64(count(trace, &query, &lost), 3 + 1);
	CHECK_EQ_U64(lost, 5);
	query.from_ns = 50; /* by the index, after the beginning of a complete packet */
	query.vm = "second";
	CHECK_EQ_U64(count(trace, &query, &lost), 2 + 1);
	rs_query_init(&query);
	CHECK_OK(rs_cpu_set_parse(&query.cpus, "1"));
	CHECK_EQ_U64(count(trace, &query, &lost), 4);
	CHECK_EQ_U64(lost, 0);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(a_repair_keeps_the_threads)
{
	struct got_sink got = got_sink();
	struct rs_repair_result result;
	struct rs_trace *trace;
	struct kit_store k;
	char path[256];

	REQUIRE(make(&k));
	/* the last record of the second stream is removed */
	REQUIRE(!truncate(join(path, k.path, "stream_1"), 96 + 3 * 32 + 16));
	CHECK_OK(rs_trace_repair(k.path, &result));
	CHECK_EQ_U64(result.lost, 1);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, N_EXPECTED);
	CHECK_STR(got.at[3].stream->vm, "first");
	CHECK_STR(got.at[4].stream->vm, "second");
	CHECK(got.at[5].is_loss);
	got_free(&got);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

/* The writer's own line, before the packet: only its flush is awaited. */
TEST(a_thread_is_on_disk_once_it_was_added)
{
	struct got_sink got = got_sink();
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;
	char copy[256];

	REQUIRE(kit_store_init(&k, NULL));
	declare(&k);
	CHECK_OK(kit_store_stream(&k, 0, NULL));
	put_on(&s, ORIGIN + 1, BASE, 1);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_OK(kit_store_flush(&k, 0));
	add(&k, BASE, "bad \xff\n name", 2, 0);
	join(copy, k.temp, "copy"); /* as if the recorder had died here */
	copy_directory(k.path, copy);
	REQUIRE_OK(rs_trace_open(copy, &trace));
	CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED, "did not close it");
	REQUIRE_EQ_U64(got.n, 1);
	CHECK_STR(got.at[0].stream->vm, "bad ?? name");
	CHECK_EQ_S64(got.at[0].stream->vcpu, 2);
	got_free(&got);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}

/*
 * More tids without a line than get a separate stream: the others are in their file's stream, and
 * nothing is lost.
 */
TEST(tids_without_a_line_are_bounded)
{
	const uint32_t tids = 65536 + 37;
	struct got_sink got = got_sink();
	struct rs_source *source = NULL;
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;
	size_t known = 0;

	REQUIRE(kit_store_init(&k, NULL));
	declare(&k);
	CHECK_OK(kit_store_stream(&k, 0, NULL));
	add(&k, 1, "one", 0, 0);
	for (uint32_t i = 0; i < tids; i++)
		put_on(&s, ORIGIN + i, 2 + i, i);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_OK(kit_store_close(&k, NULL));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &got.sink, NULL));
	REQUIRE_EQ_U64(got.n, tids);
	for (size_t i = 0; i < got.n; i++)
		known += got.at[i].stream->tid == (int)i + 2;
	CHECK_EQ_U64(known, 65536);
	CHECK_STR(got.at[tids - 1].stream->thread, "thread 0");
	got_free(&got);
	rs_source_destroy(source);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(invalid_lines_of_threads)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{ "{\"class\":1,\"tid\":5,\"pid\":1,\"vm\":null,\"vcpu\":0,\"from\":0}",
		  "no class 1 before" },
		{ "{\"class\":-1,\"tid\":5,\"pid\":1,\"vm\":null,\"vcpu\":0,\"from\":0}",
		  "no class -1 before" },
		{ "{\"class\":0,\"tid\":0,\"pid\":1,\"vm\":null,\"vcpu\":0,\"from\":0}",
		  "no valid description of a thread" },
		{ "{\"class\":0,\"tid\":-5,\"pid\":1,\"vm\":null,\"vcpu\":0,\"from\":0}",
		  "no valid description of a thread" },
		{ "{\"class\":0,\"tid\":5,\"pid\":-1,\"vm\":null,\"vcpu\":0,\"from\":0}",
		  "no valid description of a thread" },
		{ "{\"class\":0,\"tid\":5,\"pid\":1,\"vm\":null,\"vcpu\":-2,\"from\":0}",
		  "no valid description of a thread" },
		{ "{\"class\":0,\"tid\":5,\"pid\":1,\"vm\":null,\"vcpu\":0}",
		  "no valid description of a thread" },
		{ "7", "no valid description of a thread" },
	};
	char path[256], line[256];
	struct kit_store k;
	uint8_t *whole;
	size_t bytes;

	REQUIRE(make(&k));
	whole = file_read(join(path, k.path, "ringside/describe"), &bytes);
	REQUIRE(whole != NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *file;

		file_write(path, whole, bytes);
		file = fopen(path, "ae");
		snprintf(line, sizeof(line), "{\"thread\":%s}\n", bad[i].line);
		fputs(line, file);
		fclose(file);
		CHECK_ERR(trace_complaint(k.path), RS_DAMAGED, bad[i].says);
	}
	free(whole);
	kit_store_deinit(&k);
}

TEST(a_clock_with_better_precision_is_written_again)
{
	struct rs_clock monotonic, refined;
	uint32_t class_index;
	struct rs_trace *trace;
	struct kit_store k;
	char path[256];
	uint8_t *text;
	size_t bytes;

	REQUIRE(kit_store_init(&k, NULL));
	CHECK_OK(rs_clock_monotonic(&k.clock, &monotonic));
	monotonic.origin = 123456789;
	CHECK_OK(rs_store_add_class(k.store, k.schema, &monotonic, &class_index));
	monotonic.error_cycles = 4711;
	CHECK_OK(rs_store_set_clock(k.store, &monotonic));
	/* the TSC's new frequency does not apply to a clock that counts ns */
	refined = k.clock;
	refined.freq_hz = 2000000000;
	CHECK_OK(rs_clock_init(&refined));
	CHECK_OK(rs_store_close(k.store, &refined, NULL));
	k.store = NULL;
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(trace->describe.n_clocks, 2);
	CHECK_EQ_U64(trace->describe.clocks[0]->freq_hz, 2000000000);
	CHECK_EQ_U64(trace->describe.clocks[1]->freq_hz, 1000000000);
	CHECK_EQ_U64(trace->describe.clocks[1]->error_cycles, 4711);
	CHECK_EQ_U64(trace->describe.clocks[1]->origin, 123456789);
	CHECK(trace->describe.clocks[1]->monotonic && !trace->describe.clocks[0]->monotonic);
	rs_trace_close(trace);
	text = file_read(join(path, k.path, "metadata"), &bytes);
	REQUIRE(text != NULL);
	CHECK(strstr((char *)text, "description = \"CLOCK_MONOTONIC\"") != NULL);
	CHECK(strstr((char *)text, "clock_monotonic_error_cycles = 4711;") != NULL);
	free(text);
	kit_store_deinit(&k);
}
