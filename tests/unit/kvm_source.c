/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A KVM session as a source: a snapshot of its counts in each round, and its events, merged over
 * the CPUs, each with the stream of its thread. The session's programs run in the kernel, on
 * records built here.
 */
#include "kvm_kit.h"

#include <pthread.h>
#include <sched.h>

#include "kvm/counts.h"
#include "live/kvm.h"

/* ---- a sink that keeps its input ------------------------------------------------------------ */

#define KEPT_MAX 4096

struct kept_view {
	int64_t ts_ns;
	uint64_t id;
	int pid, tid, vcpu, cpu;
	char vm[RS_KVM_VM_MAX];
};

struct keeper {
	struct rs_sink sink;
	/* The round's snapshot: valid until the next round. */
	struct rs_kvm_snapshot snapshot;
	const bool *wanted;
	uint32_t n_counts;
	bool last;
	struct kept_view views[KEPT_MAX];
	uint32_t n_views;
};

static struct rs_error *keep_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct keeper *keeper = (struct keeper *)sink;

	for (size_t i = 0; i < n && keeper->n_views < KEPT_MAX; i++) {
		const struct rs_stream *stream = views[i].stream;
		struct kept_view *kept = &keeper->views[keeper->n_views++];

		*kept = (struct kept_view){ .ts_ns = views[i].ts_ns,
					    .id = views[i].event->id,
					    .pid = stream->pid,
					    .tid = stream->tid,
					    .vcpu = stream->vcpu,
					    .cpu = views[i].cpu };
		snprintf(kept->vm, sizeof(kept->vm), "%s", stream->vm ? stream->vm : "-");
	}
	return NULL;
}

static struct rs_error *keep_counts(struct rs_sink *sink, const struct rs_counts *given)
{
	const struct rs_kvm_counts *counts = (const struct rs_kvm_counts *)given;
	struct keeper *keeper = (struct keeper *)sink;

	CHECK_EQ_U64(given->kind, RS_COUNTS_KVM);
	keeper->snapshot = *counts->snapshot;
	keeper->wanted = counts->wanted;
	keeper->last = counts->last;
	keeper->n_counts++;
	return NULL;
}

static const struct rs_sink_ops keep_ops = {
	.name = "keeper",
	.events = keep_events,
	.counts = keep_counts,
};

static struct keeper kept;

static struct rs_error *stop_when_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	(void)batch;
	*(bool *)ctx = *stop = true;
	return NULL;
}

/* Feeds an emptied keeper until the source is idle. Returns false if the source has ended. */
static bool round_of(struct rs_source *source)
{
	bool more = false;
	const struct rs_feed_hooks hooks = { .idle = stop_when_idle, .ctx = &more };

	kept.sink.ops = &keep_ops;
	kept.n_counts = kept.n_views = 0;
	CHECK_OK(rs_source_feed(source, &kept.sink, &hooks));
	return more;
}

/* Returns the snapshot's row of a reason, for the thread that runs a vCPU; zeros: none. */
static struct rs_kvm_exit exit_of(int vcpu, enum rs_isa isa, uint32_t code)
{
	struct rs_kvm_exit found = { 0 };

	for (uint32_t i = 0; i < kept.snapshot.n_exits; i++) {
		const struct rs_kvm_exit *row = &kept.snapshot.exits[i];
		const struct rs_kvm_thread *thread = &kept.snapshot.threads[row->thread];

		CHECK_EQ_S64(thread->pid, getpid());
		CHECK_EQ_S64(thread->tid, kit_tid());
		if (thread->vcpu != vcpu || row->isa != isa || row->code != code || row->nested)
			continue;
		CHECK_EQ_U64(found.count, 0); /* at most once */
		found = *row;
	}
	return found;
}

/* ---- sessions ------------------------------------------------------------------------------- */

struct kit_entry {
	uint64_t ent;
	uint32_t vcpu_id, pad;
	uint64_t rip;
};

struct bench {
	struct rs_kvm_session *session;
	struct rs_source *source;
	int exit_fd, entry_fd;
	uint32_t pushed;
};

