/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exits that a live source has added up already: its rows, as they come round by round; and that
 * the same things happening give the same result whether they come as rows or as events.
 */
#include "exits_kit.h"

#include <inttypes.h>

#define HLT 12u
#define IO  30u

static const struct rs_exits_options everything = { .latency = true, .causes = true };

/* ---- rows ----------------------------------------------------------------------------------- */

/* Of VM web, process 100. */
static struct rs_error *put_row(struct kit *k, enum rs_kvm_aggregate aggregate, const char *tid,
				const char *a, const char *b, const char *c,
				struct rs_partial values)
{
	struct rs_partial row = values;

	row.aggregate = aggregate;
	row.keys[0] = "web";
	row.keys[1] = "100";
	row.keys[2] = tid;
	row.keys[3] = "0";
	row.keys[4] = a;
	row.keys[5] = b;
	row.keys[6] = c;
	return k->sink->ops->partial(k->sink, &row);
}

#define row(k, aggregate, tid, a, b, c, ...)                                                       \
	CHECK_OK(put_row(k, aggregate, tid, a, b, c, (struct rs_partial){ __VA_ARGS__ }))

TEST(rows_add_up)
{
	struct rs_hist first = { 0 }, second = { 0 };
	const struct rs_exits_row *r;
	const struct rs_exits_vcpu *v;
	struct kit k;

	first.count[rs_hist_bucket(100)] = 2;
	second.count[rs_hist_bucket(900)] = 1;
	kit_init(&k, &everything);
	row(&k, RS_KVM_EXITS, "101", "svm", "0", "1024", .count = 3);
	row(&k, RS_KVM_EXIT_NS, "101", "svm", "0", "1024", .count = 2, .sum = 200, .min = 90,
	    .max = 110, .hist = &first);
	row(&k, RS_KVM_KERNEL_NS, "101", "svm", "0", "1024", .sum = 150);
	row(&k, RS_KVM_USER_NS, "101", "svm", "0", "1024", .sum = 50);
	row(&k, RS_KVM_EXITS, "101", "svm", "1", "4294967295", .count = 7);
	row(&k, RS_KVM_CAUSES, "101", "4", "4276092928", NULL, .count = 5);
	row(&k, RS_KVM_CAUSE_NS, "101", "4", "4276092928", NULL, .count = 4, .sum = 1000,
	    .max = 400);
	row(&k, RS_KVM_TIME_NS, "101", "guest", NULL, NULL, .sum = 700);
	row(&k, RS_KVM_TIME_NS, "101", "kernel", NULL, NULL, .sum = 250);
	row(&k, RS_KVM_TIME_NS, "101", "user", NULL, NULL, .sum = 50);
	row(&k, RS_KVM_TIME_NS, "101", RS_KVM_WALL, NULL, NULL, .sum = 1000);
	row(&k, RS_KVM_SCHED_NS, "101", "run", NULL, NULL, .sum = 1000);
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
	CHECK_OK(rs_exits_check(&k.exits, 0));

	/* The next round: 100 of the kernel's were polling. */
	row(&k, RS_KVM_EXIT_NS, "101", "svm", "0", "1024", .count = 1, .sum = 900, .min = 900,
	    .max = 900, .hist = &second);
	row(&k, RS_KVM_POLL_NS, "101", "svm", "0", "1024", .sum = 900);
	row(&k, RS_KVM_TIME_NS, "101", "kernel", NULL, NULL, .sum = -100);
	row(&k, RS_KVM_TIME_NS, "101", "poll", NULL, NULL, .sum = 900);
	row(&k, RS_KVM_TIME_NS, "101", RS_KVM_WALL, NULL, NULL, .sum = 800);
	kit_take(&k, false, 1800);
	r = kit_row(&k, 101, RS_ISA_SVM, 0, 0x400);
	CHECK_EQ_U64(r->count, 0);
	CHECK_EQ_U64(r->entered, 1);
	CHECK_EQ_U64(r->min_ns, 900);
	v = kit_vcpu(&k, 101);
	CHECK_EQ_U64(v->ns[RS_VCPU_KERNEL], 0);
	CHECK_EQ_U64(v->ns[RS_VCPU_POLL], 800);
	CHECK_EQ_U64(v->wall_ns, 800);
	kit_take(&k, true, 1800);
	r = kit_row(&k, 101, RS_ISA_SVM, 0, 0x400);
	CHECK_EQ_U64(r->count, 3);
	CHECK_EQ_U64(r->entered, 3);
	CHECK_EQ_U64(r->min_ns, 90);
	CHECK_EQ_U64(r->max_ns, 900);
	CHECK_EQ_U64(rs_hist_total(r->hist), 3);
	CHECK_COST(r, 1100, 150, 50, 900, 0);
	v = kit_vcpu(&k, 101);
	CHECK_EQ_U64(v->ns[RS_VCPU_KERNEL], 150);
	CHECK_EQ_U64(v->ns[RS_VCPU_POLL], 900);
	CHECK_EQ_U64(v->wall_ns, 1800);
	CHECK_OK(rs_exits_check(&k.exits, 800)); /* schedstat's last word was before */
	kit_free(&k);
}

