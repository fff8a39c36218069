/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exits from events: each test is a sequence of events with literal stamps, and figures that were
 * computed from them by hand.
 */
#include "exits_kit.h"

#define HLT	12u /* VMX */
#define IO	30u
#define MSR_W	32u
#define EPT	48u
#define SVM_NPF 0x400u
#define SVM_HLT 0x78u

static const struct rs_exits_options everything = { .latency = true, .causes = true };

/* ---- counts and costs ----------------------------------------------------------------------- */

/* Two exits of one reason, one of another; the last has no entry. */
TEST(counts_and_costs)
{
	const struct rs_exits_row *row;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_vmx_exit(&k, 1000, 101, MSR_W);
	kit_entry(&k, 1700, 101, 0);
	kit_vmx_exit(&k, 5000, 101, MSR_W);
	kit_entry(&k, 5200, 101, 0);
	kit_vmx_exit(&k, 9000, 101, IO);
	kit_user_exit(&k, 9300, 101, 2);
	kit_entry(&k, 10300, 101, 0);
	kit_vmx_exit(&k, 12000, 101, EPT);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_rows, 3);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, MSR_W);
	CHECK_EQ_U64(row->count, 2);
	CHECK_EQ_U64(row->entered, 2);
	CHECK_COST(row, 900, 900, 0, 0, 0);
	CHECK_EQ_U64(row->min_ns, 200);
	CHECK_EQ_U64(row->max_ns, 700);
	CHECK_EQ_U64(rs_hist_total(row->hist), 2);
	CHECK_EQ_U64(row->hist->count[rs_hist_bucket(200)], 1);
	CHECK_EQ_U64(row->hist->count[rs_hist_bucket(700)], 1);
	CHECK_STR(row->vm, "web");
	CHECK_EQ_S64(row->pid, 100);
	CHECK_EQ_S64(row->vcpu, 0);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, IO);
	CHECK_EQ_U64(row->count, 1);
	CHECK_COST(row, 1300, 300, 1000, 0, 0);
	/* seen without a later entry: counted, with unknown costs */
	row = kit_row(&k, 101, RS_ISA_VMX, 0, EPT);
	CHECK_EQ_U64(row->count, 1);
	CHECK_EQ_U64(row->entered, 0);
	CHECK_COST(row, 0, 0, 0, 0, 0);
	CHECK_EQ_U64(row->min_ns, 0);
	CHECK_EQ_U64(rs_hist_total(row->hist), 0);
	CHECK_EQ_S64(k.exits.from_ns, 1000);
	CHECK_EQ_S64(k.exits.to_ns, 12000);
	CHECK_EQ_U64(k.exits.lost, 0);
	/* from 1000 to 12000: in the guest 1700..5000, 5200..9000, 10300..12000 */
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 11000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 3300 + 3800 + 1700);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 700 + 200 + 300);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_USER], 1000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->exits, 4);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/*
 * HLT for 10000: 3000 of polling, then asleep for 5000, 400 until it runs, the rest in the kernel.
 */
TEST(a_halt_is_polling_then_sleep_then_waiting)
{
	const struct rs_exits_row *row;
	const struct rs_exits_vcpu *vcpu;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_entry(&k, 1000, 101, 0);
	kit_vmx_exit(&k, 2000, 101, HLT);
	kit_off(&k, 5500, 101, 1); /* 500 in the kernel, 3000 of polling */
	kit_wake(&k, 10500, 101);  /* 5000 asleep */
	kit_on(&k, 10900, 101);	   /* 400 waiting */
	/* the halt began at 2500: 8400 in total when this is reported, in one event */
	kit_put(&k, 10900, 101, "vcpu", "wakeup", { "waited", 1 }, { "halted", 8400 });
	kit_entry(&k, 12000, 101, 0); /* 1100 in the kernel */
	kit_take(&k, true, 0);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, HLT);
	CHECK_COST(row, 10000, 500 + 1100, 0, 3000, 5400);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST], 1000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_KERNEL], 1600);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_POLL], 3000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_HALTED], 5000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_WAIT], 400);
	CHECK_EQ_U64(vcpu->wall_ns, 11000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/* A halt whose polling was long enough: the thread never left its CPU. */
TEST(a_halt_that_only_polled)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_svm_exit(&k, 1000, 101, SVM_HLT);
	kit_put(&k, 4000, 101, "vcpu", "wakeup", { "halted", 2600 });
	kit_entry(&k, 4100, 101, 0);
	kit_take(&k, true, 0);
	CHECK_COST(kit_row(&k, 101, RS_ISA_SVM, 0, SVM_HLT), 3100, 500, 0, 2600, 0);
	kit_free(&k);
}

