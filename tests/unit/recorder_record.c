/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder on this program's own threads: each emitted record is kept once, or counted as lost,
 * whatever starts and ends meanwhile. trace_signal.c covers signals in the middle of puts.
 */
#include "event_kit.h"
#include "shared_kit.h"

#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "store/repair.h"
#include "trace/trace.h"
#include <ringside/reader.h>
#include <ringside/recorder.h>
#include <ringside/vmm.h>

RS_TRACE_CLASS(first, 0)
RS_TRACE_CLASS(second, 1)
RS_DEFINE_EVENT(one, first, "one", (u64, n));
RS_DEFINE_EVENT(two, second, "two", (u64, n));

static struct rs_error *trace_read_all(struct rs_trace *trace, struct got_sink *got)
{
	struct rs_source *source = NULL;
	struct rs_error *err = rs_trace_source(trace, &source);

	if (!err)
		err = rs_run(source, NULL, &got->sink, NULL);
	rs_source_destroy(source);
	return err;
}

/* Losses, and times from clock records. */
static size_t others(const struct got_sink *got)
{
	size_t n = 0;

	for (size_t i = 0; i < got->n; i++)
		n += !strcmp(got->at[i].event->class_name, "trace");
	return n;
}

/* ---- a recording and its content ------------------------------------------------------------- */

struct recording {
	char temp[64], path[256];
	struct rs_recorder *recorder;
	struct rs_recorder_summary sum;
	struct rs_trace *trace;
	struct got_sink got;
};

static bool recording_begin(struct recording *r, uint32_t threads)
{
	struct rs_recorder_options options = {
		.directory = r->path, .poll_us = 200, .flush_ms = 1, .threads = threads
	};

	*r = (struct recording){ .got = got_sink() };
	join(r->path, make_temp(r->temp), "trace");
	return CHECK_OK(rs_clock_host(&options.clock)) &&
	       CHECK_OK(rs_recorder_create(&options, &r->recorder)) &&
	       CHECK_OK(rs_recorder_add_trace(r->recorder));
}

static bool recording_end(struct recording *r)
{
	return CHECK_OK(rs_recorder_close(r->recorder, &r->sum)) &&
	       CHECK_OK(rs_trace_open(r->path, &r->trace)) &&
	       CHECK_OK(trace_read_all(r->trace, &r->got)) &&
	       CHECK_EQ_U64(r->got.lost, r->sum.lost) &&
	       CHECK_EQ_U64(r->got.n, r->sum.records + others(&r->got));
}

static void recording_deinit(struct recording *r)
{
	got_free(&r->got);
	rs_trace_close(r->trace);
	remove_tree(r->temp);
}

static void start(uint32_t ring_bytes)
{
	CHECK_OK(rs_trace_start(
		&(struct rs_trace_options){ .provider = "app", .ring_bytes = ring_bytes }));
}

static bool is(const struct got *got, const char *name)
{
	return !strcmp(got->event->name, name);
}

static size_t count(const struct recording *r, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < r->got.n; i++)
		n += is(&r->got.at[i], name);
	return n;
}

static void *in_thread(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

/* In a separate thread, which has ended when this returns: a new ring, which retires. */
static void run_thread(void (*run)(void))
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, in_thread, (void *)run));
	pthread_join(thread, NULL);
}

/* ---- start and end ------------------------------------------------------------------------- */

