/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports: each a file report_<name>.c with one function and a row in cmd_report.c. */
#ifndef RS_CLI_REPORT_H
#define RS_CLI_REPORT_H

#include "view/xen.h"

struct rs_input;
struct rs_query;

/* argv[0] is "report NAME"; the rest is the report's own. Each returns an enum rs_exit. */
int report_exits(int argc, char **argv);
int report_xen(int argc, char **argv); /* all that are of Xen alone: NAME says which */

/* Of an input that is Xen's. */
struct rs_error *rs_report_xen(struct rs_input *input, const struct rs_query *query,
			       const struct rs_xen_show *what, int *code);

#endif