/* Preempted in the guest, in the kernel, in the VMM; and asleep in the VMM. */
TEST(preempted_and_blocked)
{
	const struct rs_exits_vcpu *vcpu;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_entry(&k, 1000, 101, 0);
	kit_vmx_exit(&k, 2000, 101, 1); /* EXTERNAL_INTERRUPT: the kernel needs the CPU */
	kit_off(&k, 2100, 101, 0);
	kit_on(&k, 3100, 101);
	kit_entry(&k, 3150, 101, 0);
	kit_vmx_exit(&k, 4000, 101, IO);
	kit_user_exit(&k, 4200, 101, 2);
	kit_off(&k, 4500, 101, 0); /* preempted in the VMM */
	kit_on(&k, 4700, 101);
	kit_off(&k, 5000, 101, 1); /* waits for a lock there */
	kit_wake(&k, 5600, 101);
	kit_on(&k, 5650, 101);
	kit_entry(&k, 6000, 101, 0);
	kit_take(&k, true, 6500);
	CHECK_COST(kit_row(&k, 101, RS_ISA_VMX, 0, 1), 1150, 150, 0, 0, 1000);
	/* kernel 200; user 300 + 300 + 350; off 200 + 650 */
	CHECK_COST(kit_row(&k, 101, RS_ISA_VMX, 0, IO), 2000, 200, 950, 0, 850);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST], 1000 + 850 + 500);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_KERNEL], 350);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_USER], 950);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_BLOCKED], 600);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_WAIT], 1000 + 200 + 50);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_HALTED], 0);
	CHECK_EQ_U64(vcpu->wall_ns, 5500);
	kit_free(&k);
}

/* A wake-up from before the thread left its CPU does not end this sleep. */
/*
 * Some kernels have no events of exits and entries, such as those whose KVM runs guests in its
 * emulator: only halts and waits for a CPU are known.
 */
TEST(without_exits_and_entries_only_halts_and_waits_are_known)
{
	const struct rs_exits_vcpu *vcpu;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_user_exit(&k, 2000, 101, 2);
	kit_off(&k, 2500, 101, 1); /* in the VMM or in KVM */
	kit_wake(&k, 2900, 101);
	kit_on(&k, 2930, 101);
	kit_user_exit(&k, 3000, 101, 2);
	kit_off(&k, 4000, 101, 1); /* a halt of 2000 from 3500 on */
	kit_wake(&k, 5000, 101);
	kit_on(&k, 5100, 101);
	kit_put(&k, 5500, 101, "vcpu", "wakeup", { "waited", 1 }, { "halted", 2000 });
	kit_put(&k, 6500, 101, "vcpu", "wakeup", { "waited", 0 }, { "halted", 300 });
	kit_off(&k, 7000, 101, 0); /* preempted */
	kit_on(&k, 7200, 101);
	kit_thread(&k, 100, 102, "web", 1); /* another vCPU, with fewer known times */
	kit_off(&k, 7300, 102, 1);
	kit_take(&k, true, 8000);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_HALTED], 1000);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_POLL], 500 + 400 + 300);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_WAIT], 30 + 100 + 200);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST] + vcpu->ns[RS_VCPU_KERNEL] + vcpu->ns[RS_VCPU_USER] +
			     vcpu->ns[RS_VCPU_BLOCKED],
		     0);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_UNKNOWN], vcpu->wall_ns - 1000 - 1200 - 330);
	vcpu = kit_vcpu(&k, 102);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_UNKNOWN], vcpu->wall_ns);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

TEST(woken_before_the_sleep)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_vmx_exit(&k, 1000, 101, HLT);
	kit_wake(&k, 1200, 101);
	kit_off(&k, 1300, 101, 1);
	kit_on(&k, 1900, 101);
	kit_entry(&k, 2000, 101, 0);
	kit_take(&k, true, 0);
	CHECK_COST(kit_row(&k, 101, RS_ISA_VMX, 0, HLT), 1000, 400, 0, 0, 600);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_HALTED], 600);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_WAIT], 0);
	kit_free(&k);
}

/* ---- odd orders ----------------------------------------------------------------------------- */

/*
 * Two exits without an entry between them: the first is counted, and its time still belongs to the
 * kernel.
 */
TEST(an_exit_without_an_entry)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_vmx_exit(&k, 1000, 101, IO);
	kit_vmx_exit(&k, 1500, 101, EPT);
	kit_entry(&k, 1800, 101, 0);
	kit_entry(&k, 1900, 101, 0); /* and two entries */
	kit_take(&k, true, 0);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, IO)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, IO)->entered, 0);
	CHECK_COST(kit_row(&k, 101, RS_ISA_VMX, 0, EPT), 300, 300, 0, 0, 0);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 800);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 100);
	kit_free(&k);
}

