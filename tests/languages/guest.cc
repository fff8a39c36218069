/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest of guest.c in C++: with spans in an inline function, in templates and in a lambda. */
#include "guest.h"

static char ring[64 << 10] __attribute__((aligned(64)));

RS_DEFINE_EVENT(tick, app, "tick", (u64, n), (s32, sign));

namespace {
struct worker {
	int sum = 0;

	void step(int n)
	{
		RS_SPAN_ARG(app, "step", (uint64_t)n);

		RS_EMIT(tick, .n = (uint64_t)n, .sign = -n);
		sum += n;
	}

	int work()
	{
		RS_FUNCTION();
		auto lambda = [](int n) {
			RS_SPAN(app, "lambda");
			return n;
		};

		for (int n = 0; n < 97; n++)
			step(n);
		return in_line(1) + of_any_type(2) + (int)of_any_type(2ul) + lambda(3) + other(4);
	}
};
} // namespace

extern "C" __attribute__((noreturn)) void _start()
{
	rs_guest_config config = {};

	config.hand_over = RS_GUEST_DOORBELL;
	rs_guest_init(&config);
	if (rs_guest_vcpu_init(0, ring, sizeof(ring)) == RS_GUEST_OK) {
		volatile int sum = worker().work();
		(void)sum;
	}
	for (;;)
		__asm__ volatile("hlt");
}
