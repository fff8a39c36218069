/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside info: shows what a trace is, from its description, without reading events. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/input.h"
#include "cli/shared.h"
#include "store/reader.h"
#include "view/table.h"
#include "view/view.h"

struct arguments {
	struct rs_cli_input input;
	bool json;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, RS_CLI_FLAG(struct arguments, json),
	  "Print JSON Lines, one object per trace", 1 },
	{ 0 },
};

static const char doc[] =
	"Show what a trace is: its format, whether it is complete, host, command, start, clock and "
	"streams. Reads no events of a trace directory.\v"
	"TRACE is a trace directory, or a file or directory that import reads. For another tool's "
	"file, info shows only the streams in the file's header; ringside report events counts the "
	"events.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error.\n\n"
	"Examples:\n"
	"  ringside info trace\n"
	"  ringside info --json host.dat guest | jq .streams\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	if (key != ARGP_KEY_INIT)
		return rs_cli_store(options, key, text, state);
	state->child_inputs[0] = &a->input;
	return 0;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static const char *state_of(const struct rs_input *input)
{
	static const char *const states[] = { [RS_TRACE_CLOSED] = "closed",
					      [RS_TRACE_CUT] = "cut",
					      [RS_TRACE_RECORDING] = "recording",
					      [RS_TRACE_REPAIRED] = "repaired" };

	return input->trace ? states[rs_trace_end_state(input->trace)] : NULL;
}

static const char *host_of(const struct rs_input *input)
{
	if (input->trace)
		return rs_trace_host(input->trace);
	return input->foreign->host[0] ? input->foreign->host : NULL;
}

/* ---- streams -------------------------------------------------------------------------------- */

static const struct rs_stream *stream_at(const void *at)
{
	return *(const struct rs_stream *const *)at;
}

RS_COLUMN_GETTER(get_provider)
{
	rs_cell_text(cell, rs_schema_provider(stream_at(at)->schema));
}

RS_COLUMN_GETTER(get_vm)
{
	rs_cell_text(cell, stream_at(at)->vm);
}

RS_COLUMN_GETTER(get_vcpu)
{
	rs_cell_known(cell, stream_at(at)->vcpu, 0);
}

RS_COLUMN_GETTER(get_cpu)
{
	rs_cell_known(cell, stream_at(at)->cpu, 0);
}

RS_COLUMN_GETTER(get_tid)
{
	rs_cell_known(cell, stream_at(at)->tid, 0);
}

RS_COLUMN_GETTER(get_thread)
{
	rs_cell_text(cell, stream_at(at)->thread);
}

RS_COLUMN_GETTER(get_clock)
{
	rs_cell_text(cell, stream_at(at)->clock->name);
}

RS_COLUMN_GETTER(get_error)
{
	rs_cell_number(cell, stream_at(at)->clock->error_cycles);
}

static const struct rs_column columns[] = {
	{ "provider", "PROVIDER", RS_COLUMN_TEXT, get_provider },
	{ "vm", "VM", RS_COLUMN_TEXT, get_vm },
	{ "vcpu", "VCPU", RS_COLUMN_NUMBER, get_vcpu },
	{ "cpu", "CPU", RS_COLUMN_NUMBER, get_cpu },
	{ "tid", "TID", RS_COLUMN_NUMBER, get_tid },
	{ "thread", "THREAD", RS_COLUMN_TEXT, get_thread },
	{ "clock", "CLOCK", RS_COLUMN_TEXT, get_clock },
	{ "clock_error_cycles", NULL, RS_COLUMN_NUMBER, get_error },
	{ 0 },
};

/* Two passes: the first computes the widths. */
static void put_streams(struct rs_json *json, enum rs_table_form form, const struct rs_input *input)
{
	struct rs_table table = { .json = json, .form = form, .columns = columns };
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++)
		rs_table_measure(&table, &stream);
	if (form == RS_TABLE_TEXT && rs_input_stream(input, 0))
		rs_table_head(&table);
	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++)
		rs_table_row(&table, &stream);
}

/* ---- a trace -------------------------------------------------------------------------------- */

static void put_name(struct rs_out *out, const char *name)
{
	rs_out_line(out);
	rs_out_text(out, name);
	for (size_t n = strlen(name); n < 10; n++)
		rs_out_char(out, ' ');
}

static void put_line(struct rs_out *out, const char *name, const char *text)
{
	put_name(out, name);
	rs_out_text(out, text ? text : "-");
	rs_out_char(out, '\n');
}

/* Without a time of day in the trace, wall_ns is 0. */
static void put_start(struct rs_out *out, const struct rs_clock *clock)
{
	put_name(out, "start");
	if (clock->wall_ns)
		rs_words_wall(out, clock->wall_ns);
	else
		rs_out_char(out, '-');
	rs_out_char(out, '\n');
}

/* Writes a binary's line. Its path and its hash may have any length. */
static void put_binary(struct rs_out *out, const struct rs_trace_binary *binary)
{
	const char *hash = binary->hash ? binary->hash : binary->build_id;

	put_name(out, "binary");
	rs_out_text(out, binary->role);
	rs_out_char(out, ' ');
	rs_out_text(out, binary->path);
	rs_out_text(out, ", ");
	rs_out_text(out, binary->hash ? binary->hash_name : "build-id");
	rs_out_char(out, ' ');
	rs_out_text(out, hash ? hash : "-");
	rs_out_char(out, '\n');
}

