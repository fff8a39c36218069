/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --guest-memory: records guests from their RAM, under VMMs that do not use
 * Ringside. */
#include "base/count.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/shared.h"

#include <stdio.h>
#include <string.h>

#include "host/foreign.h"
#include "live/record_guests.h"

#define MEMORIES_MAX 64u

/* The only session of the process; zero at first. */
static struct memory {
	/* The options. */
	const char *memories[MEMORIES_MAX];
	uint32_t n;
	const struct rs_record_common *common;
	/* The recording. */
	struct rs_guests_recording *recording;
	struct rs_recorder *recorder;
	const struct rs_clock *host;
} the_memory;

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_GUEST_MEMORY = 768 };

static const struct argp_option options[] = {
	{ "guest-memory", KEY_GUEST_MEMORY, "PID|FILE", 0,
	  "Record guests that trace with ringside/guest.h, under any VMM: find their rings in RAM "
	  "of process PID, or in the RAM FILE (/dev/shm/ram, /proc/PID/fd/N), and drain them while "
	  "the guests run. May be repeated",
	  1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct memory *m = state->input;

	if (key != KEY_GUEST_MEMORY)
		return ARGP_ERR_UNKNOWN;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!strcmp(m->memories[i], text))
			argp_error(state, "--guest-memory %s is given twice", text);
	}
	rs_cli_append(state, "--guest-memory", text, m->memories, &m->n, MEMORIES_MAX);
	return 0;
}

static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_selected(const void *state)
{
	const struct memory *m = state;

	return m->n > 0;
}

/* ---- the recording ------------------------------------------------------------------------ */

static struct rs_error *memory_open(void *state, const struct rs_record_common *common)
{
	struct memory *m = state;

	m->common = common;
	return rs_error_wrap(rs_guests_recording_create(m->memories, m->n, &m->recording),
			     "--guest-memory");
}

static struct rs_error *memory_attach(void *state, struct rs_recorder *recorder,
				      const struct rs_clock *host)
{
	struct memory *m = state;

	m->recorder = recorder;
	m->host = host;
	return NULL;
}

static struct rs_error *memory_gate(void *state, bool open)
{
	struct memory *m = state;

	return open ? rs_guests_recording_open(m->recording, m->recorder, m->host)
		    : rs_guests_recording_shut(m->recording);
}

static bool memory_has_ended(const void *state)
{
	const struct memory *m = state;

	return rs_guests_recording_has_ended(m->recording);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void memory_sum(const void *state, char text[RS_RECORD_WHY_MAX])
{
	const struct memory *m = state;
	struct rs_guests_result result;
	uint32_t n = 0;

	for (uint32_t i = 0; rs_guests_recording_result(m->recording, i, &result); i++)
		n += result.guests;
	rs_count_text(n, "guest", text);
}

static void guests_json(const struct memory *m, uint32_t memory, struct rs_json *json)
{
	struct rs_guests_guest guest;

	rs_json_open(rs_json_key(json, "recorded"), '[');
	for (uint32_t i = 0; rs_guests_recording_guest(m->recording, memory, i, &guest); i++) {
		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "vm"), guest.vm);
		rs_json_unsigned(rs_json_key(json, "area"), guest.area);
		if (guest.error_cycles == RS_CLOCK_ERROR_UNKNOWN)
			rs_json_null(rs_json_key(json, "clock_error_cycles"));
		else
			rs_json_unsigned(rs_json_key(json, "clock_error_cycles"),
					 guest.error_cycles);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
}

/* By enum rs_guests_found_by. */
static const char *const found_by[] = { [RS_GUESTS_FILE] = "file",
					[RS_GUESTS_SLOTS] = "kvm-slots",
					[RS_GUESTS_MAPPINGS] = "mappings" };

