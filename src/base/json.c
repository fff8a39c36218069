/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON to a buffered output: strings, and numbers that are not integers. */
#include "base/json.h"

#include <stdio.h>

#include "base/utf8.h"

/* Returns the number of bytes at text that a JSON string needs no escapes for, at most slightly
 * more than RS_OUT_SHORT: valid UTF-8 without controls, quotes and backslashes. */
static size_t plain_len(const char *text, size_t len)
{
	size_t at = 0, sequence;

	while (at < len && at < RS_OUT_SHORT) {
		unsigned char c = (unsigned char)text[at];

		if (__builtin_expect(c >= ' ' && c < 0x80 && c != '"' && c != '\\', 1)) {
			at++;
			continue;
		}
		sequence = c < 0x80 ? 0 : rs_utf8_sequence_len(text + at, len - at);
		if (!sequence)
			break;
		at += sequence;
	}
	return at;
}

static void put_escaped(struct rs_out *out, char c)
{
	static const char controls[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *short_one = c ? strchr(controls, c) : NULL;

	if ((unsigned char)c >= 0x80) {
		rs_out_char(out, '?');
		return;
	}
	rs_out_char(out, '\\');
	if (short_one) {
		rs_out_char(out, letters[short_one - controls]);
		return;
	}
	rs_out_text(out, "u00");
	rs_out_hex_digits(out, (unsigned char)c, 2);
}

void rs_json_bytes(struct rs_json *json, const char *text, size_t len)
{
	struct rs_out *out = json->out;

	rs_json_next(json);
	rs_out_char(out, '"');
	for (size_t at = 0, plain; at < len; at += plain) {
		plain = plain_len(text + at, len - at);
		rs_out_bytes(out, text + at, plain);
		if (__builtin_expect(at + plain < len, 0)) {
			if (plain < RS_OUT_SHORT)
				put_escaped(out, text[at + plain++]);
			rs_out_line(out);
		}
	}
	rs_out_char(out, '"');
}

void rs_json_hex(struct rs_json *json, uint64_t value)
{
	rs_json_next(json);
	rs_out_char(json->out, '"');
	rs_out_hex(json->out, value);
	rs_out_char(json->out, '"');
}

void rs_json_real(struct rs_json *json, double value, int decimals)
{
	char text[512]; /* the largest double has 309 digits */

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	rs_json_raw(json, text);
}

void rs_json_line_end(struct rs_json *json)
{
	rs_out_line(json->out);
	rs_out_char(json->out, '\n');
	json->follows = false;
}
