/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --sbuf: records rings of ACRN's layout that other programs write, or that it
 * lends to them. */
#include "base/count.h"
#include "cli/record.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/numbers.h"
#include "cli/shared.h"
#include "live/record_sbuf.h"

#define PATHS_MAX      4096u
#define RING_BYTES     (UINT64_C(4) << 20) /* as in ACRN: TRACE_SBUF_SIZE */
#define RING_BYTES_MIN (sizeof(struct rs_sbuf) + RS_SBUF_ELE_NUM_MIN * RS_SLOT_BYTES)

/* The only session of the process; zero at first. */
static struct sbuf {
	/* The options. */
	bool selected, keep;
	const char *paths[PATHS_MAX];
	uint32_t n_paths, create;
	const struct rs_record_common *common;
	/* The recording. */
	struct rs_sbuf_recording *recording;
} the_sbuf;

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_SBUF = 512, KEY_CREATE };

static const struct argp_option options[] = {
	{ "sbuf", KEY_SBUF, "PATH...", 0,
	  "Record rings of ACRN's layout that another program writes, of traces or of logs: "
	  "devices (/dev/acrn_trace_*, /dev/acrn_hvlog_*), files, shm:NAME",
	  1 },
	{ "keep", RS_CLI_FLAG(struct sbuf, keep), NULL, 0,
	  "With --sbuf: also read the records that the rings hold at the start, which are skipped "
	  "by default",
	  3 },
	{ "create", KEY_CREATE, "N", 0,
	  "With --sbuf PATH: create N rings, PATH.0 and so on, and lend them until the end to "
	  "programs that request rings at PATH",
	  3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct sbuf *s = state->input;

	switch (key) {
	case KEY_SBUF:
		s->selected = true;
		rs_cli_append(state, "--sbuf", text, s->paths, &s->n_paths, PATHS_MAX);
		break;
	case KEY_CREATE:
		s->create = (uint32_t)rs_cli_number(state, "--create", text, 1, RS_LEND_IDS_MAX);
		break;
	case ARGP_KEY_ARG: /* the further files of a glob that the shell expanded */
		if (!s->selected)
			argp_error(state, "'%s': put the directory after -o", text);
		rs_cli_append(state, "--sbuf", text, s->paths, &s->n_paths, PATHS_MAX);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_selected(const void *state)
{
	const struct sbuf *s = state;

	return s->selected;
}

/* Returns the CPU of a path's ring, which is the number at the end of its name, or -1 if there is
 * no number. */
static int cpu_of(const char *path)
{
	const char *end = path + strlen(path), *at = end;

	while (at > path && isdigit((unsigned char)at[-1]))
		at--;
	return at == end || end - at > 6 ? -1 : atoi(at);
}

static void check(const void *state, const struct argp_state *argp_state,
		  const struct rs_record_common *common)
{
	const struct sbuf *s = state;
	bool any = false;

	if (!s->selected && (s->keep || s->create))
		argp_error(argp_state, "--keep and --create require --sbuf");
	if (s->create && s->n_paths > 1)
		argp_error(argp_state, "--create allows only one PATH, got '%s'", s->paths[1]);
	if (s->create && common->cpus.some)
		argp_error(argp_state, "--create gives the number of rings: leave out --cpus");
	if (s->create && common->buffer_bytes && common->buffer_bytes < RING_BYTES_MIN)
		argp_error(argp_state, "--buffer: a ring needs at least %zu bytes", RING_BYTES_MIN);
	if (s->selected && !s->create && common->buffer_bytes)
		argp_error(argp_state,
			   "--buffer requires --create; existing rings of --sbuf have a size");
	for (uint32_t i = 0; s->selected && common->cpus.some && i < s->n_paths; i++) {
		if (cpu_of(s->paths[i]) < 0)
			argp_error(argp_state, "--cpus: %s does not end in a CPU's number",
				   s->paths[i]);
		any |= rs_cpu_set_has(&common->cpus, cpu_of(s->paths[i]));
	}
	if (s->selected && common->cpus.some && !any)
		argp_error(argp_state, "--cpus: no ring belongs to one of these CPUs");
}

/* ---- the recording ------------------------------------------------------------------------ */

static struct rs_error *sbuf_open(void *state, const struct rs_record_common *common)
{
	struct sbuf *s = state;
	struct rs_sbuf_options o = { .paths = s->paths,
				     .create = s->create,
				     .ring_bytes = common->buffer_bytes ? common->buffer_bytes
									: RING_BYTES,
				     .keep = s->keep };

	for (uint32_t i = 0; i < s->n_paths; i++) {
		if (!common->cpus.some || rs_cpu_set_has(&common->cpus, cpu_of(s->paths[i])))
			s->paths[o.n_paths++] = s->paths[i];
	}
	s->common = common;
	return rs_sbuf_recording_create(&o, &s->recording);
}

static struct rs_error *sbuf_attach(void *state, struct rs_recorder *recorder,
				    const struct rs_clock *host)
{
	struct sbuf *s = state;

	return rs_sbuf_recording_attach(s->recording, recorder, host);
}

static struct rs_error *sbuf_gate(void *state, bool open)
{
	struct sbuf *s = state;

	return rs_sbuf_recording_gate(s->recording, open);
}

static struct rs_error *sbuf_poll(void *state)
{
	struct sbuf *s = state;

	return rs_sbuf_recording_poll(s->recording);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void sbuf_sum(const void *state, char text[RS_RECORD_WHY_MAX])
{
	const struct sbuf *s = state;
	struct rs_sbuf_result result;
	uint64_t skipped = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; rs_sbuf_recording_result(s->recording, i, &result); i++) {
		skipped += result.skipped;
		n += result.rings;
	}
	if (skipped)
		snprintf(text, RS_RECORD_WHY_MAX, "%s (%llu earlier ones skipped: --keep)",
			 RS_COUNT_OF(n, "ring"), (unsigned long long)skipped);
	else
		rs_count_text(n, "ring", text);
}

static void sbuf_sum_json(const void *state, struct rs_json *json)
{
	const struct sbuf *s = state;
	struct rs_sbuf_result result;

	rs_json_open(rs_json_key(json, "rings"), '[');
	for (uint32_t i = 0; rs_sbuf_recording_result(s->recording, i, &result); i++) {
		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "path"), result.path);
		rs_json_unsigned(rs_json_key(json, "rings"), result.rings);
		rs_json_bool(rs_json_key(json, "log"), result.is_log);
		rs_json_bool(rs_json_key(json, "sound"), result.runs);
		rs_json_unsigned(rs_json_key(json, "skipped"), result.skipped);
		rs_json_text(rs_json_key(json, "error"), result.error);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
}

/* Reports lines of logs that are missing, or that have substitute times. */
static void report_lines(const struct sbuf *s)
{
	struct rs_sbuf_lines lines = rs_sbuf_recording_lines(s->recording);

	if (lines.missing)
		rs_record_remark(
			s->common,
			"%llu line numbers between the first and the last line of the log are in "
			"none of these rings: they are of other CPUs, or were lost before they "
			"were read",
			(unsigned long long)lines.missing);
	if (lines.moves)
		rs_record_remark(s->common,
				 "the log's microseconds do not match this machine's TSC: its "
				 "lines have the time when they were read, %s",
				 RS_COUNT_OF(lines.moves, "time"));
}

/* Reports rings that did not appear, restarted, or could not be read. */
static struct rs_error *sbuf_report(void *state, bool *partial)
{
	struct sbuf *s = state;
	struct rs_sbuf_result result;
	bool any = false;

	for (uint32_t i = 0; rs_sbuf_recording_result(s->recording, i, &result); i++) {
		any |= result.rings > 0;
		if (result.rings > 1)
			rs_record_remark(s->common,
					 "%s: its writer restarted %s; each ring is a separate "
					 "stream",
					 result.path, RS_COUNT_OF(result.rings - 1, "time"));
		if (result.runs && !result.error)
			continue;
		*partial = true;
		if (!result.error)
			fprintf(stderr, "ringside record: %s: no ring appeared there\n",
				result.path);
		else if (!strncmp(result.error, result.path, strlen(result.path)))
			fprintf(stderr, "ringside record: %s\n", result.error);
		else
			fprintf(stderr, "ringside record: %s: %s\n", result.path, result.error);
	}
	report_lines(s);
	return any ? NULL : rs_error_create(RS_FAILED, "no ring appeared at any of the paths");
}

static void sbuf_close(void *state)
{
	struct sbuf *s = state;

	rs_sbuf_recording_destroy(s->recording);
}

const struct rs_record_kind rs_record_sbuf = {
	.name = "sbuf",
	.state = &the_sbuf,
	.argp = &argp,
	.uses = RS_RECORD_BUFFER | RS_RECORD_POLL | RS_RECORD_CPUS,
	.urgent = true,
	.is_selected = is_selected,
	.check = check,
	.open = sbuf_open,
	.attach = sbuf_attach,
	.gate = sbuf_gate,
	.poll = sbuf_poll,
	.sum = sbuf_sum,
	.sum_json = sbuf_sum_json,
	.report = sbuf_report,
	.close = sbuf_close,
};
