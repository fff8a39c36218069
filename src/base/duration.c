/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses and formats durations such as "12.3us". */
#include "base/duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	uint64_t is;
};

static const struct unit times[] = {
	{ "ns", 1 },	     { "us", 1000 },	   { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

static const struct unit frequencies[] = {
	{ "Hz", 1 },
	{ "kHz", 1000 },
	{ "MHz", 1000000 },
	{ "GHz", 1000000000 },
};

const char *rs_duration_text(uint64_t ns, char text[RS_DURATION_TEXT_MAX])
{
	const char *unit = "us";
	double value = (double)ns / 1e3;

	if (ns < 1000) {
		snprintf(text, RS_DURATION_TEXT_MAX, ns ? "%" PRIu64 "ns" : "%" PRIu64, ns);
		return text;
	}
	/* 999.5 and more would be rounded to 1000. */
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

const char *rs_duration_exact(uint64_t ns, char text[RS_DURATION_TEXT_MAX])
{
	const struct unit *unit = &times[0];

	for (size_t i = 1; i < sizeof(times) / sizeof(times[0]) && ns; i++)
		unit = ns % times[i].is ? unit : &times[i];
	snprintf(text, RS_DURATION_TEXT_MAX, "%" PRIu64 "%s", ns / unit->is, unit->name);
	return text;
}

/* Parses the number at a text's start. Returns the text after it, or NULL if there is no number.
 * strtod() also accepts "inf", "nan", hexadecimal, signs and blanks. */
static const char *number(const char *text, double *value)
{
	const char *digit = text + (*text == '.');
	char *end;

	if (!isdigit((unsigned char)*digit) || !strncasecmp(text, "0x", 2))
		return NULL;
	*value = strtod(text, &end);
	return end;
}

/* Finds the unit that a text names among the n units. Returns false if there is none. */
static bool unit_find(const char *text, const struct unit *units, size_t n, bool any_case,
		      uint64_t *is)
{
	for (size_t i = 0; i < n; i++) {
		if (any_case ? !strcasecmp(text, units[i].name) : !strcmp(text, units[i].name)) {
			*is = units[i].is;
			return true;
		}
	}
	return false;
}

struct rs_error *rs_duration_parse(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	double value = 0;
	const char *unit = number(text, &value);

	if (!unit)
		return rs_error_create(RS_USAGE,
				       "'%s' is not a duration: expected a number and "
				       "unit, as in 500us, 1ms or 2s",
				       text);
	if (*unit && !unit_find(unit, times, sizeof(times) / sizeof(times[0]), false, &unit_ns))
		return rs_error_create(RS_USAGE,
				       "'%s': expected ns, us, ms, s, m or h after the number, not "
				       "'%s'",
				       text, unit);
	if (value * (double)unit_ns >= 9.2e18)
		return rs_error_create(RS_USAGE, "'%s' is too long a duration", text);
	*ns = (uint64_t)(value * (double)unit_ns + 0.5);
	return NULL;
}

struct rs_error *rs_frequency_parse(const char *text, uint64_t *hz)
{
	double value = 0;
	const char *unit = number(text, &value);
	uint64_t is = 1;

	if (!unit ||
	    (*unit && !unit_find(unit, frequencies, sizeof(frequencies) / sizeof(frequencies[0]),
				 true, &is)) ||
	    value * (double)is < RS_FREQUENCY_HZ_MIN || value * (double)is > RS_FREQUENCY_HZ_MAX)
		return rs_error_create(RS_USAGE,
				       "'%s': expected a frequency, 1 MHz to 1 THz, as in "
				       "2596125000 or 2.6GHz",
				       text);
	*hz = (uint64_t)(value * (double)is + 0.5);
	return NULL;
}