static void put_text(struct rs_json *json, const char *path, const struct rs_input *input)
{
	const struct rs_clock *clock = input->clock;
	const struct rs_trace_binary *binary;
	char text[256];
	int64_t closed_ns;

	put_line(json->out, "trace", path);
	put_line(json->out, "format", input->trace ? "ringside" : input->importer->name);
	put_line(json->out, "state", state_of(input));
	put_line(json->out, "host", host_of(input));
	put_line(json->out, "command", input->trace ? rs_trace_command(input->trace) : NULL);
	put_start(json->out, clock);
	snprintf(text, sizeof(text), "%s, %.6f MHz (%s)%s", clock->name,
		 (double)clock->freq_hz / 1e6, clock->freq_from,
		 clock->invariant ? "" : ", not known to be invariant");
	put_line(json->out, "clock", text);
	if (rs_input_closed(input, &closed_ns)) {
		snprintf(text, sizeof(text), "%.9f s", (double)closed_ns / 1e9);
		put_line(json->out, "watched", text);
	}
	if (input->trace && input->trace->private.n) {
		snprintf(text, sizeof(text), "%" PRIu32 " of %" PRIu32 " streams: %.200s",
			 input->trace->private.n, input->trace->describe.n_streams,
			 input->trace->private.why);
		put_line(json->out, "private", text);
	}
	for (uint32_t i = 0; input->trace && (binary = rs_trace_binary(input->trace, i)); i++)
		put_binary(json->out, binary);
	put_streams(json, RS_TABLE_TEXT, input);
}

/* Writes which streams' rings died, or would die, with the program: null if none. */
static void put_private(struct rs_json *json, const struct rs_trace *trace)
{
	const struct rs_state_private *private = trace ? &trace->private : NULL;

	rs_json_key(json, "private_rings");
	if (!private || !private->n) {
		rs_json_null(json);
		return;
	}
	rs_state_private_json(private, json);
}

static void put_binaries(struct rs_json *json, const struct rs_input *input)
{
	const struct rs_trace_binary *binary;

	rs_json_open(rs_json_key(json, "binaries"), '[');
	for (uint32_t i = 0; input->trace && (binary = rs_trace_binary(input->trace, i)); i++) {
		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "role"), binary->role);
		rs_json_text(rs_json_key(json, "path"), binary->path);
		rs_json_text(rs_json_key(json, "hash_name"), binary->hash_name);
		rs_json_text(rs_json_key(json, "hash"), binary->hash);
		rs_json_text(rs_json_key(json, "build_id"), binary->build_id);
		rs_json_hex(rs_json_key(json, "load"), binary->load);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
}

static void put_json(struct rs_json *json, const char *path, const struct rs_input *input)
{
	const struct rs_clock *clock = input->clock;
	int64_t closed_ns;

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "trace"), path);
	rs_json_text(rs_json_key(json, "format"),
		     input->trace ? "ringside" : input->importer->name);
	rs_json_text(rs_json_key(json, "state"), state_of(input));
	rs_json_text(rs_json_key(json, "host"), host_of(input));
	rs_json_text(rs_json_key(json, "command"),
		     input->trace ? rs_trace_command(input->trace) : NULL);
	rs_json_key(json, "start");
	if (clock->wall_ns) {
		rs_json_raw(json, "\"");
		rs_words_wall(json->out, clock->wall_ns);
		rs_out_char(json->out, '"');
	} else {
		rs_json_null(json);
	}
	rs_json_text(rs_json_key(json, "clock"), clock->name);
	rs_json_unsigned(rs_json_key(json, "freq_hz"), clock->freq_hz);
	rs_json_text(rs_json_key(json, "freq_from"), clock->freq_from);
	rs_json_bool(rs_json_key(json, "invariant"), clock->invariant);
	rs_json_key(json, "watched_ns");
	if (rs_input_closed(input, &closed_ns))
		rs_json_signed(json, closed_ns);
	else
		rs_json_null(json);
	put_private(json, input->trace);
	put_binaries(json, input);
	rs_json_open(rs_json_key(json, "streams"), '[');
	put_streams(json, RS_TABLE_JSON, input);
	rs_json_close(json, ']');
	rs_json_close(json, '}');
	rs_json_line_end(json);
}

/* Opens and shows each trace separately, because the traces need no common clock here. */
static struct rs_error *show(const struct arguments *a, struct rs_out *out)
{
	struct rs_json json = { .out = out };
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < a->input.n; i++) {
		struct rs_input input = { 0 };

		err = rs_open_with(a->input.paths[i], a->input.format, &a->input.foreign, &input);
		if (err)
			break;
		if (i && !a->json)
			rs_out_char(out, '\n');
		if (a->json)
			put_json(&json, a->input.paths[i], &input);
		else
			put_text(&json, a->input.paths[i], &input);
		if (input.trace)
			rs_cli_rings_remark("info", input.trace);
		rs_input_close(&input);
	}
	return err;
}

int cmd_info(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .input.what = "trace" };
	struct rs_error *err;
	struct rs_out out;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	err = rs_cli_confine(RS_CONFINE_READER);
	if (!err)
		err = rs_out_init(&out, STDOUT_FILENO);
	if (!err)
		err = rs_out_end(&out, show(&a, &out));
	return err ? rs_cli_fail("info", err) : RS_EXIT_OK;
}