/* The exit before a nested-exit came from a nested guest, and is a separate row. */
TEST(nested_exits_are_separate_rows)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_svm_exit(&k, 1000, 101, SVM_NPF);
	kit_put(&k, 1010, 101, "vcpu", "nested-exit", { "code", SVM_NPF });
	kit_entry(&k, 1300, 101, 0);
	kit_svm_exit(&k, 2000, 101, SVM_NPF);
	kit_entry(&k, 2050, 101, 0);
	kit_put(&k, 2060, 101, "vcpu", "nested-exit", { "code", SVM_NPF }); /* of no exit */
	kit_take(&k, true, 0);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_SVM, 1, SVM_NPF)->count, 1);
	CHECK_COST(kit_row(&k, 101, RS_ISA_SVM, 1, SVM_NPF), 300, 300, 0, 0, 0);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_SVM, 0, SVM_NPF)->count, 1);
	CHECK_COST(kit_row(&k, 101, RS_ISA_SVM, 0, SVM_NPF), 50, 50, 0, 0, 0);
	kit_free(&k);
}

/* 1000 to 2000 known, then a loss: unknown until the next event shows where the vCPU is. */
TEST(after_a_loss_the_state_is_unknown)
{
	const struct rs_exits_vcpu *vcpu;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_thread(&k, 100, 102, "web", 1);
	kit_entry(&k, 1000, 101, 0);
	kit_entry(&k, 1000, 102, 1);
	kit_vmx_exit(&k, 2000, 101, IO);
	kit_put(&k, 2400, 0, "trace", "records-lost", { "count", 7 });
	kit_entry(&k, 3000, 101, 0); /* of an unknown exit */
	kit_vmx_exit(&k, 3500, 101, IO);
	kit_entry(&k, 3600, 101, 0);
	kit_vmx_exit(&k, 4000, 102, HLT);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.lost, 7);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, IO)->count, 2);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, IO)->entered, 1);
	CHECK_COST(kit_row(&k, 101, RS_ISA_VMX, 0, IO), 100, 100, 0, 0, 0);
	vcpu = kit_vcpu(&k, 101);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_GUEST], 1000 + 500 + 400);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_KERNEL], 100);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_UNKNOWN], 1000);
	/* the other vCPU's whole time is unknown, from its last event on */
	vcpu = kit_vcpu(&k, 102);
	CHECK_EQ_U64(vcpu->ns[RS_VCPU_UNKNOWN], 3000);
	CHECK_EQ_U64(vcpu->wall_ns, 3000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/* A thread ends; its tid is reused by another VM's thread. */
TEST(a_reused_tid_is_another_thread)
{
	struct kit k;
	uint64_t hlt = 0;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "old", 0);
	kit_entry(&k, 1000, 101, 0);
	kit_vmx_exit(&k, 1500, 101, HLT);
	kit_put(&k, 1600, 101, "sched", "end", );
	kit_thread(&k, 200, 101, "new", 3);
	kit_entry(&k, 5000, 101, 3);
	kit_vmx_exit(&k, 5700, 101, HLT);
	kit_entry(&k, 5800, 101, 3);
	kit_take(&k, true, 6000);
	CHECK_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	CHECK_STR(k.exits.rows[0].vm, "old");
	CHECK_EQ_S64(k.exits.rows[0].pid, 100);
	CHECK_STR(k.exits.rows[1].vm, "new");
	CHECK_EQ_S64(k.exits.rows[1].vcpu, 3);
	for (size_t i = 0; i < k.exits.n_rows; i++)
		hlt += k.exits.rows[i].count;
	CHECK_EQ_U64(hlt, 2);
	CHECK(k.exits.vcpus[0].ended && !k.exits.vcpus[1].ended);
	CHECK_EQ_U64(k.exits.vcpus[0].wall_ns, 600); /* no longer than the thread lived */
	CHECK_EQ_U64(k.exits.vcpus[1].wall_ns, 1000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/* Its end is missing, but the description distinguishes the two. */
TEST(a_reused_tid_without_an_end)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "old", 0);
	kit_vmx_exit(&k, 1500, 101, HLT);
	kit_thread(&k, 200, 101, "new", 3);
	kit_vmx_exit(&k, 5700, 101, HLT);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(k.exits.rows[0].count, 1);
	CHECK_STR(k.exits.rows[1].vm, "new");
	kit_free(&k);
}