TEST(tracing_is_switched_on_once)
{
	static const char *const bad[] = { "", "a:b", "a b", "a/b", "\xc3\xbc" };
	char longest[65];

	CHECK_EQ_U64(rs_trace_mask, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(rs_trace_start(&(struct rs_trace_options){ .provider = bad[i] }),
			  RS_USAGE, "expected 1 to 63 letters");
	memset(longest, 'p', 64);
	longest[64] = '\0';
	CHECK_ERR(rs_trace_start(&(struct rs_trace_options){ .provider = longest }), RS_USAGE,
		  "expected 1 to 63 letters");
	CHECK_EQ_U64(rs_trace_mask, 0);
	start(0);
	CHECK_EQ_U64(rs_trace_mask, RS_CLASS_ALL);
	CHECK_ERR(rs_trace_start(&(struct rs_trace_options){ .provider = "b" }), RS_USAGE,
		  "is already on, as 'app'");
	rs_trace_stop();
	CHECK_EQ_U64(rs_trace_mask, 0);
	rs_trace_stop();
}

TEST(one_recorder_at_a_time_records_the_trace)
{
	struct rs_recorder_options options = { 0 };
	struct rs_recorder *other = NULL;
	struct recording r;
	char path[256];

	start(0);
	REQUIRE(recording_begin(&r, 1));
	CHECK_ERR(rs_recorder_add_trace(r.recorder), RS_USAGE, "is already recorded");
	CHECK_OK(rs_clock_host(&options.clock));
	options.directory = r.path;
	CHECK_ERR(rs_recorder_create(&options, &other), RS_USAGE, "is not empty");
	options.directory = join(path, r.temp, "other");
	REQUIRE_OK(rs_recorder_create(&options, &other));
	CHECK_ERR(rs_recorder_add_trace(other), RS_USAGE, "is already recorded");
	CHECK_ERR(rs_recorder_add_binary(other, &(struct rs_trace_binary){ .role = "guest" }),
		  RS_USAGE, "needs a role and a path");
	CHECK_OK(rs_recorder_close(other, NULL));
	CHECK_OK(rs_recorder_close(NULL, NULL));
	RS_EMIT(one, .n = 1);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(r.got.n, 1);
	recording_deinit(&r);
}

/*
 * ---- classes that are off and on
 * ----------------------------------------------------------------------
 */

static void emit_both(void)
{
	RS_EMIT(one, .n = 1);
	RS_EMIT(two, .n = 2);
	{
		RS_SPAN(first, "first span");
		RS_SPAN_ARG(second, "second span", 7);
	}
	RS_EMIT_EVENT(vcpu_run, .vcpu = 3);
}

TEST(classes_are_switched_one_by_one)
{
	const struct rs_schema *schema;
	struct recording r;

	start(0);
	rs_trace_set_mask(RS_CLASS_first);
	REQUIRE(recording_begin(&r, 1));
	emit_both(); /* one, first begin and end */
	rs_trace_set_mask(RS_CLASS_second);
	emit_both(); /* two, second begin and end */
	rs_trace_set_mask(0);
	emit_both();
	rs_trace_set_mask(RS_CLASS_ALL);
	{
		RS_SPAN(first, "ends while off");
		rs_trace_set_mask(0);
	}
	{
		RS_SPAN(first, "begins while off");
		rs_trace_set_mask(RS_CLASS_ALL);
	}
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(count(&r, "one"), 1);
	CHECK_EQ_U64(count(&r, "two"), 1);
	REQUIRE(r.trace);
	schema = rs_trace_stream(r.trace, 0)->schema;
	/* a span that began ends, one that did not begin does not */
	CHECK_EQ_U64(count(&r, "begin"), 3);
	CHECK_EQ_U64(count(&r, "end"), 3);
	CHECK_EQ_U64(count(&r, "run"), 0);
	for (size_t i = 0; i < r.got.n; i++) {
		struct rs_span span;
		const char *name;

		if (!is(&r.got.at[i], "begin") && !is(&r.got.at[i], "end"))
			continue;
		memcpy(&span, r.got.at[i].payload, sizeof(span));
		name = rs_schema_name(schema, span.name);
		CHECK_EQ_U64(span.depth, 0);
		REQUIRE(name);
		CHECK_EQ_U64(rs_schema_name_has_argument(schema, span.name),
			     !strcmp(name, "second span"));
	}
	recording_deinit(&r);
}

/* ---- threads ------------------------------------------------------------------------------------
 */

static void emit_some(void)
{
	pthread_setname_np(pthread_self(), "a thread");
	for (uint64_t i = 0; i < 1009; i++)
		RS_EMIT(one, .n = i);
}

/* Without a recorder: its first worker frees entries on which a walk depends. */
static uint32_t rings(void)
{
	uint32_t n = 0;

	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next)
		n++;
	return n;
}

