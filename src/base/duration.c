/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses and formats durations such as "12.3us". */
#include "base/duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },	     { "us", 1000 },	   { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

const char *rs_duration_text(uint64_t ns, char text[RS_DURATION_TEXT_MAX])
{
	const char *unit = "us";
	double value = (double)ns / 1e3;

	if (ns < 1000) {
		snprintf(text, RS_DURATION_TEXT_MAX, ns ? "%" PRIu64 "ns" : "%" PRIu64, ns);
		return text;
	}
	/* 999.5 and more would be printed as 1000. */
	if (value >= 999.5) {
		value /= 1e3;
		unit = "ms";
	}
	if (value >= 999.5) {
		value /= 1e3;
		unit = "s";
	}
	snprintf(text, RS_DURATION_TEXT_MAX, "%.*f%s",
		 value < 9.995	 ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, unit);
	return text;
}

struct rs_error *rs_duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	double value;
	char *end;

	/* strtod() takes more than we want: "inf", "nan", hexadecimal, signs, blanks. */
	if (!isdigit((unsigned char)text[0]) || !strncasecmp(text, "0x", 2))
		return rs_error_create(RS_USAGE, "'%s' is no duration: say 500us, 1ms, 2s", text);
	value = strtod(text, &end);
	for (size_t i = 0; *end && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(end, units[i].name)) {
			unit_ns = units[i].ns;
			end += strlen(end);
		}
	}
	if (*end)
		return rs_error_create(RS_USAGE,
				       "'%s': after the number comes ns, us, ms, s, m or h, not "
				       "'%s'",
				       text, end);
	if (value * (double)unit_ns >= 9.2e18)
		return rs_error_create(RS_USAGE, "'%s' is longer than can be counted", text);
	*ns = (uint64_t)(value * (double)unit_ns + 0.5);
	return NULL;
}