static bool bench_open(struct bench *b, const struct rs_kvm_options *options,
		       const struct rs_query *query)
{
	*b = (struct bench){ .session = kit_open(options, 0, 0) };
	if (!b->session || !CHECK_OK(rs_kvm_source_create(b->session, &b->source)))
		return false;
	b->exit_fd = kit_program(b->session, "kvm_exit");
	b->entry_fd = kit_program(b->session, "kvm_entry");
	return CHECK_OK(b->source->ops->open(b->source, query, &b->pushed)) &&
	       CHECK_OK(rs_kvm_gate(b->session, true));
}

static void bench_close(struct bench *b)
{
	rs_source_destroy(b->source);
	rs_kvm_close(b->session);
}

static void entry_run(const struct bench *b, uint32_t vcpu)
{
	const struct kit_entry record = { .vcpu_id = vcpu };

	kit_run(b->entry_fd, &record, sizeof(record));
}

/* All counts that the analysis requests. */
static struct rs_query query_all(void)
{
	struct rs_query query;

	rs_query_init(&query);
	query.counts = RS_COUNTS_KVM;
	return query;
}

TEST(each_round_has_one_snapshot)
{
	struct rs_query query = query_all();
	char vm[RS_KVM_VM_MAX];
	struct bench b;

	KIT_NEEDS();
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ 0 }, &query));
	CHECK(b.pushed & RS_PUSHED_COUNTS);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(kept.n_counts, 1);
	CHECK_EQ_U64(kept.snapshot.n_exits, 0);
	for (int i = 0; i < 8; i++) /* one of them waits for its successor */
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 3);
	kit_exit_run(b.exit_fd, RS_ISA_SVM, 0xffffffff, 3);
	kit_exit_run(b.exit_fd, RS_ISA_VMX, 10, 3);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(kept.n_counts, 1);
	CHECK(!kept.last);
	CHECK_EQ_U64(exit_of(3, RS_ISA_VMX, 12).count, 8);
	CHECK_EQ_U64(exit_of(3, RS_ISA_SVM, 0xffffffff).count, 1);
	CHECK(!exit_of(3, RS_ISA_VMX, 12).hist);
	for (int i = 0; i < 5; i++)
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 3);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(kept.n_counts, 1);
	CHECK(kept.last);
	CHECK_EQ_U64(exit_of(3, RS_ISA_VMX, 12).count, 13);
	CHECK_EQ_U64(exit_of(3, RS_ISA_VMX, 10).count, 1);
	CHECK_EQ_U64(kept.n_views, 0);
	rs_kvm_vm_name(getpid(), vm);
	CHECK_STR(kept.snapshot.threads[0].vm, vm);
	CHECK(!round_of(b.source)); /* and stays at its end */
	bench_close(&b);
}

/* The parts of the row, and the thread's states, add up. */
static void check_sums(uint64_t exits)
{
	const struct rs_kvm_exit row = exit_of(1, RS_ISA_VMX, 30);
	const struct rs_vcpu_time *time = &kept.snapshot.threads[0].time;
	uint64_t states = 0;

	CHECK_EQ_U64(row.entered, exits);
	REQUIRE(row.hist != NULL);
	CHECK_EQ_U64(rs_hist_total(row.hist), exits);
	CHECK(row.min_ns > 0 && row.min_ns <= row.max_ns && row.max_ns <= row.sum.total_ns);
	CHECK_EQ_U64(row.sum.kernel_ns + row.sum.user_ns + row.sum.poll_ns + row.sum.off_ns,
		     row.sum.total_ns);
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++)
		states += time->ns[i];
	CHECK(time->at > time->since);
	CHECK_EQ_U64(states, time->at - time->since);
}

TEST(latencies_add_up)
{
	struct rs_query query = query_all();
	struct bench b;

	KIT_NEEDS();
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .latency = true }, &query));
	for (int i = 0; i < 31; i++) {
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 30, 1);
		entry_run(&b, 1);
	}
	CHECK(round_of(b.source));
	check_sums(31);
	for (int i = 0; i < 17; i++) {
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 30, 1);
		entry_run(&b, 1);
	}
	CHECK(round_of(b.source));
	check_sums(48);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK(!kept.snapshot.threads[0].ended);
	bench_close(&b);
}

