/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a count with its noun in the singular or the plural. */
#include "base/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *rs_count_text(uint64_t n, const char *noun, char text[RS_COUNT_TEXT_MAX])
{
	size_t len = strlen(noun), kept = len;
	const char *end = "s";

	if (n == 1) {
		end = "";
	} else if (len > 1 && noun[len - 1] == 'y' && !strchr("aeiou", noun[len - 2])) {
		kept--;
		end = "ies";
	} else if (len > 1 && (strchr("sx", noun[len - 1]) || !strcmp(noun + len - 2, "ch"))) {
		end = "es";
	}
	snprintf(text, RS_COUNT_TEXT_MAX, "%" PRIu64 " %.*s%s", n, (int)kept, noun, end);
	return text;
}

const char *rs_count_range_text(uint64_t least, uint64_t most, const char *noun,
				char text[RS_COUNT_TEXT_MAX])
{
	size_t len = 0;

	if (least != most)
		len = (size_t)snprintf(text, RS_COUNT_TEXT_MAX / 2, "%" PRIu64 " to ", least);
	snprintf(text + len, RS_COUNT_TEXT_MAX - len, "%s", RS_COUNT_OF(most, noun));
	return text;
}
