/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that `exits` and `report exits` share. */
#ifndef RS_CLI_EXITS_H
#define RS_CLI_EXITS_H

#include <argp.h>

#include "view/exits.h"

/* The caller sets show.fd and zeroes the rest before parsing. rs_cli_exits_deinit() frees it. */
struct rs_cli_exits {
	struct rs_exits_show show; /* includes the choice */
	uint64_t than_ns;	   /* --than; 0: not given */
	bool user;		   /* --user */
	bool all_tids;		   /* -a */
	int *tids;		   /* the threads of show.choice */
};

/* A child of a verb's argp, which refuses inconsistent options. Its input is a struct
 * rs_cli_exits. */
extern const struct argp rs_cli_exits_argp;

void rs_cli_exits_deinit(struct rs_cli_exits *exits);

/* A vCPU's time may differ from the scheduler's account of its thread by 1 % and this much, because
 * the account lags by some ticks. */
#define RS_CLI_SCHED_SLACK_NS 50000000u

/* Reports losses of exits, as rs_cli_report_losses() does. */
bool rs_cli_exits_losses(const char *verb, const struct rs_exits *exits);

/* Returns whether the options need latencies or causes. */
bool rs_cli_exits_latency(const struct rs_cli_exits *exits);
bool rs_cli_exits_causes(const struct rs_cli_exits *exits);

#endif
