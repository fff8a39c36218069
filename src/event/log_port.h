/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port (drain.h) on a ring of a hypervisor's log, ACRN's: elements of 80 bytes become lines, and
 * each line becomes a log::message in the port's buffer, which the drain reads.
 *
 *	sbuf, positioned ring, read() --> elements --> line --> record --> buffer --> drain
 *
 * A line's thread goes before its message, as in ACRN's own text: "[vm0:vcpu1]it broke". An element
 * that has no head and follows no open line is counted as damaged, and so is an open line after
 * which elements were overwritten; a records-lost before the next line reports it. Overwritten
 * elements are counted, not lines; a line has one or more elements.
 *
 * Times are the line's microseconds: for ACRN, of the TSC since its zero, at the frequency of the
 * caller's clock. Two measured frequencies differ slightly, and a log may count from another zero.
 * So a line that is written during the recording, but whose stamp lies outside of it, moves the
 * epoch that all rings of a recording share. A line of the last boot has no stamp of this boot's
 * clock: its time is that of its reading, after a clock-back with its own stamp.
 */
#ifndef RS_EVENT_LOG_PORT_H
#define RS_EVENT_LOG_PORT_H

#include "event/drain.h"
#include "event/log_line.h"
#include <ringside/overwrite.h>

#define RS_LOG_PORT_SLOTS 1024u /* of the buffer */

/* Shared by the ports of a recording, which run in different threads. It must outlive the ports. */
struct rs_log_epoch {
	const struct rs_clock *clock;
	uint64_t from;	/* the stamp at which reading began */
	int64_t offset; /* added to stamps; relaxed: either of two concurrent values is valid */
	uint32_t moves; /* number of changes */
};

/* The assembly of elements into lines. */
struct rs_log_parts {
	char text[RS_LOG_TEXT_MAX];
	uint32_t bytes;
};

struct rs_log_port {
	/* The caller sets and keeps one of these. */
	struct rs_sbuf_consumer *consumer;
	struct rs_overwrite_reader *reader;
	int fd; /* -1: none */
	struct rs_log_epoch *epoch;
	bool last;    /* of the last boot */
	uint64_t old; /* elements from before the attach; UINT64_MAX: all until the ring is empty */
	/* The finished records. */
	uint64_t lines, first_seq, last_seq, damaged;
	struct rs_log_parts parts;
	uint32_t head, tail; /* of the buffer, like a ring's */
	uint64_t last_tsc, lost, reported;
	uint64_t unreported_lost, unreported_damaged;
	struct rs_slot buffer[RS_LOG_PORT_SLOTS];
};

void rs_log_port_init(struct rs_log_port *port, struct rs_log_epoch *epoch);

/* Drops the ring's content, *n elements. Returns false if the ring is broken. */
bool rs_log_port_skip(struct rs_log_port *port, uint64_t *n);

struct rs_port rs_port_log(struct rs_log_port *port);

#endif
