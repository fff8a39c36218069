/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of log rings in overwrite mode: lines of several elements, in which each byte of a
 * message shows the line's number. */
#ifndef RS_TESTS_LOG_ELEMENT_KIT_H
#define RS_TESTS_LOG_ELEMENT_KIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "event/log_line.h"
#include <ringside/overwrite.h>

/* The letter of which the message of line number seq consists. */
static inline uint8_t kit_letter(uint64_t seq)
{
	return (uint8_t)('a' + seq % 26);
}

/* Puts an element of line number seq, the first or another, with this many bytes. */
static inline void kit_element(struct rs_overwriter *w, uint64_t seq, bool first, uint32_t bytes)
{
	union {
		uint64_t words[RS_LOG_ELEMENT_BYTES / sizeof(uint64_t)];
		char text[RS_LOG_ELEMENT_BYTES];
	} element = { .words = { 0 } };
	int head = 0;

	if (first)
		head = snprintf(element.text, sizeof(element.text),
				"[%lluus][cpu=0][sev=5][seq=%llu]:", (unsigned long long)seq,
				(unsigned long long)seq);
	memset(element.text + head, kit_letter(seq), bytes - (uint32_t)head);
	rs_overwriter_put(w, element.words);
}

#endif
