/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions whose BPF programs are run with BPF_PROG_TEST_RUN: the real programs, in the real
 * kernel, on records that a test builds. The thread that runs one stands for a vCPU's.
 */
#ifndef RS_TESTS_UNIT_KVM_KIT_H
#define RS_TESTS_UNIT_KVM_KIT_H

#include "../test.h"

#include "base/now.h"
#include "kvm/session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIT_CTX_MAX 96 /* of BPF_PROG_TEST_RUN */
#define KIT_ELF_MAX (4u << 20)

static uint8_t kit_elf[KIT_ELF_MAX];
static size_t kit_elf_bytes;

/* kvm_exit with Linux' layout since 5.10; the kit checks in BTF whether this kernel has it. */
struct kit_exit {
	uint64_t ent;
	uint32_t exit_reason, pad;
	uint64_t rip;
	uint32_t isa, pad2;
	uint64_t info1, info2;
	uint32_t intr_info, error_code;
	uint32_t vcpu_id, pad3;
};
_Static_assert(sizeof(struct kit_exit) <= KIT_CTX_MAX, "fits");

static bool kit_has_isa_at_24(struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "trace_event_raw_kvm_exit", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;

		if (!strcmp(btf__name_by_offset(btf, member->name_off), "isa"))
			return btf_member_bit_offset(type, (uint32_t)i) == 24 * 8;
	}
	return false;
}

/* Returns why these tests cannot run here; NULL: they can. */
static const char *kit_missing(void)
{
	struct btf *base, *module;
	bool good;

	if (geteuid())
		return "loading BPF programs takes root";
	base = btf__load_vmlinux_btf();
	if (!base)
		return "this kernel has no BTF";
	good = kit_has_isa_at_24(base);
	module = good ? NULL : btf__load_module_btf("kvm", base);
	good = good || (module && kit_has_isa_at_24(module));
	btf__free(module);
	btf__free(base);
	if (!good)
		return "this kernel has no kvm_exit with the layout of x86";
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) != 1)
		return "this kernel refuses BPF programs";
	return NULL;
}

#define KIT_NEEDS()                                                                                \
	do {                                                                                       \
		const char *missing = kit_missing();                                               \
                                                                                                   \
		if (missing)                                                                       \
			TEST_SKIP(missing);                                                        \
	} while (0)

/*
 * Opens a session on the programs, with its gate still shut. It observes this process, unless the
 * options choose others, because the host may run other vCPUs.
 */
static inline struct rs_kvm_session *kit_open(const struct rs_kvm_options *options,
					      uint32_t cells_max, uint32_t causes_max)
{
	struct rs_kvm_image image = {
		.elf = kit_elf, .bodies = true, .cells_max = cells_max, .causes_max = causes_max
	};
	struct rs_kvm_session *session = NULL;
	struct rs_kvm_options ours = *options;
	FILE *file = fopen(RS_KVM_BODIES_FILE, "rb");

	if (!ours.pid && !ours.n_tids)
		ours.pid = getpid();

	if (!CHECK(file != NULL))
		return NULL;
	image.bytes = kit_elf_bytes = fread(kit_elf, 1, sizeof(kit_elf), file);
	fclose(file);
	CHECK_OK(rs_kvm_open_image(&ours, &image, &session));
	return session;
}

/* Returns a program by name; -1: not found, which fails the test. */
static inline int kit_program(const struct rs_kvm_session *session, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(session->object, name);

	return CHECK(program != NULL) ? bpf_program__fd(program) : -1;
}

static inline bool kit_run(int program, const void *ctx, size_t bytes)
{
	uint8_t whole[KIT_CTX_MAX] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = whole, .ctx_size_in = sizeof(whole));

	memcpy(whole, ctx, bytes);
	return CHECK_EQ_S64(bpf_prog_test_run_opts(program, &options), 0);
}

static inline void kit_exit_run(int program, uint32_t isa, uint32_t reason, uint32_t vcpu)
{
	const struct kit_exit record = { .isa = isa,
					 .exit_reason = reason,
					 .vcpu_id = vcpu,
					 .rip = 0x1000 + reason,
					 .info1 = 1,
					 .info2 = 2,
					 .intr_info = 3,
					 .error_code = 4 };

	kit_run(program, &record, sizeof(record));
}

static inline int kit_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Returns the row of a reason of a thread (0: of any); NULL: none. */
static inline const struct rs_kvm_exit *kit_row(const struct rs_kvm_snapshot *snapshot, int tid,
						uint32_t isa, uint32_t nested, uint32_t code)
{
	for (uint32_t i = 0; i < snapshot->n_exits; i++) {
		const struct rs_kvm_exit *row = &snapshot->exits[i];

		if (row->isa == isa && row->nested == nested && row->code == code &&
		    (!tid || snapshot->threads[row->thread].tid == tid))
			return row;
	}
	return NULL;
}

