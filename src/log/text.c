/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats log lines and gaps as text or JSON. */
#include "log/text.h"

#include <string.h>

#include "base/count.h"
#include "base/json.h"
#include "base/utf8.h"

#define TEXT_MAX 512u /* for ACRN's lines, whose tools allow 480 bytes */

/* Writes an untrusted text as printable characters, cut at the longest line. */
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

/* Writes an untrusted text as a JSON member; NULL becomes null. */
static void put_text(struct rs_json *json, const char *key, const char *text, size_t bytes)
{
	char mended[TEXT_MAX];

	rs_json_key(json, key);
	if (text)
		rs_json_bytes(json, mended, mend(mended, text, bytes));
	else
		rs_json_null(json);
}

static void line_json(struct rs_out *out, const struct rs_log_line *line, const char *name)
{
	struct rs_json json = { .out = out };

	rs_json_open(&json, '{');
	put_text(&json, "log", name, strlen(name));
	rs_json_unsigned(rs_json_key(&json, "us"), line->us);
	rs_json_unsigned(rs_json_key(&json, "cpu"), line->cpu);
	put_text(&json, "thread", line->thread, line->thread_bytes);
	rs_json_unsigned(rs_json_key(&json, "level"), line->level);
	rs_json_text(rs_json_key(&json, "level_name"), rs_log_level_name(line->level));
	rs_json_unsigned(rs_json_key(&json, "seq"), line->seq);
	rs_json_bool(rs_json_key(&json, "cut"), line->cut);
	put_text(&json, "message", line->message, line->message_bytes);
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
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

static bool has_cpu(const struct rs_log_gap *gap, uint32_t cpu)
{
	return gap->cpus[cpu / 64] >> cpu % 64 & 1;
}

static void put_us(struct rs_json *json, const char *key, uint64_t us)
{
	rs_json_key(json, key);
	if (us == UINT64_MAX)
		rs_json_null(json);
	else
		rs_json_unsigned(json, us);
}

static void gap_json(struct rs_out *out, const struct rs_log_gap *gap, const char *name)
{
	struct rs_json json = { .out = out };

	rs_json_open(&json, '{');
	put_text(&json, "log", name, strlen(name));
	rs_json_unsigned(rs_json_key(&json, "gap"), gap->last - gap->first + 1);
	rs_json_unsigned(rs_json_key(&json, "first"), gap->first);
	rs_json_unsigned(rs_json_key(&json, "last"), gap->last);
	rs_json_open(rs_json_key(&json, "cpus"), '[');
	for (uint32_t i = 0; i < RS_LOG_LANES_MAX; i++) {
		if (has_cpu(gap, i))
			rs_json_unsigned(&json, i);
	}
	rs_json_close(&json, ']');
	put_us(&json, "from_us", gap->from_us);
	put_us(&json, "to_us", gap->to_us);
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
}

/* Writes the CPUs of a gap. Returns whether any CPU is known. */
static bool cpus_text(struct rs_out *out, const struct rs_log_gap *gap)
{
	bool any = false;

	for (uint32_t i = 0; i < RS_LOG_LANES_MAX; i++) {
		if (!has_cpu(gap, i))
			continue;
		field(out, any ? " " : "", i);
		any = true;
	}
	return any;
}

static void gap_text(struct rs_out *out, const struct rs_log_gap *gap)
{
	uint64_t n = gap->last - gap->first + 1;

	rs_out_text(out, "[gap: ");
	rs_out_text(out, RS_COUNT_OF(n, "line"));
	rs_out_text(out, n == 1 ? " is missing" : " are missing");
	field(out, ", seq ", gap->first);
	field(out, " to ", gap->last);
	rs_out_text(out, ", cpu ");
	if (!cpus_text(out, gap))
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
