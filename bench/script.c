/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script TRACE: the cost of D programs over a trace, end to end, in the time of the single thread:
 * count() by probename, and a predicate that rejects every event, whose cost is the difference to a
 * sink that only counts. And the memory of 1 M keys when aggsize allows a part of them.
 */
#include "bench.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lang/lang.h"
#include <ringside/reader.h>

#define ROUNDS 9u

struct counter {
	struct rs_sink sink;
	uint64_t events;
};

static struct rs_error *count(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	(void)views;
	((struct counter *)sink)->events += n;
	return NULL;
}

static const struct rs_sink_ops counter_ops = { .name = "count", .events = count };

struct run {
	struct rs_trace *trace;
	struct rs_source *source;
	struct rs_script *script;
	struct rs_out out;
	uint64_t told;
};

static void report(void *ctx, const char *text)
{
	struct run *run = ctx;

	if (strstr(text, "drop"))
		run->told = strtoull(text, NULL, 10);
}

static void run_open(struct run *run, const char *directory)
{
	*run = (struct run){ 0 };
	bench_must(rs_trace_open(directory, &run->trace));
	bench_must(rs_trace_source(run->trace, &run->source));
	bench_must(rs_out_init(&run->out, open("/dev/null", O_WRONLY | O_CLOEXEC)));
}

static void run_close(struct run *run)
{
	rs_script_destroy(run->script);
	rs_source_destroy(run->source);
	rs_trace_close(run->trace);
	close(run->out.fd);
	rs_out_deinit(&run->out);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static long rss_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* Returns ns of a whole run; without a program, of a sink that counts. */
static double ns_of(const char *directory, const char *program, const char *option, uint64_t *out)
{
	struct counter counter = { .sink.ops = &counter_ops };
	struct rs_script_config config = { .name = "bench",
					   .text = program,
					   .n_schemas = 1,
					   .options = &option,
					   .n_options = option ? 1 : 0 };
	struct rs_sink *sink = &counter.sink;
	const struct rs_schema *schema;
	struct rs_query query;
	struct run run;
	uint64_t start;
	double ns;

	run_open(&run, directory);
	rs_query_init(&query);
	start = cpu_ns();
	if (program) {
		const struct rs_script_io io = { .out = &run.out, .report = report, .ctx = &run };

		schema = rs_trace_stream(run.trace, 0)->schema;
		config.schemas = &schema;
		config.len = strlen(program);
		bench_must(rs_script_compile(&config, &run.script));
		bench_must(rs_script_start(run.script, &io, &sink));
		rs_script_narrow(run.script, &query);
	}
	bench_must(rs_run(run.source, &query, sink, NULL));
	ns = (double)(cpu_ns() - start);
	*out = program ? run.told : counter.events;
	run_close(&run);
	return ns;
}

static double median_of(const char *directory, const char *program, uint64_t *out)
{
	double ns[ROUNDS];

	for (uint32_t i = 0; i < ROUNDS; i++)
		ns[i] = ns_of(directory, program, NULL, out);
	return bench_median(ns, ROUNDS);
}

int main(int argc, char **argv)
{
	uint64_t events, drops;
	double alone, ns;
	long before;

	if (argc < 2) {
		fprintf(stderr, "usage: script TRACE\n");
		return 2;
	}
	bench_stay_on(0);
	alone = median_of(argv[1], NULL, &events);
	ns = median_of(argv[1], "::: { @[probename] = count(); }", &drops);
	bench_figure("script-count", (double)events * 1e3 / ns,
		     "M events/s, of %lu; a sink that only counts: %.1f", (unsigned long)events,
		     (double)events * 1e3 / alone);
	ns = median_of(argv[1], "bench:::pair /args.a == 0xffffffffffff/ { @ = count(); }", &drops);
	bench_figure("script-reject", (ns - alone) / (double)events,
		     "ns an event; reading takes %.1f", alone / (double)events);
	before = rss_kib();
	ns = ns_of(argv[1], "bench:::pair { @[args.a % 1000000] = count(); }", "aggsize=64m",
		   &drops);
	bench_figure("script-keys", (double)(rss_kib() - before) / 1024,
		     "MiB with aggsize=64m; %lu aggregation drops reported, %.0f ns an event",
		     (unsigned long)drops, ns / (double)events);
	return 0;
}