TEST(rings_of_ended_threads_are_drained_and_freed)
{
	struct recording r;

	start(0);
	RS_EMIT(one, .n = 0);  /* this thread's ring stays */
	run_thread(emit_some); /* ended before there is a recorder */
	REQUIRE(recording_begin(&r, 1));
	for (int i = 0; i < 50; i++)
		run_thread(emit_some);
	REQUIRE(recording_end(&r));
	CHECK_EQ_U64(rings(), 1);
	/* one each, possibly in the stream of an earlier thread */
	CHECK_EQ_U64(rs_trace_stream_count(r.trace), 52);
	CHECK_EQ_U64(r.sum.records, 51 * 1009 + 1);
	CHECK_EQ_U64(r.sum.lost, 0);
	for (uint32_t i = 0; i < rs_trace_stream_count(r.trace); i++) {
		const struct rs_stream *stream = rs_trace_stream(r.trace, i);
		uint64_t next = 0;

		CHECK(stream->tid > 0);
		for (size_t j = 0; j < r.got.n; j++)
			if (r.got.at[j].stream == stream)
				CHECK_EQ_U64(got_value(&r.got.at[j]), next++);
		CHECK(next == 1009 || next == 1);
		if (next == 1009)
			CHECK_STR(stream->thread, "a thread");
	}
	rs_trace_stop();
	recording_deinit(&r);
}

static void emit_as_vcpu(void)
{
	rs_trace_thread("a VM", 7);
	RS_EMIT(one, .n = 1);
}

TEST(a_thread_names_its_vcpu)
{
	struct recording r;

	start(0);
	REQUIRE(recording_begin(&r, 1));
	run_thread(emit_as_vcpu);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	REQUIRE_EQ_U64(r.got.n, 1);
	CHECK_STR(r.got.at[0].stream->vm, "a VM");
	CHECK_EQ_S64(r.got.at[0].stream->vcpu, 7);
	recording_deinit(&r);
}

#define SANDBOXES 3u
#define TURNS	  40u

/* One thread runs several sandboxes alternately, with events before and between them. */
static void run_in_turns(void)
{
	char name[16];

	RS_EMIT(one, .n = 1000);
	for (uint64_t i = 0; i < TURNS; i++) {
		snprintf(name, sizeof(name), "box%u", (unsigned)(i % SANDBOXES));
		rs_trace_thread(name, (int)(i % SANDBOXES));
		RS_EMIT(one, .n = i);
		rs_trace_thread(name, (int)(i % SANDBOXES)); /* no change */
		RS_EMIT(one, .n = i);
	}
	rs_trace_thread(NULL, -1);
	RS_EMIT(one, .n = 1001);
}

TEST(a_thread_runs_several_sandboxes_alternately)
{
	uint64_t counts[SANDBOXES + 1] = { 0 };
	struct recording r;

	start(0);
	REQUIRE(recording_begin(&r, 1));
	run_thread(run_in_turns);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	REQUIRE_EQ_U64(r.got.n, 2 * TURNS + 2);
	for (size_t i = 0; i < r.got.n; i++) {
		const struct rs_stream *stream = r.got.at[i].stream;
		uint64_t value = got_value(&r.got.at[i]);
		char name[16];

		if (value >= 1000) {
			CHECK(!stream->vm && stream->vcpu == RS_UNKNOWN);
			counts[SANDBOXES]++;
			continue;
		}
		snprintf(name, sizeof(name), "box%u", (unsigned)(value % SANDBOXES));
		CHECK_STR(stream->vm, name);
		CHECK_EQ_S64(stream->vcpu, (int64_t)(value % SANDBOXES));
		counts[value % SANDBOXES]++;
	}
	CHECK_EQ_U64(counts[SANDBOXES], 2);
	CHECK_EQ_U64(counts[0] + counts[1] + counts[2], 2 * TURNS);
	recording_deinit(&r);
}

#define CHANGES 3000u

