/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A debugger's bytes through the gate, and each packet that the gate allows through a model of
 * QEMU's stub: for any input, the stub reads the same text as the gate, which contains no file
 * operation, and no monitor command except the allowed one. The arguments of the packets are parsed
 * as in the session. The model is the reading state machine of QEMU 7.2's gdbstub.c,
 * gdb_read_byte().
 */
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

#include "replay/gdb_gate.h"

#define LINE_MAX_ 4096u

enum reads { IDLE, LINE, ESCAPE, REPEAT, SUM1, SUM2 };
struct stub {
	enum reads reads;
	char line[LINE_MAX_];
	size_t used;
	size_t handled; /* packets */
};

/* The stub handles a packet. */
static void handle(const char *line, size_t used)
{
	static const char info[] = "qRcmd,696e666f207265706c6179";

	MUST(used < 6 || memcmp(line, "qRcmd,", 6) ||
	     (used == sizeof(info) - 1 && !memcmp(line, info, used)));
	MUST(!used || memchr("?!gGpPmMXcCsSbkDHTZzvqQ", line[0], 23));
	MUST(used < 5 || (memcmp(line, "vFile", 5) && memcmp(line, "vKill", 5)));
	for (size_t i = 0; i < used; i++)
		MUST(line[i] >= ' ' && line[i] <= '~');
}

static void add(struct stub *s, char byte)
{
	if (s->used >= sizeof(s->line) - 1) {
		s->reads = IDLE;
		return;
	}
	s->line[s->used++] = byte;
	s->reads = LINE;
}

static void line_byte(struct stub *s, char byte)
{
	if (byte == '}')
		s->reads = ESCAPE;
	else if (byte == '*')
		s->reads = REPEAT;
	else if (byte == '#')
		s->reads = SUM1;
	else
		add(s, byte);
}

static void repeat(struct stub *s, char byte)
{
	s->reads = LINE;
	if ((unsigned char)byte < ' ' || !s->used)
		return;
	for (int n = (unsigned char)byte - ' ' + 3; n && s->reads == LINE; n--)
		add(s, s->line[s->used - 1]);
}

/* Checksums are assumed to be right, because an attacker can make them so. */
static void stub_read(struct stub *s, char byte)
{
	switch (s->reads) {
	case IDLE:
		if (byte == '$') {
			s->used = 0;
			s->reads = LINE;
		}
		break;
	case LINE:
		line_byte(s, byte);
		break;
	case ESCAPE:
		if (byte == '#')
			s->reads = SUM1;
		else
			add(s, (char)(byte ^ 0x20));
		break;
	case REPEAT:
		repeat(s, byte);
		break;
	case SUM1:
		s->reads = isxdigit((unsigned char)byte) ? SUM2 : LINE;
		break;
	case SUM2:
		if (isxdigit((unsigned char)byte)) {
			handle(s->line, s->used);
			s->handled++;
			s->reads = IDLE;
		} else {
			s->reads = LINE;
		}
		break;
	}
}

/* Sends an allowed packet in a new frame, as the session does. */
static void stub_send(struct stub *s, const char *body)
{
	size_t before = s->handled, n = strlen(body);

	stub_read(s, '$');
	for (size_t i = 0; i < n; i++)
		stub_read(s, body[i]);
	for (size_t i = 0; i < 3; i++)
		stub_read(s, "#00"[i]);
	/* The longest packet exceeds the stub's buffer. */
	MUST(s->handled == before + 1 || n >= LINE_MAX_ - 1);
	MUST(s->handled == before || (s->used == n && !memcmp(s->line, body, n)));
}

static void arguments_parse(const struct rs_gdb_gate *gate)
{
	const char *at = gate->body + 1, *from = at;
	uint64_t begin, bytes;
	int64_t thread;
	enum rs_gdb_action action;

	MUST(strlen(gate->body) < sizeof(gate->packet));
	if (rs_gdb_thread_parse(&at, &thread))
		MUST(at > from && thread >= RS_GDB_THREAD_ALL);
	if (rs_gdb_range_parse(from, &begin, &bytes))
		MUST(strchr(from, ',') && strlen(from) <= 33);
	if (gate->kind != RS_GDB_RESUME)
		return;
	action = rs_gdb_action_parse(gate->body, 1);
	MUST(action != RS_GDB_ACTION_STEP || strpbrk(from, "sS"));
	MUST(action != RS_GDB_ACTION_CONTINUE || strpbrk(from, "cC"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rs_gdb_gate gate;
	static struct stub stub;

	gate = (struct rs_gdb_gate){ .used = 0 };
	stub = (struct stub){ .reads = IDLE };
	for (size_t i = 0; i < size; i++) {
		enum rs_gdb_verdict verdict = rs_gdb_gate_put(&gate, (char)data[i]);

		MUST(gate.used && gate.used <= sizeof(gate.packet));
		if (verdict == RS_GDB_FOREIGN)
			break;
		if (verdict != RS_GDB_PACKET)
			continue;
		arguments_parse(&gate);
		stub_send(&stub, gate.body);
	}
	return 0;
}
