/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that several verbs share, in one argp each. */
#include "cli/shared.h"

#include <limits.h>
#include <stdio.h>

#include "base/duration.h"
#include "cli/numbers.h"
#include "event/query.h"
#include "view/table.h"

#define NS_PER_SEC UINT64_C(1000000000)

enum { KEY_VM = 0x6000, KEY_FROM, KEY_TO, KEY_INTERVAL, KEY_MOMENT_FROM, KEY_MOMENT_TO, KEY_CSV };

error_t rs_cli_store(const struct argp_option *options, int key, const char *text,
		     const struct argp_state *state)
{
	const struct argp_option *o = options;
	char what[64];
	void *member;
	int sets;

	while (o->key != key && (o->name || o->key))
		o++;
	sets = key > UCHAR_MAX ? o->key : o->flags;
	member = (char *)state->input + (sets >> 5 & UINT16_MAX);
	switch (sets >> 21) {
	case 1:
		*(bool *)member = true;
		break;
	case 2:
		*(const char **)member = text;
		break;
	case 3:
		snprintf(what, sizeof(what), "--%s", o->name);
		*(uint64_t *)member = rs_cli_time(state, what, text, NS_PER_SEC);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void rs_cli_append(const struct argp_state *state, const char *option, const char *text,
		   const char **list, uint32_t *n, uint32_t max)
{
	if (!*text)
		argp_error(state, "%s: its argument is empty", option);
	if (*n == max)
		argp_error(state, "%s: more than %u", option, max);
	list[(*n)++] = text;
}

/* ---- --quiet, --json ---------------------------------------------------------------------- */

static const struct argp_option quiet_options[] = {
	{ "quiet", 'q', NULL, 0, "Print no progress, remarks or summary on standard error", 4 },
	{ 0 },
};

static const struct argp_option json_options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object on standard output", 4 },
	{ 0 },
};

static error_t parse_flag(int key, char *text, struct argp_state *state)
{
	(void)text;
	if (key != 'q' && key != 'j')
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

const struct argp rs_cli_quiet_argp = { quiet_options, parse_flag, NULL, NULL, NULL, NULL, NULL };
const struct argp rs_cli_json_argp = { json_options, parse_flag, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option form_options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object, or one for each interval", 2 },
	{ "csv", KEY_CSV, NULL, 0, "Print comma-separated values, with a header line", 2 },
	{ 0 },
};

static error_t parse_form(int key, char *text, struct argp_state *state)
{
	(void)text;
	if (key != 'j' && key != KEY_CSV)
		return ARGP_ERR_UNKNOWN;
	*(enum rs_table_form *)state->input = key == 'j' ? RS_TABLE_JSON : RS_TABLE_CSV;
	return 0;
}

const struct argp rs_cli_form_argp = { form_options, parse_form, NULL, NULL, NULL, NULL, NULL };

/* ---- --vm --------------------------------------------------------------------------------- */

static const struct argp_option vm_options[] = {
	{ "vm", KEY_VM, "GLOB", 0, "Select only VMs with a name that matches GLOB (* ? [])", 2 },
	{ 0 },
};

static error_t parse_vm(int key, char *text, struct argp_state *state)
{
	if (key != KEY_VM)
		return ARGP_ERR_UNKNOWN;
	*(const char **)state->input = text;
	return 0;
}

const struct argp rs_cli_vm_argp = { vm_options, parse_vm, NULL, NULL, NULL, NULL, NULL };

/* ---- times -------------------------------------------------------------------------------- */

static const struct argp_option span_options[] = {
	{ "from", KEY_FROM, "SEC", 0,
	  "Read only events from this time on, in seconds from the trace's start; a report lacks "
	  "the state before it",
	  2 },
	{ "to", KEY_TO, "SEC", 0, "Read only events before this time", 2 },
	{ 0 },
};

static error_t parse_span(int key, char *text, struct argp_state *state)
{
	struct rs_query *query = state->input;

	switch (key) {
	case KEY_FROM:
		query->from_ns = rs_cli_seconds(state, text);
		break;
	case KEY_TO:
		query->to_ns = rs_cli_seconds(state, text);
		break;
	case ARGP_KEY_END:
		rs_cli_span(state, query->from_ns, query->to_ns);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp rs_cli_span_argp = { span_options, parse_span, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option interval_options[] = {
	{ "interval", KEY_INTERVAL, "SEC", 0,
	  "Report each interval of SEC seconds separately, as in 2 or 500ms", 2 },
	{ 0 },
};

static error_t parse_interval(int key, char *text, struct argp_state *state)
{
	struct rs_cli_interval *interval = state->input;
	char min[RS_DURATION_TEXT_MAX];

	if (key != KEY_INTERVAL)
		return ARGP_ERR_UNKNOWN;
	interval->ns = rs_cli_time(state, "--interval", text, NS_PER_SEC);
	if (interval->ns < interval->min_ns)
		argp_error(state, "--interval: expected at least %s",
			   rs_duration_exact(interval->min_ns, min));
	return 0;
}

const struct argp rs_cli_interval_argp = {
	interval_options, parse_interval, NULL, NULL, NULL, NULL, NULL
};

static const struct argp_option moments_options[] = {
	{ "from", KEY_MOMENT_FROM, "TIME", 0,
	  "In a replay: begin at this guest time, as in 1.5, or dmesg:2.570288", 3 },
	{ "to", KEY_MOMENT_TO, "TIME", 0,
	  "In a replay: end at this guest time, as in 1.5, or dmesg:2.570288", 3 },
	{ 0 },
};

static error_t parse_moments(int key, char *text, struct argp_state *state)
{
	struct rs_moments *moments = state->input;

	switch (key) {
	case KEY_MOMENT_FROM:
		moments->from = rs_cli_moment(state, "--from", text);
		break;
	case KEY_MOMENT_TO:
		moments->to = rs_cli_moment(state, "--to", text);
		break;
	case ARGP_KEY_END:
		if (moments->to.ns && !moments->from.is_stamp && !moments->to.is_stamp)
			rs_cli_span(state, (int64_t)moments->from.ns, (int64_t)moments->to.ns);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	moments->given = true;
	return 0;
}

const struct argp rs_cli_moments_argp = {
	moments_options, parse_moments, NULL, NULL, NULL, NULL, NULL
};
