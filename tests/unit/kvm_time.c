/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Costs and causes of exits, in BPF: the session's own programs in the running kernel. Times are
 * the machine's, so the test checks that they add up.
 */
#include "kvm_kit.h"

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t sum_of(const struct rs_vcpu_time *time)
{
	uint64_t sum = 0;

	for (int state = 0; state < RS_VCPU_STATES; state++)
		sum += time->ns[state];
	return sum;
}

/*
 * A halt: exit, asleep, woken, running, entry. All on the CPU that the kernel chooses: the programs
 * work on any.
 */
static void halt(struct machine *m)
{
	const uint64_t tid = (uint64_t)kit_tid();
	struct kit_wakeup wakeup = { .waited = 1, .valid = 1 };
	uint64_t begin;

	kit_exit_run(m->exit, RS_ISA_SVM, 0x78, 5);
	begin = rs_now_ns(CLOCK_MONOTONIC);
	spend_ns(STEP_NS); /* polls */
	run_switch(m, true, 1);
	spend_ns(STEP_NS); /* sleeps */
	kit_run(m->sched_wakeup, &tid, sizeof(tid));
	spend_ns(STEP_NS); /* waits for the CPU */
	run_switch(m, false, 0);
	wakeup.ns = rs_now_ns(CLOCK_MONOTONIC) - begin;
	kit_run(m->wakeup, &wakeup, sizeof(wakeup));
	run_entry(m);
}

TEST(states_add_up_and_are_attributed)
{
	struct rs_kvm_snapshot got;
	const uint64_t *ns;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .latency = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	run_entry(&m);
	spend_ns(STEP_NS); /* in the guest */
	halt(&m);
	kit_exit_run(m.exit, RS_ISA_SVM, 0x7b, 5);
	run_user_exit(&m, 2, 0);
	spend_ns(STEP_NS); /* in the VMM */
	run_entry(&m);
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	REQUIRE_EQ_U64(got.n_threads, 1);
	CHECK_EQ_U64(sum_of(&got.threads[0].time), got.now_ns - got.threads[0].time.since);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK_EQ_U64(sum_of(&got.threads[0].time), got.now_ns - got.threads[0].time.since);
	CHECK_EQ_S64(got.threads[0].vcpu, 5);
	ns = got.threads[0].time.ns;
	CHECK_EQ_U64(ns[RS_VCPU_UNKNOWN], 0);
	CHECK(ns[RS_VCPU_GUEST] >= STEP_NS);
	CHECK(ns[RS_VCPU_USER] >= STEP_NS);
	CHECK(ns[RS_VCPU_POLL] >= STEP_NS);
	CHECK(ns[RS_VCPU_HALTED] >= STEP_NS);
	CHECK(ns[RS_VCPU_WAIT] >= STEP_NS);
	CHECK_EQ_U64(ns[RS_VCPU_BLOCKED], 0);
	rs_kvm_close(m.session);
}

static bool is_complete(const struct machine *m)
{
	struct rs_kvm_snapshot got;

	return CHECK_OK(rs_kvm_snapshot(m->session, &got)) && CHECK_EQ_U64(got.n_threads, 1) &&
	       got.threads[0].complete && !got.threads[0].time.missed;
}

/* The scheduler counts each arrival of a thread on a CPU, so a switch that no program saw is
 * noticed, also if the next one was missed, too. */
TEST(a_missed_switch_is_noticed)
{
	enum { NONE, BOTH, AWAY, BACK, MISSES };

	KIT_NEEDS();
	for (int miss = NONE; miss < MISSES; miss++) {
		struct machine m;

		REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .latency = true }, 0));
		REQUIRE_OK(rs_kvm_gate(m.session, true));
		halt(&m);
		CHECK(!is_complete(&m)); /* one departure alone proves nothing */
		halt(&m);
		CHECK(is_complete(&m));
		if (miss == BOTH)
			m.arrivals++;
		if (miss == AWAY)
			run_switch(&m, false, 0);
		if (miss == BACK)
			run_switch(&m, true, 1);
		halt(&m);
		CHECK_EQ_S64(is_complete(&m), miss == NONE);
		rs_kvm_close(m.session);
	}
}

