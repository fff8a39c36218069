/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses one line of a hypervisor's log. */
#include "event/log_line.h"

#include <string.h>
#include <strings.h>

#include "event/catalogue.h"
#include <ringside/log_ring.h>

struct cursor {
	const char *at, *end;
};

static bool skip(struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0)
		return false;
	c->at += n;
	return true;
}

static bool number(struct cursor *c, uint64_t *value)
{
	const char *from = c->at;

	*value = 0;
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *c->at - '0', value))
			return false;
	}
	return c->at > from;
}

/* Reads "[NAME]". A name has any bytes but a closing bracket, and may be empty. */
static bool thread(struct cursor *c, struct rs_log_line *line)
{
	const char *end;

	if (!skip(c, "["))
		return false;
	end = memchr(c->at, ']', (size_t)(c->end - c->at));
	if (!end)
		return false;
	line->thread = c->at;
	line->thread_bytes = (uint32_t)(end - c->at);
	c->at = end + 1;
	return true;
}

/* Reads "[sev=5][seq=17]:". */
static bool level_and_seq(struct cursor *c, struct rs_log_line *line)
{
	uint64_t level;

	if (!skip(c, "[sev=") || !number(c, &level) || level > UINT8_MAX || !skip(c, "][seq=") ||
	    !number(c, &line->seq) || !skip(c, "]:"))
		return false;
	line->level = (uint32_t)level;
	return true;
}

bool rs_log_line_parse(const char *text, size_t bytes, struct rs_log_line *line)
{
	struct cursor c = { text, text + bytes }, head;
	uint64_t cpu;

	*line = (struct rs_log_line){ 0 };
	if (!skip(&c, "[") || !number(&c, &line->us) || !skip(&c, "us][cpu=") ||
	    !number(&c, &cpu) || cpu > UINT16_MAX || !skip(&c, "]"))
		return false;
	line->cpu = (uint32_t)cpu;
	head = c;
	if (!level_and_seq(&c, line)) {
		c = head; /* a thread's name may begin with "sev=", too */
		if (!thread(&c, line) || !level_and_seq(&c, line))
			return false;
	}
	line->message = c.at;
	line->message_bytes = (uint32_t)(c.end - c.at);
	line->cut = line->message_bytes >= sizeof(RS_LOG_CUT) - 1 &&
		    !memcmp(c.end - (sizeof(RS_LOG_CUT) - 1), RS_LOG_CUT, sizeof(RS_LOG_CUT) - 1);
	return true;
}

/* "0 3", or "unknown". */
static bool gap_cpus(struct cursor *c, struct rs_log_gap *gap)
{
	uint64_t cpu;

	if (skip(c, "unknown"))
		return true;
	do {
		if (!number(c, &cpu) || cpu >= RS_LOG_LANES_MAX)
			return false;
		gap->cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	} while (skip(c, " "));
	return true;
}

static bool gap_times(struct cursor *c, struct rs_log_gap *gap)
{
	gap->from_us = gap->to_us = UINT64_MAX;
	if (skip(c, ", between "))
		return number(c, &gap->from_us) && skip(c, "us and ") && number(c, &gap->to_us) &&
		       skip(c, "us") && gap->from_us <= gap->to_us;
	if (skip(c, ", before "))
		return number(c, &gap->to_us) && skip(c, "us");
	if (skip(c, ", after "))
		return number(c, &gap->from_us) && skip(c, "us");
	return true;
}

bool rs_log_gap_parse(const char *text, size_t bytes, struct rs_log_gap *gap)
{
	struct cursor c = { text, text + bytes };
	uint64_t n;

	*gap = (struct rs_log_gap){ 0 };
	if (!skip(&c, "[gap: ") || !number(&c, &n) ||
	    !(skip(&c, " lines are missing, seq ") || skip(&c, " line is missing, seq ")) ||
	    !number(&c, &gap->first) || !skip(&c, " to ") || !number(&c, &gap->last) ||
	    !skip(&c, ", cpu ") || !gap_cpus(&c, gap) || !gap_times(&c, gap))
		return false;
	return skip(&c, "]") && c.at == c.end && n && gap->first && gap->last != UINT64_MAX &&
	       gap->last >= gap->first && gap->last - gap->first == n - 1;
}

const char *rs_log_level_name(uint32_t level)
{
	for (const struct rs_enum *v = rs_catalogue_values("log_level"); v->name; v++) {
		if (v->value == level)
			return v->name;
	}
	return "?";
}

bool rs_log_level_parse(const char *text, uint32_t *level)
{
	if (text[0] >= '0' && text[0] <= '0' + RS_LOG_DEBUG && !text[1]) {
		*level = (uint32_t)(text[0] - '0');
		return true;
	}
	for (const struct rs_enum *v = rs_catalogue_values("log_level"); v->name; v++) {
		if (!strcasecmp(v->name, text)) {
			*level = (uint32_t)v->value;
			return true;
		}
	}
	return false;
}
