/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the result of `replay diff` as text or JSON. */
#include "cli/replay_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "base/json.h"
#include "cli/cli.h"
#include "replay/moment.h"

#define EVENTS_SHOWN 6u
#define CPL_MASK     3u
#define PLACE_BYTES  160

static const char *moment(const struct rs_diff *d, uint64_t icount, char text[RS_MOMENT_TEXT_MAX])
{
	return rs_moment_text(icount << d->two[0].shift, text);
}

/* ---- text --------------------------------------------------------------------------------- */

static void show_machines(const struct rs_diff *d)
{
	printf("machines  %s\n", d->n_machine ? "DIFFER" : "the same");
	for (uint32_t i = 0; i < d->n_machine; i++)
		printf("  %-16s %s\n  %-16s %s\n", d->machine[i].name, d->machine[i].values[0], "",
		       d->machine[i].values[1]);
}

/* "at 5 (0.000 s): host clock, 2026-11-21 ...". */
static void show_event(const struct rs_diff *d, const char *which, const struct rs_rr_event *event)
{
	char text[RS_RR_TEXT_BYTES], when[RS_MOMENT_TEXT_MAX];

	rs_rr_event_text(event, text);
	printf("  %-16s at %" PRIu64 " (%s): %s%s%s\n", which, event->icount,
	       moment(d, event->icount, when), rs_rr_kind_text(event->kind), text[0] ? ", " : "",
	       text);
}

/* "at 5: 2026-11-21 ...". */
static void short_place(const struct rs_rr_place *place, char line[PLACE_BYTES])
{
	char text[RS_RR_TEXT_BYTES] = "";

	if (place->is)
		rs_rr_event_text(&place->event, text);
	if (place->is)
		snprintf(line, PLACE_BYTES, "at %" PRIu64 "%s%s", place->event.icount,
			 text[0] ? ": " : "", text);
	else
		snprintf(line, PLACE_BYTES, "none");
}

static void show_logs(const struct rs_diff *d)
{
	const struct rs_rr_compared *c = &d->logs;

	printf("logs      %s: %" PRIu64 " and %s", c->differs ? "DIFFER" : "the same", c->n[0],
	       RS_COUNT_OF(c->n[1], "event"));
	if (!c->differs) {
		putchar('\n');
		return;
	}
	printf(", and none differs before instruction %" PRIu64 "\n", c->icount);
	printf("  %-36s %8s %8s %8s  %s\n", "EVENT", "FIRST", "SECOND", "NUMBER", "DIFFERS");
	for (uint32_t kind = 0; kind < RS_RR_KINDS; kind++) {
		const struct rs_rr_kind_compared *k = &c->kinds[kind];
		char places[2][PLACE_BYTES];

		if (!k->differs)
			continue;
		for (int i = 0; i < 2; i++)
			short_place(&k->first[i], places[i]);
		printf("  %-36s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "  %s; %s\n",
		       rs_rr_kind_text((uint8_t)kind), k->n[0], k->n[1], k->at + 1, places[0],
		       places[1]);
	}
}

static void show_registers(const struct rs_parting *p)
{
	const char *name;

	for (uint32_t i = 0; (name = rs_x86_reg_name(i)); i++) {
		uint64_t one = 0, other = 0;

		rs_x86_reg(&p->after[0], name, &one);
		rs_x86_reg(&p->after[1], name, &other);
		if (one != other)
			printf("  %-16s 0x%" PRIx64 " and 0x%" PRIx64 "\n", name, one, other);
	}
	if (p->raw)
		printf("  some other registers (x87, SSE) differ\n");
}

/* Prints the events of both logs at the instruction where the machines diverge. */
static void show_events_there(const struct rs_diff *d)
{
	static const char *const which[] = { "log of the first", "log of the second" };

	for (int i = 0; i < 2; i++) {
		struct rs_rr_event events[EVENTS_SHOWN];
		uint32_t n = rs_rr_between(d->log[i], d->log_size[i], d->states.same,
					   d->states.same + 1, events, EVENTS_SHOWN);

		for (uint32_t k = 0; k < n && k < EVENTS_SHOWN; k++)
			show_event(d, which[i], &events[k]);
		if (!n)
			printf("  %-16s no event there\n", which[i]);
		if (n > EVENTS_SHOWN)
			printf("  %-16s and %s more\n", which[i],
			       RS_COUNT_OF(n - EVENTS_SHOWN, "event"));
	}
}

/* Writes the function where the machines diverge: of the kernel, or of the program if it executes
 * there. Returns whether it is known. */
