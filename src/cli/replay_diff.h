/* SPDX-License-Identifier: BSD-2-Clause */
/* What `replay diff` found out, and how it is shown. */
#ifndef RS_CLI_REPLAY_DIFF_H
#define RS_CLI_REPLAY_DIFF_H

#include <jansson.h>

#include "replay/parting.h"
#include "replay/rr_compare.h"
#include "replay/symbols.h"

#define DIFF_MACHINE_MAX 24u
#define DIFF_LINE_BYTES	 160u

/* What of the machines is not the same: "sha256.kernel", and both values as text. */
struct diff_machine {
	char *name, *values[2];
};

struct diff_console {
	bool differs;
	uint64_t bytes[2];
	uint64_t at, line;	       /* the first byte that differs, from 0; its line, from 1 */
	char text[2][DIFF_LINE_BYTES]; /* that line */
};

struct diff {
	struct rs_recording two[2];
	uint8_t *log[2];
	size_t log_size[2];
	struct diff_machine machine[DIFF_MACHINE_MAX];
	uint32_t n_machine;
	struct rs_rr_compared logs;
	struct diff_console console;
	bool replayed; /* the states were compared: */
	struct rs_parting states;
	struct rs_program program; /* that these are of; or all zero */
	struct rs_symbols symbols;
};

/* Whether the recordings are the same, or at least what their guests did, as far as both go. */
bool replay_diff_same(const struct diff *diff);
/* Whether their logs and consoles are, too, to the end. */
bool replay_diff_identical(const struct diff *diff);

void replay_diff_text(const struct diff *diff);
struct rs_error *replay_diff_json(const struct diff *diff);

#endif