/* An imported trace: no session, no thread lines, one stream; entries name the vCPU. */
TEST(events_of_unknown_threads_are_counted)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_vmx_exit(&k, -500, 11, IO); /* and times before zero */
	kit_vmx_exit(&k, -400, 13, IO);
	kit_entry(&k, -300, 11, 4);
	kit_vmx_exit(&k, 500, 11, IO);
	kit_entry(&k, 600, 11, 4);
	kit_put(&k, 700, 0, "vcpu", "entry", { "vcpu_id", 1 });	 /* no tid: of no thread */
	kit_put(&k, 700, -1, "vcpu", "entry", { "vcpu_id", 1 }); /* nor this */
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_rows, 2);
	CHECK_EQ_U64(k.exits.n_vcpus, 2);
	CHECK(kit_row(&k, 11, RS_ISA_VMX, 0, IO)->vm == NULL);
	CHECK_EQ_S64(kit_row(&k, 11, RS_ISA_VMX, 0, IO)->pid, 0);
	CHECK_EQ_S64(kit_row(&k, 11, RS_ISA_VMX, 0, IO)->vcpu, 4);
	CHECK_EQ_S64(kit_row(&k, 13, RS_ISA_VMX, 0, IO)->vcpu, RS_UNKNOWN);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_VMX, 0, IO)->count, 2);
	CHECK_COST(kit_row(&k, 11, RS_ISA_VMX, 0, IO), 300, 300, 0, 0, 0);
	CHECK_EQ_S64(k.exits.from_ns, -500);
	kit_free(&k);
}

/* Stamps that no clock gives: nothing overflows, and the time adds up. */
TEST(stamps_at_both_limits)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_entry(&k, INT64_MIN, 11, 0);
	kit_vmx_exit(&k, INT64_MIN + 1, 11, IO);
	kit_entry(&k, INT64_MAX, 11, 0);
	kit_take(&k, false, 0);
	CHECK(k.exits.to_ns - k.exits.from_ns > 0);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_take(&k, true, INT64_MAX);
	CHECK_EQ_U64(kit_vcpu(&k, 11)->wall_ns, kit_vcpu(&k, 11)->ns[RS_VCPU_KERNEL]);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/* Codes of every kind are kept whole, and instruction sets separate. */
TEST(codes_are_kept_whole)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_vmx_exit(&k, 1, 11, 0x80000021u);
	kit_vmx_exit(&k, 2, 11, 0x21u);
	kit_svm_exit(&k, 3, 11, 0xffffffffu);
	kit_svm_exit(&k, 4, 11, 0x8000fffdu);
	kit_svm_exit(&k, 5, 11, 0x21u);
	kit_put(&k, 6, 11, "arm64", "exit", { "reason", 0x24 });
	kit_put(&k, 7, 11, "riscv", "exit", { "reason", 0x80000005u });
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_rows, 7);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_VMX, 0, 0x80000021u)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_VMX, 0, 0x21)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_SVM, 0, 0xffffffffu)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_SVM, 0, 0x8000fffdu)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_SVM, 0, 0x21)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_ARM64, 0, 0x24)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 11, RS_ISA_RISCV, 0, 0x80000005u)->count, 1);
	/* by isa, then code */
	CHECK_EQ_U64(k.exits.rows[0].code, 0x21);
	CHECK_EQ_U64(k.exits.rows[1].code, 0x80000021u);
	CHECK_EQ_U64(k.exits.rows[4].code, 0xffffffffu);
	kit_free(&k);
}

/* ---- returns to the VMM --------------------------------------------------------------------- */

TEST(user_exits_by_kvm_exit_reason)
{
	const struct rs_exits_options user = { .user = true };
	struct kit k;

	kit_init(&k, &user);
	kit_thread(&k, 100, 101, "web", 0);
	kit_user_exit(&k, 1000, 101, 2);
	kit_user_exit(&k, 2000, 101, 2);
	kit_user_exit(&k, 3000, 101, 6);
	kit_put(&k, 4000, 101, "user", "exit", { "reason", 2 }, { "errno", (uint32_t)-4 });
	kit_vmx_exit(&k, 5000, 101, IO);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_rows, 3);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_USER, 0, 2)->count, 2);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_USER, 0, 6)->count, 1);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_USER, 0, (uint32_t)-4)->count, 1);
	kit_free(&k);
}

/* ---- causes --------------------------------------------------------------------------------- */

