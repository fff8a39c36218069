/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts with their nouns in messages: "1 vCPU", "2 vCPUs", "0 entries". */
#ifndef RS_BASE_COUNT_H
#define RS_BASE_COUNT_H

#include <stdint.h>

#define RS_COUNT_TEXT_MAX 64

/* Writes n and the noun to text. The noun is given in the singular. Returns text. */
const char *rs_count_text(uint64_t n, const char *noun, char text[RS_COUNT_TEXT_MAX]);

/* For an argument of printf(). The text lasts until the end of the enclosing block. */
#define RS_COUNT_OF(n, noun) rs_count_text(n, noun, (char[RS_COUNT_TEXT_MAX]){ 0 })

/* "1 argument", "1 to 3 arguments". */
const char *rs_count_range_text(uint64_t least, uint64_t most, const char *noun,
				char text[RS_COUNT_TEXT_MAX]);
#define RS_COUNT_RANGE(least, most, noun)                                                          \
	rs_count_range_text(least, most, noun, (char[RS_COUNT_TEXT_MAX]){ 0 })

/* The form of a verb after a count. */
#define RS_COUNT_WERE(n) ((n) == 1 ? "was" : "were")

#endif
