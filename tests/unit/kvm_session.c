/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting in BPF, and the gate: the session's own programs in the running kernel, on records built
 * here, in real threads, with known counts.
 */
#include "kvm_kit.h"

#include <pthread.h>

static const struct {
	uint32_t isa, code;
	uint32_t times;
} reasons[] = {
	{ RS_ISA_VMX, 0, 2 },		{ RS_ISA_VMX, 12, 31 },
	{ RS_ISA_VMX, 127, 3 },		{ RS_ISA_VMX, 128, 5 }, /* after the row's end */
	{ RS_ISA_VMX, 0x80000021, 7 },				/* a failed entry */
	{ RS_ISA_VMX, 0xffffffff, 11 }, { RS_ISA_SVM, 0x7b, 13 },
	{ RS_ISA_SVM, 12, 17 }, /* the same number as a VMX reason */
	{ RS_ISA_SVM, 0xff, 19 },	{ RS_ISA_SVM, 0x100, 23 }, /* between the two ranges */
	{ RS_ISA_SVM, 0x400, 29 },	{ RS_ISA_SVM, 0x403, 37 },
	{ RS_ISA_SVM, 0x40f, 41 },	{ RS_ISA_SVM, 0x410, 43 },
	{ RS_ISA_SVM, 0x80000001, 47 }, { RS_ISA_SVM, 0x8000fffd, 53 },
	{ RS_ISA_SVM, 0xffffffff, 59 }, /* -1 */
};
#define N_REASONS (sizeof(reasons) / sizeof(reasons[0]))

static void every_code(bool latency)
{
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	uint32_t round = 0, left;
	int exit_fd;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .latency = latency }, 0, 0);
	REQUIRE(session);
	exit_fd = kit_program(session, "kvm_exit");
	REQUIRE_OK(rs_kvm_gate(session, true));
	do { /* alternating, so that two consecutive ones differ */
		left = 0;
		for (size_t i = 0; i < N_REASONS; i++) {
			if (round >= reasons[i].times)
				continue;
			kit_exit_run(exit_fd, reasons[i].isa, reasons[i].code, 3);
			left++;
		}
		round++;
	} while (left);
	REQUIRE_OK(rs_kvm_gate(session, false));
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	CHECK_EQ_U64(got.n_threads, 1);
	CHECK_EQ_U64(got.n_exits, N_REASONS);
	CHECK_EQ_S64(got.threads[0].tid, kit_tid());
	CHECK_EQ_S64(got.threads[0].pid, getpid());
	CHECK_EQ_S64(got.threads[0].vcpu, 3);
	for (size_t i = 0; i < N_REASONS; i++)
		CHECK_EQ_U64(kit_count(&got, kit_tid(), reasons[i].isa, 0, reasons[i].code),
			     reasons[i].times);
	CHECK_EQ_U64(got.dropped_threads + got.dropped_exits + got.dropped_causes, 0);
	rs_kvm_close(session);
}

TEST(every_code_is_counted)
{
	every_code(false);
}

TEST(every_code_is_counted_with_times)
{
	every_code(true);
}

/* kvm_nested_vmexit follows its kvm_exit. */
static void guests_guests(bool latency)
{
	static const struct {
		uint32_t isa, code;
	} both[] = { { RS_ISA_VMX, 12 }, { RS_ISA_SVM, 0x400 }, { RS_ISA_SVM, 0xffffffff } };
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	int exit_fd, nested_fd;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .latency = latency }, 0, 0);
	REQUIRE(session);
	exit_fd = kit_program(session, "kvm_exit");
	nested_fd = kit_program(session, "kvm_nested_vmexit");
	REQUIRE_OK(rs_kvm_gate(session, true));
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t n = 0; n < 13; n++) {
			kit_exit_run(exit_fd, both[i].isa, both[i].code, 0);
			if (n < 5)
				kit_run(nested_fd, &(struct kit_exit){ 0 },
					sizeof(struct kit_exit));
		}
	}
	REQUIRE_OK(rs_kvm_gate(session, false));
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ_U64(kit_count(&got, 0, both[i].isa, 0, both[i].code), 8);
		CHECK_EQ_U64(kit_count(&got, 0, both[i].isa, 1, both[i].code), 5);
	}
	rs_kvm_close(session);
}

TEST(exits_of_nested_guests_are_distinguished)
{
	guests_guests(false);
}

TEST(exits_of_nested_guests_are_distinguished_with_times)
{
	guests_guests(true);
}

/* ---- many threads ---------------------------------------------------------------------------- */

#define THREADS	       640
#define THREAD_REASONS 20

struct vcpu {
	pthread_t thread;
	int exit_fd, end_fd;
	uint32_t number;
	int tid;
};

static pthread_barrier_t counted;

