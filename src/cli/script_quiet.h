/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program on a replay or a running machine for its effect there, and discards its output. */
#ifndef RS_CLI_SCRIPT_QUIET_H
#define RS_CLI_SCRIPT_QUIET_H

#include "cli/program.h"
#include "cli/script_replay.h"
#include "replay/verify.h"

/* Runs the program on an open replay. Adds the program's own errors to *errors. */
struct rs_error *rs_script_quiet_run(struct rs_script_replay *replay,
				     const struct rs_cli_program *program, uint64_t *errors);

/* Runs the program on a part of the recording in a directory; for callbacks of rs_verify_run().
 * Adds the probes that fired to *fired. */
struct rs_error *rs_script_quiet_part(struct rs_script_replay replay, const char *directory,
				      const struct rs_cli_program *program,
				      const struct rs_verify_part *part, uint64_t *fired,
				      uint64_t *errors);

#endif
