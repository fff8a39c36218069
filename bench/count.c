/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops for counting instructions: bench/run runs each with N and with 2 N rounds under callgrind;
 * the difference, over N, is the cost of one round, including its loop.
 */
#include "bench.h"

#include <ringside/trace.h>

#include <ringside/memory.h>

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
LOOP(allocation, rs_memory_alloc((const void *)(i + 4096), 48, 16))

/* The loop's function has the stack's first two elements. */
#define STACK_DEPTH 8

static __attribute__((noinline)) void deep(uint32_t callers, uint64_t n)
{
	if (callers)
		deep(callers - 1, n);
	else
		allocation(n);
	__asm__ volatile(""); /* no tail call */
}

static void stack(uint64_t n)
{
	if (!rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES,
							  .depth = STACK_DEPTH }))
		return;
	deep(STACK_DEPTH, n);
}

/* 1 in 20,000 is recorded. */
static void sampled(uint64_t n)
{
	if (!rs_memory_start(&(struct rs_memory_options){ .interval = 48 * 20000, .seed = 1 }))
		return;
	allocation(n);
}

static const struct {
	const char *name;
	void (*run)(uint64_t n);
	bool on; /* the class */
} loops[] = {
	{ "loop", loop_alone, true }, { "record", record, true },
	{ "span", span, true },	      { "off", record, false },
	{ "span-off", span, false },  { "allocation", allocation, true },
	{ "stack", stack, true },     { "sampled", sampled, true },
};

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	bench_must(rs_trace_start(
		&(struct rs_trace_options){ .provider = "bench", .ring_bytes = 8u << 20 }));
	RS_EMIT(pair, .a = 1); /* creates the ring */
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
