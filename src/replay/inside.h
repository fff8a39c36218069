/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between a session and its library in QEMU's process, on two pairs of SOCK_SEQPACKET
 * sockets:
 *
 *	orders	requests of the session, answered by a thread inside: while the machine is stopped,
 *		except RS_INSIDE_WHERE
 *	stops	the processor's thread reports its stop, and continues according to the answer
 *
 * Both sides come from one build: the program contains the library (inside.c).
 */
#ifndef RS_REPLAY_INSIDE_H
#define RS_REPLAY_INSIDE_H

#include <stdint.h>

#define RS_INSIDE_ENV	   "RINGSIDE_INSIDE" /* the two sockets' numbers, "5,7" */
#define RS_INSIDE_REGS	   33u		     /* number of registers in struct rs_x86_regs */
#define RS_INSIDE_RAW_MAX  512u
#define RS_INSIDE_NAME_MAX 64u

enum rs_inside_what {
	/* messages to the library, as an order or as the answer to a stop */
	RS_INSIDE_ARM,	/* stop at `icount`; as an answer: continue to it */
	RS_INSIDE_FREE, /* remove the stop; as an answer: continue */
	/* only as an order: report the present icount, also of a machine that runs */
	RS_INSIDE_WHERE,
	/* only as an answer: stop the machine with QEMU's own stop, which GDB observes */
	RS_INSIDE_HOLD,
	/* messages from the library */
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
struct rs_inside_report {
	uint32_t what, bytes;
	uint64_t icount;
	uint64_t tsc; /* value that the guest's RDTSC would return */
	union {
		uint8_t raw[RS_INSIDE_RAW_MAX];
		char name[RS_INSIDE_NAME_MAX];
	};
};

#endif
