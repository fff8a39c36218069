/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays two recordings side by side, and finds the last instruction at which both machines are
 * equal, in registers and RAM.
 *
 *	from |--.--.----.--------.----------------X	ahead, in steps that double
 *	                         |-------X
 *	                         |---X			halves, from a snapshot
 *	                             |-X  parted
 *
 * If the machines differ only between two compared places, the search does not find it. The result
 * is a place where they were equal, before the first compared place where they differ.
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
	/* the last instruction where both are equal; if they never part, the last that both have */
	uint64_t same;
	uint64_t looked;	   /* number of compared places */
	uint64_t console_bytes;	   /* bytes that the guest had written at `same` */
	struct rs_x86_regs before; /* registers at `same`, of both */
	/* Whether the program of the options is executed there, and its base. */
	bool in_program;
	uint64_t base;
	/* Registers one instruction later, where they differ. */
	struct rs_x86_regs after[2];
	bool raw; /* other registers differ: x87, SSE, debug */
	/* number of pages of RAM that differ, and the first of them */
	uint64_t n_pages;
	uint64_t pages[RS_PARTING_PAGES_MAX]; /* physical addresses */
};

struct rs_parting_options {
	uint64_t from;			  /* where both should be equal; this is verified */
	const volatile bool *stop;	  /* or NULL */
	const struct rs_program *program; /* or NULL */
	/* Reports the progress from time to time; or NULL. */
	void (*progress)(void *ctx, uint64_t same, uint64_t differs);
	void *ctx;
};

/* Finds the difference. Both recordings must have passed rs_recording_check(). Returns RS_USAGE if
 * their amounts of RAM differ, and RS_FAILED also if *stop became true. */
struct rs_error *rs_parting_find(const struct rs_recording *const two[2],
				 const struct rs_parting_options *options,
				 struct rs_parting *parting);

#endif
