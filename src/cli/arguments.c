/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the values that each argument of each verb accepts. */
#include "cli/arguments.h"

#include <string.h>

#define CLASSES                                                                                    \
	"span func vm vcpu call boot irq log all user0 user1 user2 user3 user4 user5 user6 user7 " \
	"user8 user9 user10 user11 user12 user13 user14 user15"

/*
 * The first matching row applies, so the rows of one option precede those of a word that --help
 * uses for many options. tests/house/completion.test checks that each argument has a row, and that
 * an option takes the words of its row.
 */
static const struct rs_cli_argument rows[] = {
	/* Some options. */
	{ "export", "to", .source = rs_cli_offer_rows },
	{ "profile", "to", .source = rs_cli_offer_words,
	  .words = "folded flame pprof speedscope callgrind" },
	{ "replay profile", "to", .source = rs_cli_offer_words,
	  .words = "folded flame pprof speedscope callgrind" },
	{ "replay profile", "comm" },
	{ "export", "of", .source = rs_cli_offer_words, .words = "memory spans samples" },
	{ "export", "value", .source = rs_cli_offer_words,
	  .words = "alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space "
		   "spans time samples" },
	{ "report memory", "by", .source = rs_cli_offer_words,
	  .words = "peak live bytes allocations" },
	{ "log", "level", .source = rs_cli_offer_levels },
	{ "log", "console", .source = rs_cli_offer_levels, .words = "off" },
	{ "log", "memory", .source = rs_cli_offer_levels, .words = "off" },
	{ "print", "count", .source = rs_cli_offer_words, .words = "probe vm vcpu cpu tid",
	  .list = true },
	{ "report exits", "by", .source = rs_cli_offer_words, .words = "cpu vm vcpu reason",
	  .list = true },
	{ NULL, "by", .source = rs_cli_offer_words, .words = "cpu vm vcpu", .list = true },
	{ "print", "vm", .source = rs_cli_offer_vms },
	{ "report exits", "vm", .source = rs_cli_offer_vms },
	{ NULL, "vm", .source = rs_cli_offer_vms_live },
	{ NULL, "probe", .source = rs_cli_offer_probes },
	{ NULL, "program", .source = rs_cli_offer_program },
	{ NULL, "format", .source = rs_cli_offer_formats },
	{ NULL, "classes", .source = rs_cli_offer_xen_classes, .list = true },
	{ "run", "mask", .source = rs_cli_offer_words, .words = CLASSES, .list = true },
	{ "run", "handover", .source = rs_cli_offer_words, .words = "doorbell shared" },
	{ "run", "name" },
	{ NULL, "cpus" },
	{ NULL, "vcpus" },
	{ NULL, "option" },
	/* Of verbs. */
	{ "replay", "", "NAME", .source = rs_cli_offer_rows },
	{ "report", "", "NAME", .source = rs_cli_offer_rows },
	{ "log", "", "level", .source = rs_cli_offer_words, .words = "level" },
	{ "list", "table", .source = rs_cli_offer_rows },
	{ "list", "", "GLOB", .source = rs_cli_offer_probes },
	/* Files and directories, by the word that --help uses for them. A trace is a directory or
	 * another tool's file. */
	{ NULL, NULL, "DIR", RS_CLI_DIRECTORIES },
	{ NULL, NULL, "CORE", RS_CLI_FILES },
	{ NULL, NULL, "FILE", RS_CLI_FILES },
	{ NULL, NULL, "FILE[@0xLOAD]", RS_CLI_FILES },
	{ NULL, NULL, "FORMATS", RS_CLI_FILES },
	{ NULL, NULL, "GUEST", RS_CLI_FILES },
	{ NULL, NULL, "IMAGE", RS_CLI_FILES },

	{ NULL, NULL, "PATH", RS_CLI_FILES },
	{ NULL, NULL, "PROGRAM[@0xBASE]", RS_CLI_FILES },
	{ NULL, NULL, "QEMU-ARGS", RS_CLI_FILES },
	{ NULL, NULL, "REC", RS_CLI_DIRECTORIES },
	{ NULL, NULL, "REC1", RS_CLI_DIRECTORIES },
	{ NULL, NULL, "REC2", RS_CLI_DIRECTORIES },
	{ NULL, NULL, "SCRIPT:PROGRAM", RS_CLI_FILES },
	{ NULL, NULL, "SNAP", RS_CLI_DIRECTORIES },
	{ NULL, NULL, "TRACE", RS_CLI_FILES },
	{ NULL, NULL, "TRACE|REC", RS_CLI_FILES },
	/* Probes, VMs and processes of this host. */
	{ NULL, NULL, "PID|FILE", RS_CLI_FILES, .source = rs_cli_offer_pids },
	{ NULL, NULL, "PID", .source = rs_cli_offer_pids },
	{ NULL, NULL, "SYSTEM:EVENT", .source = rs_cli_offer_tracepoints },
	{ NULL, NULL, "TID", .source = rs_cli_offer_tids },
	{ NULL, NULL, "TID,", .source = rs_cli_offer_tids, .list = true },
	{ NULL, NULL, "TID,TID", .source = rs_cli_offer_tids, .list = true },
};

/* Numbers, times and texts have no candidates. */
static const char *const free_texts[] = {
	"ADDRESS", "ARG",   "ARGS",   "BYTES", "CMD",  "COND", "DATE", "DURATION",     "FUNCTION",
	"GDB",	   "GROUP", "HZ",     "MIB",   "MODE", "MS",   "N",    "NAME[=VALUE]", "PROBE",
	"SEC",	   "SIZE",  "SYMBOL", "TEXT",  "TIME", "US",   "VCPU",
};

/* Returns whether an argument's name is a row's. Dots after the name mark a repeatable argument. */
static bool arg_agrees(const char *of_row, const char *arg)
{
	size_t len = strlen(arg);

	if (len > 3 && !strcmp(arg + len - 3, "..."))
		len -= 3;
	return strlen(of_row) == len && !strncmp(of_row, arg, len);
}

const struct rs_cli_argument *rs_cli_argument_find(const char *verb, const char *option,
						   const char *arg)
{
	static const struct rs_cli_argument free_text = { NULL };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rs_cli_argument *row = &rows[i];

		if ((!row->verb || !strcmp(row->verb, verb)) &&
		    (!row->option || !strcmp(row->option, option ? option : "")) &&
		    (!row->arg || arg_agrees(row->arg, arg)))
			return row;
	}
	for (size_t i = 0; i < sizeof(free_texts) / sizeof(free_texts[0]); i++) {
		if (arg_agrees(free_texts[i], arg))
			return &free_text;
	}
	return NULL;
}
