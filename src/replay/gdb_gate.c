/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a debugger's packets and filters them by an allow-list. */
#include "replay/gdb_gate.h"

#include <ctype.h>
#include <string.h>

#define INTERRUPT  '\x03'
#define SUM_BYTES  3u /* '#' and two digits */
#define NUMBER_MAX 16 /* digits */

/*
 * The packets that a debugger needs for a replayed machine: registers, memory, points, continuing
 * and going back, threads, and the target's description. From "GDB Remote Serial Protocol",
 * appendix E of GDB's manual, and QEMU 7.2's gdbstub.c. Excluded are qRcmd except one command,
 * vFile, vRun, vKill, R, and all unknown packets.
 */
struct rule {
	const char *text;
	enum rs_gdb_kind kind;
	bool whole; /* the packet equals this text; otherwise it begins with it */
};
static const struct rule allowed[] = {
	{ "?", RS_GDB_WHY, true },
	{ "!", RS_GDB_FORWARD, true },
	{ "g", RS_GDB_REGISTERS, true },
	{ "G", RS_GDB_CHANGE, false },
	{ "p", RS_GDB_REGISTER, false },
	{ "P", RS_GDB_CHANGE, false },
	{ "m", RS_GDB_MEMORY, false },
	{ "M", RS_GDB_CHANGE, false },
	{ "c", RS_GDB_CONTINUE, true },
	{ "C", RS_GDB_CONTINUE, false },
	{ "s", RS_GDB_STEP, true },
	{ "S", RS_GDB_STEP, false },
	{ "bc", RS_GDB_BACK, true },
	{ "bs", RS_GDB_BACK_STEP, true },
	{ "k", RS_GDB_LEAVE, true },
	{ "D", RS_GDB_LEAVE, false },
	{ "H", RS_GDB_SELECT, false },
	{ "T", RS_GDB_ALIVE, false },
	{ "Z", RS_GDB_POINT_SET, false },
	{ "z", RS_GDB_POINT_SET, false },
	{ "vCont?", RS_GDB_ACTIONS, true },
	{ "vCont;", RS_GDB_RESUME, false },
	{ "qSupported", RS_GDB_FEATURES, false },
	{ "qXfer:features:read:", RS_GDB_FORWARD, false },
	{ "qXfer:threads:read::", RS_GDB_THREADS, false },
	{ "qAttached", RS_GDB_FORWARD, false },
	{ "qC", RS_GDB_CURRENT, true },
	{ "qfThreadInfo", RS_GDB_LIST, true },
	{ "qsThreadInfo", RS_GDB_LIST_MORE, true },
	{ "qThreadExtraInfo,", RS_GDB_EXTRA, false },
	{ "qqemu.sstep", RS_GDB_FORWARD, false },
	{ "Qqemu.sstep=", RS_GDB_FORWARD, false },
	{ "qqemu.PhyMemMode", RS_GDB_FORWARD, true },
	{ "Qqemu.PhyMemMode:", RS_GDB_PHYSICAL, false },
	/* monitor info replay: the position of the replay */
	{ "qRcmd,696e666f207265706c6179", RS_GDB_REPLAY_PLACE, true },
};

static bool is_allowed(const char *body, size_t bytes, enum rs_gdb_kind *kind)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		size_t len = strlen(allowed[i].text);

		if (bytes < len || (bytes > len && allowed[i].whole) ||
		    memcmp(body, allowed[i].text, len) != 0)
			continue;
		*kind = allowed[i].kind;
		return true;
	}
	return false;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Handles a byte between packets. */
static enum rs_gdb_verdict first_byte(struct rs_gdb_gate *gate, char byte)
{
	gate->packet[0] = byte;
	gate->used = 1;
	gate->done = byte != '$';
	gate->sums = 0;
	switch (byte) {
	case '$':
	case '+':
		return RS_GDB_MORE;
	case '-':
		return RS_GDB_AGAIN;
	case INTERRUPT:
		return RS_GDB_STOP;
	default:
		return RS_GDB_FOREIGN;
	}
}

/* Returns whether QEMU's stub reads the text literally: it has no escape and no run length. */
static bool is_plain(const char *body, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (body[i] < ' ' || body[i] > '~' || body[i] == '}' || body[i] == '*')
			return false;
	return true;
}