TEST(costs_add_up_and_are_attributed)
{
	const struct rs_kvm_exit *hlt, *io;
	struct rs_kvm_snapshot got;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .latency = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	for (int i = 0; i < 7; i++)
		halt(&m);
	for (int i = 0; i < 11; i++) {
		kit_exit_run(m.exit, RS_ISA_SVM, 0x7b, 5);
		run_user_exit(&m, 2, 0);
		run_entry(&m);
	}
	kit_exit_run(m.exit, RS_ISA_SVM, 0x7b, 5); /* never entered again */
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	hlt = kit_row(&got, 0, RS_ISA_SVM, 0, 0x78);
	io = kit_row(&got, 0, RS_ISA_SVM, 0, 0x7b);
	REQUIRE(hlt && io);
	CHECK_EQ_U64(hlt->count, 7);
	CHECK_EQ_U64(hlt->entered, 7);
	CHECK_EQ_U64(io->count, 12);
	CHECK_EQ_U64(io->entered, 11);
	CHECK_EQ_U64(rs_hist_total(hlt->hist), 7);
	CHECK_EQ_U64(rs_hist_total(io->hist), 11);
	CHECK_EQ_U64(hlt->sum.total_ns,
		     hlt->sum.kernel_ns + hlt->sum.user_ns + hlt->sum.poll_ns + hlt->sum.off_ns);
	CHECK(hlt->sum.poll_ns >= 7 * STEP_NS && hlt->sum.off_ns >= 7 * 2 * STEP_NS);
	CHECK_EQ_U64(hlt->sum.user_ns, 0);
	CHECK(io->sum.user_ns > 0 && io->sum.off_ns == 0);
	CHECK(hlt->min_ns >= 3 * STEP_NS && hlt->min_ns <= hlt->max_ns);
	CHECK(hlt->sum.total_ns >= 7 * hlt->min_ns && hlt->sum.total_ns <= 7 * hlt->max_ns);
	rs_kvm_close(m.session);
}

TEST(minimum_and_maximum_restart_with_each_snapshot)
{
	const struct rs_kvm_exit *row;
	struct rs_kvm_snapshot got;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .latency = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	for (uint64_t step = 8; step; step /= 2) {
		kit_exit_run(m.exit, RS_ISA_VMX, 12, 0);
		spend_ns(step * STEP_NS);
		run_entry(&m);
		REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
		row = kit_row(&got, 0, RS_ISA_VMX, 0, 12);
		REQUIRE(row);
		CHECK(row->min_ns >= step * STEP_NS);
		CHECK_EQ_U64(row->min_ns, row->max_ns); /* the only one since the last snapshot */
	}
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	row = kit_row(&got, 0, RS_ISA_VMX, 0, 12);
	REQUIRE(row);
	CHECK_EQ_U64(row->max_ns, 0);
	CHECK_EQ_U64(row->count, 4);
	rs_kvm_close(m.session);
}

/* ---- userspace exits ------------------------------------------------------------------------- */

TEST(returns_to_the_vmm_are_counted_by_reason)
{
	struct rs_kvm_snapshot got;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .user = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	for (int i = 0; i < 13; i++) {
		kit_exit_run(m.exit, RS_ISA_SVM, 0x7b, 0); /* not requested */
		run_user_exit(&m, 2, 0);
		if (i < 5)
			run_user_exit(&m, 10, -4); /* EINTR, whatever the reason is */
		if (i < 3)
			run_user_exit(&m, 63 + (uint32_t)i, 0); /* the row's end */
	}
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK_EQ_U64(got.n_exits, 5);
	CHECK_EQ_U64(kit_count(&got, 0, RS_ISA_USER, 0, 2), 13);
	CHECK_EQ_U64(kit_count(&got, 0, RS_ISA_USER, 0, (uint32_t)-4), 5);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ_U64(kit_count(&got, 0, RS_ISA_USER, 0, 63 + i), 1);
	rs_kvm_close(m.session);
}

/* ---- causes ---------------------------------------------------------------------------------- */

static const struct rs_kvm_cause *cause_of(const struct rs_kvm_snapshot *got, uint32_t kind,
					   uint64_t key)
{
	for (uint32_t i = 0; i < got->n_causes; i++)
		if (got->causes[i].kind == kind && got->causes[i].key == key)
			return &got->causes[i];
	return NULL;
}

static void check_cause(const struct rs_kvm_snapshot *got, uint32_t kind, uint64_t key,
			uint64_t count, uint64_t entered)
{
	const struct rs_kvm_cause *cause = cause_of(got, kind, key);

	if (!CHECK(cause != NULL))
		return;
	CHECK_EQ_U64(cause->count, count);
	CHECK_EQ_U64(cause->entered, entered);
	CHECK((entered != 0) == (cause->total_ns != 0));
	CHECK(cause->max_ns <= cause->total_ns && cause->max_ns * entered >= cause->total_ns);
}

