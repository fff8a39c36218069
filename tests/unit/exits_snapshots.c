/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exits that a live session has already counted: its snapshots, round by round. The same exits must
 * give the same result as snapshots and as events.
 */
#include "exits_kit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "kvm/session.h"

#define HLT 12u
#define IO  30u

static const struct rs_exits_options everything = { .latency = true, .causes = true };

/* ---- snapshots ------------------------------------------------------------------------------ */

#define MOST 16

/* A snapshot that a test fills; its counts are cumulative. */
struct shot {
	struct rs_kvm_thread threads[MOST];
	struct rs_kvm_exit exits[MOST];
	struct rs_kvm_cause causes[MOST];
	bool wanted[MOST];
	bool last;
	struct rs_kvm_snapshot snapshot;
};

/* A thread of process 100, VM web, whose vCPU number is its index. */
static uint32_t shot_thread(struct shot *shot, int tid)
{
	uint32_t index = shot->snapshot.n_threads++;

	shot->threads[index] =
		(struct rs_kvm_thread){ .pid = 100, .tid = tid, .vcpu = (int)index, .vm = "web" };
	shot->wanted[index] = true;
	return index;
}

static struct rs_kvm_exit *shot_exit(struct shot *shot, uint32_t thread, enum rs_isa isa,
				     uint32_t nested, uint32_t code, uint64_t count)
{
	struct rs_kvm_exit *row = &shot->exits[shot->snapshot.n_exits++];

	*row = (struct rs_kvm_exit){
		.thread = thread, .isa = isa, .nested = nested, .code = code, .count = count
	};
	return row;
}

static void put(struct kit *k, struct shot *shot, uint64_t now_ns)
{
	struct rs_kvm_counts counts = { .counts.kind = RS_COUNTS_KVM,
					.snapshot = &shot->snapshot,
					.wanted = shot->wanted,
					.last = shot->last };

	shot->snapshot.now_ns = now_ns;
	shot->snapshot.threads = shot->threads;
	shot->snapshot.exits = shot->exits;
	shot->snapshot.causes = shot->causes;
	CHECK_OK(k->sink->ops->counts(k->sink, &counts.counts));
}

/* 100 of the kernel's ns were polling, and there are 800 more. */
static void second_round(struct kit *k, struct shot *shot, struct rs_hist *hist)
{
	struct rs_kvm_thread *t = &shot->threads[0];
	struct rs_kvm_exit *e = &shot->exits[0];
	const struct rs_exits_row *r;
	const struct rs_exits_vcpu *v;

	hist->count[rs_hist_bucket(900)] = 1;
	e->entered = 3;
	e->sum.total_ns += 900;
	e->sum.poll_ns += 900;
	e->min_ns = e->max_ns = 900;
	t->time.ns[RS_VCPU_KERNEL] = 150;
	t->time.ns[RS_VCPU_POLL] = 900;
	t->time.at = 1805;
	put(k, shot, 1800);
	kit_take(k, false, 1800);
	r = kit_row(k, 101, RS_ISA_SVM, 0, 0x400);
	CHECK_EQ_U64(r->count, 0);
	CHECK_EQ_U64(r->entered, 1);
	CHECK_EQ_U64(r->min_ns, 900);
	CHECK_EQ_U64(k->exits.n_causes, 0);
	v = kit_vcpu(k, 101);
	CHECK_EQ_U64(v->ns[RS_VCPU_KERNEL], 0);
	CHECK_EQ_U64(v->ns[RS_VCPU_POLL], 800);
	CHECK_EQ_U64(v->wall_ns, 800);
	kit_take(k, true, 1800);
	r = kit_row(k, 101, RS_ISA_SVM, 0, 0x400);
	CHECK_EQ_U64(r->count, 3);
	CHECK_EQ_U64(r->entered, 3);
	CHECK_EQ_U64(r->min_ns, 90);
	CHECK_EQ_U64(r->max_ns, 900);
	CHECK_EQ_U64(rs_hist_total(r->hist), 3);
	CHECK_COST(r, 1100, 150, 50, 900, 0);
	v = kit_vcpu(k, 101);
	CHECK_EQ_U64(v->ns[RS_VCPU_KERNEL], 150);
	CHECK_EQ_U64(v->ns[RS_VCPU_POLL], 900);
	CHECK_EQ_U64(v->wall_ns, 1800);
	CHECK_OK(rs_exits_check(&k->exits, 800)); /* schedstat's last value was earlier */
}

