/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON to a buffered output, without a tree in memory, so an event costs little more than
 * its text. The calls nest like the values:
 *
 *	struct rs_json json = { .out = &out };
 *
 *	rs_json_open(&json, '{');
 *	rs_json_unsigned(rs_json_key(&json, "lost"), lost);
 *	rs_json_open(rs_json_key(&json, "rows"), '[');
 *	...
 *	rs_json_close(&json, ']');
 *	rs_json_close(&json, '}');
 *	rs_json_line_end(&json);
 *
 * The writer writes the commas. Each call reserves its own room. rs_out_flush() reports errors. The
 * type of a value must not depend on the value; an unknown value is null.
 */
#ifndef RS_BASE_JSON_H
#define RS_BASE_JSON_H

#include "base/out.h"

struct rs_json {
	struct rs_out *out;
	bool follows; /* a value precedes the next one, so a comma is needed */
};

/* Writes the comma before a value or a key. */
static inline void rs_json_next(struct rs_json *json)
{
	rs_out_line(json->out);
	if (json->follows)
		rs_out_char(json->out, ',');
	json->follows = true;
}

/* Begins an object, '{', or an array, '['. */
static inline void rs_json_open(struct rs_json *json, char bracket)
{
	rs_json_next(json);
	rs_out_char(json->out, bracket);
	json->follows = false;
}

/* Ends an object, '}', or an array, ']'. */
static inline void rs_json_close(struct rs_json *json, char bracket)
{
	rs_out_line(json->out);
	rs_out_char(json->out, bracket);
	json->follows = true;
}

/* Writes len bytes as a string, with '?' for each byte that is not UTF-8. */
void rs_json_bytes(struct rs_json *json, const char *text, size_t len);

/* Writes the name of an object's next value. Returns json, for the call that writes the value. */
static inline struct rs_json *rs_json_key(struct rs_json *json, const char *name)
{
	rs_json_bytes(json, name, strlen(name));
	rs_out_char(json->out, ':');
	json->follows = false;
	return json;
}

/* Writes text that is JSON already. */
static inline void rs_json_raw(struct rs_json *json, const char *text)
{
	rs_json_next(json);
	rs_out_text(json->out, text);
}

static inline void rs_json_null(struct rs_json *json)
{
	rs_json_raw(json, "null");
}

static inline void rs_json_bool(struct rs_json *json, bool value)
{
	rs_json_raw(json, value ? "true" : "false");
}

static inline void rs_json_unsigned(struct rs_json *json, uint64_t value)
{
	rs_json_next(json);
	rs_out_dec(json->out, value);
}

static inline void rs_json_signed(struct rs_json *json, int64_t value)
{
	rs_json_next(json);
	rs_out_signed(json->out, value);
}

/* Writes a number, or null if it is below 0, which means unknown. */
static inline void rs_json_known(struct rs_json *json, int value)
{
	if (value < 0)
		rs_json_null(json);
	else
		rs_json_unsigned(json, (uint64_t)value);
}

/* Writes a string, or null for NULL. */
static inline void rs_json_text(struct rs_json *json, const char *text)
{
	if (text)
		rs_json_bytes(json, text, strlen(text));
	else
		rs_json_null(json);
}

/* Writes a number in hexadecimal, always as a string, "0x...". */
void rs_json_hex(struct rs_json *json, uint64_t value);

/* Writes a real number with this number of decimals. */
void rs_json_real(struct rs_json *json, double value, int decimals);

/* Writes a time in seconds, exact to the ns. */
static inline void rs_json_seconds(struct rs_json *json, double value)
{
	rs_json_real(json, value, 9);
}

/* Ends a line of JSON Lines; no comma precedes the next value. */
void rs_json_line_end(struct rs_json *json);

#endif
