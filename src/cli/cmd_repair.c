/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside repair: makes a cut or damaged trace whole for other readers, and a guest's recording
 * replayable whose recorder was killed. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "cli/input.h"
#include "replay/recording.h"
#include "store/repair.h"

static const char doc[] =
	"Make a cut or damaged trace directory, or a guest's recording, whole, in place.\v"
	"Ringside's own verbs read such a trace as it is. Other readers of CTF give up on a "
	"packet that is cut. repair shortens it to its last whole record, replaces a damaged "
	"packet by a records-lost, writes metadata and index anew, and reports what it "
	"dropped.\n\n"
	"A recording of ringside replay record whose recorder or QEMU was killed can be replayed "
	"as it is, from a copy of its log that is mended each time. This mends the log itself.\n\n"
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
		argp_error(state, "which trace or recording?");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int repair_recording(const char *directory)
{
	struct rs_recording recording;
	struct rs_error *err = rs_recording_read(directory, &recording);
	bool whole = !err && rs_recording_is_whole(&recording);

	if (!err && !whole)
		err = rs_recording_repair(&recording);
	if (!err)
		fprintf(stderr, "ringside repair: %s: %s at instruction %" PRIu64 "\n", directory,
			whole ? "nothing to mend, it ends" : "mended, it ends", recording.icount);
	rs_recording_deinit(&recording);
	return rs_cli_fail("repair", err);
}

int cmd_repair(int argc, char **argv)
{
	static const struct argp argp = { NULL, parse, "TRACE|REC", doc, NULL, NULL, NULL };
	struct rs_repair_result result;
	const char *directory = NULL;
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &directory))
		return RS_EXIT_USAGE;
	err = rs_cli_confine(RS_CONFINE_WRITER);
	if (err)
		return rs_cli_fail("repair", err);
	if (rs_recording_exists(directory))
		return repair_recording(directory);
	err = rs_trace_repair(directory, &result);
	if (err)
		return rs_cli_fail("repair", err);
	fprintf(stderr,
		"ringside repair: %s: %s with %s kept; "
		"%s mended, %s and %s dropped\n",
		directory, RS_COUNT_OF(result.packets, "packet"),
		RS_COUNT_OF(result.records, "record"),
		RS_COUNT_OF(result.streams_changed, "stream"), RS_COUNT_OF(result.lost, "record"),
		RS_COUNT_OF(result.bytes_dropped, "byte"));
	if (result.lines_dropped)
		fprintf(stderr,
			"ringside repair: %s/ringside/describe: invalid lines dropped: %" PRIu32
			"; streams that cannot be read without them: %" PRIu32 "\n",
			directory, result.lines_dropped, result.streams_unread);
	if (!result.description_damaged)
		return RS_EXIT_OK;
	fprintf(stderr,
		"ringside repair: %s/ringside/describe is not what was written, and repair cannot "
		"restore "
		"it: streams may be missing, and names and fields wrong\n",
		directory);
	return RS_EXIT_PARTIAL;
}