static void one_of_each_cause(const struct machine *m)
{
	const struct kit_words virq = { .word = { 0x20 } }, again = { .word = { 0x20, 0x100 } };

	kit_exit_run(m->exit, RS_ISA_SVM, 0x7b, 0);
	run_words(m->pio, 0, 0x3f8, 1, 0); /* in: reported when the VMM has answered */
	kit_run(m->virq, &virq, sizeof(virq));
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x7b, 0);
	run_words(m->pio, 1, 0x3f8, 1, 0);
	kit_run(m->virq, &again, sizeof(again)); /* injected once more */
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x400, 0);
	run_words(m->page_fault, 0, 0, 0x1000, 0xfe000000); /* and is MMIO */
	run_words(m->mmio, 0, 4, 0xfe000000, 0);
	run_user_exit(m, 6, 0);
	run_words(m->mmio, 1, 4, 0xfe000000, 0);
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x400, 0);
	run_words(m->mmio, 2, 4, 0xfe000000, 0);
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_VMX, 49, 0);
	kit_run(m->fast_mmio, &(uint64_t[2]){ 0, 0xfe000000 }, 16);
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x7c, 0);
	run_words(m->msr, 0, 0x1b, 0, 0);
	run_entry(m);
	run_words(m->msr, 1, 0x6e0, 0, 0); /* SVM's fast path: before its exit */
	kit_exit_run(m->exit, RS_ISA_SVM, 0x7c, 0);
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x72, 0);
	run_words(m->cpuid, 7, 1, 0, 0);
	run_entry(m);
	kit_exit_run(m->exit, RS_ISA_SVM, 0x81, 0);
	kit_run(m->hypercall, &(uint64_t[6]){ 0, 9 }, 48);
	run_entry(m);
}

TEST(causes_are_counted_once_and_get_their_exits_cost)
{
	struct rs_kvm_snapshot got;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .causes = true }, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	for (int i = 0; i < 3; i++)
		one_of_each_cause(&m);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK_EQ_U64(got.n_causes, 10);
	check_cause(&got, RS_CAUSE_PIO_READ, 0x3f8, 3, 3);
	check_cause(&got, RS_CAUSE_PIO_WRITE, 0x3f8, 3, 3);
	check_cause(&got, RS_CAUSE_MMIO_READ, 0xfe000000, 3, 3);
	check_cause(&got, RS_CAUSE_MMIO_WRITE, 0xfe000000, 6, 6);
	check_cause(&got, RS_CAUSE_MSR_READ, 0x1b, 3, 3);
	check_cause(&got, RS_CAUSE_MSR_WRITE, 0x6e0, 3, 3);
	check_cause(&got, RS_CAUSE_CPUID, 7, 3, 3);
	check_cause(&got, RS_CAUSE_HYPERCALL, 9, 3, 3);
	check_cause(&got, RS_CAUSE_INTERRUPT, 0x20, 3, 0);
	check_cause(&got, RS_CAUSE_PAGE_FAULT, 0, 3, 0);
	CHECK_EQ_U64(got.dropped_causes, 0);
	rs_kvm_close(m.session);
}

TEST(causes_without_room_are_counted)
{
	struct rs_kvm_snapshot got;
	struct machine m;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &(struct rs_kvm_options){ .causes = true }, RS_KVM_BLOCK));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	for (uint32_t port = 0; port < RS_KVM_BLOCK + 3; port++)
		for (int i = 0; i < 2; i++)
			run_words(m.pio, 1, port, 1, 0);
	REQUIRE_OK(rs_kvm_gate(m.session, false));
	REQUIRE_OK(rs_kvm_snapshot(m.session, &got));
	CHECK_EQ_U64(got.n_causes, RS_KVM_BLOCK);
	CHECK_EQ_U64(got.dropped_causes, 2 * 3);
	rs_kvm_close(m.session);
}

/* ---- the trigger ----------------------------------------------------------------------------- */

TEST(the_trigger_fires_once_for_a_longer_exit_of_its_reason)
{
	struct rs_kvm_options options = { .trigger_ns = LONG_NS,
					  .trigger_isa = RS_ISA_VMX,
					  .trigger_code = 30 };
	struct rs_kvm_trigger trigger = { 0 };
	struct machine m;
	uint64_t began;

	KIT_NEEDS();
	REQUIRE(machine_open(&m, &options, 0));
	REQUIRE_OK(rs_kvm_gate(m.session, true));
	kit_exit_run(m.exit, RS_ISA_VMX, 12, 0); /* long, but another reason */
	spend_ns(2 * LONG_NS);
	run_entry(&m);
	CHECK(!rs_kvm_triggered(m.session, &trigger));
	do { /* certainly short */
		rs_kvm_rearm(m.session);
		began = rs_now_ns(CLOCK_MONOTONIC);
		kit_exit_run(m.exit, RS_ISA_VMX, 30, 0);
		run_entry(&m);
	} while (!was_short(began));
	CHECK(!rs_kvm_triggered(m.session, &trigger));
	for (uint64_t i = 1; i < 3; i++) {
		kit_exit_run(m.exit, RS_ISA_VMX, 30, 0);
		spend_ns(2 * i * LONG_NS);
		run_entry(&m);
		REQUIRE(rs_kvm_triggered(m.session, &trigger));
		CHECK_EQ_S64(trigger.tid, kit_tid());
		CHECK_EQ_U64(trigger.isa, RS_ISA_VMX);
		CHECK_EQ_U64(trigger.code, 30);
		CHECK(trigger.cost_ns >= 2 * LONG_NS);
	}
	rs_kvm_close(m.session);
}