TEST(snapshots_add_up)
{
	struct rs_hist hist = { 0 };
	const struct rs_exits_row *r;
	const struct rs_exits_vcpu *v;
	struct shot shot = { 0 };
	struct rs_kvm_thread *t = &shot.threads[shot_thread(&shot, 101)];
	struct rs_kvm_exit *e = shot_exit(&shot, 0, RS_ISA_SVM, 0, 0x400, 3);
	struct kit k;

	hist.count[rs_hist_bucket(100)] = 2;
	e->entered = 2;
	e->sum = (struct rs_vcpu_cost){ .total_ns = 200, .kernel_ns = 150, .user_ns = 50 };
	e->min_ns = 90;
	e->max_ns = 110;
	e->hist = &hist;
	shot_exit(&shot, 0, RS_ISA_SVM, 1, 0xffffffff, 7);
	shot.causes[0] = (struct rs_kvm_cause){ .kind = RS_CAUSE_MMIO_WRITE,
						.key = 0xfee00000,
						.count = 5,
						.entered = 4,
						.total_ns = 1000,
						.max_ns = 400 };
	shot.snapshot.n_causes = 1;
	t->time.ns[RS_VCPU_GUEST] = 700;
	t->time.ns[RS_VCPU_KERNEL] = 250;
	t->time.ns[RS_VCPU_USER] = 50;
	t->time.since = 5;
	t->time.at = 1005;
	t->sched_known = true;
	t->complete = true;
	t->run_ns = 1000;
	kit_init(&k, &everything);
	put(&k, &shot, 1000);
	kit_take(&k, false, 1000);
	CHECK_EQ_S64(k.exits.from_ns, 0);
	CHECK_EQ_S64(k.exits.to_ns, 1000);
	r = kit_row(&k, 101, RS_ISA_SVM, 0, 0x400);
	CHECK_EQ_U64(r->count, 3);
	CHECK_EQ_U64(r->entered, 2);
	CHECK_EQ_U64(r->min_ns, 90);
	CHECK_EQ_U64(r->max_ns, 110);
	CHECK_COST(r, 200, 150, 50, 0, 0);
	CHECK_STR(r->vm, "web");
	CHECK_EQ_S64(r->pid, 100);
	CHECK_EQ_S64(r->vcpu, 0);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_SVM, 1, 0xffffffff)->count, 7);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_MMIO_WRITE, 0xfee00000)->count, 5);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_MMIO_WRITE, 0xfee00000)->total_ns, 1000);
	v = kit_vcpu(&k, 101);
	CHECK_EQ_U64(v->wall_ns, 1000);
	CHECK_EQ_U64(v->exits, 10);
	CHECK_EQ_U64(v->run_ns, 1000);
	CHECK(v->sched_known);
	CHECK(v->complete);
	CHECK_OK(rs_exits_check(&k.exits, 0));

	second_round(&k, &shot, &hist);
	kit_free(&k);
}

