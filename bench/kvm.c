/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of an exit in BPF, for Ringside and rivals, with programs looped in one run (kvm.bpf.c);
 * and the time to report 640 vCPU threads, which are real threads.
 *
 *	bench_kvm OBJECT	OBJECT: kvm.bpf.o
 */
#include "bench.h"

#include "kvm/session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOPS	  100000u
#define ROUNDS	  31u
#define ELF_MAX	  (4u << 20)
#define VCPUS	  640u
#define REASONS	  20u
#define CTX_BYTES 96

enum rival {
	EMPTY,
	COUNT,
	COUNT_TURNS,
	KVMEXIT,
	KVMEXIT_TURNS,
	LATENCY,
	LATENCY_TURNS,
	HASH,
	KEPT,
	RIVALS,
};

static const struct {
	const char *program;
	bool latency; /* in the session with latencies */
} loops[RIVALS] = {
	[EMPTY] = { "loop_empty", false },
	[COUNT] = { "loop_count", false },
	[COUNT_TURNS] = { "loop_count_turns", false },
	[KVMEXIT] = { "loop_kvmexit", false },
	[KVMEXIT_TURNS] = { "loop_kvmexit_turns", false },
	[LATENCY] = { "loop_latency", true },
	[LATENCY_TURNS] = { "loop_latency_turns", true },
	[HASH] = { "loop_hash", false },
	[KEPT] = { "loop_kept", false },
};

static int programs[RIVALS];

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void run(int program, const void *ctx, size_t bytes)
{
	uint8_t whole[CTX_BYTES] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = whole, .ctx_size_in = sizeof(whole));

	memcpy(whole, ctx, bytes);
	if (bpf_prog_test_run_opts(program, &options))
		die("BPF_PROG_TEST_RUN");
}

static double ns_of(enum rival rival)
{
	const uint64_t n = LOOPS;
	uint64_t begin = bench_ns();

	run(programs[rival], &n, sizeof(n));
	return (double)(bench_ns() - begin) / LOOPS;
}

#define RIVAL(name, rival)                                                                         \
	static double name(void)                                                                   \
	{                                                                                          \
		return ns_of(rival);                                                               \
	}
RIVAL(empty, EMPTY)
RIVAL(count, COUNT)
RIVAL(count_turns, COUNT_TURNS)
RIVAL(kvmexit, KVMEXIT)
RIVAL(kvmexit_turns, KVMEXIT_TURNS)
RIVAL(latency, LATENCY)
RIVAL(latency_turns, LATENCY_TURNS)
RIVAL(hash, HASH)
RIVAL(kept, KEPT)

static int program_of(const struct rs_kvm_session *session, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(session->object, name);

	if (!program) {
		fprintf(stderr, "bench: no program %s\n", name);
		exit(1);
	}
	return bpf_program__fd(program);
}

/* Returns the instructions of a loaded program, without those that the verifier removed. */
static uint32_t instructions(const struct rs_kvm_session *session, const char *name)
{
	struct bpf_prog_info info = { 0 };
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_of(session, name), &info, &bytes))
		die("a program's size");
	return info.xlated_prog_len / 8;
}

static struct rs_kvm_session *session_open(const struct rs_kvm_image *image, bool latency)
{
	struct rs_kvm_session *session = NULL;

	bench_must(
		rs_kvm_open_image(&(struct rs_kvm_options){ .latency = latency }, image, &session));
	bench_must(rs_kvm_gate(session, true));
	return session;
}

/* ---- 640 vCPUs ------------------------------------------------------------------------------- */

static int exit_program;
static pthread_barrier_t ran, reported;

static void *vcpu_run(void *arg)
{
	struct {
		uint64_t ent;
		uint32_t reason, pad;
		uint64_t rip;
		uint32_t isa, pad2;
	} record = { .isa = RS_ISA_SVM };

	for (record.reason = 0; record.reason < REASONS; record.reason++)
		run(exit_program, &record, sizeof(record));
	pthread_barrier_wait(&ran);
	pthread_barrier_wait(&reported);
	return arg;
}

