/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as text, two hexadecimal digits each: hashes and build-ids. */
#ifndef RS_BASE_HEX_H
#define RS_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes n bytes as 2n lower-case digits and a NUL. */
static inline void rs_hex_write(char *text, const void *bytes, size_t n)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < n; i++) {
		*text++ = "0123456789abcdef"[byte[i] >> 4];
		*text++ = "0123456789abcdef"[byte[i] & 15];
	}
	*text = '\0';
}

#endif
