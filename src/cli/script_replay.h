/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a D program on a replay or on a running machine. */
#ifndef RS_CLI_SCRIPT_REPLAY_H
#define RS_CLI_SCRIPT_REPLAY_H

#include <argp.h>

#include "script/replay.h"

/* Children of a verb's argp; their input is a struct rs_script_replay. The first is for verbs with
 * separate options for times. */
extern const struct argp rs_script_replay_probes_argp;
extern const struct argp rs_script_replay_argp;

#endif
