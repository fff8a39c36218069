/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two logs of QEMU's, event by event: where they part, in all and by kind.
 *
 * Kinds are compared each apart, the k-th event of one log with the k-th of the other: a clock
 * that was read once more in one of them then says no more than that. Counts of instructions are no
 * events here, they are where the others are.
 */
#ifndef RS_REPLAY_RR_COMPARE_H
#define RS_REPLAY_RR_COMPARE_H

#include "replay/rr_log.h"

#define RS_RR_KINDS 256u

/* What one log has where they part. */
struct rs_rr_place {
	bool is; /* false: it has no more of these */
	struct rs_rr_event event;
};

struct rs_rr_kind_compared {
	uint64_t n[2]; /* events of this kind in each */
	bool differs;
	uint64_t at; /* the first that differs, from 0 */
	struct rs_rr_place first[2];
};

struct rs_rr_compared {
	uint64_t n[2];		     /* events */
	enum rs_rr_next ends[2];     /* how each log ends */
	bool differs;		     /* any kind does */
	uint64_t icount;	     /* up to here, that one included, nothing differs; or, where
				     * nothing does, the last that both have */
	struct rs_rr_place first[2]; /* in the order of the logs: the first place that differs */
	struct rs_rr_kind_compared kinds[RS_RR_KINDS];
};

/* Logs as rs_rr_log_load() gives them; borrowed, as are the events' data. RS_DAMAGED: no log. */
struct rs_error *rs_rr_compare(const uint8_t *const bytes[2], const size_t size[2],
			       struct rs_rr_compared *compared);

/* Some of a log's events between two instructions, the second included: at most max of them, and
 * how many there were. */
uint32_t rs_rr_between(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		       struct rs_rr_event *events, uint32_t max);

/* What an event says, as text: "2026-11-21 21:00:05.123456789", "'a\x0d'", "1f 8b ..."; "" when it
 * is its kind that says all. */
#define RS_RR_TEXT_BYTES 96
void rs_rr_event_text(const struct rs_rr_event *event, char text[RS_RR_TEXT_BYTES]);

#endif