/* What comes under a tid after its end is another thread's. */
TEST(a_tid_that_comes_again_in_rows)
{
	struct kit k;

	kit_init(&k, &everything);
	row(&k, RS_KVM_EXITS, "101", "vmx", "0", "12", .count = 3);
	row(&k, RS_KVM_ENDED, "101", NULL, NULL, NULL, .count = 1, .sum = 1);
	row(&k, RS_KVM_EXITS, "101", "vmx", "0", "12", .count = 5);
	kit_take(&k, false, 10);
	REQUIRE_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(k.exits.rows[0].count, 3);
	CHECK_EQ_U64(k.exits.rows[1].count, 5);
	REQUIRE_EQ_U64(k.exits.n_vcpus, 2);
	CHECK(k.exits.vcpus[0].ended && !k.exits.vcpus[1].ended);
	kit_take(&k, false, 20); /* the one that ended has been told */
	CHECK_EQ_U64(k.exits.n_vcpus, 1);
	kit_take(&k, true, 20);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	kit_free(&k);
}

TEST(what_was_dropped_is_told_once)
{
	struct rs_partial dropped = { .aggregate = RS_KVM_DROPPED,
				      .keys = { "exits" },
				      .count = 9 };
	struct kit k;

	kit_init(&k, &everything);
	CHECK_OK(k.sink->ops->partial(k.sink, &dropped));
	kit_put(&k, 5, 0, "session", "close", { "dropped", 9 }); /* the same, in the events */
	kit_take(&k, false, 10);
	CHECK_EQ_U64(k.exits.dropped, 9);
	kit_take(&k, false, 20);
	CHECK_EQ_U64(k.exits.dropped, 0);
	kit_take(&k, true, 20);
	CHECK_EQ_U64(k.exits.dropped, 9);
	kit_free(&k);
}

/* A session that records tells the same exits twice: as rows, and as events. */
TEST(a_thread_with_rows_is_not_counted_again)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_thread(&k, 100, 102, "web", 1);
	kit_vmx_exit(&k, 10, 101, HLT);
	kit_vmx_exit(&k, 20, 102, HLT);
	kit_put(&k, 25, 101, "cpu", "cpuid", { "leaf", 1 });
	row(&k, RS_KVM_EXITS, "101", "vmx", "0", "12", .count = 1);
	kit_take(&k, true, 30);
	CHECK_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, HLT)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 102, RS_ISA_VMX, 0, HLT)->count, 1);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	CHECK_EQ_U64(k.exits.n_causes, 0);
	kit_free(&k);
}

TEST(rows_that_make_no_sense_are_refused)
{
	struct kit k;

	kit_init(&k, &everything);
	CHECK_ERR(put_row(&k, RS_KVM_AGGREGATES, "1", "", "", "", (struct rs_partial){ 0 }),
		  RS_DAMAGED, "makes no sense");
	CHECK_ERR(put_row(&k, RS_KVM_EXITS, "1", "vmx", "0", "x", (struct rs_partial){ 0 }),
		  RS_DAMAGED, "aggregate 0");
	CHECK_ERR(
		put_row(&k, RS_KVM_EXITS, "1", "vmx", "0", "4294967296", (struct rs_partial){ 0 }),
		RS_DAMAGED, NULL);
	CHECK_ERR(put_row(&k, RS_KVM_TIME_NS, "1", "asleep", NULL, NULL, (struct rs_partial){ 0 }),
		  RS_DAMAGED, NULL);
	CHECK_ERR(put_row(&k, RS_KVM_SCHED_NS, "1", "asleep", NULL, NULL, (struct rs_partial){ 0 }),
		  RS_DAMAGED, NULL);
	CHECK_ERR(put_row(&k, RS_KVM_CAUSES, "1", "x", "1", NULL, (struct rs_partial){ 0 }),
		  RS_DAMAGED, NULL);
	kit_free(&k);
}