TEST(causes_and_their_costs)
{
	const struct rs_exits_cause *c;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_vmx_exit(&k, 1000, 101, IO);
	kit_put(&k, 1100, 101, "io", "pio", { "port", 0x3f8 }, { "write", 1 });
	kit_entry(&k, 1500, 101, 0);
	kit_vmx_exit(&k, 2000, 101, IO);
	kit_put(&k, 2100, 101, "io", "pio", { "port", 0x3f8 }, { "write", 1 });
	kit_put(&k, 2200, 101, "cpu", "interrupt", { "vector", 0xec }); /* costs nothing itself */
	kit_entry(&k, 2250, 101, 0);
	/* a read of the VMM's memory is requested, and counted when it is answered */
	kit_vmx_exit(&k, 3000, 101, EPT);
	kit_put(&k, 3100, 101, "io", "mmio", { "type", 0 }, { "gpa", 0xfec00010 });
	kit_user_exit(&k, 3200, 101, 6);
	kit_put(&k, 3800, 101, "io", "mmio", { "type", 1 }, { "gpa", 0xfec00010 });
	kit_entry(&k, 4000, 101, 0);
	/* its delivery was interrupted: not another interrupt */
	kit_put(&k, 4100, 101, "cpu", "interrupt", { "vector", 0xec }, { "again", 1 });
	/* for a page fault, the kinds of its code */
	kit_vmx_exit(&k, 5000, 101, EPT);
	kit_put(&k, 5100, 101, "mmu", "page-fault", { "error_code", 0x80000083u });
	kit_entry(&k, 5010, 101, 0);
	/* an exit without a cause */
	kit_vmx_exit(&k, 6000, 101, HLT);
	kit_entry(&k, 9000, 101, 0);
	kit_take(&k, true, 0);
	c = kit_cause(&k, 101, RS_CAUSE_PIO_WRITE, 0x3f8);
	CHECK_EQ_U64(c->count, 2);
	CHECK_EQ_U64(c->entered, 2);
	CHECK_EQ_U64(c->total_ns, 750);
	CHECK_EQ_U64(c->max_ns, 500);
	c = kit_cause(&k, 101, RS_CAUSE_MMIO_READ, 0xfec00010);
	CHECK_EQ_U64(c->count, 1);
	CHECK_EQ_U64(c->total_ns, 1000);
	c = kit_cause(&k, 101, RS_CAUSE_INTERRUPT, 0xec);
	CHECK_EQ_U64(c->count, 1);
	CHECK_EQ_U64(c->entered, 0);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_PAGE_FAULT, 3)->count, 1);
	CHECK_EQ_U64(k.exits.n_causes, 4);
	/* sorted by cost */
	CHECK_EQ_U64(k.exits.cause_rows[0].kind, RS_CAUSE_MMIO_READ);
	CHECK_EQ_U64(k.exits.cause_rows[1].kind, RS_CAUSE_PIO_WRITE);
	kit_free(&k);
}

TEST(every_kind_of_cause)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_put(&k, 1, 7, "io", "pio", { "port", 0x71 });
	kit_put(&k, 2, 7, "io", "mmio", { "type", 2 }, { "gpa", 0xfee000b0 });
	kit_put(&k, 3, 7, "cpu", "msr", { "msr", 0x6e0 }, { "write", 1 });
	kit_put(&k, 4, 7, "cpu", "msr", { "msr", 0xc0000080 });
	kit_put(&k, 5, 7, "cpu", "cpuid", { "leaf", 0x40000000 });
	kit_put(&k, 6, 7, "cpu", "hypercall", { "nr", 10 });
	kit_take(&k, true, 0);
	CHECK_EQ_U64(k.exits.n_causes, 6);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_PIO_READ, 0x71)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_MMIO_WRITE, 0xfee000b0)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_MSR_WRITE, 0x6e0)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_MSR_READ, 0xc0000080)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_CPUID, 0x40000000)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 7, RS_CAUSE_HYPERCALL, 10)->count, 1);
	kit_free(&k);
}

static void check_cause(uint32_t kind, uint64_t key, const char *expected)
{
	char text[RS_CAUSE_TEXT_MAX];

	CHECK_STR(rs_cause_text(kind, key, text), expected);
}