static void *vcpu_exits(void *arg)
{
	struct vcpu *vcpu = arg;

	vcpu->tid = kit_tid();
	for (uint32_t code = 0; code < THREAD_REASONS; code++)
		for (uint32_t n = 0; n <= (vcpu->number + code) % 3; n++)
			kit_exit_run(vcpu->exit_fd, RS_ISA_SVM, code, vcpu->number);
	pthread_barrier_wait(&counted); /* otherwise a tid is used twice, which is another test */
	return NULL;
}

TEST(many_threads_lose_nothing)
{
	static struct vcpu vcpus[THREADS];
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	uint64_t begin;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .latency = true },
			   THREADS * RS_KVM_CELLS_PER_THREAD, 0);
	REQUIRE(session);
	REQUIRE_OK(rs_kvm_gate(session, true));
	REQUIRE(!pthread_barrier_init(&counted, NULL, THREADS + 1));
	for (uint32_t i = 0; i < THREADS; i++) {
		vcpus[i].exit_fd = kit_program(session, "kvm_exit");
		vcpus[i].number = i;
		REQUIRE(!pthread_create(&vcpus[i].thread, NULL, vcpu_exits, &vcpus[i]));
	}
	pthread_barrier_wait(&counted);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(vcpus[i].thread, NULL);
	REQUIRE_OK(rs_kvm_gate(session, false));
	begin = rs_now_ns(CLOCK_MONOTONIC);
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	printf("# %u threads, %u rows: read in %.1f ms\n", got.n_threads, got.n_exits,
	       (double)(rs_now_ns(CLOCK_MONOTONIC) - begin) / 1e6);
	REQUIRE_EQ_U64(got.n_threads, THREADS);
	REQUIRE_EQ_U64(got.n_exits, THREADS * THREAD_REASONS);
	for (uint32_t i = 0; i < got.n_exits; i++) {
		const struct rs_kvm_exit *row = &got.exits[i];
		const struct rs_kvm_thread *thread = &got.threads[row->thread];

		CHECK_EQ_S64(vcpus[thread->vcpu].tid, thread->tid);
		CHECK_EQ_U64(row->count, ((uint32_t)thread->vcpu + row->code) % 3 + 1);
	}
	CHECK_EQ_U64(got.dropped_threads + got.dropped_exits, 0);
	rs_kvm_close(session);
}

/* ---- lack of room ---------------------------------------------------------------------------- */

static void run_vcpu(struct vcpu *vcpu, int exit_fd, uint32_t number)
{
	*vcpu = (struct vcpu){ .exit_fd = exit_fd, .number = number };
	pthread_barrier_init(&counted, NULL, 1);
	pthread_create(&vcpu->thread, NULL, vcpu_exits, vcpu);
	pthread_join(vcpu->thread, NULL);
}

TEST(threads_without_room_are_counted)
{
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	struct vcpu vcpu;
	uint64_t kept = 0;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .threads_max = 2 }, 0, 0);
	REQUIRE(session);
	REQUIRE_OK(rs_kvm_gate(session, true));
	for (uint32_t i = 0; i < 5; i++) /* each makes 39 to 41 exits */
		run_vcpu(&vcpu, kit_program(session, "kvm_exit"), 0);
	REQUIRE_OK(rs_kvm_gate(session, false));
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	CHECK_EQ_U64(got.n_threads, 2);
	for (uint32_t i = 0; i < got.n_exits; i++)
		kept += got.exits[i].count;
	CHECK_EQ_U64(kept, 2 * 39);
	CHECK_EQ_U64(got.dropped_threads, 3 * 39);
	CHECK_EQ_U64(got.dropped_exits, 0);
	rs_kvm_close(session);
}

/* With counts only, those that have a place in the row need no other. */
static void full_of_reasons(bool latency)
{
	const uint32_t first = latency ? 0 : 1000;
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	uint64_t kept = 0;
	int exit_fd;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .latency = latency }, 2 * RS_KVM_BLOCK, 0);
	REQUIRE(session);
	exit_fd = kit_program(session, "kvm_exit");
	REQUIRE_OK(rs_kvm_gate(session, true));
	for (uint32_t n = 0; n < 3; n++)
		for (uint32_t code = 0; code < 2 * RS_KVM_BLOCK + 7; code++)
			kit_exit_run(exit_fd, RS_ISA_VMX, first + code, 0);
	REQUIRE_OK(rs_kvm_gate(session, false));
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	CHECK_EQ_U64(got.n_exits, 2 * RS_KVM_BLOCK);
	for (uint32_t i = 0; i < got.n_exits; i++)
		kept += got.exits[i].count;
	CHECK_EQ_U64(kept, 3 * 2 * RS_KVM_BLOCK);
	CHECK_EQ_U64(got.dropped_exits, 3 * 7);
	rs_kvm_close(session);
}

TEST(reasons_without_room_are_counted)
{
	full_of_reasons(false);
	full_of_reasons(true);
}

