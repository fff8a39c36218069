/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a replay's probes, and computes their events and timers. */
#include "replay/probe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "replay/source.h"
#include <ringside/record.h>

#define WATCH_BYTES_MAX 4096u
#define FIELDS		4

/* ---- kinds -------------------------------------------------------------------------------- */

#define HEX(name)                                                                                  \
	{                                                                                          \
		name, "", NULL, NULL, RS_TYPE_U64, RS_SHOW_HEX, 0                                  \
	}
#define NUMBER(name, type)                                                                         \
	{                                                                                          \
		name, "", NULL, NULL, type, RS_SHOW_DEC, 0                                         \
	}

static const struct rs_field stop_fields[] = { HEX("pc"), NUMBER("icount", RS_TYPE_U64),
					       NUMBER("cpl", RS_TYPE_U8) };
static const struct rs_field mem_fields[] = { HEX("address"),
					      { "size", "bytes", NULL, NULL, RS_TYPE_U32,
						RS_SHOW_DEC, 0 },
					      HEX("pc"),
					      NUMBER("icount", RS_TYPE_U64),
					      NUMBER("cpl", RS_TYPE_U8) };

static const struct kind {
	const char *class_name;
	const struct rs_field *fields;
	uint16_t n_fields;
	const char *help;
} kinds[] = {
	[RS_REPLAY_TIMER] = { "timer", stop_fields, 3, "once in each period of guest time" },
	[RS_REPLAY_EXEC] = { "addr", stop_fields, 3, "before the instruction at an address" },
	[RS_REPLAY_MEM] = { "mem", mem_fields, 5,
			    "after an instruction that accesses memory there" },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct rs_replay_template templates[] = {
	{ "timer", "", "N(us|ms|s|insns)", "(x64 pc, u64 icount, u8 cpl)",
	  "in a replay: once in each period N of guest time, or of instructions" },
	{ "timer", "FROM+TIMES", "N(us|ms|s|insns)", "(x64 pc, u64 icount, u8 cpl)",
	  "in a replay: the same from a time on, this many times" },
	{ "addr", "0xADDR", "exec", "(x64 pc, u64 icount, u8 cpl)",
	  "in a replay: before the instruction at a virtual address" },
	{ "mem", "0xADDR", "read", "(x64 address, u32 size:bytes, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: after an instruction that reads the byte there; 0xADDR+N: N bytes" },
	{ "mem", "0xADDR", "write", "(x64 address, u32 size:bytes, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: after an instruction that writes there" },
	{ "mem", "0xADDR", "read|write",
	  "(x64 address, u32 size:bytes, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: after an instruction that reads or writes there" },
	{ "usdt", "PROVIDER", "NAME", "(arg0, ..., x64 pc, u64 icount)",
	  "in a replay: a static probe of --binary PROGRAM, with its arguments" },
	{ "assert", "FILE", "LINE", "(values by name, x64 pc, u64 icount, text expression)",
	  "in a replay: an assertion of --binary PROGRAM that does not hold" },
	{ "kernel", "FUNCTION", "entry", "(x64 arg0, ..., x64 arg5, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: a function of the guest's kernel is called; return: it returns, with "
	  "retval; +BYTES: at an instruction in it" },
	{ "PROGRAM", "FUNCTION", "entry", "(x64 arg0, ..., x64 arg5, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: the same for a function of --binary PROGRAM" },
	{ "MODULE", "FUNCTION", "entry", "(x64 arg0, ..., x64 arg5, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: the same for a function of a kernel module, while it is loaded" },
	{ "syscall", "NAME", "entry", "(x64 arg0, ..., x64 arg5, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: a system call of the guest begins" },
	{ "syscall", "NAME", "return", "(s64 retval, x64 pc, u64 icount, u8 cpl)",
	  "in a replay: a system call of the guest ends" },
	{ "sched", "", "switch",
	  "(x64 prev, x64 next, s32 next_pid, s32 next_tid, x64 pc, u64 icount, u8 cpl, text "
	  "next_comm)",
	  "in a replay: the guest's kernel switches tasks, in the old task" },
};

const struct rs_replay_template *rs_replay_template(uint32_t index)
{
	return index < sizeof(templates) / sizeof(templates[0]) ? &templates[index] : NULL;
}

/* ---- descriptions ------------------------------------------------------------------------- */

bool rs_replay_words(const char *description, struct rs_replay_words *words)
{
	size_t len = strlen(description);
	uint32_t n = 3;

	if (len >= sizeof(words->text))
		return false;
	memcpy(words->text, description, len + 1);
	for (uint32_t i = 0; i < 4; i++)
		words->at[i] = "";
	for (char *c = words->text + len; c > words->text; c--) {
		if (c[-1] != ':')
			continue;
		words->at[n] = c;
		c[-1] = '\0';
		if (!n--)
			return false;
	}
	words->at[n] = words->text;
	return true;
}

/* Parses a time, "997us" or "5insns", as instructions. Sets *counts if it is a number of
 * instructions. Returns false if it is no time, or has no instruction. */
static bool parse_time(const char *text, size_t len, uint32_t shift, uint64_t *insns, bool *counts)
{
	static const struct {
		const char *name;
		uint64_t ns; /* 0: instructions */
	} units[] = { { "ns", 1 },	   { "nsec", 1 },	  { "us", 1000 },
		      { "usec", 1000 },	   { "ms", 1000000 },	  { "msec", 1000000 },
		      { "s", 1000000000 }, { "sec", 1000000000 }, { "insns", 0 } };
	uint64_t n, ns;
	char *end;

	*insns = 0;
	n = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
	for (size_t i = 0; n && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != (size_t)(text + len - end) ||
		    memcmp(units[i].name, end, strlen(units[i].name)) != 0)
			continue;
		*counts = !units[i].ns;
		if (*counts)
			*insns = n;
		else if (!__builtin_mul_overflow(n, units[i].ns, &ns))
			*insns = ns >> shift;
		break;
	}
	return *insns && *insns <= (uint64_t)INT64_MAX >> shift;
}

