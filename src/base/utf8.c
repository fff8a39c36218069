/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and escapes text from untrusted input. */
#include "base/utf8.h"

#include <string.h>

size_t rs_utf8_sequence_len(const char *text, size_t left)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t len = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

	if (len == 1)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return len;
}

size_t rs_utf8_len(const char *text, size_t left)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t len = rs_utf8_sequence_len(text, left);

	if (len == 1 && (c[0] < 0x20 || c[0] == 0x7f))
		return 0;
	if (len == 2 && c[0] == 0xc2 && c[1] < 0xa0) /* the C1 controls */
		return 0;
	return len;
}

size_t rs_utf8_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += RS_UTF8_BEGINS(*text);
	return n;
}

void rs_utf8_mend(char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t good =
			text[at] >= 0x20 && text[at] < 0x7f ? 1 : rs_utf8_len(text + at, len - at);

		if (!good)
			text[at] = '?';
		at += good ? good : 1;
	}
}

size_t rs_utf8_escape(const char *text, size_t len, char *to, size_t room, size_t *used)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0, n = 0;

	while (at < len && room - n >= 4) {
		unsigned char c = (unsigned char)text[at];
		size_t good = c == '\n' || c == '\t' ? 1 : rs_utf8_len(text + at, len - at);

		if (good) {
			memcpy(to + n, text + at, good);
			at += good;
			n += good;
			continue;
		}
		memcpy(to + n, (const char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
		at++;
		n += 4;
	}
	*used = at;
	return n;
}