/* Two snapshots between two takes: minimum and maximum cover both. */
TEST(snapshots_between_takes_keep_minimum_and_maximum)
{
	struct shot shot = { 0 };
	struct rs_kvm_exit *e;
	struct kit k;

	shot_thread(&shot, 101);
	e = shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 1);
	e->entered = 1;
	e->sum.total_ns = 70;
	e->min_ns = e->max_ns = 70;
	kit_init(&k, &everything);
	put(&k, &shot, 10);
	e->count = 2;
	e->min_ns = e->max_ns = 0;
	put(&k, &shot, 20);
	e->entered = 2;
	e->sum.total_ns = 160;
	e->min_ns = e->max_ns = 90;
	put(&k, &shot, 30);
	kit_take(&k, false, 30);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->count, 2);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->min_ns, 70);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->max_ns, 90);
	kit_free(&k);
}

static void check_extent(struct rs_kvm_session *s, uint64_t min_ns, uint64_t max_ns)
{
	struct rs_kvm_snapshot got;

	REQUIRE_OK(rs_kvm_snapshot(s, &got));
	REQUIRE_EQ_U64(got.n_exits, 1);
	CHECK_EQ_U64(got.exits[0].min_ns, min_ns);
	CHECK_EQ_U64(got.exits[0].max_ns, max_ns);
}

/* An exit ends after the snapshot has begun the next epoch, but before it reads the cell. */
TEST(an_exit_that_ends_during_a_snapshot)
{
	static struct rs_kvm_cell cells[RS_KVM_BLOCK + 1];
	static struct rs_kvm_slot slots[2];
	static struct rs_kvm_control control = { .epoch = 7 };
	struct rs_kvm_known known = { .slot = 1 };
	struct rs_kvm_thread threads[1];
	uint32_t known_of[] = { 0, 1 };
	struct rs_kvm_session s = { .threads_max = 1,
				    .control = { .mem = (void *)&control },
				    .slots = { .mem = (void *)slots, .stride = sizeof(slots[0]) },
				    .cells = { .mem = (void *)cells,
					       .stride = sizeof(cells[0]),
					       .n = RS_KVM_BLOCK + 1 },
				    .gate = RS_KVM_SHUT,
				    .known = &known,
				    .known_of = known_of,
				    .n_known = 1,
				    .threads = threads };
	struct rs_kvm_cell *cell = &cells[RS_KVM_BLOCK];

	*cell = (struct rs_kvm_cell){ .what = rs_kvm_what(RS_ISA_VMX, 0, HLT),
				      .slot = 1,
				      .count = 1,
				      .entered = 1,
				      .settled = 1,
				      .sum.total_ns = 70,
				      .extent[0] = { 70, 70 },
				      .epoch[0] = 8 };
	check_extent(&s, 70, 70);
	cell->extent[1] = (struct rs_kvm_extent){ 90, 95 };
	cell->epoch[1] = 9;
	check_extent(&s, 70, 95);
	check_extent(&s, 90, 95);
	check_extent(&s, 0, 0);
	free(s.exits);
}

/* The minimum and maximum are those of exits that ended since the last snapshot. */
TEST(minimum_and_maximum_need_an_exit)
{
	static const struct {
		uint64_t entered, total_ns, extent_ns, expected_ns;
	} steps[] = {
		{ 1, 70, 70, 70 },
		{ 1, 70, 70, 0 }, /* in the extents of two epochs */
		{ 2, 80, 10, 10 },
		{ 4, 100, 0, 10 }, /* unknown: the mean */
	};
	struct shot shot = { 0 };
	struct rs_kvm_exit *e;
	struct kit k;

	shot_thread(&shot, 101);
	e = shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 0);
	kit_init(&k, &everything);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		e->count = i + 10;
		e->entered = steps[i].entered;
		e->sum.total_ns = steps[i].total_ns;
		e->min_ns = e->max_ns = steps[i].extent_ns;
		put(&k, &shot, 10 * (i + 1));
		kit_take(&k, false, (int64_t)(10 * (i + 1)));
		CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->min_ns, steps[i].expected_ns);
		CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->max_ns, steps[i].expected_ns);
	}
	kit_free(&k);
}

/* A cause's maximum in snapshots is that since the start: an interval's is known only if the
 * maximum has grown, or if one exit ended. */
