/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest in C without the kit: makes 97 steps, each a span with an event, then halts. */
#include <ringside/guest.h>

RS_TRACE_CLASS(app, 0)
RS_DEFINE_EVENT(tick, app, "tick", (u64, n), (s32, sign));

static char ring[64 << 10] __attribute__((aligned(64)));

static void step(int n)
{
	RS_SPAN_ARG(app, "step", (uint64_t)n);

	RS_EMIT(tick, .n = (uint64_t)n, .sign = -n);
}

static void work(void)
{
	RS_FUNCTION();

	for (int n = 0; n < 97; n++)
		step(n);
}

__attribute__((noreturn)) void _start(void)
{
	rs_guest_init(&(struct rs_guest_config){ .hand_over = RS_GUEST_DOORBELL });
	if (rs_guest_vcpu_init(0, ring, sizeof(ring)) == RS_GUEST_OK)
		work();
	for (;;)
		__asm__ volatile("hlt");
}
