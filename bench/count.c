/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops for counting instructions: bench/run runs each with N and with 2 N rounds under callgrind;
 * the difference, over N, is what one round takes, its loop included.
 */
#include "bench.h"

#include <ringside/trace.h>

RS_TRACE_CLASS(bench, 0)
RS_DEFINE_EVENT(pair, bench, "pair", (u64, a), (u64, b));

#define LOOP(name, what)                                                                           \
	static void name(uint64_t n)                                                               \
	{                                                                                          \
		for (uint64_t i = 0; i < n; i++) {                                                 \
			__asm__ volatile("" : "+r"(i) : : "memory");                               \
			what;                                                                      \
		}                                                                                  \
	}
LOOP(loop_alone, (void)0)
LOOP(record, RS_EMIT(pair, .a = i, .b = i + 1))
LOOP(span, RS_SPAN(bench, "span"))

static const struct {
	const char *name;
	void (*run)(uint64_t n);
	bool on; /* the class */
} loops[] = {
	{ "loop", loop_alone, true }, { "record", record, true },  { "span", span, true },
	{ "off", record, false },     { "span-off", span, false },
};

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	bench_must(rs_trace_start(&(struct rs_trace_options){ .provider = "bench" }));
	RS_EMIT(pair, .a = 1); /* makes the ring */
	for (size_t i = 0; argc > 1 && i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(loops[i].name, argv[1]))
			continue;
		if (!loops[i].on)
			rs_trace_set_mask(0);
		loops[i].run(n);
		return rs_trace_self.refused != 0;
	}
	fprintf(stderr, "usage: count LOOP N\n");
	return 2;
}