static void change_without_a_recorder(void)
{
	for (uint64_t i = 0; i < CHANGES; i++) {
		rs_trace_thread("box", (int)i);
		RS_EMIT(one, .n = i);
	}
	rs_trace_thread(NULL, -1);
}

/* Rings that are not collected use bounded memory; records that do not fit are counted as lost. */
TEST(changes_without_a_recorder_keep_a_bounded_number_of_rings)
{
	struct recording r;
	struct rs_error *err;

	start(0);
	run_thread(change_without_a_recorder);
	REQUIRE(recording_begin(&r, 1));
	err = rs_recorder_close(r.recorder, &r.sum);
	CHECK(err && strstr(rs_error_text(err), "too many ended rings"));
	rs_error_free(err);
	rs_trace_stop();
	REQUIRE(CHECK_OK(rs_trace_open(r.path, &r.trace)));
	err = trace_read_all(r.trace, &r.got); /* the trace reports this, too */
	CHECK(err && rs_error_code(err) == RS_DAMAGED);
	rs_error_free(err);
	CHECK_EQ_U64(r.got.n - others(&r.got) + r.got.lost, CHANGES);
	CHECK(r.got.lost >= CHANGES - 1024 - 1 && r.got.lost < CHANGES - 900);
	recording_deinit(&r);
}

#define PRODUCERS 4u
#define EACH	  20011u

static uint64_t emitted[PRODUCERS], refused[PRODUCERS];

static void *produce(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	char text[64];

	memset(text, 't', sizeof(text));
	for (uint64_t i = 0; i < EACH; i++) {
		struct rs_event_vm_load load = { .entry = i, .size = me };

		emitted[me]++;
		if (i % 7) {
			RS_EMIT(one, .n = i * PRODUCERS + me);
			continue;
		}
		if (!rs_emit_text(&rs_trace_self, RS_EVENT_vm_load, &load, sizeof(load), text,
				  i % 64))
			refused[me]++;
	}
	return NULL;
}

/* A ring of 4 KiB and more records than it holds between two polls of the recorder. */
static void many_producers(uint32_t threads, uint32_t ring_bytes)
{
	pthread_t producers[PRODUCERS];
	uint64_t sum = 0, last[PRODUCERS] = { 0 };
	struct recording r;

	CHECK_OK(rs_trace_start(
		&(struct rs_trace_options){ .provider = "vmm", .ring_bytes = ring_bytes }));
	memset(emitted, 0, sizeof(emitted));
	REQUIRE(recording_begin(&r, threads));
	for (uint32_t i = 0; i < PRODUCERS; i++)
		CHECK(!pthread_create(&producers[i], NULL, produce, (void *)(uintptr_t)i));
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		pthread_join(producers[i], NULL);
		sum += emitted[i];
	}
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(r.sum.records + r.sum.lost, sum);
	if (ring_bytes > 1u << 20)
		CHECK_EQ_U64(r.sum.lost, 0);
	for (size_t i = 0; i < r.got.n; i++) {
		uint64_t n = got_value(&r.got.at[i]), who = n % PRODUCERS;

		if (!is(&r.got.at[i], "one"))
			continue;
		REQUIRE(n > last[who]);
		last[who] = n;
	}
	recording_deinit(&r);
}

TEST(kept_and_lost_equal_emitted)
{
	many_producers(1, 8u << 20);
	many_producers(1, 8192);
	many_producers(2, 8u << 20);
	many_producers(2, 8192);
	many_producers(3, 16384);
}

/* ---- consecutive recorders ----------------------------------------------------------------- */

static void emit_n(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		RS_EMIT(one, .n = i);
}

