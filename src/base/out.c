/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

struct rs_error *rs_out_init(struct rs_out *out, int fd)
{
	*out = (struct rs_out){ .fd = fd, .buffer = malloc(RS_OUT_BYTES + RS_OUT_SLACK) };
	return out->buffer ? NULL : rs_error_no_memory();
}

void rs_out_deinit(struct rs_out *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

void rs_out_write(struct rs_out *out)
{
	size_t done = 0;

	while (done < out->used && !out->error) {
		ssize_t n = write(out->fd, out->buffer + done, out->used - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			out->error = errno;
	}
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

/* How many decimals a value above 0 has. */
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
	/* The number of bits, times log10(2): near enough that one comparison mends it. */
	uint32_t n = (uint32_t)(64 - __builtin_clzll(value)) * 1233 >> 12;

	return n + (value >= tens[n]);
#undef E6
#undef E12
}

#define E8 RS_OUT_E8

/* A value below 10^8 as eight digits, the first in the lowest byte: all of them at once. */
static inline uint64_t eight_digits(uint32_t value)
{
	/* two halves of four digits, then pairs, then digits: x/100 and x/10 by multiplication,
	 * which is exact for what there can be */
	uint64_t x = value / 10000 | (uint64_t)(value % 10000) << 32, above;

	above = x * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
	x = above | (x - above * 100) << 16;
	above = x * 103 >> 10 & UINT64_C(0x000f000f000f000f);
	x = above | (x - above * 10) << 8;
	return x | UINT64_C(0x3030303030303030);
}

/* The same of 32 bits, in hexadecimal. */
static inline uint64_t eight_nibbles(uint32_t value)
{
	uint64_t x = value, letters;

	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = __builtin_bswap64(x);
	letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return x + UINT64_C(0x3030303030303030) + letters * ('a' - '9' - 1);
}

/* The last n of eight. */
static inline void put_last(struct rs_out *out, uint64_t eight, uint32_t n)
{
	eight >>= 64 - 8 * n;
	memcpy(out->buffer + out->used, &eight, sizeof(eight));
	out->used += n;
}

void rs_out_dec_long(struct rs_out *out, uint64_t value)
{
	if (value >= E8) {
		rs_out_dec(out, value / E8);
		put_last(out, eight_digits((uint32_t)(value % E8)), 8);
	} else {
		put_last(out, eight_digits((uint32_t)value), decimals_of(value));
	}
}

void rs_out_eight(struct rs_out *out, uint32_t value)
{
	put_last(out, eight_digits(value), 8);
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
	if (n == 1) { /* many are */
		rs_out_char(out, "0123456789abcdef"[value]);
		return;
	}
	rs_out_hex_digits(out, value, n);
}

void rs_out_hex_digits(struct rs_out *out, uint64_t value, uint32_t least)
{
	uint32_t n = (uint32_t)(67 - __builtin_clzll(value | 1)) / 4;

	n = n < least ? least : n;
	if (n > 8) {
		put_last(out, eight_nibbles((uint32_t)(value >> 32)), n - 8);
		n = 8;
	}
	put_last(out, eight_nibbles((uint32_t)value), n);
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
	put_last(out, eight_digits(rest % E8), 8);
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