/* Parses a timer's window, "1500ms+1000": its beginning, and how often it fires. Both are
 * optional. */
static bool parse_window(const char *text, uint32_t shift, struct rs_replay_probe *probe)
{
	const char *plus = strchrnul(text, '+');
	char *end;

	if (plus > text &&
	    !parse_time(text, (size_t)(plus - text), shift, &probe->from, &probe->counts))
		return false;
	if (!*plus)
		return true;
	probe->limit = isdigit((unsigned char)plus[1]) ? strtoull(plus + 1, &end, 10) : 0;
	return probe->limit && !*end;
}

static struct rs_error *parse_timer(const struct rs_replay_words *words, uint32_t shift,
				    struct rs_replay_probe *probe)
{
	const char *name = words->at[3];
	bool insns = false;

	if (!parse_window(words->at[2], shift, probe))
		return rs_error_create(RS_USAGE,
				       "a timer's function is its first time and a number of times "
				       "that it fires: guest:timer:1500ms+1000:%s",
				       name);
	if (!parse_time(name, strlen(name), shift, &probe->period, &insns))
		return rs_error_create(RS_USAGE,
				       "a replay's timer is a number and us, ms, s or insns, with "
				       "at least one instruction: guest:timer::997us");
	probe->steps = insns && probe->period == 1 && !probe->counts;
	probe->counts |= insns && !probe->steps;
	return NULL;
}

/* Parses an address, "0x401000", with a size "+8" if `sized`. */
static bool parse_address(const char *text, bool sized, struct rs_replay_probe *probe)
{
	unsigned long bytes = 1;
	char *end;

	if (text[0] != '0' || text[1] != 'x' || !isxdigit((unsigned char)text[2]))
		return false;
	probe->address = strtoull(text + 2, &end, 16);
	if (end > text + 2 + 16)
		return false;
	if (sized && *end == '+' && isdigit((unsigned char)end[1]))
		bytes = strtoul(end + 1, &end, 10);
	probe->bytes = bytes <= WATCH_BYTES_MAX ? (uint32_t)bytes : 0;
	return !*end && probe->bytes;
}

static struct rs_error *parse_exec(const struct rs_replay_words *words,
				   struct rs_replay_probe *probe)
{
	if (strcmp(words->at[3], "exec") != 0 || !parse_address(words->at[2], false, probe))
		return rs_error_create(RS_USAGE,
				       "a replay's code probe is guest:addr:0xADDRESS:exec");
	probe->point = RS_GDB_EXEC;
	return NULL;
}

static struct rs_error *parse_mem(const struct rs_replay_words *words,
				  struct rs_replay_probe *probe)
{
	static const struct {
		const char *name;
		enum rs_gdb_point point;
	} accesses[] = { { "read", RS_GDB_READ },
			 { "write", RS_GDB_WRITE },
			 { "read|write", RS_GDB_ACCESS },
			 { "write|read", RS_GDB_ACCESS } };

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		if (strcmp(accesses[i].name, words->at[3]) != 0)
			continue;
		probe->point = accesses[i].point;
		if (parse_address(words->at[2], true, probe))
			return NULL;
	}
	return rs_error_create(RS_USAGE,
			       "a replay's memory probe is guest:mem:0xADDRESS:write, or read, or "
			       "read|write; 0xADDRESS+N for N bytes, up to %u",
			       WATCH_BYTES_MAX);
}