static void record_again_and_again(void)
{
	struct recording r;
	uint64_t capacity, total = 0;

	start(8192);
	/* no recorder yet: records that do not fit are lost */
	emit_n(1000);
	capacity = rs_trace_self.size / RS_SLOT_BYTES - 1;
	REQUIRE(recording_begin(&r, 1));
	REQUIRE(recording_end(&r));
	CHECK_EQ_U64(r.sum.records, capacity);
	CHECK_EQ_U64(r.sum.lost, 1000 - capacity);
	recording_deinit(&r);
	for (int round = 0; round < 5; round++) {
		emit_n(1000); /* begins with a record of the loss that was reported already */
		REQUIRE(recording_begin(&r, 1));
		REQUIRE(recording_end(&r));
		total += r.sum.records + r.sum.lost;
		recording_deinit(&r);
	}
	CHECK_EQ_U64(total, 5 * 1000);
	/* no further loss: a reported loss is not reported again */
	emit_n(10);
	REQUIRE(recording_begin(&r, 1));
	REQUIRE(recording_end(&r));
	CHECK_EQ_U64(r.sum.records, 10);
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_EQ_U64(r.got.n, 10);
	recording_deinit(&r);
	rs_trace_stop();
}

TEST(a_second_recorder_reports_no_loss_twice)
{
	run_thread(record_again_and_again); /* in a separate ring */
}

/* Each record costs two in the trace: itself and a report about its stamp. */
static void put_backward(void)
{
	RS_EMIT(one, .n = 0);
	for (uint64_t i = 1; i < 30000; i++) {
		struct rs_sbuf_room room = rs_sbuf_reserve_nested(&rs_trace_self, RS_SLOT_BYTES);
		struct rs_slot *slot = (struct rs_slot *)(void *)room.at;

		REQUIRE(slot != NULL);
		*slot = (struct rs_slot){ .tsc = room.tsc - i * 1000000,
					  .head = rs_record_head(rs_site_of_one.id, 1) };
		memcpy(slot->payload, &i, sizeof(i));
		rs_sbuf_commit_nested(&rs_trace_self, room);
	}
}

TEST(a_ring_of_corrected_records_is_emptied)
{
	struct recording r;

	start(1u << 20);
	run_thread(put_backward);
	REQUIRE(recording_begin(&r, 1));
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(r.sum.records, 30000);
	CHECK_EQ_U64(r.sum.lost, 0);
	recording_deinit(&r);
}

/*
 * ---- definitions during a recording
 * --------------------------------------------------------------
 */

TEST(names_and_events_defined_at_run_time)
{
	static struct rs_site sites[] = {
		{ .text = "late::event(u64 n)", .len = 18, .kind = RS_SITE_EVENT },
		{ .text = "late site", .len = 9, .kind = RS_SITE_NAME },
	};
	const struct rs_schema *schema;
	struct recording r;
	uint32_t ids[100];
	char text[32];

	start(0);
	REQUIRE(recording_begin(&r, 1));
	RS_EMIT(one, .n = 1);
	usleep(20000); /* the recorder has this thread's ring and its schema now */
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "late %d", i);
		ids[i] = rs_trace_name(text);
		memset(text, 'x', sizeof(text));
		rs_span_begin(ids[i], 0);
		rs_span_end(ids[i], 0);
	}
	rs_trace_register_sites(sites, sites + 2);
	CHECK(sites[0].id && sites[1].id);
	for (uint64_t i = 0; i < 100; i++)
		rs_emit(sites[0].id, &i, sizeof(i));
	rs_span_begin(sites[1].id, 0);
	rs_span_end(sites[1].id, 0);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_EQ_U64(count(&r, "event"), 100);
	schema = rs_trace_stream(r.trace, 0)->schema;
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "late %d", i);
		CHECK_STR(rs_schema_name(schema, ids[i]), text);
	}
	CHECK_STR(rs_schema_name(schema, sites[1].id), "late site");
	recording_deinit(&r);
}

/* A name is in no record's header: only its definition shows that it is new. */
TEST(names_defined_at_run_time)
{
	struct recording r;
	uint32_t ids[20];
	char text[32];

	start(0);
	REQUIRE(recording_begin(&r, 2));
	RS_EMIT(one, .n = 1);
	for (int i = 0; i < 20; i++) {
		usleep(3000);
		snprintf(text, sizeof(text), "alone %d", i);
		ids[i] = rs_trace_name(text);
		rs_span_begin(ids[i], 0);
		rs_span_end(ids[i], 0);
	}
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "alone %d", i);
		CHECK_STR(rs_schema_name(rs_trace_stream(r.trace, 0)->schema, ids[i]), text);
	}
	recording_deinit(&r);
}