static void memory_sum_json(const void *state, struct rs_json *json)
{
	const struct memory *m = state;
	struct rs_guests_result result;

	rs_json_open(rs_json_key(json, "guest_memory"), '[');
	for (uint32_t i = 0; rs_guests_recording_result(m->recording, i, &result); i++) {
		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "memory"), result.memory);
		rs_json_text(rs_json_key(json, "found_by"), found_by[result.found_by]);
		rs_json_text(rs_json_key(json, "no_slots"), result.no_slots);
		rs_json_unsigned(rs_json_key(json, "guests"), result.guests);
		rs_json_unsigned(rs_json_key(json, "left"), result.left);
		rs_json_bool(rs_json_key(json, "ended"), result.ended);
		rs_json_text(rs_json_key(json, "refused"), result.refused);
		rs_json_text(rs_json_key(json, "error"), result.error);
		guests_json(m, i, json);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
}

/* Reports the guests of a memory whose last records were missed. */
static void report_ends(const struct memory *m, const struct rs_guests_result *result,
			bool *partial)
{
	if (result->left) {
		*partial = true;
		rs_record_remark(
			m->common,
			"--guest-memory %s: %s ended or restarted; records after the last poll of "
			"the rings are missing from the trace, and are not counted",
			result->memory, RS_COUNT_OF(result->left, "guest"));
	}
	if (result->too_many) {
		*partial = true;
		rs_record_remark(m->common,
				 "--guest-memory %s: more than %u guests concurrently or %u in "
				 "total; the others are not in the trace",
				 result->memory, RS_GUESTS_AT_ONCE_MAX, RS_GUESTS_MAX);
	}
	if (result->error) {
		*partial = true;
		fprintf(stderr, "ringside record: --guest-memory %s: %s\n", result->memory,
			result->error);
	}
}

static void report_found_by(const struct memory *m, const struct rs_guests_result *result)
{
	if (result->found_by == RS_GUESTS_SLOTS)
		rs_record_remark(m->common,
				 "--guest-memory %s: RAM was found by KVM's memory slots",
				 result->memory);
	else if (result->found_by == RS_GUESTS_MAPPINGS)
		rs_record_remark(m->common,
				 "--guest-memory %s: RAM was found by the process's mappings, not "
				 "by KVM's memory slots: %s",
				 result->memory, result->no_slots);
}

static void report_clocks(const struct memory *m, uint32_t memory)
{
	struct rs_guests_guest guest;

	for (uint32_t i = 0; rs_guests_recording_guest(m->recording, memory, i, &guest); i++) {
		if (guest.error_cycles == RS_CLOCK_ERROR_UNKNOWN)
			rs_record_remark(m->common,
					 "guest '%s': the offset of its clock from the host's is "
					 "unknown; its times compare only with each other",
					 guest.vm);
	}
}

static struct rs_error *memory_report(void *state, bool *partial)
{
	struct memory *m = state;
	struct rs_guests_result result;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; rs_guests_recording_result(m->recording, i, &result); i++) {
		report_ends(m, &result, partial);
		report_clocks(m, i);
		if (result.guests) {
			report_found_by(m, &result);
			continue;
		}
		if (result.refused)
			err = rs_error_first(
				err, rs_error_create(RS_FAILED,
						     "--guest-memory %s: no guest was found; the "
						     "trace area at 0x%llx was refused: %s",
						     result.memory,
						     (unsigned long long)result.refused_at,
						     result.refused));
		else
			err = rs_error_first(
				err, rs_error_create(RS_ABSENT,
						     "--guest-memory %s: no trace area was found "
						     "(does the guest use ringside/guest.h, and is "
						     "this its VMM?)",
						     result.memory));
	}
	return err;
}

static void memory_close(void *state)
{
	struct memory *m = state;

	rs_guests_recording_destroy(m->recording);
}

const struct rs_record_kind rs_record_memory = {
	.name = "guest-memory",
	.state = &the_memory,
	.argp = &argp,
	.uses = RS_RECORD_POLL,
	.is_selected = is_selected,
	.open = memory_open,
	.attach = memory_attach,
	.gate = memory_gate,
	.has_ended = memory_has_ended,
	.sum = memory_sum,
	.sum_json = memory_sum_json,
	.report = memory_report,
	.close = memory_close,
};
