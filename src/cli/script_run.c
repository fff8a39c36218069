/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles a D program and runs it on a trace, live sources or a replay. */
#include "cli/script_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/modes.h"
#include "base/now.h"
#include "cli/cli.h"
#include "lang/bpf/push.h"

#define NS_PER_SEC  INT64_C(1000000000)
#define WAIT_NS_MAX (NS_PER_SEC / 10) /* interval of checks for Ctrl-C */

/* ---- input -------------------------------------------------------------------------------- */

/* The schemas that the program is compiled against. */
struct schemas {
	const struct rs_schema **at;
	struct rs_schema **own; /* of the catalogue */
	uint32_t n, n_own;	/* n: the number of the input's schemas */
};

/* Returns the index-th of the input's known streams; NULL past the last. */
static const struct rs_stream *stream_at(const struct rs_script_run *a, uint32_t index)
{
	if (a->replay.source)
		return !index	    ? rs_script_replay_stream(&a->replay)
		       : index == 1 ? rs_script_replay_rings_stream(&a->replay)
				    : NULL;
	return a->opened.source ? rs_input_stream(&a->opened, index)
				: rs_script_live_stream(&a->live, index);
}

/* Returns whether all events of the input are known. Those of other tools' files are not. */
static bool has_whole_schema(const struct rs_script_run *a)
{
	const struct rs_input *part;

	for (uint32_t i = 0; a->opened.source && (part = rs_input_part(&a->opened, i)); i++) {
		if (!part->trace)
			return false;
	}
	return a->opened.source || a->replay.source || rs_script_live_wanted(&a->live);
}

static void schemas_of_input(const struct rs_script_run *a, struct schemas *schemas)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = stream_at(a, i)); i++)
		rs_input_schema(stream, schemas->at, &schemas->n);
}

static struct rs_error *schemas_of_catalogue(struct schemas *schemas, bool given)
{
	const char *provider;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; (provider = rs_catalogue_provider(i)) && !err; i++) {
		err = rs_schema_create_catalogue(provider, &schemas->own[i]);
		if (err)
			break;
		schemas->n_own++;
		if (given)
			schemas->at[schemas->n++] = schemas->own[i];
	}
	return err;
}

/* Trace directories, live sources and replays declare all of their events at the start. Another
 * tool's file may have any event of the catalogue. Without an input there is only the catalogue. */
static struct rs_error *schemas_find(const struct rs_script_run *a, struct schemas *schemas)
{
	uint32_t n = 0, n_streams = 0;

	while (rs_catalogue_provider(n))
		n++;
	while (stream_at(a, n_streams))
		n_streams++;
	schemas->at = calloc(n + n_streams + 1, sizeof(*schemas->at));
	schemas->own = calloc(n + 1, sizeof(*schemas->own));
	if (!schemas->at || !schemas->own)
		return rs_error_no_memory();
	schemas_of_input(a, schemas);
	return schemas_of_catalogue(schemas, !has_whole_schema(a));
}

static void schemas_free(struct schemas *schemas)
{
	for (uint32_t i = 0; i < schemas->n_own; i++)
		rs_schema_destroy(schemas->own[i]);
	free(schemas->own);
	free(schemas->at);
}

/* ---- running ------------------------------------------------------------------------------ */

/* Runs ticks by this machine's time, until exit() or Ctrl-C. */
static struct rs_error *run_alone(struct rs_script *script, struct rs_sink *sink)
{
	int64_t start = rs_now_ns(CLOCK_MONOTONIC), next;

	while (!rs_cli_stop && (next = rs_script_next_tick(script)) != INT64_MAX) {
		int64_t wait = next - (rs_now_ns(CLOCK_MONOTONIC) - start);
		struct timespec pause = { 0 };

		if (wait > 0) {
			wait = wait < WAIT_NS_MAX ? wait : WAIT_NS_MAX;
			pause.tv_nsec = wait;
			nanosleep(&pause, NULL);
			continue;
		}
		rs_script_advance(script, next);
	}
	return sink->ops->end(sink);
}

/* Returns the clock of the program's walltimestamp. */
static const struct rs_clock *clock_of(const struct rs_script_run *a, const struct rs_clock *alone)
{
	if (a->replay.source)
		return rs_script_replay_stream(&a->replay)->clock;
	if (a->opened.source)
		return a->opened.clock;
	return rs_script_live_wanted(&a->live) ? &a->live.clock : alone;
}