static inline uint64_t kit_count(const struct rs_kvm_snapshot *snapshot, int tid, uint32_t isa,
				 uint32_t nested, uint32_t code)
{
	const struct rs_kvm_exit *row = kit_row(snapshot, tid, isa, nested, code);

	return row ? row->count : 0;
}

/*
 * ---- records with the layout of x86 kernels -----------------------------------------------------
 */

struct kit_user_exit {
	uint64_t ent;
	uint32_t reason;
	int32_t errno_value;
};

struct kit_wakeup {
	uint64_t ent, ns;
	uint8_t waited, valid;
};

/* pio: rw, port, size, count, val; mmio: type, len; msr: write, ecx; cpuid: function, index; ... */
struct kit_words {
	uint64_t ent;
	uint32_t word[2];
	uint64_t more[6];
};

#define STEP_NS 200000
#define LONG_NS 50000000 /* only by accident, if the machine stalls: was_short() */

/* Runs the programs of a session. */
struct machine {
	struct rs_kvm_session *session;
	int exit, entry, user_exit, wakeup, sched_switch, sched_wakeup, end;
	int pio, mmio, fast_mmio, msr, cpuid, hypercall, virq, page_fault;
	uint64_t arrivals; /* of this thread on its CPU, as the scheduler would count them */
	cpu_set_t cpus;	   /* where this thread ran before */
};

static inline bool machine_open(struct machine *m, const struct rs_kvm_options *options,
				uint32_t causes_max)
{
	struct rs_kvm_session *s = kit_open(options, 0, causes_max);
	cpu_set_t one;

	if (!s)
		return false;
	*m = (struct machine){
		.session = s,
		.exit = kit_program(s, "kvm_exit"),
		.entry = kit_program(s, "kvm_entry"),
		.user_exit = kit_program(s, "kvm_userspace_exit"),
		.wakeup = kit_program(s, "kvm_vcpu_wakeup"),
		.sched_switch = kit_program(s, "sched_switch"),
		.sched_wakeup = kit_program(s, "sched_wakeup"),
		.end = kit_program(s, "sched_process_exit"),
		.pio = kit_program(s, "kvm_pio"),
		.mmio = kit_program(s, "kvm_mmio"),
		.fast_mmio = kit_program(s, "kvm_fast_mmio"),
		.msr = kit_program(s, "kvm_msr"),
		.cpuid = kit_program(s, "kvm_cpuid"),
		.hypercall = kit_program(s, "kvm_hypercall"),
		.virq = kit_program(s, "kvm_inj_virq"),
		.page_fault = kit_program(s, "kvm_page_fault"),
	};
	sched_getaffinity(0, sizeof(m->cpus), &m->cpus);
	/* The test makes up the switches that show where a thread runs. */
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	return true;
}

static inline void run_entry(const struct machine *m)
{
	const struct kit_words record = { .word = { 5 }, .more = { 0x7c00 } };

	kit_run(m->entry, &record, sizeof(record));
}

static inline void run_user_exit(const struct machine *m, uint32_t reason, int errno_value)
{
	const struct kit_user_exit record = { .reason = reason, .errno_value = errno_value };

	kit_run(m->user_exit, &record, sizeof(record));
}

static inline void run_words(int program, uint32_t a, uint32_t b, uint64_t c, uint64_t d)
{
	const struct kit_words record = { .word = { a, b }, .more = { c, d } };

	kit_run(program, &record, sizeof(record));
}

/* This thread leaves its CPU to a foreign thread, or returns. */
static inline void run_switch(struct machine *m, bool away, uint32_t state)
{
	const uint64_t us = (uint64_t)kit_tid(), other = 1;
	const uint64_t args[5] = { away ? us : other, away ? other : us, 0, state, m->arrivals };

	kit_run(m->sched_switch, args, sizeof(args));
	m->arrivals += !away;
}

static inline void spend_ns(uint64_t ns)
{
	uint64_t until = rs_now_ns(CLOCK_MONOTONIC) + ns;

	while (rs_now_ns(CLOCK_MONOTONIC) < until)
		;
}

/* Returns whether an exit that began then is still short: the machine may stall at any point. */
static inline bool was_short(uint64_t began_ns)
{
	return rs_now_ns(CLOCK_MONOTONIC) - began_ns < LONG_NS;
}

#endif
