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
int report_xen(int argc, char **argv); /* each report of Xen alone, by NAME */
int report_memory(int argc, char **argv);
int report_spans(int argc, char **argv);
int report_events(int argc, char **argv);
int report_tally(int argc, char **argv); /* cpu and interrupts, of any trace */

/* Prints the tally of an input of any kind. */
struct rs_error *rs_report_tally(struct rs_input *input, const struct rs_query *query,
				 struct rs_tally_show *what, const char *verb, bool quiet,
				 int *code);

/* Returns the argument of --by as RS_TALLY_BY_ bits. */
uint32_t rs_report_by(const struct argp_state *state, char *list);

/* Returns whether an input has streams of a provider. */
bool rs_report_has(const struct rs_input *input, const char *provider);

/* Returns whether the arguments ask for the running Xen instead of a trace (--xen). report_xen()
 * then makes the report, if Xen has it. */
bool rs_report_is_live(int argc, char **argv);

/* Prints a report of an input of Xen's. */
struct rs_error *rs_report_xen(struct rs_input *input, const struct rs_query *query,
			       const struct rs_xen_show *what, int *code);

#endif