TEST(causes_have_names)
{
	check_cause(RS_CAUSE_PIO_READ, 0x3f8, "0x3f8 (com1)");
	check_cause(RS_CAUSE_PIO_WRITE, 0x3ff, "0x3ff (com1)");
	check_cause(RS_CAUSE_PIO_WRITE, 0x400, "0x400");
	check_cause(RS_CAUSE_PIO_READ, 0x608, "0x608 (acpi pm timer)");
	check_cause(RS_CAUSE_PIO_READ, 0x604, "0x604 (acpi pm)");
	check_cause(RS_CAUSE_MMIO_READ, 0xfec00010, "0xfec00010 (ioapic)");
	check_cause(RS_CAUSE_MMIO_WRITE, 0xfee000b0, "0xfee000b0 (lapic EOI)");
	check_cause(RS_CAUSE_MMIO_WRITE, 0xfee000a0, "0xfee000a0 (lapic)");
	check_cause(RS_CAUSE_MMIO_WRITE, UINT64_MAX, "0xffffffffffffffff");
	check_cause(RS_CAUSE_MSR_WRITE, 0x6e0, "0x6e0 (TSC_DEADLINE)");
	check_cause(RS_CAUSE_MSR_WRITE, 0x830, "0x830 (x2APIC ICR)");
	check_cause(RS_CAUSE_MSR_WRITE, 0x831, "0x831 (x2APIC)");
	check_cause(RS_CAUSE_MSR_READ, 0x4b564d01, "0x4b564d01 (KVM_SYSTEM_TIME_NEW)");
	check_cause(RS_CAUSE_CPUID, 0x40000001, "0x40000001 (hypervisor)");
	check_cause(RS_CAUSE_HYPERCALL, 10, "10 (SEND_IPI)");
	check_cause(RS_CAUSE_HYPERCALL, 999, "999");
	check_cause(RS_CAUSE_INTERRUPT, 0xfd, "0xfd (Linux: reschedule)");
	check_cause(RS_CAUSE_INTERRUPT, 0x31, "0x31");
	check_cause(RS_CAUSE_PAGE_FAULT, 0, "0x0 (not present read)");
	check_cause(RS_CAUSE_PAGE_FAULT, 7, "0x7 (present write user)");
	check_cause(RS_CAUSE_PAGE_FAULT, 0x14, "0x14 (not present read user instruction)");
	check_cause(RS_CAUSE_SYSREG_READ, rs_cause_sysreg(3, 0, 0, 4, 0),
		    "S3_0_C0_C4_0 (ID_AA64PFR0_EL1)");
	check_cause(RS_CAUSE_SYSREG_WRITE, rs_cause_sysreg(3, 0, 12, 11, 5),
		    "S3_0_C12_C11_5 (ICC_SGI1R_EL1)");
	check_cause(RS_CAUSE_SYSREG_READ, rs_cause_sysreg(3, 0, 0, 1, 0),
		    "S3_0_C0_C1_0 (ID register)");
	check_cause(RS_CAUSE_SYSREG_READ, rs_cause_sysreg(3, 7, 15, 15, 7), "S3_7_C15_C15_7");
	check_cause(RS_CAUSE_SYSREG_READ, 0x10000, "0x10000"); /* a trace may say anything */
	check_cause(RS_CAUSE_HYPERCALL, 0x84000008, "0x84000008 (PSCI_SYSTEM_OFF)");
	check_cause(RS_CAUSE_WFX, 0, "0 (WFI)");
	check_cause(RS_CAUSE_WFX, 1, "1 (WFE)");
	check_cause(RS_CAUSE_GUEST_FAULT, 0x90000044, "0x90000044 (write, translation)");
	check_cause(RS_CAUSE_GUEST_FAULT, 0x9000000c, "0x9000000c (read, permission)");
	check_cause(RS_CAUSE_GUEST_FAULT, 0x80000084,
		    "0x80000084 (fetch, translation, in a table walk)");
	check_cause(RS_CAUSE_GUEST_FAULT, 0x900000f0, "0x900000f0 (write, other, in a table walk)");
	check_cause(77, 5, "0x5");
	CHECK_STR(rs_cause_kind_name(RS_CAUSE_MSR_WRITE), "msr write");
	CHECK_STR(rs_cause_kind_name(RS_CAUSE_NONE), "-");
	CHECK_STR(rs_cause_kind_name(77), "-");
	/* all the bits of a page fault, and more: it ends within the text */
	for (uint64_t bits = 0; bits < 256; bits++) {
		char text[RS_CAUSE_TEXT_MAX];

		CHECK(strlen(rs_cause_text(RS_CAUSE_PAGE_FAULT, bits, text)) < sizeof(text));
	}
}

