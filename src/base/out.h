/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered text output, for millions of lines a second, so numbers and texts are written directly
 * to the buffer. After an error, nothing more is written; rs_out_flush() returns the error.
 */
#ifndef RS_BASE_OUT_H
#define RS_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ringside/error.h>

#include "base/digits.h"

#define RS_OUT_BYTES (64u << 10) /* as a pipe; malloc() maps blocks above 128 KiB each time */
#define RS_OUT_LINE  (8u << 10)	 /* room that rs_out_line() guarantees */
#define RS_OUT_SHORT 255u	 /* a longer text reserves its own room */
#define RS_OUT_SLACK 64u	 /* bytes after the buffer that calls may overwrite */

struct rs_out {
	int fd;						       /* unused with put() */
	void (*put)(void *ctx, const char *bytes, size_t len); /* replaces fd */
	void *ctx;
	int error;     /* errno of the first write that failed */
	bool terminal; /* fd is a terminal: control characters are written as \xHH */
	size_t used;
	char *buffer;
};

struct rs_error *rs_out_init(struct rs_out *out, int fd);
/* Initializes an output with a buffer that put() receives. The caller sets ctx, and flushes before
 * changing it. */
struct rs_error *rs_out_init_put(struct rs_out *out,
				 void (*put)(void *ctx, const char *bytes, size_t len));
void rs_out_deinit(struct rs_out *out);

/* Writes the buffered text. */
struct rs_error *rs_out_flush(struct rs_out *out);

/* Writes the buffered text and frees the buffer. Consumes err, and returns it, or else the error of
 * the output. */
struct rs_error *rs_out_end(struct rs_out *out, struct rs_error *err);

/* Writes the buffer. rs_out_flush() reports a failure. */
void rs_out_write(struct rs_out *out);

/* Reserves room for RS_OUT_LINE bytes, which the calls below use without a check. */
static inline void rs_out_line(struct rs_out *out)
{
	if (RS_OUT_BYTES - out->used < RS_OUT_LINE)
		rs_out_write(out);
}

static inline void rs_out_char(struct rs_out *out, char c)
{
	out->buffer[out->used++] = c;
}

/* Writes len bytes, in total at most RS_OUT_LINE since the last rs_out_line(). */
static inline void rs_out_bytes(struct rs_out *out, const char *text, size_t len)
{
	memcpy(out->buffer + out->used, text, len);
	out->used += len;
}

/* As rs_out_put(), for a short text with at least RS_OUT_PIECE readable bytes, because a copy of a
 * constant size needs no call. */
#define RS_OUT_PIECE 32u
static inline void rs_out_piece(struct rs_out *out, const char *text, size_t len)
{
	if (__builtin_expect(len <= RS_OUT_PIECE, 1))
		memcpy(out->buffer + out->used, text, RS_OUT_PIECE);
	else
		memcpy(out->buffer + out->used, text, len);
	out->used += len;
}

/* Writes a text of any length; one longer than RS_OUT_SHORT is written in pieces, with
 * rs_out_line(). */
void rs_out_long(struct rs_out *out, const char *text, size_t len);

static inline void rs_out_text(struct rs_out *out, const char *text)
{
	size_t len = strlen(text);

	if (__builtin_expect(len <= RS_OUT_SHORT, 1))
		rs_out_bytes(out, text, len);
	else
		rs_out_long(out, text, len);
}

/* The part of rs_out_unsigned() for more than one digit. */
void rs_out_dec_long(struct rs_out *out, uint64_t value);

static inline void rs_out_dec(struct rs_out *out, uint64_t value)
{
	if (value < 10)
		rs_out_char(out, (char)('0' + value));
	else
		rs_out_dec_long(out, value);
}

void rs_out_signed(struct rs_out *out, int64_t value);
void rs_out_hex(struct rs_out *out, uint64_t value); /* with 0x */
/* Writes hexadecimal digits without 0x, at least this many, 1 to 16. */
void rs_out_hex_digits(struct rs_out *out, uint64_t value, uint32_t least);

/* Writes ns as seconds with nine decimals. */
void rs_out_seconds(struct rs_out *out, int64_t ns);

/* Writes a text in quotes, with '"' and '\\' escaped, and bytes that are not printable UTF-8 as
 * \xHH. Reserves its own room. Writes at most `most` bytes of the text. */
void rs_out_quoted(struct rs_out *out, const char *text, size_t len, size_t most);

/*
 * Returns the position for a line with a known greatest length, at most RS_OUT_BYTES. Each call
 * below returns the position after its output, and rs_out_upto() receives the line's end.
 */
static inline char *rs_out_at(struct rs_out *out, size_t most)
{
	if (RS_OUT_BYTES - out->used < most)
		rs_out_write(out);
	return out->buffer + out->used;
}

static inline void rs_out_upto(struct rs_out *out, const char *at)
{
	out->used = (size_t)(at - out->buffer);
}

/* As rs_out_piece(). */
static inline char *rs_at_piece(char *at, const char *text, size_t len)
{
	if (__builtin_expect(len <= RS_OUT_PIECE, 1))
		memcpy(at, text, RS_OUT_PIECE);
	else
		memcpy(at, text, len);
	return at + len;
}

char *rs_at_dec_long(char *at, uint64_t value);
char *rs_at_hex_digits(char *at, uint64_t value, uint32_t least);

static inline char *rs_at_dec(char *at, uint64_t value)
{
	if (value >= 10)
		return rs_at_dec_long(at, value);
	*at = (char)('0' + value);
	return at + 1;
}

/* Writes all eight decimals of a value below 10^8, as the lower part of a larger value. */
#define RS_OUT_E8 100000000u
static inline char *rs_at_eight(char *at, uint32_t value)
{
	uint64_t eight = rs_eight_digits(value);

	memcpy(at, &eight, sizeof(eight));
	return at + sizeof(eight);
}

/* As %08llx. */
static inline char *rs_at_hex_eight(char *at, uint64_t value)
{
	uint64_t eight = rs_eight_nibbles((uint32_t)value);

	if (__builtin_expect(value > UINT32_MAX, 0))
		return rs_at_hex_digits(at, value, 8);
	memcpy(at, &eight, sizeof(eight));
	return at + sizeof(eight);
}

#endif
