/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats log lines and gaps as text or JSON. */
#include "log/text.h"

#include <string.h>

#include "base/utf8.h"

#define TEXT_MAX 512u /* of ACRN's, whose tools allow 480 bytes a line */

/* A text of somebody's, printable; more than a line can have is left out. */
static size_t mend(char to[TEXT_MAX], const char *text, size_t bytes)
{
	if (bytes > TEXT_MAX)
		bytes = TEXT_MAX;
	memcpy(to, text, bytes);
	rs_utf8_mend(to, bytes);
	return bytes;
}

static void field(struct rs_out *out, const char *name, uint64_t value)
{
	rs_out_text(out, name);
	rs_out_dec(out, value);
}

static void name_json(struct rs_out *out, const char *name)
{
	char text[TEXT_MAX];
	size_t n = mend(text, name, strlen(name));

	rs_out_text(out, "{\"log\": ");
	rs_out_quoted(out, text, n, TEXT_MAX);
}

static void line_json(struct rs_out *out, const struct rs_log_line *line, const char *name)
{
	char text[TEXT_MAX];
	size_t n;

	name_json(out, name);
	field(out, ", \"us\": ", line->us);
	field(out, ", \"cpu\": ", line->cpu);
	rs_out_text(out, ", \"thread\": ");
	if (line->thread) {
		n = mend(text, line->thread, line->thread_bytes);
		rs_out_quoted(out, text, n, TEXT_MAX);
	} else {
		rs_out_text(out, "null");
	}
	field(out, ", \"level\": ", line->level);
	rs_out_text(out, ", \"level_name\": \"");
	rs_out_text(out, rs_log_level_name(line->level));
	field(out, "\", \"seq\": ", line->seq);
	rs_out_text(out, line->cut ? ", \"cut\": true" : ", \"cut\": false");
	rs_out_text(out, ", \"message\": ");
	n = mend(text, line->message, line->message_bytes);
	rs_out_quoted(out, text, n, TEXT_MAX);
	rs_out_line(out);
	rs_out_text(out, "}\n");
}

static void line_text(struct rs_out *out, const struct rs_log_line *line)
{
	char text[TEXT_MAX];

	field(out, "[", line->us);
	field(out, "us][cpu=", line->cpu);
	rs_out_text(out, "]");
	if (line->thread) {
		rs_out_text(out, "[");
		rs_out_bytes(out, text, mend(text, line->thread, line->thread_bytes));
		rs_out_text(out, "]");
	}
	field(out, "[sev=", line->level);
	field(out, "][seq=", line->seq);
	rs_out_text(out, "]:");
	rs_out_bytes(out, text, mend(text, line->message, line->message_bytes));
	rs_out_char(out, '\n');
}

void rs_log_write_line(struct rs_out *out, const struct rs_log_line *line, const char *json)
{
	rs_out_line(out);
	if (json)
		line_json(out, line, json);
	else
		line_text(out, line);
}

/* CPUs, each after `between` but the first. */
static bool cpus(struct rs_out *out, const struct rs_log_gap *gap, const char *between)
{
	bool any = false;

	for (uint32_t i = 0; i < RS_LOG_LANES_MAX; i++) {
		if (!(gap->cpus[i / 64] >> i % 64 & 1))
			continue;
		if (any)
			rs_out_text(out, between);
		rs_out_dec(out, i);
		any = true;
	}
	return any;
}

static void us_or_null(struct rs_out *out, const char *name, uint64_t us)
{
	rs_out_text(out, name);
	if (us == UINT64_MAX)
		rs_out_text(out, "null");
	else
		rs_out_dec(out, us);
}

static void gap_json(struct rs_out *out, const struct rs_log_gap *gap, const char *name)
{
	name_json(out, name);
	field(out, ", \"gap\": ", gap->last - gap->first + 1);
	field(out, ", \"first\": ", gap->first);
	field(out, ", \"last\": ", gap->last);
	rs_out_text(out, ", \"cpus\": [");
	cpus(out, gap, ", ");
	us_or_null(out, "], \"from_us\": ", gap->from_us);
	us_or_null(out, ", \"to_us\": ", gap->to_us);
	rs_out_text(out, "}\n");
}

static void gap_text(struct rs_out *out, const struct rs_log_gap *gap)
{
	uint64_t n = gap->last - gap->first + 1;

	field(out, "[gap: ", n);
	rs_out_text(out, n == 1 ? " line is missing" : " lines are missing");
	field(out, ", seq ", gap->first);
	field(out, " to ", gap->last);
	rs_out_text(out, ", cpu ");
	if (!cpus(out, gap, " "))
		rs_out_text(out, "unknown");
	if (gap->from_us != UINT64_MAX && gap->to_us != UINT64_MAX) {
		field(out, ", between ", gap->from_us);
		field(out, "us and ", gap->to_us);
		rs_out_text(out, "us");
	} else if (gap->to_us != UINT64_MAX) {
		field(out, ", before ", gap->to_us);
		rs_out_text(out, "us");
	} else if (gap->from_us != UINT64_MAX) {
		field(out, ", after ", gap->from_us);
		rs_out_text(out, "us");
	}
	rs_out_text(out, "]\n");
}

void rs_log_write_gap(struct rs_out *out, const struct rs_log_gap *gap, const char *json)
{
	rs_out_line(out);
	if (json)
		gap_json(out, gap, json);
	else
		gap_text(out, gap);
}
