/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes untrusted text printable. */
#ifndef RS_BASE_UTF8_H
#define RS_BASE_UTF8_H

#include <stddef.h>

/* Whether a byte of valid UTF-8 begins a character. */
#define RS_UTF8_BEGINS(byte) (((byte)&0xc0) != 0x80)

/* Returns the length of the printable UTF-8 sequence (RFC 3629, no controls) at text, or 0 if there
 * is none. */
size_t rs_utf8_len(const char *text, size_t left);

/* Returns the length of the UTF-8 sequence (RFC 3629) at text, including controls, or 0 if there is
 * none. */
size_t rs_utf8_sequence_len(const char *text, size_t left);

/* Returns the number of characters of valid UTF-8. */
size_t rs_utf8_characters(const char *text);

/* Replaces each byte that is not part of a sequence with '?'. */
void rs_utf8_mend(char *text, size_t len);

/*
 * Escapes `text` for a terminal: each byte that is not printable UTF-8, except newlines and tabs,
 * becomes \xHH. Writes at most `room` bytes to `to`, at least 4. Returns the number of bytes
 * written, and sets *used to the number of escaped bytes of `text`.
 */
size_t rs_utf8_escape(const char *text, size_t len, char *to, size_t room, size_t *used);

#endif