/* ---- threads that end ------------------------------------------------------------------------ */

TEST(a_reused_tid_is_another_thread)
{
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	int exit_fd, end_fd;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ .latency = true }, 0, 0);
	REQUIRE(session);
	exit_fd = kit_program(session, "kvm_exit");
	end_fd = kit_program(session, "sched_process_exit");
	REQUIRE_OK(rs_kvm_gate(session, true));
	for (uint32_t n = 0; n < 7; n++)
		kit_exit_run(exit_fd, RS_ISA_VMX, 12, 1);
	kit_run(end_fd, "", 0); /* this thread "ends", and its tid is reused */
	for (uint32_t n = 0; n < 11; n++)
		kit_exit_run(exit_fd, RS_ISA_VMX, 12, 2);
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	REQUIRE_EQ_U64(got.n_threads, 2);
	CHECK(got.threads[0].ended && !got.threads[1].ended);
	CHECK_EQ_S64(got.threads[0].vcpu, 1);
	CHECK_EQ_S64(got.threads[1].vcpu, 2);
	CHECK_EQ_S64(got.threads[0].tid, got.threads[1].tid);
	REQUIRE_OK(rs_kvm_gate(session, false));
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	REQUIRE_EQ_U64(got.n_exits, 2);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ_U64(got.exits[i].count, got.exits[i].thread ? 11 : 7);
	rs_kvm_close(session);
}

/* ---- selection ------------------------------------------------------------------------------- */

static uint64_t all_counts(const struct rs_kvm_options *options)
{
	struct rs_kvm_snapshot got = { 0 };
	struct rs_kvm_session *session = kit_open(options, 0, 0);
	uint64_t n = 0;

	if (!session)
		return 0;
	CHECK_OK(rs_kvm_gate(session, true));
	kit_exit_run(kit_program(session, "kvm_exit"), RS_ISA_VMX, 12, 1);
	CHECK_OK(rs_kvm_gate(session, false));
	CHECK_OK(rs_kvm_snapshot(session, &got));
	for (uint32_t i = 0; i < got.n_exits; i++)
		n += got.exits[i].count;
	CHECK_EQ_U64(got.dropped_threads, 0); /* unselected is not dropped */
	rs_kvm_close(session);
	return n;
}

TEST(only_selected_threads_are_counted)
{
	int tid = kit_tid(), other = 1;

	KIT_NEEDS();
	CHECK_EQ_U64(all_counts(&(struct rs_kvm_options){ .pid = getpid() }), 1);
	CHECK_EQ_U64(all_counts(&(struct rs_kvm_options){ .pid = 1 }), 0);
	CHECK_EQ_U64(all_counts(&(struct rs_kvm_options){ .tids = &tid, .n_tids = 1 }), 1);
	CHECK_EQ_U64(all_counts(&(struct rs_kvm_options){ .tids = &other, .n_tids = 1 }), 0);
}

/* ---- the gate -------------------------------------------------------------------------------- */

TEST(nothing_counts_while_the_gate_is_shut)
{
	struct rs_kvm_snapshot got;
	struct rs_kvm_session *session;
	int exit_fd;

	KIT_NEEDS();
	session = kit_open(&(struct rs_kvm_options){ 0 }, 0, 0);
	REQUIRE(session);
	exit_fd = kit_program(session, "kvm_exit");
	kit_exit_run(exit_fd, RS_ISA_VMX, 12, 0);
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	CHECK_EQ_U64(got.n_exits + got.n_threads, 0);
	CHECK_ERR(rs_kvm_gate(session, false), RS_USAGE, "once");
	REQUIRE_OK(rs_kvm_gate(session, true));
	kit_exit_run(exit_fd, RS_ISA_VMX, 12, 0);
	REQUIRE_OK(rs_kvm_gate(session, false));
	kit_exit_run(exit_fd, RS_ISA_VMX, 12, 0);
	REQUIRE_OK(rs_kvm_snapshot(session, &got));
	CHECK_EQ_U64(kit_count(&got, 0, RS_ISA_VMX, 0, 12), 1);
	CHECK_ERR(rs_kvm_gate(session, true), RS_USAGE, "once");
	rs_kvm_close(session);
}

TEST(options_out_of_bounds_are_refused)
{
	struct rs_kvm_session *session = NULL;

	CHECK_ERR(rs_kvm_open(&(struct rs_kvm_options){ .ring_bytes = 100 }, &session), RS_USAGE,
		  "a ring must have");
	CHECK_ERR(rs_kvm_open(&(struct rs_kvm_options){ .ring_bytes = 1u << 30 }, &session),
		  RS_USAGE, "a ring must have");
	CHECK_ERR(rs_kvm_open(&(struct rs_kvm_options){ .threads_max = ~0u }, &session), RS_USAGE,
		  "too many");
	CHECK(session == NULL);
}
