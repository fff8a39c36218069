/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor that reads DWARF's numbers from untrusted bytes. A read beyond the end returns 0 and
 * sets `failed`; all later reads return 0. The caller checks `failed` before it uses a result.
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

/* Returns a pointer to the next n bytes and moves past them, or returns NULL. */
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

/* Reads a number in LEB128 (DWARF 5 section 7.6). Sets *sign to the bits above the number that the
 * signed format sets if its last bit is set. Bits above 64 are lost, as in other readers. */
static inline uint64_t rs_cursor_leb(struct rs_cursor *c, uint64_t *sign)
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
	*sign = byte & 0x40 && shift < 64 ? UINT64_MAX << shift : 0;
	return value;
}

static inline uint64_t rs_cursor_uleb(struct rs_cursor *c)
{
	uint64_t sign;

	return rs_cursor_leb(c, &sign);
}

static inline int64_t rs_cursor_sleb(struct rs_cursor *c)
{
	uint64_t sign, value = rs_cursor_leb(c, &sign);

	return (int64_t)(value | sign);
}

/* Returns a text up to its NUL, and moves past it, or returns NULL. */
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