TEST(causes_of_arm64)
{
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_put(&k, 900, 101, "arm64", "exit", { "reason", 0x18 });
	kit_put(&k, 1000, 101, "arm64", "sysreg", { "op0", 3 }, { "op1", 0 }, { "crn", 12 },
		{ "crm", 11 }, { "op2", 5 }, { "write", 1 });
	kit_entry(&k, 1100, 101, -1);
	kit_put(&k, 1200, 101, "arm64", "exit", { "reason", 0x16 });
	kit_put(&k, 1300, 101, "arm64", "hvc", { "nr", 0x84000008u }, { "imm", 0 });
	kit_entry(&k, 1400, 101, -1);
	kit_put(&k, 1500, 101, "arm64", "exit", { "reason", 1 });
	kit_put(&k, 1600, 101, "arm64", "wfx", { "event", 1 });
	kit_entry(&k, 1700, 101, -1);
	/* a fault that is MMIO: the time is MMIO's, and both are counted */
	kit_put(&k, 1800, 101, "arm64", "exit", { "reason", 0x24 });
	kit_put(&k, 1900, 101, "arm64", "guest-fault", { "esr", 0x93c08046u });
	kit_put(&k, 1950, 101, "io", "mmio", { "type", 2 }, { "gpa", 0x09000000 });
	kit_entry(&k, 2000, 101, -1);
	kit_take(&k, true, 0);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_SYSREG_WRITE, rs_cause_sysreg(3, 0, 12, 11, 5))
			     ->total_ns,
		     200);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_HYPERCALL, 0x84000008)->total_ns, 200);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_WFX, 1)->total_ns, 200);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_GUEST_FAULT, 0x90000044)->count, 1);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_GUEST_FAULT, 0x90000044)->entered, 0);
	CHECK_EQ_U64(kit_cause(&k, 101, RS_CAUSE_MMIO_WRITE, 0x09000000)->total_ns, 200);
	CHECK_EQ_U64(k.exits.n_causes, 5);
	kit_free(&k);
}

/* ---- long exits ----------------------------------------------------------------------------- */

struct longs {
	struct rs_exits_long at[8];
	size_t n;
};

static struct rs_error *add_long(void *ctx, const struct rs_exits_long *exit)
{
	struct longs *l = ctx;

	if (CHECK(l->n < 8))
		l->at[l->n++] = *exit;
	return NULL;
}

TEST(long_exits_from_events)
{
	struct longs longs = { 0 };
	const struct rs_exits_options options = {
		.latency = true, .than_ns = 1000, .than = add_long, .ctx = &longs
	};
	struct kit k;

	kit_init(&k, &options);
	kit_thread(&k, 100, 101, "web", 5);
	kit_put(&k, 1000, 101, "vmx", "exit", { "reason", IO }, { "rip", 0xabc });
	kit_put(&k, 1100, 101, "io", "pio", { "port", 0x70 }, { "write", 1 });
	kit_user_exit(&k, 1200, 101, 2);
	kit_entry(&k, 2001, 101, 5);
	/* already reported by the session: it is not reported twice */
	kit_put(&k, 2001, 101, "vcpu", "long-exit", { "isa", 1 }, { "code", IO },
		{ "total", 1001 });
	kit_vmx_exit(&k, 3000, 101, HLT);
	kit_entry(&k, 4000, 101, 5); /* at most the reported time */
	REQUIRE_EQ_U64(longs.n, 1);
	CHECK_EQ_S64(longs.at[0].ts_ns, 2001);
	CHECK_STR(longs.at[0].vm, "web");
	CHECK_EQ_S64(longs.at[0].vcpu, 5);
	CHECK_EQ_S64(longs.at[0].tid, 101);
	CHECK_EQ_U64(longs.at[0].isa, RS_ISA_VMX);
	CHECK_EQ_U64(longs.at[0].code, IO);
	CHECK_EQ_U64(longs.at[0].rip, 0xabc);
	CHECK_EQ_U64(longs.at[0].kind, RS_CAUSE_PIO_WRITE);
	CHECK_EQ_U64(longs.at[0].key, 0x70);
	CHECK_EQ_U64(longs.at[0].cost.total_ns, 1001);
	CHECK_EQ_U64(longs.at[0].cost.kernel_ns, 200);
	CHECK_EQ_U64(longs.at[0].cost.user_ns, 801);
	kit_free(&k);
}

