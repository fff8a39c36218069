/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that come from elsewhere, made fit to print. */
#ifndef RS_BASE_UTF8_H
#define RS_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the printable UTF-8 sequence (RFC 3629, no controls) at text; 0 if there is none. */
size_t rs_utf8_len(const char *text, size_t left);

/* Returns the bytes of the UTF-8 sequence (RFC 3629) at text, controls included; 0: none. */
size_t rs_utf8_sequence_len(const char *text, size_t left);

/* Puts '?' in the place of each byte that is part of none. */
void rs_utf8_mend(char *text, size_t len);

/*
 * Escapes `text` for a terminal: each byte that is no printable UTF-8, but newlines and tabs,
 * becomes \xHH. Writes at most `room` bytes to `to`, at least 4. Returns the bytes written, and in
 * *used the bytes of `text` that they stand for.
 */
size_t rs_utf8_escape(const char *text, size_t len, char *to, size_t room, size_t *used);

#endif