struct rs_error *rs_replay_probe_parse(const char *description, uint32_t shift,
				       struct rs_replay_probe *probe, bool *ours)
{
	struct rs_replay_words words;
	size_t kind = 0;

	*ours = false;
	*probe = (struct rs_replay_probe){ .wanted = false };
	if (!rs_replay_words(description, &words) ||
	    (*words.at[0] && strcmp(words.at[0], "guest") != 0))
		return NULL;
	while (kind < N_KINDS && strcmp(kinds[kind].class_name, words.at[1]) != 0)
		kind++;
	/* A glob creates no new probe. */
	if (kind == N_KINDS || !*words.at[3] || strpbrk(description, "*?["))
		return NULL;
	*ours = true;
	probe->kind = (enum rs_replay_kind)kind;
	if (probe->kind == RS_REPLAY_TIMER)
		return parse_timer(&words, shift, probe);
	return probe->kind == RS_REPLAY_EXEC ? parse_exec(&words, probe) : parse_mem(&words, probe);
}

struct rs_error *rs_replay_probe_declare(struct rs_schema *schema, uint32_t n,
					 const char *description, struct rs_replay_probe *probe)
{
	const struct kind *kind = &kinds[probe->kind];
	struct rs_replay_words words;
	struct rs_event event = { .id = RS_ID(RS_IDS_USER, n + 1),
				  .class_name = kind->class_name,
				  .help = kind->help,
				  .fields = kind->fields,
				  .n_fields = kind->n_fields };
	struct rs_error *err;

	if (!rs_replay_words(description, &words))
		return rs_error_create(RS_USAGE, "the description is too long");
	event.function = words.at[2];
	event.name = words.at[3];
	err = rs_schema_add(schema, &event);
	probe->event = err ? NULL : rs_schema_find(schema, event.id);
	return err;
}

/* ---- payloads ----------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const void *value, size_t bytes)
{
	memcpy(to, value, bytes);
	return to + bytes;
}

uint32_t rs_replay_probe_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				 uint8_t payload[RS_REPLAY_PAYLOAD_MAX])
{
	uint8_t cpl = at->regs->cs & 3, *to = payload;

	if (probe->note)
		return rs_replay_note_payload(probe, at, payload);
	if (probe->kind >= RS_REPLAY_NAMED)
		return rs_named_payload(probe, at, payload);
	if (probe->kind == RS_REPLAY_MEM) {
		to = put(to, &probe->address, sizeof(probe->address));
		to = put(to, &probe->bytes, sizeof(probe->bytes));
	}
	to = put(to, &at->regs->rip, sizeof(at->regs->rip));
	to = put(to, &at->icount, sizeof(at->icount));
	to = put(to, &cpl, sizeof(cpl));
	return (uint32_t)(to - payload);
}

/* ---- timers ------------------------------------------------------------------------------- */

static void place(struct rs_replay_probe *p, bool steady, uint64_t seed)
{
	uint64_t begin;

	if (__builtin_mul_overflow(p->round, p->period, &begin) ||
	    begin > UINT64_MAX / 2 - p->period) {
		p->next = UINT64_MAX; /* beyond any guest's end */
		return;
	}
	p->next = begin +
		  (steady ? p->period : 1 + rs_random_at(seed + p->period, p->round) % p->period);
}

static void advance(struct rs_replay_probe *p, uint64_t now, bool steady, uint64_t seed)
{
	if (p->period == 1 && p->next <= now) /* each instruction, or each stop */
		p->round = now - 1;
	while (p->next <= now) {
		p->round++;
		place(p, steady, seed);
	}
}

void rs_replay_timer_start(struct rs_replay_probe *p, uint64_t from, bool steady, uint64_t seed)
{
	if (from < p->from)
		from = p->from;
	p->fired = 0;
	p->round = from ? (from - 1) / p->period : 0;
	place(p, steady, seed);
	if (from)
		advance(p, from - 1, steady, seed);
}

void rs_replay_timer_next(struct rs_replay_probe *p, uint64_t now, bool steady, uint64_t seed)
{
	if (p->limit && ++p->fired == p->limit)
		p->next = UINT64_MAX;
	else
		advance(p, now, steady, seed);
}