static struct rs_error *run(struct rs_script_run *a, struct rs_script *script, struct rs_out *out)
{
	const struct rs_clock alone = { .wall_ns = rs_now_ns(CLOCK_REALTIME) };
	const struct rs_script_io io = { .out = out,
					 .guest = a->replay.source ? &a->replay.guest : NULL,
					 .report = rs_cli_remark,
					 .ctx = (char *)(uintptr_t)a->verb,
					 .clock = clock_of(a, &alone),
					 .stop = &rs_cli_stop,
					 .at_once = a->replay.live != NULL };
	struct rs_query query;
	struct rs_sink *sink;
	int64_t end_ns;
	struct rs_error *err = rs_script_start(script, &io, &sink);

	if (err)
		return err;
	if (a->replay.source) {
		err = rs_script_replay_run(&a->replay, script, sink, a->command);
		if (!err && a->replay.live)
			rs_script_replay_report_live(&a->replay);
		return err;
	}
	if (rs_script_live_wanted(&a->live))
		return rs_script_live_run(&a->live, script, sink, out);
	if (!a->opened.source)
		return run_alone(script, sink);
	rs_query_init(&query);
	rs_script_narrow(script, &query);
	if (rs_input_closed(&a->opened, &end_ns))
		rs_script_set_end(script, end_ns);
	return rs_run(a->opened.source, &query, sink, &rs_cli_stop);
}

/* ---- list, compile, disassemble ----------------------------------------------------------- */

/* Writes a list of arguments as "(u32 vcpu, u32 reason)", or nothing. */
static void list_arguments(const struct rs_event *event, char *text, size_t room)
{
	size_t len = 0;

	text[0] = '\0';
	for (uint16_t i = 0; event && i < event->n_fields && len < room; i++)
		len += (size_t)snprintf(text + len, room - len, "%s%s %s", i ? ", " : "(",
					rs_field_type_text(&event->fields[i]),
					event->fields[i].name);
	if (len && len < room)
		snprintf(text + len, room - len, ")");
}

/* Prints a line for each list of arguments that a probe's events have. */
static void list(const struct rs_script *script)
{
	struct rs_script_probe probe;
	char text[RS_FIELDS_MAX * (RS_WORD_MAX + 8)], before[sizeof(text)];

	printf("%5s %10s %17s %33s %s\n", "ID", "PROVIDER", "MODULE", "FUNCTION", "NAME");
	for (uint32_t i = 0; rs_script_probe_at(script, i, &probe); i++) {
		const struct rs_event *event = rs_script_probe_layout(script, probe.id, 0);
		uint32_t n = 0;

		do {
			list_arguments(event, text, sizeof(text));
			if (!n || strcmp(text, before) != 0)
				printf("%5u %10s %17s %33s %s%s\n", probe.id, probe.provider,
				       probe.module, probe.function, probe.name, text);
			memcpy(before, text, sizeof(text));
			event = rs_script_probe_layout(script, probe.id, ++n);
		} while (event);
	}
}

/* Returns the status of a run that succeeded: that of exit(), or RS_EXIT_PARTIAL if events were
 * lost. */
static int status_of(const struct rs_script_run *a, const struct rs_script *script)
{
	bool missing = rs_script_live_report(&a->live);

	if (rs_script_lost(script) && !rs_cli_pipe_closed())
		fprintf(stderr, "ringside %s: %s %s lost before they reached the program\n",
			a->verb, RS_COUNT_OF(rs_script_lost(script), "record"),
			RS_COUNT_WERE(rs_script_lost(script)));
	if (rs_script_status(script))
		return rs_script_status(script);
	if (a->replay.failed)
		return RS_EXIT_FAILED;
	missing |= rs_script_lost(script) || rs_script_dropped(script);
	return missing ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}

static struct rs_error *perform(struct rs_script_run *a, struct rs_script *script, int *status)
{
	struct rs_error *err = NULL;
	struct rs_out out;
	int fd = STDOUT_FILENO;

	if (a->list) {
		list(script);
		return NULL;
	}
	if (a->compile && !a->disassemble)
		return NULL;
	if (!a->opened.source && !a->replay.source && !rs_script_live_wanted(&a->live) &&
	    !a->disassemble && rs_script_has_events(script))
		return rs_error_create(RS_USAGE,
				       "the program probes events, but no trace is given: --on "
				       "TRACE");
	if (!a->disassemble) /* impossible requests are reported first */
		err = rs_script_live_prepare(&a->live, a->command);
	if (err)
		return err;
	if (a->output)
		fd = rs_modes_open(a->output, O_WRONLY | O_APPEND);
	if (fd < 0)
		return rs_error_errno(errno, "%s", a->output);
	err = rs_out_init(&out, fd);
	if (err)
		return err;
	if (a->disassemble) {
		rs_script_disassemble(script, &out);
		err = rs_script_live_push(&a->live, script, false);
		rs_script_push_explain(script, &out);
		err = rs_error_first(err, rs_out_flush(&out));
	} else {
		rs_cli_program_notice(a->verb, &a->program, script);
		err = run(a, script, &out);
		*status = status_of(a, script);
	}
	rs_out_deinit(&out);
	if (a->output)
		close(fd);
	return err;
}