TEST(the_maximum_of_a_cause_in_an_interval)
{
	static const struct {
		uint64_t entered, total_ns, max_ns, recent_ns;
	} steps[] = {
		{ 2, 5000, 4000, 4000 },
		{ 3, 5010, 4000, 10 },
		{ 5, 5040, 4000, RS_EXITS_MAX_UNKNOWN },
		{ 7, 14050, 9000, 9000 },
	};
	struct shot shot = { 0 };
	struct rs_kvm_cause *cause = &shot.causes[0];
	struct kit k;

	shot_thread(&shot, 101);
	shot.snapshot.n_causes = 1;
	kit_init(&k, &everything);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		*cause = (struct rs_kvm_cause){ .kind = RS_CAUSE_PIO_WRITE,
						.key = 0x3f8,
						.count = steps[i].entered,
						.entered = steps[i].entered,
						.total_ns = steps[i].total_ns,
						.max_ns = steps[i].max_ns };
		put(&k, &shot, 10 * (i + 1));
		kit_take(&k, false, (int64_t)(10 * (i + 1)));
		CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_PIO_WRITE, 0x3f8)->max_ns,
			     steps[i].recent_ns);
	}
	kit_take(&k, true, 40);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_PIO_WRITE, 0x3f8)->max_ns, 9000);
	kit_free(&k);
}

/* A reused tid is another thread, with another index. */
TEST(a_reused_tid_in_snapshots)
{
	struct shot shot = { 0 };
	struct kit k;

	shot_thread(&shot, 101);
	shot.threads[0].ended = true;
	shot_thread(&shot, 101);
	shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 3);
	shot_exit(&shot, 1, RS_ISA_VMX, 0, HLT, 5);
	kit_init(&k, &everything);
	put(&k, &shot, 5);
	kit_take(&k, false, 10);
	REQUIRE_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(k.exits.rows[0].count, 3);
	CHECK_EQ_U64(k.exits.rows[1].count, 5);
	REQUIRE_EQ_U64(k.exits.n_vcpus, 2);
	CHECK(k.exits.vcpus[0].ended && !k.exits.vcpus[1].ended);
	kit_take(&k, false, 20); /* the ended thread has been reported */
	CHECK_EQ_U64(k.exits.n_vcpus, 1);
	kit_take(&k, true, 20);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	kit_free(&k);
}

/* A thread whose vCPU is unknown is hidden for two seconds, and then has all its counts. */
TEST(a_thread_is_hidden_until_its_vcpu_is_known)
{
	const uint64_t second = 1000000000;
	struct shot shot = { 0 };
	struct rs_kvm_exit *e;
	struct kit k;

	shot_thread(&shot, 101);
	shot_thread(&shot, 102);
	shot.threads[0].vcpu = shot.threads[1].vcpu = -1;
	e = shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 3);
	shot_exit(&shot, 1, RS_ISA_VMX, 0, HLT, 4);
	kit_init(&k, &everything);
	put(&k, &shot, second);
	kit_take(&k, false, 1);
	CHECK_EQ_U64(k.exits.n_rows, 0);
	CHECK_EQ_U64(k.exits.n_vcpus, 0);
	shot.threads[0].vcpu = 6;
	e->count = 5;
	put(&k, &shot, 2 * second);
	kit_take(&k, false, 2);
	CHECK_EQ_U64(k.exits.n_rows, 1);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->count, 5);
	CHECK_EQ_S64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->vcpu, 6);
	put(&k, &shot, 3 * second);
	kit_take(&k, false, 3);
	CHECK_EQ_U64(k.exits.n_rows, 1);
	CHECK_EQ_U64(kit_row(&k, 102, RS_ISA_VMX, 0, HLT)->count, 4);
	CHECK_EQ_S64(kit_row(&k, 102, RS_ISA_VMX, 0, HLT)->vcpu, RS_UNKNOWN);
	kit_free(&k);
}

