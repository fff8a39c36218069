/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares two of QEMU's replay logs event by event. */
#include "replay/rr_compare.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/count.h"

#define SHOWN_BYTES 12u
#define NS_PER_SEC  UINT64_C(1000000000)

enum { KIND_INSTRUCTIONS = 0 };

/* ---- comparing ---------------------------------------------------------------------------- */

static bool same(const struct rs_rr_event *a, const struct rs_rr_event *b)
{
	return a->icount == b->icount && a->kind == b->kind && a->bytes == b->bytes &&
	       !memcmp(a->data, b->data, a->bytes);
}

/* Reads the next event that is not a count of instructions. */
static bool next_event(struct rs_rr_log *log, struct rs_rr_place *place, enum rs_rr_next *ends)
{
	do {
		*ends = rs_rr_log_next(log, &place->event);
	} while (*ends == RS_RR_EVENT && place->event.kind == KIND_INSTRUCTIONS);
	place->is = *ends == RS_RR_EVENT || *ends == RS_RR_END;
	return place->is;
}

/* Reads the next event of one kind. Returns none after the log's end. */
static void next_of(struct rs_rr_log *log, uint8_t kind, struct rs_rr_place *place)
{
	enum rs_rr_next ends = RS_RR_EVENT;

	do {
		if (!next_event(log, place, &ends))
			return;
	} while (place->event.kind != kind && ends != RS_RR_END);
	place->is = place->event.kind == kind;
}

static void compare_kind(struct rs_rr_log logs[2], uint8_t kind, struct rs_rr_kind_compared *k)
{
	uint64_t most = k->n[0] > k->n[1] ? k->n[0] : k->n[1];

	for (k->at = 0; k->at < most; k->at++) {
		next_of(&logs[0], kind, &k->first[0]);
		next_of(&logs[1], kind, &k->first[1]);
		k->differs = k->first[0].is != k->first[1].is ||
			     !same(&k->first[0].event, &k->first[1].event);
		if (k->differs)
			return;
	}
}

/* Compares the events in the order of the logs, and finds the first difference. */
static void compare_order(struct rs_rr_log logs[2], struct rs_rr_compared *c)
{
	bool more = true;

	while (more) {
		bool one = next_event(&logs[0], &c->first[0], &c->ends[0]);
		bool other = next_event(&logs[1], &c->first[1], &c->ends[1]);

		c->differs = one != other || (one && !same(&c->first[0].event, &c->first[1].event));
		more = one && other && !c->differs && c->ends[0] == RS_RR_EVENT;
	}
}

static struct rs_error *count(struct rs_rr_log log, uint32_t which, struct rs_rr_compared *c,
			      uint64_t *icount)
{
	struct rs_rr_place place;

	c->ends[which] = RS_RR_EVENT;
	while (c->ends[which] == RS_RR_EVENT && next_event(&log, &place, &c->ends[which])) {
		c->n[which]++;
		c->kinds[place.event.kind].n[which]++;
	}
	*icount = log.icount;
	return c->ends[which] == RS_RR_UNKNOWN
		       ? rs_error_create(RS_DAMAGED, "unknown event at 0x%zx", log.at)
		       : NULL;
}

struct rs_error *rs_rr_compare(const uint8_t *const bytes[2], const size_t size[2],
			       struct rs_rr_compared *c)
{
	struct rs_rr_log logs[2], copies[2];
	enum rs_rr_next ends[2];
	uint64_t last[2] = { 0 };
	struct rs_error *err = NULL;

	*c = (struct rs_rr_compared){ .differs = false };
	for (uint32_t i = 0; !err && i < 2; i++) {
		err = rs_rr_log_begin(bytes[i], size[i], &logs[i]);
		if (!err)
			err = count(logs[i], i, c, &last[i]);
	}
	if (err)
		return err;
	memcpy(ends, c->ends, sizeof(ends));
	memcpy(copies, logs, sizeof(logs));
	compare_order(copies, c);
	memcpy(c->ends, ends, sizeof(ends));
	c->icount = last[0] < last[1] ? last[0] : last[1];
	for (int i = 0; c->differs && i < 2; i++)
		if (c->first[i].is && c->first[i].event.icount < c->icount)
			c->icount = c->first[i].event.icount;
	for (uint32_t kind = 0; kind < RS_RR_KINDS; kind++) {
		if (!c->kinds[kind].n[0] && !c->kinds[kind].n[1])
			continue;
		memcpy(copies, logs, sizeof(logs));
		compare_kind(copies, (uint8_t)kind, &c->kinds[kind]);
	}
	return NULL;
}

uint32_t rs_rr_between(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		       struct rs_rr_event *events, uint32_t max)
{
	enum rs_rr_next ends = RS_RR_EVENT;
	struct rs_rr_place place;
	struct rs_rr_log log;
	struct rs_error *err = rs_rr_log_begin(bytes, size, &log);
	uint32_t n = 0;

	if (err) {
		rs_error_free(err);
		return 0;
	}
	while (ends != RS_RR_END && next_event(&log, &place, &ends) && place.event.icount <= to) {
		if (place.event.icount < from)
			continue;
		if (n < max)
			events[n] = place.event;
		n++;
	}
	return n;
}

/* ---- as text ------------------------------------------------------------------------------ */

static uint64_t be64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static bool is(const struct rs_rr_event *event, const char *kind)
{
	return !strcmp(rs_rr_kind_text(event->kind), kind);
}

static void time_text(uint64_t ns, char text[RS_RR_TEXT_BYTES])
{
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char day[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(text, RS_RR_TEXT_BYTES, "%s.%09" PRIu64, day, ns % NS_PER_SEC);
}

static void bytes_text(const struct rs_rr_event *event, size_t from, bool letters,
		       char text[RS_RR_TEXT_BYTES])
{
	size_t n = event->bytes - from, shown = n < SHOWN_BYTES ? n : SHOWN_BYTES, at = 0;

	for (size_t i = 0; i < shown; i++) {
		uint8_t c = event->data[from + i];

		if (letters && isprint(c))
			at += (size_t)snprintf(text + at, RS_RR_TEXT_BYTES - at, "%c", c);
		else
			at += (size_t)snprintf(text + at, RS_RR_TEXT_BYTES - at,
					       letters ? "\\x%02x"
					       : i     ? " %02x"
						       : "%02x",
					       c);
	}
	if (n > shown)
		snprintf(text + at, RS_RR_TEXT_BYTES - at, "... (%s)", RS_COUNT_OF(n, "byte"));
}

void rs_rr_event_text(const struct rs_rr_event *event, char text[RS_RR_TEXT_BYTES])
{
	text[0] = '\0';
	if (event->bytes == 8 && is(event, "host clock"))
		time_text(be64(event->data), text);
	else if (event->bytes == 8 && is(event, "virtual clock of real time"))
		snprintf(text, RS_RR_TEXT_BYTES, "%" PRIu64 " ns", be64(event->data));
	else if (event->bytes > 5 && is(event, "characters read"))
		bytes_text(event, 5, true, text); /* after the device and the length */
	else if (event->bytes > 4 && is(event, "characters read at once"))
		bytes_text(event, 4, true, text);
	else if (event->bytes && !is(event, "characters written")) /* the length and the offset */
		bytes_text(event, 0, false, text);
}
