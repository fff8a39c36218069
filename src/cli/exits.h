/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that show exits, `exits` and `report exits`, have in common: their options. */
#ifndef RS_CLI_EXITS_H
#define RS_CLI_EXITS_H

#include <argp.h>

#include "view/exits.h"

/* Zero, but for show.fd, before parsing; freed by rs_cli_exits_deinit(). */
struct rs_cli_exits {
	struct rs_exits_show show; /* with the choice */
	uint64_t than_ns;	   /* --than; 0: not asked for */
	bool user;		   /* --user */
	bool all_tids;		   /* -a */
	int *tids;		   /* those of show.choice */
};

/* Child of a verb's argp; its input is a struct rs_cli_exits. Says what goes with what. */
extern const struct argp rs_cli_exits_argp;

void rs_cli_exits_deinit(struct rs_cli_exits *exits);

/* By how much a vCPU's time may differ from the scheduler's account of its thread, beside a part in
 * a hundred: that lags behind by some ticks. */
#define RS_CLI_SCHED_SLACK_NS 50000000u

/* Says what exits lack, if anything, as rs_cli_report_losses() does. */
bool rs_cli_exits_losses(const char *verb, const struct rs_exits *exits);

/* Whether latencies, or causes, are needed for what was asked. */
bool rs_cli_exits_latency(const struct rs_cli_exits *exits);
bool rs_cli_exits_causes(const struct rs_cli_exits *exits);

#endif
