/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares two recordings: their machines, logs, consoles and replays. */
#ifndef RS_REPLAY_DIFF_H
#define RS_REPLAY_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <ringside/error.h>

#include "introspect/symbols.h"
#include "replay/parting.h"
#include "replay/rr_compare.h"

#define RS_DIFF_MACHINE_MAX 24u
#define RS_DIFF_LINE_BYTES  160u

/* A member in which the machines differ, such as "sha256.kernel", and both values as text. */
struct rs_diff_machine {
	char *name, *values[2];
};

struct rs_diff_console {
	bool differs;
	uint64_t bytes[2];
	uint64_t at, line; /* the first byte that differs, from 0; its line, from 1 */
	char text[2][RS_DIFF_LINE_BYTES]; /* that line */
};

struct rs_diff {
	struct rs_recording two[2];
	uint8_t *log[2];
	size_t log_size[2];
	struct rs_diff_machine machine[RS_DIFF_MACHINE_MAX];
	uint32_t n_machine;
	struct rs_rr_compared logs;
	struct rs_diff_console console;
	bool replayed;		  /* the states were compared */
	struct rs_error *refused; /* reason why they cannot be compared; or NULL */
	struct rs_parting states;
	struct rs_program program; /* the program of --binary, with its symbols; or all zero */
	struct rs_symbols *symbols;
};

struct rs_diff_options {
	const char *directories[2];
	const char *binary;	   /* a program of the guests, with its symbols; or NULL */
	bool logs;		   /* compare without replays */
	const volatile bool *stop; /* ends the replays */
	/* options of the search for the parting, parting.h; or NULL */
	void (*progress)(void *ctx, uint64_t same, uint64_t differs);
	void *ctx;
};

/* Compares two recordings. *diff must be all zero. The caller frees it with rs_diff_deinit(), also
 * after an error. */
struct rs_error *rs_diff_compare(const struct rs_diff_options *options, struct rs_diff *diff);
void rs_diff_deinit(struct rs_diff *diff);

/* Returns whether the recordings, or at least the actions of their guests, are equal up to the end
 * of the shorter one. */
bool rs_diff_same(const struct rs_diff *diff);
/* Returns whether their logs and consoles are also equal, to the end. */
bool rs_diff_identical(const struct rs_diff *diff);

#endif