static bool name_place(const struct rs_diff *d, char symbol[RS_SYMBOL_TEXT_MAX])
{
	const struct rs_parting *p = &d->states;

	symbol[0] = '\0';
	return (d->program.kernel || p->in_program) &&
	       rs_symbols_text(d->symbols, p->before.rip - p->base, symbol);
}

static void show_states(const struct rs_diff *d)
{
	const struct rs_parting *p = &d->states;
	char symbol[RS_SYMBOL_TEXT_MAX], when[RS_MOMENT_TEXT_MAX];

	if (!d->replayed) {
		printf("states    not compared\n");
		return;
	}
	printf("states    the same at instruction %" PRIu64 " (%s)", p->same,
	       moment(d, p->same, when));
	if (!p->parted) {
		printf(", the last one of both recordings; %" PRIu64 " places compared\n",
		       p->looked);
		return;
	}
	printf(", DIFFER at the next; %" PRIu64 " places compared\n", p->looked);
	name_place(d, symbol);
	printf("  %-16s 0x%" PRIx64 "%s%s, privilege level %u, stack at 0x%" PRIx64
	       "; its effects differ\n",
	       "instruction at", p->before.rip, symbol[0] ? " " : "", symbol,
	       p->before.cs & CPL_MASK, p->before.gpr[7]);
	show_events_there(d);
	show_registers(p);
	printf("  RAM: %s of 4 KiB differ", RS_COUNT_OF(p->n_pages, "page"));
	for (uint64_t i = 0; i < p->n_pages && i < RS_PARTING_PAGES_MAX; i++)
		printf("%s0x%" PRIx64, i ? ", " : ": at ", p->pages[i]);
	printf("%s\n  console: the guest had written %s\n",
	       p->n_pages > RS_PARTING_PAGES_MAX ? ", ..." : "",
	       RS_COUNT_OF(p->console_bytes, "byte"));
}

static void show_consoles(const struct rs_diff *d)
{
	const struct rs_diff_console *c = &d->console;

	if (!c->differs) {
		printf("consoles  the same: %s\n", RS_COUNT_OF(c->bytes[0], "byte"));
		return;
	}
	printf("consoles  DIFFER at byte %" PRIu64 ", in line %" PRIu64 "\n", c->at, c->line);
	printf("  first   %s\n  second  %s\n", c->text[0], c->text[1]);
}

/* Explains why recordings of the same behaviour differ, and why guests diverge at their clocks. */
static void show_guests(const struct rs_diff *d)
{
	const char *dates[2] = { d->two[0].date, d->two[1].date };
	int longer = d->two[1].icount > d->two[0].icount;
	char texts[2][RS_MOMENT_TEXT_MAX];

	if (d->states.parted && dates[0] && dates[1] && strcmp(dates[0], dates[1]) != 0)
		printf("dates     DIFFER: %s and %s; with one --date for both, their clocks are "
		       "the same\n",
		       dates[0], dates[1]);
	if (!rs_diff_same(d) || rs_diff_identical(d))
		return;
	printf("guests    the same up to the end of the shorter recording, instruction %" PRIu64
	       " (%s)\n",
	       d->states.same, moment(d, d->states.same, texts[0]));
	printf("  other differences are the host's: its clocks, and the ends of the recordings,\n"
	       "  of the first at %s, of the second at %s%s\n",
	       moment(d, d->two[0].icount, texts[0]), moment(d, d->two[1].icount, texts[1]),
	       d->console.differs ? longer ? "; the second wrote more" : "; the first wrote more"
				  : "");
}

void rs_replay_diff_print(const struct rs_diff *d)
{
	show_machines(d);
	show_logs(d);
	show_states(d);
	show_consoles(d);
	show_guests(d);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void put_pair(struct rs_json *json, const char *key, uint64_t one, uint64_t other)
{
	rs_json_open(rs_json_key(json, key), '[');
	rs_json_unsigned(json, one);
	rs_json_unsigned(json, other);
	rs_json_close(json, ']');
}

static void put_place(struct rs_json *json, const char *key, const struct rs_rr_place *place)
{
	char text[RS_RR_TEXT_BYTES];

	rs_json_key(json, key);
	if (!place->is) {
		rs_json_null(json);
		return;
	}
	rs_rr_event_text(&place->event, text);
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "event"), rs_rr_kind_text(place->event.kind));
	rs_json_unsigned(rs_json_key(json, "instruction"), place->event.icount);
	rs_json_unsigned(rs_json_key(json, "offset"), place->event.offset);
	rs_json_text(rs_json_key(json, "value"), text);
	rs_json_close(json, '}');
}

