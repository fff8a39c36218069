/* SPDX-License-Identifier: BSD-2-Clause */
/* A program on a replay, or on a machine that runs, for what that does: its words go nowhere. */
#ifndef RS_CLI_SCRIPT_QUIET_H
#define RS_CLI_SCRIPT_QUIET_H

#include "cli/program.h"
#include "cli/script_replay.h"

/* replay is open. *errors: how often the program met one, which is none of the replay's. */
struct rs_error *rs_script_quiet_run(struct rs_script_replay *replay, const char *verb,
				     const struct rs_cli_program *program, uint64_t *errors);

#endif
