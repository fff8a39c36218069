/* SPDX-License-Identifier: BSD-2-Clause */
/* read TRACE: the speed of reading a trace into a sink that only counts. */
#include "bench.h"

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

/* Returns M events a second. */
static double read_once(const char *directory, uint64_t *events)
{
	struct counter counter = { .sink.ops = &counter_ops };
	uint64_t start = bench_ns();
	struct rs_source *source;
	struct rs_trace *trace;
	double seconds;

	bench_must(rs_trace_open(directory, &trace));
	bench_must(rs_trace_source(trace, &source));
	bench_must(rs_run(source, NULL, &counter.sink, NULL));
	rs_source_destroy(source);
	rs_trace_close(trace);
	seconds = (double)(bench_ns() - start) / 1e9;
	*events = counter.events;
	return (double)counter.events / seconds / 1e6;
}

int main(int argc, char **argv)
{
	double rates[ROUNDS];
	uint64_t events;

	if (argc < 2) {
		fprintf(stderr, "usage: read TRACE\n");
		return 2;
	}
	bench_stay_on(0);
	for (uint32_t i = 0; i < ROUNDS; i++)
		rates[i] = read_once(argv[1], &events);
	bench_figure("read", bench_median(rates, ROUNDS), "M events/s, of %lu",
		     (unsigned long)events);
	return 0;
}