static void put_logs(struct rs_json *json, const struct rs_rr_compared *c)
{
	rs_json_open(rs_json_key(json, "logs"), '{');
	rs_json_bool(rs_json_key(json, "same"), !c->differs);
	put_pair(json, "events", c->n[0], c->n[1]);
	rs_json_unsigned(rs_json_key(json, "same_to"), c->icount);
	rs_json_open(rs_json_key(json, "differ"), '[');
	for (uint32_t kind = 0; kind < RS_RR_KINDS; kind++) {
		const struct rs_rr_kind_compared *k = &c->kinds[kind];

		if (!k->differs)
			continue;
		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "event"), rs_rr_kind_text((uint8_t)kind));
		put_pair(json, "count", k->n[0], k->n[1]);
		rs_json_unsigned(rs_json_key(json, "number"), k->at + 1);
		put_place(json, "first", &k->first[0]);
		put_place(json, "second", &k->first[1]);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void put_registers(struct rs_json *json, const struct rs_parting *p)
{
	const char *name;

	rs_json_open(rs_json_key(json, "registers"), '{');
	for (uint32_t i = 0; p->parted && (name = rs_x86_reg_name(i)); i++) {
		uint64_t one = 0, other = 0;

		rs_x86_reg(&p->after[0], name, &one);
		rs_x86_reg(&p->after[1], name, &other);
		if (one == other)
			continue;
		rs_json_open(rs_json_key(json, name), '[');
		rs_json_hex(json, one);
		rs_json_hex(json, other);
		rs_json_close(json, ']');
	}
	rs_json_close(json, '}');
}

static void put_states(struct rs_json *json, const struct rs_diff *d)
{
	const struct rs_parting *p = &d->states;
	char symbol[RS_SYMBOL_TEXT_MAX];

	rs_json_open(rs_json_key(json, "states"), '{');
	rs_json_bool(rs_json_key(json, "same"), !p->parted);
	rs_json_unsigned(rs_json_key(json, "same_to"), p->same);
	rs_json_unsigned(rs_json_key(json, "same_to_ns"), p->same << d->two[0].shift);
	rs_json_unsigned(rs_json_key(json, "compared"), p->looked);
	rs_json_unsigned(rs_json_key(json, "console_bytes"), p->console_bytes);
	rs_json_hex(rs_json_key(json, "pc"), p->before.rip);
	if (name_place(d, symbol))
		rs_json_text(rs_json_key(json, "symbol"), symbol);
	rs_json_unsigned(rs_json_key(json, "cpl"), p->before.cs & CPL_MASK);
	put_registers(json, p);
	rs_json_unsigned(rs_json_key(json, "pages_differ"), p->n_pages);
	rs_json_open(rs_json_key(json, "pages"), '[');
	for (uint64_t i = 0; i < p->n_pages && i < RS_PARTING_PAGES_MAX; i++)
		rs_json_hex(json, p->pages[i]);
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void put_console(struct rs_json *json, const struct rs_diff_console *c)
{
	rs_json_open(rs_json_key(json, "console"), '{');
	rs_json_bool(rs_json_key(json, "same"), !c->differs);
	put_pair(json, "bytes", c->bytes[0], c->bytes[1]);
	if (c->differs) {
		rs_json_unsigned(rs_json_key(json, "at"), c->at);
		rs_json_unsigned(rs_json_key(json, "line"), c->line);
		rs_json_text(rs_json_key(json, "first"), c->text[0]);
		rs_json_text(rs_json_key(json, "second"), c->text[1]);
	}
	rs_json_close(json, '}');
}

static void put_diff(struct rs_json *json, const void *about)
{
	const struct rs_diff *d = about;

	rs_json_bool(rs_json_key(json, "same"), rs_diff_same(d));
	rs_json_bool(rs_json_key(json, "identical"), rs_diff_identical(d));
	rs_json_open(rs_json_key(json, "machines"), '{');
	for (uint32_t i = 0; i < d->n_machine; i++) {
		rs_json_open(rs_json_key(json, d->machine[i].name), '[');
		rs_json_text(json, d->machine[i].values[0]);
		rs_json_text(json, d->machine[i].values[1]);
		rs_json_close(json, ']');
	}
	rs_json_close(json, '}');
	put_logs(json, &d->logs);
	put_console(json, &d->console);
	if (d->replayed)
		put_states(json, d);
}

struct rs_error *rs_replay_diff_print_json(const struct rs_diff *d)
{
	return rs_cli_json_print(put_diff, d);
}