/* A live session keeps no events: it only reports the long ones. */
TEST(long_exits_from_a_session)
{
	struct longs longs = { 0 };
	const struct rs_exits_options options = {
		.latency = true, .than_ns = 1000, .than = add_long, .ctx = &longs
	};
	struct kit k;

	kit_init(&k, &options);
	kit_thread(&k, 100, 101, "web", 5);
	kit_put(&k, 9000, 101, "vcpu", "long-exit", { "isa", 2 }, { "code", SVM_NPF },
		{ "total", 7000 }, { "kernel", 1000 }, { "user", 2000 }, { "poll", 1500 },
		{ "off", 2500 }, { "rip", 0xdef }, { "kind", RS_CAUSE_MMIO_READ },
		{ "key", 0xfee00390 }, { "nested", 1 });
	REQUIRE_EQ_U64(longs.n, 1);
	CHECK_EQ_U64(longs.at[0].isa, RS_ISA_SVM);
	CHECK_EQ_U64(longs.at[0].code, SVM_NPF);
	CHECK_EQ_U64(longs.at[0].nested, 1);
	CHECK_EQ_U64(longs.at[0].cost.total_ns, 7000);
	CHECK_EQ_U64(longs.at[0].cost.kernel_ns, 1000);
	CHECK_EQ_U64(longs.at[0].cost.user_ns, 2000);
	CHECK_EQ_U64(longs.at[0].cost.poll_ns, 1500);
	CHECK_EQ_U64(longs.at[0].cost.off_ns, 2500);
	CHECK_EQ_U64(longs.at[0].kind, RS_CAUSE_MMIO_READ);
	CHECK_EQ_U64(longs.at[0].key, 0xfee00390);
	CHECK_EQ_U64(longs.at[0].rip, 0xdef);
	kit_free(&k);
}

/* ---- takes ---------------------------------------------------------------------------------- */

/* Each take has what was added since the previous one; the total has everything. */
TEST(takes_have_only_new_counts)
{
	const struct rs_exits_row *row;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_entry(&k, 1000, 101, 0);
	kit_vmx_exit(&k, 2000, 101, IO);
	kit_entry(&k, 2500, 101, 0);
	kit_take(&k, false, 3000);
	CHECK_EQ_S64(k.exits.from_ns, 1000);
	CHECK_EQ_S64(k.exits.to_ns, 3000);
	CHECK_EQ_U64(kit_row(&k, 101, RS_ISA_VMX, 0, IO)->count, 1);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 2000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1500);
	kit_vmx_exit(&k, 4000, 101, IO);
	kit_entry(&k, 4100, 101, 0);
	kit_vmx_exit(&k, 4500, 101, IO); /* waits, and is counted now, not later */
	kit_take(&k, false, 5000);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, IO);
	CHECK_EQ_U64(row->count, 2);
	CHECK_EQ_U64(row->entered, 1);
	CHECK_EQ_U64(row->max_ns, 100); /* of this interval */
	CHECK_EQ_S64(k.exits.from_ns, 3000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 2000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1000 + 400);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 100 + 500);
	kit_entry(&k, 5500, 101, 0);
	kit_take(&k, false, 6000);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, IO);
	CHECK_EQ_U64(row->count, 0);
	CHECK_EQ_U64(row->entered, 1);
	CHECK_COST(row, 1000, 1000, 0, 0, 0);
	kit_take(&k, false, 7000); /* nothing happened */
	CHECK_EQ_U64(k.exits.n_rows, 0);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1000);
	kit_take(&k, true, 7000);
	row = kit_row(&k, 101, RS_ISA_VMX, 0, IO);
	CHECK_EQ_U64(row->count, 3);
	CHECK_EQ_U64(row->entered, 3);
	CHECK_EQ_U64(row->min_ns, 100);
	CHECK_EQ_U64(row->max_ns, 1000);
	CHECK_COST(row, 1600, 1600, 0, 0, 0);
	CHECK_EQ_U64(rs_hist_total(row->hist), 3);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 6000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_free(&k);
}

/*
 * Polling that an earlier take reported as kernel time: no value is negative, and the sum is kept.
 */
TEST(a_take_in_the_middle_of_polling)
{
	uint64_t sum = 0, poll;
	struct kit k;

	kit_init(&k, &everything);
	kit_thread(&k, 100, 101, "web", 0);
	kit_entry(&k, 1000, 101, 0);
	kit_vmx_exit(&k, 2000, 101, HLT);
	kit_take(&k, false, 6000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 4000);
	kit_put(&k, 7000, 101, "vcpu", "wakeup", { "halted", 5000 });
	kit_entry(&k, 7100, 101, 0);
	kit_take(&k, false, 8000);
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++)
		sum += kit_vcpu(&k, 101)->ns[i];
	poll = kit_vcpu(&k, 101)->ns[RS_VCPU_POLL];
	CHECK_EQ_U64(sum, 2000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->wall_ns, 2000);
	/* of the 5000, only as much as is available; the kernel's share is corrected */
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 0);
	CHECK(poll > 0 && poll <= 2000);
	CHECK_OK(rs_exits_check(&k.exits, 0));
	kit_take(&k, true, 8000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_POLL], 5000);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_KERNEL], 100);
	CHECK_EQ_U64(kit_vcpu(&k, 101)->ns[RS_VCPU_GUEST], 1900);
	kit_free(&k);
}
