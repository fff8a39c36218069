/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters the requests of a debugger to QEMU's GDB stub. The stub's monitor can run commands of the
 * host and write files with QEMU's rights, so packets are parsed, and only those on an allow-list
 * are forwarded:
 *
 *	debugger ── bytes ──> gate ──┬── allowed: the packet ──────────> stub
 *	                             └── refused: "+$#00", unsupported ─> debugger
 *
 * Bytes that are no packet, such as a request in HTTP from a browser, end the session. The gate
 * does no input or output and allocates nothing. One thread.
 */
#ifndef RS_REPLAY_GDB_GATE_H
#define RS_REPLAY_GDB_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a packet with its '$', '#' and checksum. QEMU's stub accepts 4096 bytes between
 * those. */
#define RS_GDB_PACKET_MAX 4100u

enum rs_gdb_verdict {
	RS_GDB_MORE,	/* nothing to send yet */
	RS_GDB_PASS,	/* send `packet`, `used` bytes, to the stub */
	RS_GDB_REFUSE,	/* send RS_GDB_REFUSAL to the debugger */
	RS_GDB_FOREIGN, /* this is not the GDB protocol: close both connections */
};

/* An acknowledgement, then the empty reply, which means an unsupported packet. */
#define RS_GDB_REFUSAL "+$#00"

struct rs_gdb_gate {
	char packet[RS_GDB_PACKET_MAX];
	size_t used;
	uint8_t sums; /* missing digits of the checksum */
	bool done;    /* the next byte begins another */
	bool unacked; /* the debugger's '+' for a refusal must not reach the stub */
};

/* Handles the debugger's next byte. The packet to send is valid until the next call. */
enum rs_gdb_verdict rs_gdb_gate_put(struct rs_gdb_gate *gate, char byte);

#endif
