/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of an exit under `@[args.reason] = count()`: added up in BPF, or sent to the program as
 * an event; compared with a program that needs no exit, and with bpftrace's code. The session's own
 * programs, looped in one run (kvm.bpf.c), and the program that receives the events, in the CPU
 * time of the one thread that runs both.
 *
 *	bench_push OBJECT	OBJECT: kvm.bpf.o
 */
#include "bench.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "kvm/session.h"
#include "lang/bpf/push.h"
#include "live/kvm.h"

#define LOOPS	   20000u
#define ROUNDS	   31u
#define ELF_MAX	   (4u << 20)
#define CTX_BYTES  96
#define RING_BYTES (4u << 20) /* room for a loop's events */

enum rival { NONE, PUSHED, EVENTS, KEYED, RIVALS };

struct running {
	struct rs_kvm_session *session;
	struct rs_source *source;
	struct rs_script *script;
	struct rs_sink *sink;
	struct rs_out out;
	int loop;
};

static struct rs_kvm_image image;
static struct rs_clock clock_ns;
static struct running running[RIVALS];

static void die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct rs_error *sums(void *ctx, struct rs_script *script, int64_t before_ns)
{
	(void)ctx, (void)script, (void)before_ns;
	return NULL;
}

static const char *vm(void *ctx, uint64_t thread)
{
	(void)ctx, (void)thread;
	return "";
}

static int program_of(const struct rs_kvm_session *session, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(session->programs, name);

	if (!program)
		die(name);
	return bpf_program__fd(program);
}

static void report(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "bench: %s\n", text);
	exit(1);
}

static void begin(struct running *r, const char *program, const char *option, const char *loop)
{
	const struct rs_kvm_options options = {
		.latency = true, .events = true, .later = true, .ring_bytes = RING_BYTES
	};
	const struct rs_script_io io = { .out = &r->out, .report = report, .clock = &clock_ns };
	struct rs_push_options push = { .provider = RS_IDS_KVM, .sums = sums, .vm = vm };
	struct rs_script_config config = { .name = "bench",
					   .text = program,
					   .len = strlen(program),
					   .n_schemas = 1,
					   .options = &option,
					   .n_options = option ? 1 : 0 };
	struct rs_filter filter;
	struct rs_query query;
	uint32_t pushed;

	bench_must(rs_kvm_open_image(&options, &image, &r->session));
	bench_must(rs_kvm_source_create(r->session, &r->source));
	push.schema = rs_kvm_source_stream(r->source, 0)->schema;
	config.schemas = &push.schema;
	bench_must(rs_out_init(&r->out, open("/dev/null", O_WRONLY | O_CLOEXEC)));
	bench_must(rs_script_compile(&config, &r->script));
	bench_must(rs_script_start(r->script, &io, &r->sink));
	bench_must(rs_script_push(r->script, &push, &filter));
	rs_query_init(&query);
	rs_script_narrow(r->script, &query);
	bench_must(r->source->ops->open(r->source, &query, &pushed));
	bench_must(rs_kvm_program_image(r->session, &image, &filter));
	r->loop = program_of(r->session, loop);
	bench_must(rs_kvm_gate(r->session, true));
}

static struct rs_error *stop_when_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	(void)ctx;
	(void)batch;
	*stop = true;
	return NULL;
}

/* A loop, and its events. */
static double ns_of(enum rival rival)
{
	uint64_t whole[CTX_BYTES / 8] = { LOOPS }, start = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = whole, .ctx_size_in = sizeof(whole));
	struct running *r = &running[rival];
	const struct rs_feed_hooks hooks = { .idle = stop_when_idle };

	if (bpf_prog_test_run_opts(r->loop, &options))
		die("BPF_PROG_TEST_RUN");
	if (rival != KEYED)
		bench_must(rs_source_feed(r->source, r->sink, &hooks));
	return (double)(bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / LOOPS;
}

#define RIVAL(name, rival)                                                                         \
	static double name(void)                                                                   \
	{                                                                                          \
		return ns_of(rival);                                                               \
	}
RIVAL(none, NONE)
RIVAL(pushed, PUSHED)
RIVAL(events, EVENTS)
RIVAL(keyed, KEYED)

int main(int argc, char **argv)
{
	static double (*const rivals[RIVALS])(void) = { none, pushed, events, keyed };
	static const char count[] = "kvm:svm::exit { @[args.reason] = count(); }";
	static uint8_t elf[ELF_MAX];
	static struct bench_rounds r;
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (!file) {
		fprintf(stderr, "usage: bench_push OBJECT\n");
		return 2;
	}
	image = (struct rs_kvm_image){ .elf = elf, .bodies = true };
	image.bytes = fread(elf, 1, sizeof(elf), file);
	fclose(file);
	bench_must(rs_clock_host(&clock_ns));
	begin(&running[NONE], "END { trace(1); }", NULL, "loop_count");
	begin(&running[PUSHED], count, NULL, "loop_count");
	begin(&running[EVENTS], count, "nopushdown", "loop_count");
	begin(&running[KEYED], "END { trace(1); }", NULL, "loop_keyed");
	bench_stay_on(0);
	bench_run(&r, rivals, RIVALS, ROUNDS);
	bench_figure("push-count", bench_ratio(&r, PUSHED, EVENTS),
		     "%.0f ns of CPU an exit against %.0f", bench_of(&r, PUSHED),
		     bench_of(&r, EVENTS));
	bench_figure("push-none", bench_ratio(&r, PUSHED, NONE),
		     "%.0f ns against %.0f; bpftrace's lookup and update alone take %.0f",
		     bench_of(&r, PUSHED), bench_of(&r, NONE), bench_of(&r, KEYED));
	return 0;
}
