/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A KVM session as a source: what its counts grew by, round by round, and its events, merged over
 * the CPUs, each with the stream of its thread. The session's programs run in the kernel, on
 * records laid out here.
 */
#include "kvm_kit.h"

#include <pthread.h>
#include <sched.h>

#include "kvm/aggregates.h"
#include "live/kvm.h"

/* ---- a sink that keeps what it gets --------------------------------------------------------- */

#define KEPT_MAX 4096

struct kept_row {
	uint32_t aggregate;
	char keys[256]; /* with spaces between */
	uint64_t count;
	int64_t sum, min, max;
	uint64_t in_hist;
	bool has_hist;
};

struct kept_view {
	int64_t ts_ns;
	uint64_t id;
	int pid, tid, vcpu, cpu;
	char vm[RS_KVM_VM_MAX];
};

struct keeper {
	struct rs_sink sink;
	struct kept_row rows[KEPT_MAX];
	struct kept_view views[KEPT_MAX];
	uint32_t n_rows, n_views;
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

static struct rs_error *keep_partial(struct rs_sink *sink, const struct rs_partial *partial)
{
	struct keeper *keeper = (struct keeper *)sink;
	struct kept_row *row = &keeper->rows[keeper->n_rows];

	if (keeper->n_rows == KEPT_MAX)
		return rs_error_create(RS_FAILED, "too many rows for this test");
	keeper->n_rows++;
	*row = (struct kept_row){ .aggregate = partial->aggregate,
				  .count = partial->count,
				  .sum = partial->sum,
				  .min = partial->min,
				  .max = partial->max,
				  .has_hist = partial->hist != NULL };
	if (partial->hist)
		row->in_hist = rs_hist_total(partial->hist);
	for (uint32_t i = 0; i < RS_AGGREGATE_KEYS_MAX && partial->keys[i]; i++) {
		size_t used = strlen(row->keys);

		snprintf(row->keys + used, sizeof(row->keys) - used, "%s%s", i ? " " : "",
			 partial->keys[i]);
	}
	return NULL;
}

static const struct rs_sink_ops keep_ops = {
	.name = "keeper",
	.events = keep_events,
	.partial = keep_partial,
};

static struct keeper kept;

/* One round into an emptied keeper; whether the source goes on. */
static bool round_of(struct rs_source *source)
{
	bool more = false;

	kept.sink.ops = &keep_ops;
	kept.n_rows = kept.n_views = 0;
	CHECK_OK(rs_kvm_source_round(source, &kept.sink, &more));
	return more;
}

/* "VM PID TID VCPU REST" of the thread that runs; the VM is this test's own process. */
static const char *keys_of(int vcpu, const char *rest)
{
	static char text[256];
	char vm[RS_KVM_VM_MAX];

	rs_kvm_vm_name(getpid(), vm);
	snprintf(text, sizeof(text), "%s %d %d %d%s%s", vm, getpid(), kit_tid(), vcpu,
		 rest[0] ? " " : "", rest);
	return text;
}

/* The one row of an aggregate with these keys; a row of zeros where there is none. */
static const struct kept_row *row_of(uint32_t aggregate, const char *keys)
{
	static const struct kept_row none;
	const struct kept_row *found = &none;

	for (uint32_t i = 0; i < kept.n_rows; i++) {
		if (kept.rows[i].aggregate != aggregate || strcmp(kept.rows[i].keys, keys) != 0)
			continue;
		CHECK(found == &none); /* at most once a round */
		found = &kept.rows[i];
	}
	return found;
}

static uint32_t rows_of(uint32_t aggregate)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < kept.n_rows; i++)
		n += kept.rows[i].aggregate == aggregate;
	return n;
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

/* All that the analysis asks for. */
static struct rs_query query_all(void)
{
	struct rs_query query;

	rs_query_init(&query);
	query.aggregates = rs_kvm_aggregates;
	query.n_aggregates = RS_KVM_AGGREGATES;
	return query;
}

TEST(counts_are_given_once)
{
	struct rs_query query = query_all();
	struct bench b;

	KIT_NEEDS();
	REQUIRE(bench_open(&b, &(struct rs_kvm_options){ 0 }, &query));
	CHECK(b.pushed & RS_PUSHED_AGGREGATES);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(kept.n_rows, 0);
	for (int i = 0; i < 8; i++) /* one of them waits for what follows it */
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 3);
	kit_exit_run(b.exit_fd, RS_ISA_SVM, 0xffffffff, 3);
	kit_exit_run(b.exit_fd, RS_ISA_VMX, 10, 3);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(3, "vmx 0 12"))->count, 8);
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(3, "svm 0 4294967295"))->count, 1);
	CHECK_EQ_U64(kept.n_rows, 2);
	CHECK(round_of(b.source));
	CHECK_EQ_U64(kept.n_rows, 0);
	for (int i = 0; i < 5; i++)
		kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 3);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(3, "vmx 0 12"))->count, 5);
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(3, "vmx 0 10"))->count, 1);
	CHECK_EQ_U64(kept.n_rows, 2);
	CHECK_EQ_U64(kept.n_views, 0);
	CHECK(!round_of(b.source)); /* and stays at its end */
	CHECK_EQ_U64(kept.n_rows, 0);
	bench_close(&b);
}

