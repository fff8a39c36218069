/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops for counting instructions, in the common part of C and C++: bench/run builds them with each
 * compiler, against the shared library as other programs do. languages.rs is the same in Rust.
 * Inlined into a loop, and in a separate function that the loop calls.
 */
#include <stdlib.h>
#include <string.h>

#include <ringside/trace.h>

RS_TRACE_CLASS(bench, 0)
RS_DEFINE_EVENT(pair, bench, "pair", (u64, a), (u64, b));

#define KEPT __attribute__((noinline)) static void

KEPT one_record(uint64_t i)
{
	RS_EMIT(pair, .a = i, .b = i + 1);
}

KEPT one_span(uint64_t i)
{
	RS_SPAN(bench, "span");
	__asm__ volatile("" : : "r"(i) : "memory");
}

#define LOOP(name, ...)                                                                            \
	KEPT name(uint64_t n)                                                                      \
	{                                                                                          \
		for (uint64_t i = 0; i < n; i++) {                                                 \
			__asm__ volatile("" : "+r"(i) : : "memory");                               \
			__VA_ARGS__;                                                               \
		}                                                                                  \
	}
LOOP(loop_alone, (void)0)
LOOP(record, RS_EMIT(pair, .a = i, .b = i + 1))
LOOP(span, RS_SPAN(bench, "span"))
LOOP(record_called, one_record(i))
LOOP(span_called, one_span(i))

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(uint64_t n);
	} loops[] = {
		{ "loop", loop_alone },
		{ "record", record },
		{ "span", span },
		{ "record-called", record_called },
		{ "span-called", span_called },
	};
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct rs_trace_options options;

	memset(&options, 0, sizeof(options));
	options.provider = "bench";
	options.ring_bytes = 8u << 20;
	if (rs_trace_start(&options))
		return 1;
	one_record(1); /* creates the ring */
	for (size_t i = 0; argc > 1 && i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(loops[i].name, argv[1]))
			continue;
		loops[i].run(n);
		return rs_trace_self.refused != 0;
	}
	return 2;
}