/* A shared object may be unloaded before a recorder is there, and before the next one. */
TEST(the_sites_of_an_object_that_was_unloaded)
{
	static const char declaration[] = "class=first;event=gone;fields=u64 n";
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *text = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rs_site site = { .text = text,
				.len = sizeof(declaration) - 1,
				.kind = RS_SITE_NAME };

	REQUIRE(text != MAP_FAILED);
	memcpy(text, declaration, sizeof(declaration));
	start(0);
	rs_trace_register_sites(&site, &site + 1);
	munmap(text, bytes);
	CHECK(site.id != 0);
	for (int i = 0; i < 2; i++) {
		struct recording r;

		REQUIRE(recording_begin(&r, 1));
		RS_EMIT(one, .n = 1);
		REQUIRE(recording_end(&r));
		CHECK_STR(rs_schema_name(rs_trace_stream(r.trace, 0)->schema, (uint32_t)site.id),
			  declaration);
		recording_deinit(&r);
	}
	rs_trace_stop();
}

/* ---- fork
 * ------------------------------------------------------------------------------------------ */

TEST(a_child_does_not_trace_and_the_parent_continues)
{
	struct recording r;
	int status;
	pid_t pid;

	start(0);
	REQUIRE(recording_begin(&r, 1));
	RS_EMIT(one, .n = 1);
	{
		RS_SPAN(first, "around the fork");
		pid = fork();
		if (!pid) { /* the span's end must not be recorded here */
			RS_EMIT(one, .n = 666);
			rs_trace_set_mask(RS_CLASS_ALL); /* even so: there is no ring */
			RS_EMIT(one, .n = 666);
			RS_EMIT_EVENT_TEXT(vm_load, "text", 4, .entry = 666);
		}
	}
	if (!pid)
		_exit(rs_trace_self.ring != NULL);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	RS_EMIT(one, .n = 2);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_EQ_U64(count(&r, "one"), 2);
	CHECK_EQ_U64(count(&r, "begin"), 1);
	CHECK_EQ_U64(count(&r, "end"), 1);
	recording_deinit(&r);
}

static void *emit_one(void *unused)
{
	RS_EMIT(one, .n = 1);
	return unused;
}

/* Records in a process, which forks a child and is killed. Returns the child's pid, and its own. */
static pid_t killed_with_a_child(const char *path, pid_t *killed)
{
	struct rs_recorder_options options = { .directory = path, .poll_us = 200 };
	struct rs_recorder *recorder;
	pid_t pid, child = 0;
	pthread_t thread;
	int ends[2];

	if (!CHECK(!pipe(ends)))
		return 0;
	pid = fork();
	if (!pid) {
		start(0);
		if (rs_clock_host(&options.clock) || rs_recorder_create(&options, &recorder) ||
		    rs_recorder_add_trace(recorder))
			_exit(1);
		/* A forked child's first thread does not trace. */
		if (pthread_create(&thread, NULL, emit_one, NULL) || pthread_join(thread, NULL))
			_exit(1);
		if (fork())
			raise(SIGKILL);
		/* The child gave up the locks before fork() returned: pthread_atfork(). */
		child = getpid();
		if (write(ends[1], &child, sizeof(child)) == sizeof(child))
			pause();
		_exit(1);
	}
	close(ends[1]);
	CHECK(read(ends[0], &child, sizeof(child)) == sizeof(child));
	close(ends[0]);
	waitpid(pid, NULL, 0);
	*killed = pid;
	return child;
}

