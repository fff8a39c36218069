/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the numbers, sizes, times and frequencies of options. */
#include "cli/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"
#include "event/query.h"

#define NS_PER_US   UINT64_C(1000)
#define NS_PER_MS   UINT64_C(1000000)
#define NS_PER_S    UINT64_C(1000000000)
#define POLL_NS_MAX UINT64_C(10000000000)

/* Reads the digits at the start of a text, up to *end. strtoull() would accept blanks and signs. */
static bool digits(const char *text, uint64_t *number, char **end)
{
	bool hex = !strncasecmp(text, "0x", 2) && isxdigit((unsigned char)text[2]);

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*number = strtoull(text, end, hex ? 16 : 10);
	return !errno;
}

bool rs_cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t n;
	char *end;

	if (!digits(text, &n, &end) || *end || n < min || n > max)
		return false;
	*number = n;
	return true;
}

bool rs_cli_read_size(const char *text, uint64_t min, uint64_t max, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	unsigned int shift = 0;
	const char *suffix;
	uint64_t n;
	char *end;

	if (!digits(text, &n, &end))
		return false;
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 + 10 * (unsigned int)(suffix - suffixes);
		end++;
	}
	if (*end || n > max >> shift || n << shift < min)
		return false;
	*bytes = n << shift;
	return true;
}

uint64_t rs_cli_size(const struct argp_state *state, const char *what, const char *text,
		     uint64_t max)
{
	uint64_t bytes = 0;

	if (!rs_cli_read_size(text, 1, INT64_MAX, &bytes))
		argp_error(state, "%s '%s': expected bytes, as in 512K, 4M or 1G", what, text);
	if (bytes > max)
		argp_error(state, "%s '%s' is too large", what, text);
	return bytes;
}

void rs_cli_cpus(const struct argp_state *state, const char *list, struct rs_cpu_set *cpus)
{
	struct rs_error *err = rs_cpu_set_parse(cpus, list);

	if (err)
		argp_error(state, "--cpus: %s", rs_error_text(err));
}

uint64_t rs_cli_time_within(const struct argp_state *state, const char *what, const char *text,
			    uint64_t unit_ns, uint64_t min_ns, uint64_t max_ns)
{
	uint64_t ns = rs_cli_time(state, what, text, unit_ns);
	char min[RS_DURATION_TEXT_MAX], max[RS_DURATION_TEXT_MAX];

	if (ns < min_ns || ns > max_ns)
		argp_error(state, "%s '%s': expected %s to %s", what, text,
			   rs_duration_exact(min_ns, min), rs_duration_exact(max_ns, max));
	return ns;
}

uint64_t rs_cli_poll(const struct argp_state *state, const char *text, uint64_t unit_ns)
{
	return rs_cli_time_within(state, "--poll", text, unit_ns, NS_PER_US, POLL_NS_MAX);
}

uint64_t rs_cli_number(const struct argp_state *state, const char *what, const char *text,
		       uint64_t min, uint64_t max)
{
	uint64_t n = 0;

	if (!rs_cli_read_number(text, min, max, &n))
		argp_error(state, "%s '%s': expected a number from %" PRIu64 " to %" PRIu64, what,
			   text, min, max);
	return n;
}

int rs_cli_int(const struct argp_state *state, const char *what, const char *text, int min)
{
	uint64_t n = 0;

	if (!rs_cli_read_number(text, (uint64_t)min, INT_MAX, &n))
		argp_error(state, "%s '%s': expected a number of at least %d", what, text, min);
	return (int)n;
}

uint64_t rs_cli_time(const struct argp_state *state, const char *what, const char *text,
		     uint64_t unit_ns)
{
	uint64_t ns = 0;
	struct rs_error *err = rs_duration_parse(text, unit_ns, &ns);

	if (err)
		argp_error(state, "%s: %s", what, rs_error_text(err));
	if (!ns)
		argp_error(state, "%s: must be more than 0", what);
	return ns;
}

struct rs_moment rs_cli_moment(const struct argp_state *state, const char *what, const char *text)
{
	struct rs_moment moment = { .ns = 0 };
	struct rs_error *err = rs_moment_parse(text, &moment);

	if (err)
		argp_error(state, "%s: %s", what, rs_error_text(err));
	return moment;
}

uint64_t rs_cli_frequency(const struct argp_state *state, const char *text)
{
	uint64_t hz = 0;
	struct rs_error *err = rs_frequency_parse(text, &hz);

	if (err)
		argp_error(state, "%s", rs_error_text(err));
	return hz;
}

int64_t rs_cli_seconds(const struct argp_state *state, const char *text)
{
	bool negative = *text == '-';
	uint64_t ns = 0;
	struct rs_error *err = rs_duration_parse(text + negative, NS_PER_S, &ns);

	if (err)
		argp_error(state, "'%s': expected a time, as in 1.25 (seconds) or 500ms", text);
	return negative ? -(int64_t)ns : (int64_t)ns;
}

void rs_cli_span(const struct argp_state *state, int64_t from_ns, int64_t to_ns)
{
	if (to_ns <= from_ns)
		argp_error(state, "--to %.9g must be after --from %.9g", (double)to_ns / 1e9,
			   (double)from_ns / 1e9);
}

uint32_t rs_cli_tids(const struct argp_state *state, const char *what, char *list, int *tids,
		     uint32_t n, uint32_t max)
{
	char *rest = NULL;

	for (char *tid = strtok_r(list, ", ", &rest); tid; tid = strtok_r(NULL, ", ", &rest)) {
		if (n == max)
			argp_error(state, "more than %u threads", max);
		tids[n++] = rs_cli_int(state, what, tid, 1);
	}
	if (!n)
		argp_error(state, "%s: no threads given", what);
	return n;
}