/* The parts of this round's row, and its states, add up. */
static void check_sums(uint64_t exits)
{
	const struct kept_row *all = row_of(RS_KVM_EXIT_NS, keys_of(1, "vmx 0 30"));
	int64_t parts = 0, states = 0, wall = 0;

	CHECK_EQ_U64(all->count, exits);
	CHECK(all->has_hist);
	CHECK_EQ_U64(all->in_hist, exits);
	CHECK(all->min > 0 && all->min <= all->max && all->max <= all->sum);
	CHECK(all->sum <= all->max * (int64_t)exits && all->sum >= all->min * (int64_t)exits);
	for (uint32_t i = RS_KVM_KERNEL_NS; i <= RS_KVM_OFF_NS; i++)
		parts += row_of(i, keys_of(1, "vmx 0 30"))->sum;
	CHECK_EQ_S64(parts, all->sum);
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++)
		states += row_of(RS_KVM_TIME_NS, keys_of(1, rs_vcpu_state_names[i]))->sum;
	wall = row_of(RS_KVM_TIME_NS, keys_of(1, RS_KVM_WALL))->sum;
	CHECK(wall > 0);
	CHECK_EQ_S64(states, wall);
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
	check_sums(17);
	REQUIRE_OK(rs_kvm_gate(b.session, false));
	CHECK(!round_of(b.source));
	CHECK_EQ_U64(rows_of(RS_KVM_EXIT_NS), 0);
	CHECK_EQ_U64(rows_of(RS_KVM_ENDED), 0);
	bench_close(&b);
}

TEST(an_end_comes_after_all_else_of_its_thread)
{
	struct rs_query query = query_all();
	uint32_t ended = 0;
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
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(1, "vmx 0 12"))->count, 7);
	CHECK_EQ_U64(row_of(RS_KVM_EXITS, keys_of(2, "vmx 0 12"))->count, 11);
	CHECK_EQ_U64(row_of(RS_KVM_ENDED, keys_of(1, ""))->count, 1);
	CHECK_EQ_U64(rows_of(RS_KVM_ENDED), 1);
	for (uint32_t i = 0; i < kept.n_rows; i++) {
		if (kept.rows[i].aggregate == RS_KVM_ENDED)
			ended = i;
	}
	for (uint32_t i = 0; i < kept.n_rows; i++) {
		if (strstr(kept.rows[i].keys, " 1 vmx 0 12") &&
		    kept.rows[i].aggregate == RS_KVM_EXITS)
			CHECK(i < ended);
		if (strstr(kept.rows[i].keys, " 2 vmx 0 12"))
			CHECK(i > ended);
	}
	bench_close(&b);
}

TEST(what_found_no_place_is_told)
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
	CHECK_EQ_U64(rows_of(RS_KVM_EXITS), 2 * RS_KVM_BLOCK);
	CHECK_EQ_U64(row_of(RS_KVM_DROPPED, "exits")->count, 7);
	CHECK_EQ_U64(rows_of(RS_KVM_DROPPED), 1);
	bench_close(&b);
}

/* ---- queries -------------------------------------------------------------------------------- */

/* What a query gets of three exits of vCPU 2, and whether its aggregates are taken on. */
static uint32_t rows_for(const struct rs_query *query, bool pushed)
{
	uint32_t n = 0;
	struct bench b;

	if (bench_open(&b, &(struct rs_kvm_options){ 0 }, query)) {
		CHECK_EQ_U64(!!(b.pushed & RS_PUSHED_AGGREGATES), pushed);
		for (int i = 0; i < 3; i++)
			kit_exit_run(b.exit_fd, RS_ISA_VMX, 12, 2);
		CHECK_OK(rs_kvm_gate(b.session, false));
		CHECK(!round_of(b.source));
		n = kept.n_rows;
	}
	bench_close(&b);
	return n;
}

TEST(queries_that_it_can_and_that_it_can_not_answer)
{
	static const struct rs_aggregate strange = { .keys = { "vm", "port" }, .n_keys = 2 };
	struct rs_aggregate two[2] = { rs_kvm_aggregates[RS_KVM_EXITS], strange };
	struct rs_query query;

	KIT_NEEDS();
	query = query_all();
	CHECK_EQ_U64(rows_for(&query, true), 1);
	rs_cpu_set_parse(&query.vcpus, "0-1,3");
	CHECK_EQ_U64(rows_for(&query, true), 0);
	query = query_all();
	query.vm = "no-such-*";
	CHECK_EQ_U64(rows_for(&query, true), 0);
	/* Its place in the query is what it is given under. */
	query = query_all();
	query.aggregates = &rs_kvm_aggregates[RS_KVM_EXITS];
	query.n_aggregates = 1;
	CHECK_EQ_U64(rows_for(&query, true), 1);
	CHECK_EQ_U64(kept.rows[0].aggregate, 0);
	/* One that is not known: none is taken on. */
	query.aggregates = two;
	query.n_aggregates = 2;
	CHECK_EQ_U64(rows_for(&query, false), 0);
	two[1] = rs_kvm_aggregates[RS_KVM_EXIT_NS];
	two[1].hist = false;
	CHECK_EQ_U64(rows_for(&query, false), 0);
	/* Counts have no times. */
	query = query_all();
	query.from_ns = 1;
	CHECK_EQ_U64(rows_for(&query, false), 0);
	rs_query_init(&query);
	CHECK_EQ_U64(rows_for(&query, false), 0);
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
	CHECK_EQ_U64(kept.n_rows, 0);
	check_views(pinned);
	bench_close(&b);
}

TEST(events_that_the_query_leaves)
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

TEST(a_full_ring_is_told_as_a_loss)
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
