/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside repair: a cut or damaged trace made whole for other readers. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/input.h"
#include "store/repair.h"

static const char doc[] =
	"Make a cut or damaged trace directory whole, in place.\v"
	"Ringside's own verbs read such a trace as it is. Other readers of CTF give up on a "
	"packet that is cut; this shortens it to its last whole record, puts a records-lost in "
	"the place of a packet that is damaged, and writes metadata and index anew. What is "
	"dropped is said.\n\n"
	"Example:\n"
	"  ringside repair trace && babeltrace2 trace\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	const char **directory = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		rs_cli_one(state, "trace", text, directory);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which trace?");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int cmd_repair(int argc, char **argv)
{
	static const struct argp argp = { NULL, parse, "TRACE", doc, NULL, NULL, NULL };
	struct rs_repair_result result;
	const char *directory = NULL;
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &directory))
		return RS_EXIT_USAGE;
	err = rs_trace_repair(directory, &result);
	if (err)
		return rs_cli_fail("repair", err);
	fprintf(stderr,
		"ringside repair: %s: %" PRIu64 " packets with %" PRIu64 " records kept; "
		"%u streams mended, %" PRIu64 " records and %" PRIu64 " bytes dropped\n",
		directory, result.packets, result.records, result.streams_changed, result.lost,
		result.bytes_dropped);
	if (!result.description_damaged)
		return RS_EXIT_OK;
	fprintf(stderr,
		"ringside repair: %s/ringside/describe is not what was written, which can't be "
		"mended: streams may be missing, names and fields wrong\n",
		directory);
	return RS_EXIT_PARTIAL;
}
