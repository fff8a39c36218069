/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters a debugger's packets by an allow-list. */
#include "replay/gdb_gate.h"

#include <ctype.h>
#include <string.h>

#define INTERRUPT '\x03'
#define SUM_BYTES 3u /* '#' and two digits */

/*
 * The packets that a debugger needs for a replayed machine: registers, memory, points, continuing
 * and going back, threads, and the target's description. From "GDB Remote Serial Protocol",
 * appendix E of GDB's manual, and QEMU 7.2's gdbstub.c. Excluded are qRcmd except one command,
 * vFile, vRun, vKill, R, and all unknown packets.
 */
struct rule {
	const char *text;
	bool whole; /* the packet is this text; otherwise it begins with it */
};
static const struct rule allowed[] = {
	{ "?", true },
	{ "!", true },
	{ "g", true },
	{ "G", false },
	{ "p", false },
	{ "P", false },
	{ "m", false },
	{ "M", false },
	{ "X", false },
	{ "c", false },
	{ "C", false },
	{ "s", false },
	{ "S", false },
	{ "bc", true },
	{ "bs", true },
	{ "k", true },
	{ "D", false },
	{ "H", false },
	{ "T", false },
	{ "Z", false },
	{ "z", false },
	{ "vCont", false },
	{ "vAttach;", false },
	{ "vMustReplyEmpty", true },
	{ "qSupported", false },
	{ "qXfer:features:read:", false },
	{ "qAttached", false },
	{ "qC", true },
	{ "qfThreadInfo", true },
	{ "qsThreadInfo", true },
	{ "qThreadExtraInfo,", false },
	{ "qTStatus", true },
	{ "qOffsets", true },
	{ "qSymbol:", false },
	{ "qqemu.sstep", false },
	{ "Qqemu.sstep=", false },
	{ "qqemu.PhyMemMode", true },
	{ "Qqemu.PhyMemMode:", false },
	/* monitor info replay: the position of the replay */
	{ "qRcmd,696e666f207265706c6179", true },
};

static bool is_allowed(const char *body, size_t bytes)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		size_t len = strlen(allowed[i].text);

		if (bytes >= len && (bytes == len || !allowed[i].whole) &&
		    !memcmp(body, allowed[i].text, len))
			return true;
	}
	return false;
}

/* Handles a byte between packets. */
static enum rs_gdb_verdict first_byte(struct rs_gdb_gate *gate, char byte)
{
	gate->packet[0] = byte;
	gate->used = 1;
	gate->done = true;
	if (byte == '$') {
		gate->done = false;
		gate->sums = 0;
		return RS_GDB_MORE;
	}
	if ((byte == '+' || byte == '-') && gate->unacked) {
		gate->unacked = byte == '-';
		return byte == '-' ? RS_GDB_REFUSE : RS_GDB_MORE;
	}
	return byte == '+' || byte == '-' || byte == INTERRUPT ? RS_GDB_PASS : RS_GDB_FOREIGN;
}

/* Decides on a complete packet. */
static enum rs_gdb_verdict packet_decide(struct rs_gdb_gate *gate)
{
	gate->done = true;
	if (is_allowed(gate->packet + 1, gate->used - 1 - SUM_BYTES))
		return RS_GDB_PASS;
	gate->unacked = true;
	return RS_GDB_REFUSE;
}

enum rs_gdb_verdict rs_gdb_gate_put(struct rs_gdb_gate *gate, char byte)
{
	if (!gate->used || gate->done)
		return first_byte(gate, byte);
	if (gate->used == sizeof(gate->packet) || byte == '$')
		return RS_GDB_FOREIGN;
	gate->packet[gate->used++] = byte;
	if (!gate->sums) {
		gate->sums = byte == '#' ? 2 : 0;
		return RS_GDB_MORE;
	}
	/* If QEMU's stub finds another byte here, it does not end the packet here. */
	if (!isxdigit((unsigned char)byte))
		return RS_GDB_FOREIGN;
	return --gate->sums ? RS_GDB_MORE : packet_decide(gate);
}
