/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of a session for a filter, in the real programs: more keys than fit into the per-CPU table,
 * one epoch after another.
 */
#include "kvm_kit.h"

#include <linux/bpf.h>
#include <stdlib.h>

#define REASONS	   997u /* more than RS_KVM_NEAR_MAX, and a prime */
#define TIMES(i)   ((i) % 7 + 1)
#define ROUNDS	   23u
#define OF_A_ROUND 31u
#define EPOCH_NS   100000u
#define ROOM	   65536u

#define ROW(word) ((int16_t)((RS_FILTER_AT + (word)) * 8))

/* @[args.reason] = count(), as the language compiles it. */
static const struct bpf_insn count_by_reason[] = {
	{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 0, .src_reg = 1, .off = 20 },
	{ .code = BPF_STX | BPF_MEM | BPF_DW,
	  .dst_reg = 1,
	  .src_reg = 0,
	  .off = ROW(RS_FILTER_KEY + RS_FILTER_KEY_HEAD) },
	{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 1, .off = ROW(2), .imm = 1 },
	{ .code = BPF_ST | BPF_MEM | BPF_DW,
	  .dst_reg = 1,
	  .off = ROW(0),
	  .imm = 1 | RS_FILTER_COUNT << RS_FILTER_HOW },
	{ .code = BPF_ALU64 | BPF_K | BPF_MOV,
	  .dst_reg = 0,
	  .imm = RS_FILTER_ADD | 1 << RS_FILTER_N },
};

struct adding {
	struct rs_kvm_session *session;
	int exit_fd;
	uint64_t count[REASONS];
	uint64_t rows, odd;
};

static void add_row(void *ctx, const struct rs_filter_row *row)
{
	struct adding *a = ctx;

	a->rows++;
	if (row->number || row->bin || row->keys[0] >= REASONS)
		a->odd++;
	else
		a->count[row->keys[0]] += row->sum.n;
}

static bool begin(struct adding *a, uint32_t room, uint64_t epoch_ns)
{
	const struct rs_kvm_options options = { .events = true, .later = true, .pid = getpid() };
	const struct rs_filter filter = {
		.insns = count_by_reason,
		.n = sizeof(count_by_reason) / sizeof(count_by_reason[0]),
		.wanted = ~UINT64_C(0),
		.adds = true,
		.n_keys = 1,
		.room = room,
		.from_ns = rs_now_ns(CLOCK_MONOTONIC),
		.epoch_ns = epoch_ns,
	};
	struct rs_kvm_image image = { .elf = kit_elf, .bodies = true };
	struct bpf_program *program;
	cpu_set_t one;

	/* A sum belongs to one CPU, so there are as many as reasons. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	*a = (struct adding){ .session = kit_open(&options, 0, 0) };
	image.bytes = kit_elf_bytes;
	if (!a->session || !CHECK_OK(rs_kvm_program_image(a->session, &image, &filter)))
		return false;
	program = bpf_object__find_program_by_name(a->session->programs, "kvm_exit");
	if (!CHECK(program != NULL))
		return false;
	a->exit_fd = bpf_program__fd(program);
	return CHECK_OK(rs_kvm_gate(a->session, true));
}

static uint32_t entries_used(const struct rs_kvm_session *session)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < session->nears.n && session->nears.mem; i++)
		n += ((const struct rs_kvm_near *)rs_kvm_element(&session->nears, i))->key[0] != 0;
	return n;
}

static void end(struct adding *a)
{
	CHECK_OK(rs_kvm_gate(a->session, false));
	CHECK_OK(rs_kvm_sums(a->session, UINT64_MAX, add_row, a));
	CHECK_EQ_U64(entries_used(a->session), 0);
	CHECK_EQ_U64(a->odd, 0);
	a->rows = 0;
	CHECK_OK(rs_kvm_sums(a->session, UINT64_MAX, add_row, a));
	CHECK_EQ_U64(a->rows, 0);
	rs_kvm_close(a->session);
}

TEST(each_reason_is_counted_in_either_table)
{
	struct adding a;

	KIT_NEEDS();
	REQUIRE(begin(&a, ROOM, 0));
	for (uint32_t n = 0; n < 7; n++) {
		for (uint32_t i = 0; i < REASONS; i++)
			if (n < TIMES(i))
				kit_exit_run(a.exit_fd, RS_ISA_SVM, i, 1);
	}
	CHECK(entries_used(a.session) > 0 && entries_used(a.session) <= RS_KVM_NEAR_MAX);
	end(&a);
	for (uint32_t i = 0; i < REASONS; i++)
		CHECK_EQ_U64(a.count[i], TIMES(i));
}

/* Too little room for the per-CPU table; all of it goes to the hash. */
TEST(with_little_room_only_the_hash_is_used)
{
	struct adding a;

	KIT_NEEDS();
	REQUIRE(begin(&a, 1, 0));
	for (uint32_t i = 0; i < 3; i++)
		kit_exit_run(a.exit_fd, RS_ISA_SVM, 5, 1);
	CHECK_EQ_U64(entries_used(a.session), 0);
	end(&a);
	CHECK_EQ_U64(a.count[5], 3);
}

/* Entries are freed when their epoch is over, and are used by the next one. */
TEST(epochs_are_consumed_one_after_another)
{
	struct adding a;

	KIT_NEEDS();
	REQUIRE(begin(&a, ROOM, EPOCH_NS));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t from = rs_now_ns(CLOCK_MONOTONIC);

		for (uint32_t i = 0; i < OF_A_ROUND; i++)
			kit_exit_run(a.exit_fd, RS_ISA_SVM, i, 1);
		/* sums of earlier epochs are returned, and none of later ones */
		CHECK_OK(rs_kvm_sums(a.session, from, add_row, &a));
		for (uint32_t i = 0; i < OF_A_ROUND; i++)
			CHECK_EQ_U64(a.count[i], round);
		CHECK_OK(
			rs_kvm_sums(a.session, rs_now_ns(CLOCK_MONOTONIC) + EPOCH_NS, add_row, &a));
		CHECK_EQ_U64(entries_used(a.session), 0);
		for (uint32_t i = 0; i < OF_A_ROUND; i++)
			CHECK_EQ_U64(a.count[i], round + 1);
	}
	end(&a);
}