TEST(a_child_that_lives_on_does_not_keep_the_locks)
{
	struct rs_repair_result result;
	struct recording r = { .got = got_sink() };
	pid_t child, killed;

	join(r.path, make_temp(r.temp), "trace");
	child = killed_with_a_child(r.path, &killed);
	REQUIRE(child > 0);
	CHECK_OK(rs_trace_repair(r.path, &result));
	kill(child, SIGKILL);
	REQUIRE_OK(rs_trace_open(r.path, &r.trace));
	CHECK_OK(trace_read_all(r.trace, &r.got));
	CHECK_EQ_U64(count(&r, "one"), 1);
	recording_deinit(&r);
}

/* The repair may begin before or after it. */
static void *close_soon(void *fd)
{
	usleep(20000);
	close(*(int *)fd);
	return NULL;
}

TEST(others_who_look_whether_the_program_runs_do_not_prevent_a_repair)
{
	struct rs_repair_result result;
	struct recording r = { .got = got_sink() };
	char file[PATH_MAX];
	pthread_t thread;
	pid_t child, killed;
	int fd;

	join(r.path, make_temp(r.temp), "trace");
	child = killed_with_a_child(r.path, &killed);
	REQUIRE(child > 0);
	kill(child, SIGKILL);
	if (!shared_rings(killed, file))
		TEST_SKIP("there is no tmpfs for a file of rings");
	fd = open(file, O_RDONLY);
	REQUIRE(!flock(fd, LOCK_SH)); /* as file.c and waiting.c do */
	REQUIRE(!pthread_create(&thread, NULL, close_soon, &fd));
	CHECK_OK(rs_trace_repair(r.path, &result));
	pthread_join(thread, NULL);
	CHECK(access(file, F_OK));
	REQUIRE_OK(rs_trace_open(r.path, &r.trace));
	CHECK_OK(trace_read_all(r.trace, &r.got));
	CHECK_EQ_U64(count(&r, "one"), 1);
	recording_deinit(&r);
}

/* ---- the catalogue's provider
 * ------------------------------------------------------------------------ */

/* A VMM with another name has the catalogue's events under its own name. */
TEST(events_of_the_catalogue_by_another_provider)
{
	struct recording r;

	CHECK_OK(rs_trace_start(&(struct rs_trace_options){ .provider = "lkvm" }));
	REQUIRE(recording_begin(&r, 1));
	for (uint32_t i = 0; i < 1049; i++)
		RS_EMIT_EVENT(vcpu_exit, .vcpu = i, .reason = 5, .detail = i);
	RS_EMIT(one, .n = 1);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	REQUIRE_EQ_U64(r.got.n, 1050);
	CHECK_STR(r.got.at[0].event->probe, "lkvm:vcpu::exit");
	CHECK_EQ_U64(r.got.at[1048].event->id, RS_EVENT_vcpu_exit);
	CHECK_EQ_U64(rs_field_value(&r.got.at[1048].event->fields[2], r.got.at[1048].payload),
		     1048);
	CHECK_EQ_U64(got_value(&r.got.at[1049]), 1);
	recording_deinit(&r);
}

TEST(a_vmm_s_events_have_their_fields)
{
	struct recording r;

	CHECK_OK(rs_trace_start(&(struct rs_trace_options){ .provider = "vmm" }));
	REQUIRE(recording_begin(&r, 1));
	RS_EMIT_EVENT(vcpu_exit, .vcpu = 1, .reason = 5, .detail = 0xff);
	RS_EMIT_EVENT_TEXT(vm_load, "image", 5, .entry = 1, .size = 2);
	RS_EMIT_EVENT(vm_destroy);
	REQUIRE(recording_end(&r));
	rs_trace_stop();
	REQUIRE_EQ_U64(r.got.n, 3);
	CHECK_STR(r.got.at[0].event->probe, "vmm:vcpu::exit");
	CHECK_STR(rs_enum_name(r.got.at[0].event->fields[1].values,
			       rs_field_value(&r.got.at[0].event->fields[1], r.got.at[0].payload)),
		  "hlt");
	CHECK_STR(r.got.at[1].event->probe, "vmm:vm::load");
	CHECK_MEM(r.got.at[1].payload + 16, "\5\0image", 7);
	CHECK_STR(r.got.at[2].event->probe, "vmm:vm::destroy");
	recording_deinit(&r);
}
