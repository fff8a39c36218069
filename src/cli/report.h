/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports. Each is a file report_<name>.c with one function, and a row in cmd_report.c.
 * report.c has their common part. */
#ifndef RS_CLI_REPORT_H
#define RS_CLI_REPORT_H

#include <argp.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "event/query.h"
#include "view/tally.h"
#include "view/xen.h"

/* argv[0] is "report NAME". Each function returns an enum rs_exit. */
int report_exits(int argc, char **argv);
int report_xen(int argc, char **argv); /* each report of only Xen, by NAME */
int report_memory(int argc, char **argv);
int report_spans(int argc, char **argv);
int report_events(int argc, char **argv);
int report_tally(int argc, char **argv); /* cpu and interrupts, of any trace */

/* A report in progress: the first member of a report's arguments, zero before parsing. */
struct rs_report {
	struct rs_cli_input input;
	struct rs_query query;	 /* its times */
	const char *verb, *name; /* "report NAME" and "NAME" */
	struct rs_error *damage; /* of the trace; returned after the earlier events */
	int code;		 /* an enum rs_exit, without an error */
	bool quiet;
	bool live; /* the source ends after the events that were traced before rs_cli_stop */
	/* Opens another input instead of the traces that the arguments name. */
	struct rs_error *(*open)(struct rs_report *report, struct rs_input *input);
};

/* A child of a report's argp; its input is the struct rs_report. --from, --to, --quiet, and the
 * options of rs_cli_input_argp. */
extern const struct argp rs_report_argp;

/*
 * Parses the arguments, opens the input, calls show() for it, prints remarks about the input, and
 * closes it. Returns the exit status. `report` is argp's input.
 */
typedef struct rs_error *rs_report_fn(struct rs_report *report, struct rs_input *input);
int rs_report_main(const struct argp *argp, int argc, char **argv, struct rs_report *report,
		   rs_report_fn *show);

/* Runs an input into a sink, and keeps a trace's damage for the end of the report. */
struct rs_error *rs_report_run(struct rs_report *report, const struct rs_input *input,
			       struct rs_sink *sink);

/* Prints a remark to standard error, unless --quiet is given. */
void rs_report_remark(const struct rs_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints what the report lacks, and sets the exit status to RS_EXIT_PARTIAL if it lacks
 * anything. */
void rs_report_lacks(struct rs_report *report, const struct rs_cli_loss *losses, size_t n);

/* Prints the tally of an input of any kind. */
struct rs_error *rs_report_tally(struct rs_report *report, const struct rs_input *input,
				 struct rs_tally_show *what);

/* Returns the argument of --by as RS_TALLY_BY_ bits. */
uint32_t rs_report_by(const struct argp_state *state, char *list);

/* Returns whether an input has streams of a provider. */
bool rs_report_has(const struct rs_input *input, const char *provider);

/* Returns whether the arguments select the running Xen instead of a trace (--xen). report_xen()
 * then makes the report, if Xen has it. */
bool rs_report_is_live(int argc, char **argv);

/* Prints a report of a Xen input. */
struct rs_error *rs_report_xen(struct rs_report *report, const struct rs_input *input,
			       const struct rs_xen_show *what);

#endif