TEST(the_last_snapshot_hides_only_unselected_threads)
{
	struct shot shot = { .last = true };
	struct kit k;

	shot_thread(&shot, 101);
	shot_thread(&shot, 102);
	shot.threads[0].vcpu = -1;
	shot.wanted[1] = false;
	shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 3);
	shot_exit(&shot, 1, RS_ISA_VMX, 0, HLT, 4);
	kit_init(&k, &everything);
	put(&k, &shot, 5);
	kit_take(&k, true, 5);
	CHECK_EQ_U64(k.exits.n_rows, 1);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->count, 3);
	CHECK_EQ_U64(k.exits.n_vcpus, 1);
	kit_free(&k);
}

TEST(dropped_exits_are_reported_once)
{
	struct shot shot = { .snapshot = { .dropped_exits = 9 } };
	struct kit k;

	kit_init(&k, &everything);
	put(&k, &shot, 5);
	kit_put(&k, 5, 0, "session", "close", { "dropped", 9 }); /* the same exits, as events */
	kit_take(&k, false, 10);
	CHECK_EQ_U64(k.exits.dropped, 9);
	put(&k, &shot, 15);
	kit_take(&k, false, 20);
	CHECK_EQ_U64(k.exits.dropped, 0);
	kit_take(&k, true, 20);
	CHECK_EQ_U64(k.exits.dropped, 9);
	kit_free(&k);
}

/* A session that records has the same exits twice: in snapshots, and as events. */
TEST(a_thread_of_snapshots_is_not_counted_again)
{
	struct shot shot = { 0 };
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_thread(&k, 100, 102, "web", 1);
	kit_vmx_exit(&k, 10, 101, HLT);
	kit_vmx_exit(&k, 20, 102, HLT);
	kit_put(&k, 25, 101, "cpu", "cpuid", { "leaf", 1 });
	shot_thread(&shot, 101);
	shot_exit(&shot, 0, RS_ISA_VMX, 0, HLT, 1);
	put(&k, &shot, 30);
	kit_take(&k, true, 30);
	CHECK_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 102, RS_ISA_VMX, 0, HLT)->count, 1);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	CHECK_EQ_U64(k.exits.n_causes, 0);
	kit_free(&k);
}

TEST(counts_of_another_kind_are_ignored)
{
	const struct rs_counts other = { .kind = RS_COUNTS_XEN };
	struct kit k;

	kit_init(&k, &everything);
	CHECK_OK(k.sink->ops->counts(k.sink, &other));
	kit_take(&k, true, 30);
	CHECK_EQ_U64(k.exits.n_rows, 0);
	kit_free(&k);
}

/*
 * ---- snapshots and events with equal results
 * -------------------------------------------------------------
 */

#define CODES  5u
#define CAUSES 3u /* MSRs 0, 1, 2 that are written */
#define STEPS  20011
#define BASE   UINT64_C(1000)

/* A model of what BPF keeps of a thread: the state machine and plain sums. */
struct model {
	struct rs_vcpu_time time;
	bool pending, off;
	uint32_t code, nested;
	int cause; /* -1: none */
	struct {
		uint64_t count, entered, min, max;
		struct rs_vcpu_cost sum;
		struct rs_hist hist;
	} cells[2][CODES];
	struct {
		uint64_t count, entered, total, max;
	} causes[CAUSES];
};

static uint64_t random_state = 88172645463325252;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

