/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two recordings that are replayed side by side: the instruction up to which both machines are the
 * same, registers and RAM, and after which they are not.
 *
 *	from |--.--.----.--------.----------------X	ahead, in steps that double
 *	                         |-------X
 *	                         |---X			halves, from a snapshot
 *	                             |-X  parted
 *
 * Machines that part and come together again between two places that are looked at are not seen to
 * have parted there: it is one place before which they were the same, and the first of those that
 * were looked at.
 */
#ifndef RS_REPLAY_PARTING_H
#define RS_REPLAY_PARTING_H

#include "replay/program.h"
#include "replay/recording.h"
#include "replay/session.h"

#define RS_PARTING_PAGES_MAX 16u
#define RS_PARTING_PAGE	     4096u

struct rs_parting {
	bool parted;
	uint64_t same;	 /* the last instruction where both are the same; of machines that never
			  * part, the last that both have */
	uint64_t looked; /* places that were compared */
	uint64_t console_bytes;	   /* that the guest had written at `same` */
	struct rs_x86_regs before; /* there, of both */
	/* options' program is what is executed there, from this base on. */
	bool in_program;
	uint64_t base;
	/* One instruction further, where they parted. */
	struct rs_x86_regs after[2];
	bool raw;			      /* others of the registers differ: x87, SSE, debug */
	uint64_t n_pages;		      /* of RAM that differ; the first of them: */
	uint64_t pages[RS_PARTING_PAGES_MAX]; /* physical addresses */
};

struct rs_parting_options {
	uint64_t from;			  /* here they should be the same still; looked at */
	const volatile bool *stop;	  /* or NULL */
	const struct rs_program *program; /* or NULL */
	/* Tells how far it has come, now and then; or NULL. */
	void (*progress)(void *ctx, uint64_t same, uint64_t differs);
	void *ctx;
};

/* Recordings that have passed rs_recording_check(), of the same amount of RAM (RS_USAGE). RS_FAILED
 * also: *stop became true. */
struct rs_error *rs_parting_find(const struct rs_recording *const two[2],
				 const struct rs_parting_options *options,
				 struct rs_parting *parting);

#endif
