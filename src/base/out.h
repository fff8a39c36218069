/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text output, buffered: built for millions of lines a second, so numbers and texts go straight
 * into the buffer. After an error nothing more is written; rs_out_flush() returns the error.
 */
#ifndef RS_BASE_OUT_H
#define RS_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ringside/error.h>

#include "base/digits.h"

#define RS_OUT_BYTES (64u << 10) /* as a pipe holds; malloc() has more than 128 KiB mapped anew */
#define RS_OUT_LINE  (8u << 10)	 /* room that rs_out_line() makes sure of */
#define RS_OUT_SHORT 255u	 /* a longer text reserves its own room */
#define RS_OUT_SLACK 64u	 /* bytes behind the buffer that may be written, and mean nothing */

struct rs_out {
	int fd;						       /* not used if there is put() */
	void (*put)(void *ctx, const char *bytes, size_t len); /* takes the buffer, into memory */
	void *ctx;
	int error;     /* errno of the first write that failed */
	bool terminal; /* fd is one: it gets control characters as \xHH, whatever prints them */
	size_t used;
	char *buffer;
};

struct rs_error *rs_out_init(struct rs_out *out, int fd);
/* Makes an output whose buffer goes to put(). The caller sets ctx, and writes before it changes. */
struct rs_error *rs_out_init_put(struct rs_out *out,
				 void (*put)(void *ctx, const char *bytes, size_t len));
void rs_out_deinit(struct rs_out *out);

/* Writes what there is. */
struct rs_error *rs_out_flush(struct rs_out *out);

/* Writes what there is, and frees. err, which is taken, or else what went wrong with writing. */
struct rs_error *rs_out_end(struct rs_out *out, struct rs_error *err);

/* Writes the buffer. rs_out_flush() reports a failure. */
void rs_out_write(struct rs_out *out);

/* Makes room for RS_OUT_LINE bytes, which the calls below take without asking. */
static inline void rs_out_line(struct rs_out *out)
{
	if (RS_OUT_BYTES - out->used < RS_OUT_LINE)
		rs_out_write(out);
}

static inline void rs_out_char(struct rs_out *out, char c)
{
	out->buffer[out->used++] = c;
}

/* len bytes, at most RS_OUT_LINE since the last rs_out_line(). */
static inline void rs_out_bytes(struct rs_out *out, const char *text, size_t len)
{
	memcpy(out->buffer + out->used, text, len);
	out->used += len;
}

/* The same of a short text, of which RS_OUT_PIECE bytes can be read whatever its length is: a
 * copy of a known size needs no call. */
#define RS_OUT_PIECE 32u
static inline void rs_out_piece(struct rs_out *out, const char *text, size_t len)
{
	if (__builtin_expect(len <= RS_OUT_PIECE, 1))
		memcpy(out->buffer + out->used, text, RS_OUT_PIECE);
	else
		memcpy(out->buffer + out->used, text, len);
	out->used += len;
}

/* A text of any length: what is longer than RS_OUT_SHORT goes out in pieces, with rs_out_line(). */
void rs_out_long(struct rs_out *out, const char *text, size_t len);

static inline void rs_out_text(struct rs_out *out, const char *text)
{
	size_t len = strlen(text);

	if (__builtin_expect(len <= RS_OUT_SHORT, 1))
		rs_out_bytes(out, text, len);
	else
		rs_out_long(out, text, len);
}

/* Its part that has more than one digit. */
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
/* Without, and of so many digits at least, 1 to 16. */
void rs_out_hex_digits(struct rs_out *out, uint64_t value, uint32_t least);

/* ns as seconds with nine decimals. */
void rs_out_seconds(struct rs_out *out, int64_t ns);

/* A text in quotes, its '"' and '\\' escaped, what is not printable UTF-8 as \xHH. Takes room by
 * itself; no more than most bytes of it. */
void rs_out_quoted(struct rs_out *out, const char *text, size_t len, size_t most);

/*
 * For a line whose greatest length is known, at most RS_OUT_BYTES: where it goes. Each call below
 * gives the place behind what it wrote, and rs_out_upto() takes the line's end.
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

/* All eight decimals of a value below 10^8: what follows the others of a larger one. */
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