static void model_settle(struct model *m, const struct rs_vcpu_cost *cost)
{
	uint64_t ns = cost ? cost->total_ns : 0;

	if (m->pending) {
		m->cells[m->nested][m->code].count++;
		if (cost) {
			uint64_t n = m->cells[m->nested][m->code].entered++;
			struct rs_vcpu_cost *sum = &m->cells[m->nested][m->code].sum;

			if (!n || ns < m->cells[m->nested][m->code].min)
				m->cells[m->nested][m->code].min = ns;
			if (ns > m->cells[m->nested][m->code].max)
				m->cells[m->nested][m->code].max = ns;
			m->cells[m->nested][m->code].hist.count[rs_hist_bucket(ns)]++;
			sum->total_ns += cost->total_ns;
			sum->kernel_ns += cost->kernel_ns;
			sum->user_ns += cost->user_ns;
			sum->poll_ns += cost->poll_ns;
			sum->off_ns += cost->off_ns;
		}
	}
	m->pending = false;
}

static void model_entry(struct model *m, struct kit *k, uint64_t now)
{
	struct rs_vcpu_cost cost = { 0 };
	bool ended = rs_vcpu_entry(&m->time, now, &cost);

	model_settle(m, ended ? &cost : NULL);
	if (ended && m->cause >= 0) {
		m->causes[m->cause].entered++;
		m->causes[m->cause].total += cost.total_ns;
		if (cost.total_ns > m->causes[m->cause].max)
			m->causes[m->cause].max = cost.total_ns;
	}
	m->cause = -1;
	kit_entry(k, (int64_t)now, 101, 0);
}

static void model_exit(struct model *m, struct kit *k, uint64_t now)
{
	if (m->time.exit_at)
		m->cause = -1;
	rs_vcpu_exit(&m->time, now);
	model_settle(m, NULL);
	m->pending = true;
	m->code = random_below(CODES);
	m->nested = 0;
	kit_vmx_exit(k, (int64_t)now, 101, m->code);
	if (!random_below(4)) {
		m->nested = 1;
		kit_put(k, (int64_t)now, 101, "vcpu", "nested-exit", );
	}
}

/* One change on both sides; k's sink gets it as an event. */
static void step(struct model *m, struct kit *k, uint64_t now)
{
	uint32_t what = random_below(8);

	if (m->off)
		what = what < 3 ? 6 : 7;
	switch (what) {
	case 0:
	case 1:
		model_exit(m, k, now);
		break;
	case 2:
	case 3:
		model_entry(m, k, now);
		break;
	case 4:
		rs_vcpu_user_exit(&m->time, now);
		kit_user_exit(k, (int64_t)now, 101, 2);
		if (m->time.exit_at) {
			m->cause = (int)random_below(CAUSES);
			m->causes[m->cause].count++;
			kit_put(k, (int64_t)now, 101, "cpu", "msr", { "msr", (uint64_t)m->cause },
				{ "write", 1 });
		}
		break;
	case 5: {
		uint64_t halted = random_below(3000);

		rs_vcpu_woken(&m->time, now, halted);
		kit_put(k, (int64_t)now, 101, "vcpu", "wakeup", { "halted", halted });
		break;
	}
	case 6:
		rs_vcpu_wake(&m->time, now);
		kit_wake(k, (int64_t)now, 101);
		break;
	default:
		if (m->off) {
			rs_vcpu_on(&m->time, now);
			kit_on(k, (int64_t)now, 101);
		} else {
			bool preempted = random_below(2);

			rs_vcpu_off(&m->time, now, preempted);
			kit_off(k, (int64_t)now, 101, !preempted);
		}
		m->off = !m->off;
		break;
	}
}

