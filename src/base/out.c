/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffered text output with its own number formatting. */
#include "base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

static struct rs_error *buffer_make(struct rs_out *out)
{
	out->buffer = malloc(RS_OUT_BYTES + RS_OUT_SLACK);
	return out->buffer ? NULL : rs_error_no_memory();
}

struct rs_error *rs_out_init(struct rs_out *out, int fd)
{
	*out = (struct rs_out){ .fd = fd, .terminal = isatty(fd) };
	return buffer_make(out);
}

struct rs_error *rs_out_init_put(struct rs_out *out,
				 void (*put)(void *ctx, const char *bytes, size_t len))
{
	*out = (struct rs_out){ .fd = -1, .put = put };
	return buffer_make(out);
}

void rs_out_deinit(struct rs_out *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

static void write_bytes(struct rs_out *out, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len && !out->error) {
		ssize_t n = write(out->fd, bytes + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			out->error = errno;
	}
}

static void write_escaped(struct rs_out *out)
{
	char escaped[4096];

	for (size_t at = 0, used; at < out->used && !out->error; at += used) {
		size_t n = rs_utf8_escape(out->buffer + at, out->used - at, escaped,
					  sizeof(escaped), &used);

		write_bytes(out, escaped, n);
	}
}

void rs_out_write(struct rs_out *out)
{
	if (out->put)
		out->put(out->ctx, out->buffer, out->used);
	else if (out->terminal)
		write_escaped(out);
	else
		write_bytes(out, out->buffer, out->used);
	out->used = 0;
}

struct rs_error *rs_out_flush(struct rs_out *out)
{
	rs_out_write(out);
	return out->error ? rs_error_errno(out->error, "writing") : NULL;
}

struct rs_error *rs_out_end(struct rs_out *out, struct rs_error *err)
{
	err = rs_error_first(err, rs_out_flush(out));
	rs_out_deinit(out);
	return err;
}

void rs_out_long(struct rs_out *out, const char *text, size_t len)
{
	while (len) {
		size_t n = len < RS_OUT_LINE ? len : RS_OUT_LINE;

		rs_out_line(out);
		rs_out_bytes(out, text, n);
		text += n;
		len -= n;
	}
	rs_out_line(out);
}

/* Returns the number of decimal digits of a value above 0. */
static uint32_t decimals_of(uint64_t value)
{
#define E6  UINT64_C(1000000)
#define E12 (E6 * E6)
	static const uint64_t tens[20] = {
		0,	    10,		 100,	       1000,	 10000,
		100000,	    E6,		 E6 * 10,      E6 * 100, E6 * 1000,
		E6 * 10000, E6 * 100000, E12,	       E12 * 10, E12 * 100,
		E12 * 1000, E12 * 10000, E12 * 100000, E12 * E6, E12 * E6 * 10,
	};
	/* The number of bits times log10(2) is exact or one too small. */
	uint32_t n = (uint32_t)(64 - __builtin_clzll(value)) * 1233 >> 12;

	return n + (value >= tens[n]);
#undef E6
#undef E12
}

#define E8 RS_OUT_E8

/* Writes the last n of eight digits. */
static inline char *last_at(char *at, uint64_t eight, uint32_t n)
{
	eight >>= 64 - 8 * n;
	memcpy(at, &eight, sizeof(eight));
	return at + n;
}

static inline char *dec_at(char *at, uint64_t value)
{
	if (value < E8)
		return last_at(at, rs_eight_digits((uint32_t)value), decimals_of(value));
	at = rs_at_dec(at, value / E8);
	return rs_at_eight(at, (uint32_t)(value % E8));
}

char *rs_at_dec_long(char *at, uint64_t value)
{
	return dec_at(at, value);
}

void rs_out_dec_long(struct rs_out *out, uint64_t value)
{
	rs_out_upto(out, dec_at(out->buffer + out->used, value));
}

void rs_out_signed(struct rs_out *out, int64_t value)
{
	if (value < 0)
		rs_out_char(out, '-');
	rs_out_dec(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void rs_out_hex(struct rs_out *out, uint64_t value)
{
	uint32_t n = (uint32_t)(67 - __builtin_clzll(value | 1)) / 4;

	memcpy(out->buffer + out->used, "0x", 2);
	out->used += 2;
	if (n == 1) { /* most are a single digit */
		rs_out_char(out, "0123456789abcdef"[value]);
		return;
	}
	rs_out_hex_digits(out, value, n);
}

static inline char *hex_at(char *at, uint64_t value, uint32_t least)
{
	uint32_t n = (uint32_t)(67 - __builtin_clzll(value | 1)) / 4;

	n = n < least ? least : n;
	if (n > 8) {
		at = last_at(at, rs_eight_nibbles((uint32_t)(value >> 32)), n - 8);
		n = 8;
	}
	return last_at(at, rs_eight_nibbles((uint32_t)value), n);
}

char *rs_at_hex_digits(char *at, uint64_t value, uint32_t least)
{
	return hex_at(at, value, least);
}

void rs_out_hex_digits(struct rs_out *out, uint64_t value, uint32_t least)
{
	rs_out_upto(out, hex_at(out->buffer + out->used, value, least));
}

void rs_out_seconds(struct rs_out *out, int64_t ns)
{
	uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint32_t rest = (uint32_t)(value % 1000000000);

	if (ns < 0)
		rs_out_char(out, '-');
	rs_out_dec(out, value / 1000000000);
	rs_out_char(out, '.');
	rs_out_char(out, (char)('0' + rest / E8));
	rs_at_eight(out->buffer + out->used, rest % E8);
	out->used += 8;
}

void rs_out_quoted(struct rs_out *out, const char *text, size_t len, size_t most)
{
	bool cut = len > most;

	if (cut)
		len = most;
	rs_out_line(out);
	rs_out_char(out, '"');
	for (size_t at = 0; at < len;) {
		size_t good = rs_utf8_len(text + at, len - at);

		if (RS_OUT_BYTES - out->used < 8)
			rs_out_line(out);
		if (!good) {
			static const char hex[] = "0123456789abcdef";
			unsigned char c = (unsigned char)text[at++];

			rs_out_text(out, "\\x");
			rs_out_char(out, hex[c >> 4]);
			rs_out_char(out, hex[c & 15]);
			continue;
		}
		if (text[at] == '"' || text[at] == '\\')
			rs_out_char(out, '\\');
		rs_out_bytes(out, text + at, good);
		at += good;
	}
	rs_out_text(out, cut ? "\"..." : "\"");
	rs_out_line(out);
}
