/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses and filters the requests of a debugger. QEMU's monitor, behind its GDB stub, can run
 * commands of the host and write files with QEMU's rights, so only packets on an allow-list have an
 * effect:
 *
 *	debugger ── bytes ──> gate ──┬── allowed: its kind, its text ──> debugger_session.c
 *	                             └── not: the empty reply, which means unsupported
 *
 * A packet is printable ASCII without the protocol's escapes, so that QEMU's stub reads it like
 * this code. Bytes that are not a packet, such as a browser's HTTP request, end the session. The
 * gate does no input or output and allocates nothing. Only one thread may call.
 */
#ifndef RS_REPLAY_GDB_GATE_H
#define RS_REPLAY_GDB_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a packet with its '$', '#' and checksum. QEMU's stub accepts 4096 bytes between
 * them. */
#define RS_GDB_PACKET_MAX 4100u

enum rs_gdb_verdict {
	RS_GDB_MORE,	    /* nothing to do yet */
	RS_GDB_PACKET,	    /* a packet that is allowed */
	RS_GDB_UNSUPPORTED, /* another packet */
	RS_GDB_DAMAGED,	    /* a packet with a wrong checksum: request it again */
	RS_GDB_AGAIN,	    /* the debugger requests the last reply again */
	RS_GDB_STOP,	    /* the debugger requests that the machine stop */
	RS_GDB_FOREIGN,	    /* this is not the GDB protocol: close the connection */
};

/* What an allowed packet requests. */
enum rs_gdb_kind {
	RS_GDB_FORWARD,	     /* QEMU's stub answers the packet unchanged */
	RS_GDB_POINT_SET,    /* Z, z: the same; the points are also recorded */
	RS_GDB_PHYSICAL,     /* Qqemu.PhyMemMode: the same; memory is read by physical address */
	RS_GDB_WHY,	     /* ?: the last stop */
	RS_GDB_REGISTERS,    /* g */
	RS_GDB_REGISTER,     /* p */
	RS_GDB_MEMORY,	     /* m */
	RS_GDB_CHANGE,	     /* G, P, M */
	RS_GDB_SELECT,	     /* H: the thread to which later packets refer */
	RS_GDB_ALIVE,	     /* T */
	RS_GDB_CURRENT,	     /* qC */
	RS_GDB_LIST,	     /* qfThreadInfo */
	RS_GDB_LIST_MORE,    /* qsThreadInfo */
	RS_GDB_EXTRA,	     /* qThreadExtraInfo */
	RS_GDB_THREADS,	     /* qXfer:threads:read */
	RS_GDB_FEATURES,     /* qSupported */
	RS_GDB_ACTIONS,	     /* vCont? */
	RS_GDB_RESUME,	     /* vCont */
	RS_GDB_CONTINUE,     /* c, C */
	RS_GDB_STEP,	     /* s, S */
	RS_GDB_BACK,	     /* bc */
	RS_GDB_BACK_STEP,    /* bs */
	RS_GDB_REPLAY_PLACE, /* monitor info replay */
	RS_GDB_LEAVE,	     /* k, D */
};

struct rs_gdb_gate {
	char packet[RS_GDB_PACKET_MAX + 1];
	size_t used;
	uint8_t sums; /* missing digits of the checksum */
	bool done;    /* the next byte begins another */
	/* With RS_GDB_PACKET, until the next call: the text after '$', which ends with NUL. */
	const char *body;
	enum rs_gdb_kind kind;
};

/* Handles the debugger's next byte. */
enum rs_gdb_verdict rs_gdb_gate_put(struct rs_gdb_gate *gate, char byte);

/* ---- the arguments of packets --------------------------------------------------------------- */

/* Threads in packets: a number, or one of these. */
#define RS_GDB_THREAD_ALL INT64_C(-1)
#define RS_GDB_THREAD_ANY INT64_C(0)

/* Parse a number, or a thread, in hexadecimal digits, and move *text past it. Return false if there
 * is none, or if it is too large. */
bool rs_gdb_number_parse(const char **text, uint64_t *value);
bool rs_gdb_thread_parse(const char **text, int64_t *thread);

/* Parses two numbers "FROM,BYTES". Nothing may follow them. */
bool rs_gdb_range_parse(const char *text, uint64_t *from, uint64_t *bytes);

/* Returns the effect of a vCont packet's actions on the processor, which runs the thread
 * `current`. */
enum rs_gdb_action {
	RS_GDB_ACTION_NONE,	/* no valid actions, or actions that the machine does not support */
	RS_GDB_ACTION_CONTINUE, /* all threads continue */
	RS_GDB_ACTION_STEP,	/* the current thread executes an instruction */
};
enum rs_gdb_action rs_gdb_action_parse(const char *body, int64_t current);

#endif
