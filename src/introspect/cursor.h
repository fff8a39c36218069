/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor over DWARF's numbers in untrusted bytes. A read that leaves them gives 0, and sets
 * `failed`, after which all reads give 0; the caller looks at it where a result is used.
 */
#ifndef RS_INTROSPECT_CURSOR_H
#define RS_INTROSPECT_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rs_cursor {
	const uint8_t *at, *end;
	bool failed;
};

static inline uint64_t rs_cursor_left(const struct rs_cursor *c)
{
	return (uint64_t)(c->end - c->at);
}

/* Returns n bytes in place and goes behind them, or NULL. */
static inline const uint8_t *rs_cursor_bytes(struct rs_cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;

	if (c->failed || n > rs_cursor_left(c)) {
		c->failed = true;
		return NULL;
	}
	c->at += n;
	return at;
}

/* Returns the number in the next n bytes, 1 to 8. */
static inline uint64_t rs_cursor_uint(struct rs_cursor *c, uint32_t n)
{
	const uint8_t *at = rs_cursor_bytes(c, n);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, n);
	return value;
}

static inline int64_t rs_cursor_int(struct rs_cursor *c, uint32_t n)
{
	uint32_t unused = 64 - 8 * n;

	return (int64_t)(rs_cursor_uint(c, n) << unused) >> unused;
}

/* LEB128: DWARF 5 section 7.6. Bits above 64 are lost, as they are in what else reads it. */
static inline uint64_t rs_cursor_uleb(struct rs_cursor *c)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)rs_cursor_uint(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t rs_cursor_sleb(struct rs_cursor *c)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)rs_cursor_uint(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (byte & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* Returns a text up to its NUL, and goes behind it, or NULL. */
static inline const char *rs_cursor_text(struct rs_cursor *c)
{
	const uint8_t *nul = c->failed ? NULL : memchr(c->at, 0, rs_cursor_left(c));

	if (!nul) {
		c->failed = true;
		return NULL;
	}
	return (const char *)rs_cursor_bytes(c, (uint64_t)(nul - c->at) + 1);
}

#endif
