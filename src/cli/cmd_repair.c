/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside repair: makes a truncated or damaged trace valid for other readers, and mends the
 * recording of a guest whose recorder was killed. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/count.h"
#include "base/json.h"
#include "cli/input.h"
#include "cli/shared.h"
#include "replay/recording.h"
#include "store/repair.h"
#include "store/waiting.h"
#include "view/table.h"

static const char doc[] =
	"Repair a truncated or damaged trace directory, or a guest's recording, in place.\v"
	"Ringside's verbs read such a trace without a repair. Other CTF readers fail at a "
	"truncated packet. repair shortens that packet to its last whole record, replaces a "
	"damaged packet by a records-lost, rewrites metadata and index, and reports what it "
	"dropped.\n\n"
	"A program that recorded itself and died leaves its threads' rings in a file, if its user "
	"has a directory in memory for them. repair adds the records that only the rings have to "
	"the trace, and removes the file. --list shows these files.\n\n"
	"If the recorder or QEMU of ringside replay record was killed, replays work on a copy of "
	"the log, which they mend each time. repair mends the log itself.\n\n"
	"Examples:\n"
	"  ringside repair trace && babeltrace2 trace\n"
	"  ringside repair --list\n";

struct arguments {
	const char *directory;
	bool list, json;
};

static const struct argp_option options[] = {
	{ "list", RS_CLI_FLAG(struct arguments, list), NULL, 0,
	  "List the files in memory that have the rings of programs: those that wait for a repair, "
	  "and those of programs that run; root lists those of all users",
	  1 },
	{ "json", 'j', NULL, RS_CLI_FLAG(struct arguments, json),
	  "With --list, print JSON Lines, one object per file", 1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (a->list)
			argp_error(state, "--list takes no trace, got '%s'", text);
		rs_cli_one(state, "trace", text, &a->directory);
		break;
	case ARGP_KEY_END:
		if (a->json && !a->list)
			argp_error(state, "--json needs --list");
		if (a->list && a->directory)
			argp_error(state, "--list takes no trace, got '%s'", a->directory);
		if (!a->list && !a->directory)
			argp_error(state, "no trace or recording given");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- the files of rings --------------------------------------------------------------------- */

static const struct rs_waiting *waiting_at(const void *at)
{
	return at;
}

RS_COLUMN_GETTER(get_state)
{
	const struct rs_waiting *w = waiting_at(at);

	rs_cell_text(cell, w->runs ? "runs" : w->valid && w->rings ? "waits" : "empty");
}

RS_COLUMN_GETTER(get_path)
{
	rs_cell_text(cell, waiting_at(at)->path);
}

RS_COLUMN_GETTER(get_uuid)
{
	rs_cell_text(cell, waiting_at(at)->valid ? waiting_at(at)->uuid : NULL);
}

RS_COLUMN_GETTER(get_trace)
{
	rs_cell_text(cell, waiting_at(at)->trace);
}

RS_COLUMN_GETTER(get_pid)
{
	if (waiting_at(at)->pid)
		rs_cell_number(cell, waiting_at(at)->pid);
}

RS_COLUMN_GETTER(get_user)
{
	rs_cell_number(cell, waiting_at(at)->user);
}

RS_COLUMN_GETTER(get_bytes)
{
	rs_cell_number(cell, waiting_at(at)->bytes);
}

RS_COLUMN_GETTER(get_rings)
{
	if (waiting_at(at)->valid)
		rs_cell_number(cell, waiting_at(at)->rings);
}

RS_COLUMN_GETTER(get_records)
{
	if (waiting_at(at)->valid)
		rs_cell_number(cell, waiting_at(at)->records);
}

static const struct rs_column columns[] = {
	{ "state", "STATE", RS_COLUMN_TEXT, get_state },
	{ "pid", "PID", RS_COLUMN_NUMBER, get_pid },
	{ "user", "USER", RS_COLUMN_NUMBER, get_user },
	{ "rings", "RINGS", RS_COLUMN_NUMBER, get_rings },
	{ "records", "RECORDS", RS_COLUMN_NUMBER, get_records },
	{ "bytes", "BYTES", RS_COLUMN_NUMBER, get_bytes },
	{ "trace", "TRACE", RS_COLUMN_TEXT, get_trace },
	{ "uuid", NULL, RS_COLUMN_TEXT, get_uuid },
	{ "path", "PATH", RS_COLUMN_TEXT, get_path },
	{ 0 },
};

static struct rs_error *list_print(const struct arguments *a, const struct rs_waiting *list,
				   size_t n)
{
	struct rs_out out;
	struct rs_error *err = rs_out_init(&out, STDOUT_FILENO);
	struct rs_json json = { .out = &out };
	struct rs_table table = { .json = &json,
				  .form = a->json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = columns };

	if (err)
		return err;
	if (a->json) {
		for (size_t i = 0; i < n; i++) {
			rs_table_row(&table, &list[i]);
			rs_json_line_end(&json);
		}
	} else if (n) {
		rs_table_rows(&table, list, n, sizeof(*list));
	}
	return rs_out_end(&out, NULL);
}

static int list_rings(const struct arguments *a)
{
	struct rs_waiting *list = NULL;
	struct rs_error *err;
	size_t n = 0;

	err = rs_cli_confine(RS_CONFINE_READER);
	if (!err)
		err = rs_waiting_list(rs_cli_user(), &list, &n);
	if (!err)
		err = list_print(a, list, n);
	rs_waiting_free(list, n);
	return rs_cli_fail("repair", err);
}

/* ---- repairs -------------------------------------------------------------------------------- */

static int repair_recording(const char *directory)
{
	struct rs_recording recording;
	struct rs_error *err = rs_recording_read(directory, &recording);
	bool whole = !err && rs_recording_is_whole(&recording);

	if (!err && !whole)
		err = rs_recording_repair(&recording);
	if (!err)
		fprintf(stderr, "ringside repair: %s: %s at instruction %" PRIu64 "\n", directory,
			whole ? "nothing to repair, it ends" : "repaired, it ends",
			recording.icount);
	rs_recording_deinit(&recording);
	return rs_cli_fail("repair", err);
}

static void lines_remark(const char *directory, const struct rs_repair_result *result)
{
	if (result->lines_dropped)
		fprintf(stderr,
			"ringside repair: %s/ringside/describe: invalid lines dropped: %" PRIu32
			"; streams that cannot be read without them: %" PRIu32 "\n",
			directory, result->lines_dropped, result->streams_unread);
}

/* Reports the streams whose rings died with the program. */
static void private_remark(const char *directory)
{
	struct rs_trace *trace;
	struct rs_error *err = rs_trace_open(directory, &trace);

	if (!err)
		rs_cli_rings_remark("repair", trace);
	if (!err)
		rs_trace_close(trace);
	rs_error_free(err);
}

static int repair_trace(const char *directory)
{
	struct rs_repair_result result;
	struct rs_error *err = rs_trace_repair(directory, &result);

	if (err)
		return rs_cli_fail("repair", err);
	fprintf(stderr,
		"ringside repair: %s: %s with %s kept; "
		"%s mended, %s and %s dropped\n",
		directory, RS_COUNT_OF(result.packets, "packet"),
		RS_COUNT_OF(result.records, "record"),
		RS_COUNT_OF(result.streams_changed, "stream"), RS_COUNT_OF(result.lost, "record"),
		RS_COUNT_OF(result.bytes_dropped, "byte"));
	if (result.recovered)
		fprintf(stderr,
			"ringside repair: %s: of them, %s from the rings of the killed program's "
			"threads\n",
			directory, RS_COUNT_OF(result.recovered, "record"));
	lines_remark(directory, &result);
	private_remark(directory);
	if (!result.description_damaged)
		return RS_EXIT_OK;
	fprintf(stderr,
		"ringside repair: %s/ringside/describe is damaged, and repair cannot restore it: "
		"streams may be missing, and names and fields wrong\n",
		directory);
	return RS_EXIT_PARTIAL;
}

int cmd_repair(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "TRACE|REC\n--list", doc, NULL, NULL, NULL
	};
	struct arguments a = { 0 };
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	if (a.list)
		return list_rings(&a);
	err = rs_cli_confine(RS_CONFINE_WRITER);
	if (err)
		return rs_cli_fail("repair", err);
	if (rs_recording_exists(a.directory))
		return repair_recording(a.directory);
	return repair_trace(a.directory);
}
