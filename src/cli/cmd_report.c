/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside report: summarizes traces. One table of reports feeds dispatch and help. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/report.h"

static const struct report {
	const char *name, *alias;
	int (*run)(int argc, char **argv);
	const char *help;
} reports[] = {
	{ "exits", "vmexit", report_exits, "Exits by reason, of ACRN, KVM, Xen or a VMM" },
	{ "events", NULL, report_events, "Events by probe, of any trace" },
	{ "memory", NULL, report_memory, "Allocations of programs and guests, by call stack" },
	{ "spans", NULL, report_spans, "Spans by name and by call path" },
	{ "cpu", NULL, report_tally, "Use of the physical CPUs, of ACRN, KVM, Xen or a VMM" },
	{ "volume", NULL, report_xen, "Xen: records and bytes by class and physical CPU" },
	{ "sched", NULL, report_xen, "Xen: how vCPUs, domains and physical CPUs spent their time" },
	{ "hypercalls", NULL, report_xen, "Xen: hypercalls of guests" },
	{ "interrupts", NULL, report_tally, "Interrupts by vector, of ACRN, KVM or Xen" },
	{ "io", NULL, report_xen, "Xen: port and memory-mapped I/O by address" },
	{ "cr3", NULL, report_xen, "Xen: address spaces" },
	{ "pm", NULL, report_xen, "Xen: idle states and frequencies" },
	{ "summary", NULL, report_xen, "Xen: all of Xen's reports, in one pass" },
};
#define N_REPORTS (sizeof(reports) / sizeof(reports[0]))

static const char doc[] = "Summarize a trace.\v"
			  "Each report has its own options: ringside report NAME --help.\n\n"
			  "Examples:\n"
			  "  ringside report exits trace\n"
			  "  ringside report exits --latency --detail trace\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		argp_error(state, "there is no report '%s'", text);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no report given");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool row(size_t i, struct rs_cli_row *row)
{
	if (i >= N_REPORTS)
		return false;
	*row = (struct rs_cli_row){ reports[i].name, reports[i].alias, reports[i].help };
	return true;
}

static char *list_reports(int key, const char *text, void *input)
{
	(void)input;
	return rs_cli_list_rows(key, text, "Reports", row);
}

static const struct report *find(const char *name)
{
	for (size_t i = 0; i < N_REPORTS; i++) {
		if (!strcmp(reports[i].name, name) ||
		    (reports[i].alias && !strcmp(reports[i].alias, name)))
			return &reports[i];
	}
	return NULL;
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = { NULL,		parse, "NAME TRACE...", doc, NULL,
					  list_reports, NULL };
	const struct report *report = argc > 1 ? find(argv[1]) : NULL;
	char name[64];

	if (!report)
		return rs_cli_parse(&argp, argc, argv, NULL);
	snprintf(name, sizeof(name), "%s %s", argv[0], report->name);
	argv[1] = name;
	/* With --xen, reports that several hypervisors have are Xen's. */
	if (rs_report_is_live(argc - 1, argv + 1) && rs_xen_report_kinds(report->name))
		return report_xen(argc - 1, argv + 1);
	return report->run(argc - 1, argv + 1);
}
