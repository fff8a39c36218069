/* SPDX-License-Identifier: BSD-2-Clause */
/* A minimal guest that links with the installed libringside-guest.a. */
#include <ringside/guest.h>

RS_TRACE_CLASS(app, 0)
RS_DEFINE_EVENT(turn, app, "turn", (u64, number));

static char ring[1 << 16] __attribute__((aligned(64)));

void _start(void);
void _start(void)
{
	rs_guest_init(&(struct rs_guest_config){ .hand_over = RS_GUEST_DOORBELL });
	if (rs_guest_vcpu_init(0, ring, sizeof(ring)) == RS_GUEST_OK) {
		RS_SPAN(app, "turning");
		RS_EMIT(turn, .number = 7);
	}
	for (;;)
		;
}
