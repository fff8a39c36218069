/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled with trace points (-DPOINTS) and RS_TRACE_OFF, and without either: the code must be
 * identical. -DGUEST selects the guest's header.
 */
#ifdef GUEST
#include <ringside/guest.h>
#else
#include <ringside/vmm.h>
#endif

#ifdef POINTS
#include <ringside/memory.h>
RS_TRACE_CLASS(io, 0)
RS_DEFINE_EVENT(disk_read, io, "disk-read", (u64, sector), (u32, bytes));
#define POINT(...) __VA_ARGS__
#else
#define POINT(...)
#endif

int work(int n, const char *text);

static int helper(int n)
{
	POINT(RS_FUNCTION();)
	if (n < 3)
		return n;
	POINT(RS_SPAN_ARG(io, "helper's loop", (uint64_t)n);)
	while (n > 100)
		n /= 2;
	return n;
}

int work(int n, const char *text)
{
	int sum = 0;

	POINT(RS_FUNCTION();)
	for (int i = 0; i < n; i++) {
		POINT(RS_SPAN(span, "turn");)
		if (text[i] == 'x')
			return helper(sum);
		sum += text[i] * helper(i);
		POINT(RS_EMIT(disk_read, .sector = (uint64_t)sum, .bytes = 512);)
#ifndef GUEST
		POINT(RS_EMIT_EVENT(vcpu_run, .vcpu = (uint32_t)i);)
#endif
	}
	POINT(RS_EMIT(disk_read);)
	POINT(rs_memory_alloc(text, (uint64_t)sum, 8);)
	POINT(rs_memory_realloc(text, rs_memory_moving(text), text + 1, 3);)
	POINT(rs_memory_free(text);)
	POINT(rs_trace_stack("the end");)
	return sum;
}