/* The model's sums, as a live source delivers them. */
static void model_put(const struct model *m, struct kit *k, uint64_t now)
{
	struct shot shot = { 0 };

	shot_thread(&shot, 101);
	shot.threads[0].time = m->time;
	for (uint32_t nested = 0; nested < 2; nested++) {
		for (uint32_t c = 0; c < CODES; c++) {
			struct rs_kvm_exit *row = shot_exit(&shot, 0, RS_ISA_VMX, nested, c,
							    m->cells[nested][c].count);

			row->entered = m->cells[nested][c].entered;
			row->sum = m->cells[nested][c].sum;
			row->min_ns = m->cells[nested][c].min;
			row->max_ns = m->cells[nested][c].max;
			row->hist = &m->cells[nested][c].hist;
		}
	}
	for (uint32_t i = 0; i < CAUSES; i++)
		shot.causes[i] = (struct rs_kvm_cause){ .kind = RS_CAUSE_MSR_WRITE,
							.key = i,
							.count = m->causes[i].count,
							.entered = m->causes[i].entered,
							.total_ns = m->causes[i].total,
							.max_ns = m->causes[i].max };
	shot.snapshot.n_causes = CAUSES;
	put(k, &shot, now);
}

static void check_alike(const struct rs_exits *a, const struct rs_exits *b)
{
	REQUIRE_EQ_U64(a->n_rows, b->n_rows);
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct rs_exits_row *x = &a->rows[i], *y = &b->rows[i];

		CHECK_EQ_U64(x->code, y->code);
		CHECK_EQ_U64(x->nested, y->nested);
		CHECK_EQ_U64(x->count, y->count);
		CHECK_EQ_U64(x->entered, y->entered);
		CHECK_EQ_U64(x->min_ns, y->min_ns);
		CHECK_EQ_U64(x->max_ns, y->max_ns);
		CHECK_MEM(&x->sum, &y->sum, sizeof(x->sum));
		CHECK_MEM(x->hist, y->hist, sizeof(*x->hist));
	}
	REQUIRE_EQ_U64(a->n_vcpus, 1);
	REQUIRE_EQ_U64(b->n_vcpus, 1);
	CHECK_MEM(a->vcpus[0].ns, b->vcpus[0].ns, sizeof(a->vcpus[0].ns));
	CHECK_EQ_U64(a->vcpus[0].wall_ns, b->vcpus[0].wall_ns);
	CHECK_EQ_U64(a->vcpus[0].exits, b->vcpus[0].exits);
	REQUIRE_EQ_U64(a->n_causes, b->n_causes);
	for (size_t i = 0; i < a->n_causes; i++) {
		CHECK_EQ_U64(a->cause_rows[i].key, b->cause_rows[i].key);
		CHECK_EQ_U64(a->cause_rows[i].count, b->cause_rows[i].count);
		CHECK_EQ_U64(a->cause_rows[i].entered, b->cause_rows[i].entered);
		CHECK_EQ_U64(a->cause_rows[i].total_ns, b->cause_rows[i].total_ns);
		CHECK_EQ_U64(a->cause_rows[i].max_ns, b->cause_rows[i].max_ns);
	}
	CHECK_OK(rs_exits_check(a, 0));
	CHECK_OK(rs_exits_check(b, 0));
}

TEST(snapshots_and_events_give_the_same)
{
	static struct model m;
	struct kit events, shots;
	uint64_t now = BASE;

	m = (struct model){ .cause = -1 };
	kit_init(&events, &everything);
	kit_init(&shots, &everything);
	kit_thread(&events, 100, 101, "web", 0);
	rs_vcpu_begin(&m.time, now);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(&m, &events, now);
		now += random_below(1000);
	}
	model_settle(&m, NULL);
	rs_vcpu_end(&m.time, now);
	model_put(&m, &shots, now);
	kit_take(&events, true, (int64_t)now);
	kit_take(&shots, true, (int64_t)now);
	CHECK(events.exits.n_rows == 2 * CODES);
	CHECK(events.exits.n_causes == CAUSES);
	CHECK(events.exits.vcpus[0].ns[RS_VCPU_POLL] && events.exits.vcpus[0].ns[RS_VCPU_WAIT] &&
	      events.exits.vcpus[0].ns[RS_VCPU_HALTED] &&
	      events.exits.vcpus[0].ns[RS_VCPU_BLOCKED]);
	check_alike(&events.exits, &shots.exits);
	kit_free(&events);
	kit_free(&shots);
}
