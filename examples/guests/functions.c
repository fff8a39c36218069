/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that is compiled with -finstrument-functions, with known calls: fibonacci(10) makes 177.
 */
#include <ringside/kit.h>

uint64_t fibonacci(uint64_t n);
uint64_t fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

uint64_t calculate(uint64_t n);
uint64_t calculate(uint64_t n)
{
	return fibonacci(n);
}

static uint64_t run(const struct rs_kit_args *args)
{
	(void)args;
	return calculate(10);
}
RS_KIT_EXPORT_AS("main", run, 0, "the 10th number of Fibonacci");