/* Decides on a complete packet. */
static enum rs_gdb_verdict packet_decide(struct rs_gdb_gate *gate)
{
	char *body = gate->packet + 1, *sum = gate->packet + gate->used - 2;
	size_t bytes = gate->used - 1 - SUM_BYTES;
	uint8_t found = 0;

	gate->done = true;
	for (size_t i = 0; i < bytes; i++)
		found = (uint8_t)(found + (uint8_t)body[i]);
	if ((digit(sum[0]) << 4 | digit(sum[1])) != found)
		return RS_GDB_DAMAGED;
	if (!is_plain(body, bytes) || !is_allowed(body, bytes, &gate->kind))
		return RS_GDB_UNSUPPORTED;
	body[bytes] = '\0';
	gate->body = body;
	return RS_GDB_PACKET;
}

enum rs_gdb_verdict rs_gdb_gate_put(struct rs_gdb_gate *gate, char byte)
{
	if (!gate->used || gate->done)
		return first_byte(gate, byte);
	if (gate->used == RS_GDB_PACKET_MAX || byte == '$')
		return RS_GDB_FOREIGN;
	gate->packet[gate->used++] = byte;
	if (!gate->sums) {
		gate->sums = byte == '#' ? 2 : 0;
		return RS_GDB_MORE;
	}
	/* A stub that finds another byte here does not end the packet here. */
	if (digit(byte) < 0)
		return RS_GDB_FOREIGN;
	return --gate->sums ? RS_GDB_MORE : packet_decide(gate);
}

/* ---- arguments ------------------------------------------------------------------------------ */

bool rs_gdb_number_parse(const char **text, uint64_t *value)
{
	const char *at = *text;
	uint64_t number = 0;

	for (; digit(*at) >= 0; at++) {
		if (at - *text == NUMBER_MAX)
			return false;
		number = number << 4 | (uint64_t)digit(*at);
	}
	if (at == *text)
		return false;
	*text = at;
	*value = number;
	return true;
}

bool rs_gdb_thread_parse(const char **text, int64_t *thread)
{
	uint64_t number;

	if (!strncmp(*text, "-1", 2)) {
		*text += 2;
		*thread = RS_GDB_THREAD_ALL;
		return true;
	}
	if (!rs_gdb_number_parse(text, &number) || number > INT64_MAX)
		return false;
	*thread = (int64_t)number;
	return true;
}

bool rs_gdb_range_parse(const char *text, uint64_t *from, uint64_t *bytes)
{
	return rs_gdb_number_parse(&text, from) && *text++ == ',' &&
	       rs_gdb_number_parse(&text, bytes) && !*text;
}

/* Parses one action, ";s", ";C05" or ";c:1f", and moves *text past it. */
static bool one_action(const char **text, bool *steps, int64_t *thread)
{
	const char *at = *text;
	uint64_t signal;
	char word = at[0] == ';' ? at[1] : '\0';

	if (!word || !strchr("cCsS", word))
		return false;
	*steps = word == 's' || word == 'S';
	*thread = RS_GDB_THREAD_ALL;
	at += 2;
	if (isupper((unsigned char)word) && !rs_gdb_number_parse(&at, &signal))
		return false;
	if (*at == ':' && (at++, !rs_gdb_thread_parse(&at, thread)))
		return false;
	*text = at;
	return !*at || *at == ';';
}

/*
 * Of several actions that match a thread, the first counts. A machine with one processor can
 * neither step a thread that it does not run, nor keep the current thread where it is.
 */
enum rs_gdb_action rs_gdb_action_parse(const char *body, int64_t current)
{
	enum rs_gdb_action action = RS_GDB_ACTION_NONE;
	const char *at = body + strlen("vCont");

	while (*at) {
		int64_t thread;
		bool steps, matches;

		if (!one_action(&at, &steps, &thread))
			return RS_GDB_ACTION_NONE;
		matches = thread == RS_GDB_THREAD_ALL || thread == RS_GDB_THREAD_ANY ||
			  thread == current;
		if (steps && !matches)
			return RS_GDB_ACTION_NONE;
		if (matches && action == RS_GDB_ACTION_NONE)
			action = steps ? RS_GDB_ACTION_STEP : RS_GDB_ACTION_CONTINUE;
	}
	return action;
}
