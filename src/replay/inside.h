/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between a session and its library in QEMU's process, on two pairs of SOCK_SEQPACKET
 * sockets:
 *
 *	orders	the session asks, a thread inside answers, while QEMU has stopped the machine
 *	stops	the processor's thread reports its stop, and continues as answered
 *
 * Both sides are from one build: the program contains the library (inside.c).
 */
#ifndef RS_REPLAY_INSIDE_H
#define RS_REPLAY_INSIDE_H

#include <stdint.h>

#define RS_INSIDE_ENV	   "RINGSIDE_INSIDE" /* the two sockets' numbers, "5,7" */
#define RS_INSIDE_REGS	   33u		     /* as many as struct rs_x86_regs has */
#define RS_INSIDE_RAW_MAX  512u
#define RS_INSIDE_NAME_MAX 64u

enum rs_inside_what {
	/* to the library, as an order or as the answer to a stop */
	RS_INSIDE_ARM,	/* stop at `icount`; as an answer: continue to it */
	RS_INSIDE_FREE, /* remove the stop; as an answer: continue */
	RS_INSIDE_HOLD, /* only as an answer: stop the machine in QEMU's sense, which GDB sees */
	/* from the library */
	RS_INSIDE_HELLO, /* `name`: the first missing symbol, or empty */
	/* with registers and the present icount; not armed if the target is not ahead */
	RS_INSIDE_DONE,
	RS_INSIDE_REFUSED, /* `name`: the mismatch */
	RS_INSIDE_STANDS,  /* with registers and the present icount */
};

struct rs_inside_order {
	uint32_t what, reserved;
	uint64_t icount;
};

/* Registers are in the order and width of GDB's `g` packet. */
struct rs_inside_said {
	uint32_t what, bytes;
	uint64_t icount;
	union {
		uint8_t raw[RS_INSIDE_RAW_MAX];
		char name[RS_INSIDE_NAME_MAX];
	};
};

#endif