/* ---- rows and events alike ------------------------------------------------------------------ */

#define CODES  5u
#define CAUSES 3u /* MSRs 0, 1, 2 that are written */
#define STEPS  20011
#define BASE   UINT64_C(1000)

/* What BPF keeps of a thread, as it does it: the state machine and plain sums. */
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

/* One thing that happens, on both sides; k's sink gets it as an event. */
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

/* The model's sums, as a live source gives them. */
static void model_rows(const struct model *m, struct kit *k)
{
	char code[16], kind[16], key[16];

	for (uint32_t nested = 0; nested < 2; nested++) {
		for (uint32_t c = 0; c < CODES; c++) {
			const char *n = nested ? "1" : "0";
			const struct rs_vcpu_cost *sum = &m->cells[nested][c].sum;
			int64_t entered = (int64_t)m->cells[nested][c].entered;

			snprintf(code, sizeof(code), "%u", c);
			row(k, RS_KVM_EXITS, "101", "vmx", n, code,
			    .count = m->cells[nested][c].count);
			row(k, RS_KVM_EXIT_NS, "101", "vmx", n, code, .count = (uint64_t)entered,
			    .sum = (int64_t)sum->total_ns, .min = (int64_t)m->cells[nested][c].min,
			    .max = (int64_t)m->cells[nested][c].max,
			    .hist = &m->cells[nested][c].hist);
			row(k, RS_KVM_KERNEL_NS, "101", "vmx", n, code,
			    .sum = (int64_t)sum->kernel_ns);
			row(k, RS_KVM_USER_NS, "101", "vmx", n, code, .sum = (int64_t)sum->user_ns);
			row(k, RS_KVM_POLL_NS, "101", "vmx", n, code, .sum = (int64_t)sum->poll_ns);
			row(k, RS_KVM_OFF_NS, "101", "vmx", n, code, .sum = (int64_t)sum->off_ns);
		}
	}
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++)
		row(k, RS_KVM_TIME_NS, "101", rs_vcpu_state_names[i], NULL, NULL,
		    .sum = (int64_t)m->time.ns[i]);
	row(k, RS_KVM_TIME_NS, "101", RS_KVM_WALL, NULL, NULL,
	    .sum = (int64_t)(m->time.at - m->time.since));
	snprintf(kind, sizeof(kind), "%u", RS_CAUSE_MSR_WRITE);
	for (uint32_t i = 0; i < CAUSES; i++) {
		snprintf(key, sizeof(key), "%u", i);
		row(k, RS_KVM_CAUSES, "101", kind, key, NULL, .count = m->causes[i].count);
		row(k, RS_KVM_CAUSE_NS, "101", kind, key, NULL, .count = m->causes[i].entered,
		    .sum = (int64_t)m->causes[i].total, .max = (int64_t)m->causes[i].max);
	}
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

TEST(rows_and_events_give_the_same)
{
	static struct model m;
	struct kit events, rows;
	uint64_t now = BASE;

	m = (struct model){ .cause = -1 };
	kit_init(&events, &everything);
	kit_init(&rows, &everything);
	kit_thread(&events, 100, 101, "web", 0);
	rs_vcpu_begin(&m.time, now);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(&m, &events, now);
		now += random_below(1000);
	}
	model_settle(&m, NULL);
	rs_vcpu_end(&m.time, now);
	model_rows(&m, &rows);
	kit_take(&events, true, (int64_t)now);
	kit_take(&rows, true, (int64_t)now);
	CHECK(events.exits.n_rows == 2 * CODES);
	CHECK(events.exits.n_causes == CAUSES);
	CHECK(events.exits.vcpus[0].ns[RS_VCPU_POLL] && events.exits.vcpus[0].ns[RS_VCPU_WAIT] &&
	      events.exits.vcpus[0].ns[RS_VCPU_HALTED] &&
	      events.exits.vcpus[0].ns[RS_VCPU_BLOCKED]);
	check_alike(&events.exits, &rows.exits);
	kit_free(&events);
	kit_free(&rows);
}
