/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports: each a file report_<name>.c with one function and a row in cmd_report.c. */
#ifndef RS_CLI_REPORT_H
#define RS_CLI_REPORT_H

#include <argp.h>

#include "view/tally.h"
#include "view/xen.h"

struct rs_input;
struct rs_query;

/* argv[0] is "report NAME"; the rest is the report's own. Each returns an enum rs_exit. */
int report_exits(int argc, char **argv);
int report_xen(int argc, char **argv); /* all that are of Xen alone: NAME says which */
int report_events(int argc, char **argv);
int report_tally(int argc, char **argv); /* cpu and interrupts, of whatever trace */

/* The tally of an input, which need not be of any one kind. */
struct rs_error *rs_report_tally(struct rs_input *input, const struct rs_query *query,
				 struct rs_tally_show *what, const char *verb, bool quiet,
				 int *code);

/* The argument of --by: RS_TALLY_BY_. */
uint32_t rs_report_by(const struct argp_state *state, char *list);

/* Whether an input has streams of a provider's. */
bool rs_report_has(const struct rs_input *input, const char *provider);

/* Whether the arguments ask for the running Xen instead of a trace (--xen): then report_xen() does
 * it, whatever the report, if Xen has it. */
bool rs_report_is_live(int argc, char **argv);

/* Of an input that is Xen's. */
struct rs_error *rs_report_xen(struct rs_input *input, const struct rs_query *query,
			       const struct rs_xen_show *what, int *code);

#endif
