/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `ringside script` for live sources. */
#ifndef RS_CLI_SCRIPT_LIVE_H
#define RS_CLI_SCRIPT_LIVE_H

#include <argp.h>

#include "script/live.h"

/* A child of the verb's argp; its input is a struct rs_script_live. */
extern const struct argp rs_script_live_argp;

/* Returns RS_USAGE if options of live sources are given without a live source. */
struct rs_error *rs_script_live_check(const struct rs_script_live *live);

#endif