/* Looking up a thread, which a source does between rounds, leaves minimum and maximum unchanged. */
TEST(a_lookup_of_threads_does_not_consume_the_next_snapshot)
{
	struct rs_kvm_snapshot threads;
	struct rs_query query = query_all();
	struct bench b;

	KIT_NEEDS();
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .latency = true }, &query));
	kit_exit_run(b.exit_fd, RS_ISA_VMX, 30, 1);
	entry_run(&b, 1);
	REQUIRE_OK(rs_kvm_threads(b.session, &threads));
	CHECK_EQ_U64(threads.n_threads, 1);
	CHECK_EQ_S64(threads.threads[0].tid, kit_tid());
	CHECK_EQ_U64(threads.n_exits, 0);
	CHECK(threads.opened_ns && threads.now_ns > threads.opened_ns);
	CHECK(round_of(b.source));
	check_sums(1);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(exit_of(1, RS_ISA_VMX, 30).max_ns, 0);
	bench_close(&b);
}

TEST(a_reused_tid_has_another_index)
{
	struct rs_query query = query_all();
	struct bench b;

	KIT_NEEDS();
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .latency = true }, &query));
	for (int i = 0; i < 7; i++)
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 1);
	kit_run(kit_program(b.session, "sched_process_exit"), "", 0);
	for (int i = 0; i < 11; i++) /* the same tid, another thread */
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 2);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	REQUIRE_EQ_U64(kept.snapshot.n_threads, 2);
	CHECK(kept.snapshot.threads[0].ended && !kept.snapshot.threads[1].ended);
	CHECK_EQ_U64(exit_of(1, RS_ISA_VMX, 12).count, 7);
	CHECK_EQ_U64(exit_of(2, RS_ISA_VMX, 12).count, 11);
	bench_close(&b);
}

TEST(exits_without_room_are_counted)
{
	struct rs_query query = query_all();
	struct bench b = { 0 };

	KIT_NEEDS();
	b.session = kit_open(&(struct rs_kvm_options){ 0 }, 2 * RS_KVM_BLOCK, 0);
	REQUIRE(b.session);
	REQUIRE_OK(rs_kvm_source_create(b.session, &b.source));
	REQUIRE_OK(b.source->ops->open(b.source, &query, &b.pushed));
	REQUIRE_OK(rs_kvm_gate(b.session, true));
	for (uint32_t code = 0; code < 2 * RS_KVM_BLOCK + 7; code++)
		kit_exit_run(kit_program(b.session, "kvm_exit"), RS_ISA_VMX, 1000 + code, 0);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(kept.snapshot.n_exits, 2 * RS_KVM_BLOCK);
	CHECK_EQ_U64(kept.snapshot.dropped_exits, 7);
	CHECK_EQ_U64(kept.snapshot.dropped_threads + kept.snapshot.dropped_causes, 0);
	bench_close(&b);
}

/* ---- queries -------------------------------------------------------------------------------- */

/* Whether a query gets counts of three exits of vCPU 2, and whether it selects that thread. */
static bool counts_for(const struct rs_query *query, bool *wanted)
{
	bool counted = false;
	struct bench b;

	if (bench_open(&b, &(struct rs_kvm_options){ 0 }, query)) {
		for (int i = 0; i < 3; i++)
			kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 2);
		CHECK_OK(rs_kvm_gate(b.session, false));
		CHECK(!round_of(b.source));
		counted = kept.n_counts == 1;
		CHECK_EQ_U64(!!(b.pushed & RS_PUSHED_COUNTS), counted);
		*wanted = counted && kept.wanted[0];
	}
	bench_close(&b);
	return counted;
}

TEST(queries_that_counts_can_and_cannot_answer)
{
	struct rs_query query;
	bool wanted;

	KIT_NEEDS();
	query = query_all();
	CHECK(counts_for(&query, &wanted) && wanted);
	rs_cpu_set_parse(&query.vcpus, "0-1,3");
	CHECK(counts_for(&query, &wanted) && !wanted);
	query = query_all();
	query.vm = "no-such-*";
	CHECK(counts_for(&query, &wanted) && !wanted);
	/* Counts have no times. */
	query = query_all();
	query.from_ns = 1;
	CHECK(!counts_for(&query, &wanted));
	rs_query_init(&query);
	CHECK(!counts_for(&query, &wanted));
}