static struct rs_error *compile_and_run(struct rs_script_run *a, const char *text, size_t len,
					int *status)
{
	struct schemas schemas = { 0 };
	struct rs_script *script = NULL;
	struct rs_error *err = schemas_find(a, &schemas);

	if (!err) {
		const struct rs_script_config config = {
			.name = rs_cli_program_name(&a->program),
			.text = text,
			.len = len,
			.schemas = schemas.at,
			.n_schemas = schemas.n,
			.known = (const struct rs_schema *const *)schemas.own,
			.n_known = schemas.n_own,
			.args = a->program.args.at,
			.n_args = a->program.args.n,
			.options = a->program.options.at,
			.n_options = a->program.options.n,
			.make = a->replay.source ? rs_script_replay_make : NULL,
			.make_ctx = &a->replay,
			.types = a->replay.source ? rs_script_replay_types : NULL,
		};

		err = rs_script_compile(&config, &script);
	}
	if (!err)
		err = perform(a, script, status);
	rs_script_destroy(script);
	schemas_free(&schemas);
	return err;
}

/* Adds the tracepoints that the program names, unless its input is recorded. The program's other
 * errors are reported when it is compiled for its sources. */
static void name_tracepoints(struct rs_script_run *a, const char *text, size_t len)
{
	const struct rs_script_config config = {
		.name = rs_cli_program_name(&a->program),
		.text = text,
		.len = len,
		.args = a->program.args.at,
		.n_args = a->program.args.n,
		.options = a->program.options.at,
		.n_options = a->program.options.n,
		.make = rs_script_live_name,
		.make_ctx = &a->live,
		.may_match_nothing = true,
	};
	struct rs_script *script = NULL;

	if (a->on.n || rs_script_replay_given(&a->replay) || a->replay.live)
		return;
	rs_error_free(rs_script_compile(&config, &script));
	rs_script_destroy(script);
}

static struct rs_error *open_inputs(struct rs_script_run *a)
{
	struct rs_error *err = rs_script_live_check(&a->live);

	if (err)
		return err;
	if (rs_script_live_wanted(&a->live))
		return rs_script_live_open(&a->live);
	if (rs_script_replay_attaches(&a->replay))
		return rs_script_replay_open(&a->replay, a->on.n ? a->on.at[0] : NULL);
	if (!a->on.n && a->replay.live)
		return rs_error_create(RS_USAGE, "--live requires a recording, or --live=GDB");
	if (!a->on.n)
		return NULL;
	if (a->on.n == 1 && rs_script_replay_is(a->on.at[0]))
		return rs_script_replay_open(&a->replay, a->on.at[0]);
	if (rs_script_replay_given(&a->replay))
		return rs_error_create(RS_USAGE, "%s is not a recording", a->on.at[0]);
	a->input.writes = a->output;
	for (uint32_t i = 0; i < a->on.n; i++)
		rs_cli_input_add(&a->input, a->on.at[i]); /* no more than fit */
	return rs_cli_input_open(&a->input, &a->opened);
}

int rs_script_run(struct rs_script_run *a)
{
	int status = RS_EXIT_OK, failed;
	struct rs_error *err;
	char *text = NULL;
	size_t len = 0;

	a->live.stop = &rs_cli_stop;
	a->live.remarks = (struct rs_script_remarks){ rs_cli_remark, (char *)(uintptr_t)a->verb };
	a->replay.remarks = a->live.remarks;
	a->replay.stop = &rs_cli_stop;
	err = rs_cli_program_read(&a->program, &text, &len);
	if (!err)
		name_tracepoints(a, text, len);
	if (!err)
		err = open_inputs(a);
	if (!err)
		err = compile_and_run(a, text, len, &status);
	if (!a->list && !a->compile && !a->disassemble && !rs_cli_pipe_closed())
		rs_cli_input_remarks(a->verb, &a->input, &a->opened);
	rs_input_close(&a->opened);
	rs_script_live_close(&a->live);
	rs_script_replay_close(&a->replay);
	free(text);
	failed = rs_cli_fail(a->verb, err);
	return failed ? failed : status;
}
