/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/out.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

static const char digits[] = "00010203040506070809101112131415161718192021222324"
			     "25262728293031323334353637383940414243444546474849"
			     "50515253545556575859606162636465666768697071727374"
			     "75767778798081828384858687888990919293949596979899";

struct rs_error *rs_out_init(struct rs_out *out, int fd)
{
	*out = (struct rs_out){ .fd = fd, .buffer = malloc(RS_OUT_BYTES) };
	return out->buffer ? NULL : rs_error_no_memory();
}

void rs_out_deinit(struct rs_out *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

static void write_all(struct rs_out *out)
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
	write_all(out);
	return out->error ? rs_error_errno(out->error, "writing") : NULL;
}

struct rs_error *rs_out_end(struct rs_out *out, struct rs_error *err)
{
	err = rs_error_first(err, rs_out_flush(out));
	rs_out_deinit(out);
	return err;
}

void rs_out_line(struct rs_out *out)
{
	if (RS_OUT_BYTES - out->used < RS_OUT_LINE)
		write_all(out);
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

void rs_out_dec(struct rs_out *out, uint64_t value)
{
	uint32_t n, rest;
	char *end;

	if (value < 10) {
		rs_out_char(out, (char)('0' + value));
		return;
	}
	n = decimals_of(value);
	end = out->buffer + out->used + n;
	out->used += n;
	for (; value > UINT32_MAX; value /= 100) {
		end -= 2;
		memcpy(end, digits + value % 100 * 2, 2);
	}
	/* What fits is divided with half as many bits, which is faster. */
	for (rest = (uint32_t)value; rest >= 100; rest /= 100) {
		end -= 2;
		memcpy(end, digits + rest % 100 * 2, 2);
	}
	if (rest >= 10)
		memcpy(end - 2, digits + rest * 2, 2);
	else
		end[-1] = (char)('0' + rest);
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
	char *at = out->buffer + out->used, *end = at + 2 + n;

	out->used += 2 + n;
	memcpy(at, "0x", 2);
	do {
		*--end = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
}

void rs_out_seconds(struct rs_out *out, int64_t ns)
{
	uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t whole = value / 1000000000;
	uint32_t rest = (uint32_t)(value % 1000000000);
	char decimals[10];

	if (ns < 0)
		rs_out_char(out, '-');
	rs_out_dec(out, whole);
	decimals[0] = '.';
	decimals[9] = (char)('0' + rest % 10);
	rest /= 10;
	for (int i = 7; i > 0; i -= 2) {
		memcpy(decimals + i, digits + rest % 100 * 2, 2);
		rest /= 100;
	}
	rs_out_bytes(out, decimals, sizeof(decimals));
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