/* ---- events --------------------------------------------------------------------------------- */

#define PINNED_EXITS 101

struct pinned {
	const struct bench *bench;
	pthread_t thread;
	int cpu, tid;
	uint32_t vcpu;
};

static pthread_barrier_t both;

static void *pinned_run(void *arg)
{
	struct pinned *p = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(p->cpu, &set);
	CHECK_EQ_S64(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), 0);
	p->tid = kit_tid();
	pthread_barrier_wait(&both);
	for (int i = 0; i < PINNED_EXITS; i++) {
		kit_exit_run(p->bench->exit_fd, RS_ISA_VMX, 12, p->vcpu);
		entry_run(p->bench, p->vcpu);
	}
	pthread_barrier_wait(&both); /* their tids are theirs until both have ended */
	return NULL;
}

static void check_views(const struct pinned pinned[2])
{
	uint32_t exits[2] = { 0, 0 };
	char vm[RS_KVM_VM_MAX];

	rs_kvm_vm_name(getpid(), vm);
	for (uint32_t i = 0; i < kept.n_views; i++) {
		const struct kept_view *view = &kept.views[i];
		int who = view->tid == pinned[1].tid;

		CHECK(!i || kept.views[i - 1].ts_ns <= view->ts_ns);
		CHECK(view->ts_ns >= 0);
		if (view->id != RS_KVM_ID_kvm_vmx_exit)
			continue;
		CHECK_EQ_S64(view->tid, pinned[who].tid);
		CHECK_EQ_S64(view->pid, getpid());
		CHECK_EQ_S64(view->vcpu, pinned[who].vcpu);
		CHECK_EQ_S64(view->cpu, pinned[who].cpu);
		CHECK_STR(view->vm, vm);
		exits[who]++;
	}
	CHECK_EQ_U64(exits[0], PINNED_EXITS);
	CHECK_EQ_U64(exits[1], PINNED_EXITS);
}

TEST(events_of_all_cpus_in_order)
{
	struct pinned pinned[2] = { { .cpu = 0, .vcpu = 4 }, { .cpu = 1, .vcpu = 5 } };
	struct rs_query query;
	struct bench b;

	KIT_NEEDS();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		TEST_SKIP("there is one CPU only");
	rs_query_init(&query);
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .events = true, .latency = true },
			   &query));
	REQUIRE(!pthread_barrier_init(&both, NULL, 2));
	for (int i = 0; i < 2; i++) {
		pinned[i].bench = &b;
		REQUIRE(!pthread_create(&pinned[i].thread, NULL, pinned_run, &pinned[i]));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(pinned[i].thread, NULL);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(kept.n_counts, 0);
	check_views(pinned);
	bench_close(&b);
}

TEST(events_excluded_by_the_query)
{
	struct rs_query query;
	struct bench b;

	KIT_NEEDS();
	rs_query_init(&query);
	query.globs[query.n_globs++] = "kvm:vcpu::entry";
	CHECK_OK(rs_cpu_set_parse(&query.vcpus, "6"));
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .events = true }, &query));
	for (uint32_t i = 0; i < 13; i++) {
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 6);
		entry_run(&b, 6);
	}
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(kept.n_views, 13);
	for (uint32_t i = 0; i < kept.n_views; i++)
		CHECK_EQ_U64(kept.views[i].id, RS_KVM_ID_kvm_entry);
	bench_close(&b);
}

TEST(a_full_ring_is_reported_as_a_loss)
{
	struct rs_query query;
	uint32_t losses = 0, exits = 0;
	struct bench b;

	KIT_NEEDS();
	rs_query_init(&query);
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ .events = true, .ring_bytes = 4096 },
			   &query));
	for (uint32_t i = 0; i < 1009; i++)
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 6);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	for (uint32_t i = 0; i < kept.n_views; i++) {
		exits += kept.views[i].id == RS_KVM_ID_kvm_vmx_exit;
		losses += kept.views[i].id == RS_ID_LOST;
	}
	CHECK(exits > 0 && exits < 1009);
	CHECK(losses >= 1);
	bench_close(&b);
}