/* The threads stay alive during the report, which reads their names and times. */
static void report(const struct rs_kvm_image *image)
{
	static pthread_t threads[VCPUS];
	struct rs_kvm_session *session = session_open(image, true);
	struct rs_kvm_snapshot snapshot;
	uint64_t begin, exits = 0;

	exit_program = program_of(session, "kvm_exit");
	pthread_barrier_init(&ran, NULL, VCPUS + 1);
	pthread_barrier_init(&reported, NULL, VCPUS + 1);
	for (uint32_t i = 0; i < VCPUS; i++)
		if (pthread_create(&threads[i], NULL, vcpu_run, NULL))
			die("a thread");
	pthread_barrier_wait(&ran);
	begin = bench_ns();
	bench_must(rs_kvm_gate(session, false));
	bench_must(rs_kvm_snapshot(session, &snapshot));
	begin = bench_ns() - begin;
	for (uint32_t i = 0; i < snapshot.n_exits; i++)
		exits += snapshot.exits[i].count;
	bench_figure("kvm-lost",
		     (double)(VCPUS * REASONS - exits) + (double)snapshot.dropped_threads +
			     (double)snapshot.dropped_exits,
		     "of %u exits of %u threads, %u reasons each", VCPUS * REASONS, VCPUS, REASONS);
	bench_figure("kvm-report", (double)begin / 1e6, "gate and snapshot: %u threads, %u rows",
		     snapshot.n_threads, snapshot.n_exits);
	pthread_barrier_wait(&reported);
	for (uint32_t i = 0; i < VCPUS; i++)
		pthread_join(threads[i], NULL);
	rs_kvm_close(session);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void costs(const struct rs_kvm_session *counting, const struct rs_kvm_session *timing)
{
	static double (*const rivals[RIVALS])(void) = {
		empty,	 count,		count_turns, kvmexit, kvmexit_turns,
		latency, latency_turns, hash,	     kept,
	};
	static struct bench_rounds r;

	for (int i = 0; i < RIVALS; i++)
		programs[i] = program_of(loops[i].latency ? timing : counting, loops[i].program);
	bench_stay_on(0);
	bench_run(&r, rivals, RIVALS, ROUNDS);
	bench_figure("kvm-turns", bench_ratio(&r, COUNT_TURNS, KVMEXIT_TURNS),
		     "%.0f ns an exit against %.0f; the loop alone takes %.0f",
		     bench_of(&r, COUNT_TURNS), bench_of(&r, KVMEXIT_TURNS), bench_of(&r, EMPTY));
	bench_figure("kvm-hit", bench_ratio(&r, COUNT, KVMEXIT), "%.1f ns an exit against %.1f",
		     bench_of(&r, COUNT), bench_of(&r, KVMEXIT));
	bench_figure("kvm-latency", bench_ratio(&r, LATENCY, HASH),
		     "%.0f ns an exit and its entry against %.0f, %.0f with no delete (%.3fx); "
		     "%.0f when vCPUs alternate",
		     bench_of(&r, LATENCY), bench_of(&r, HASH), bench_of(&r, KEPT),
		     bench_ratio(&r, LATENCY, KEPT), bench_of(&r, LATENCY_TURNS));
}

static void sizes(const struct rs_kvm_session *counting, const struct rs_kvm_session *timing)
{
	static const char *const timed[] = { "kvm_entry", "kvm_userspace_exit", "kvm_vcpu_wakeup",
					     "sched_switch", "sched_wakeup" };
	char detail[256];
	int n = snprintf(detail, sizeof(detail), "with latency %u;",
			 instructions(timing, "kvm_exit"));

	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
		n += snprintf(detail + n, sizeof(detail) - (size_t)n, " %s %u", timed[i],
			      instructions(timing, timed[i]));
	bench_figure("kvm-instructions", (double)instructions(counting, "kvm_exit"), "%s", detail);
}

int main(int argc, char **argv)
{
	static uint8_t elf[ELF_MAX];
	struct rs_kvm_image image = { .elf = elf,
				      .bodies = true,
				      .cells_max = 2 * VCPUS * RS_KVM_CELLS_PER_THREAD };
	struct rs_kvm_session *counting, *timing;
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (!file) {
		fprintf(stderr, "usage: bench_kvm OBJECT\n");
		return 2;
	}
	image.bytes = fread(elf, 1, sizeof(elf), file);
	fclose(file);
	report(&image);
	counting = session_open(&image, false);
	timing = session_open(&image, true);
	costs(counting, timing);
	sizes(counting, timing);
	rs_kvm_close(counting);
	rs_kvm_close(timing);
	return 0;
}
