/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares two of QEMU's logs event by event. Finds the first difference, in all events and by
 * kind.
 *
 * Each kind is compared separately, the k-th event of one log with the k-th of the other, so that
 * an additional reading of a clock in one of them affects only that kind. Counts of instructions
 * are not events here; they give the place of the others.
 */
#ifndef RS_REPLAY_RR_COMPARE_H
#define RS_REPLAY_RR_COMPARE_H

#include "replay/rr_log.h"

#define RS_RR_KINDS 256u

/* One log's event at the difference. */
struct rs_rr_place {
	bool is; /* false: the log has no more events of this kind */
	struct rs_rr_event event;
};

struct rs_rr_kind_compared {
	uint64_t n[2]; /* number of events of this kind in each log */
	bool differs;
	uint64_t at; /* index of the first that differs */
	struct rs_rr_place first[2];
};

struct rs_rr_compared {
	uint64_t n[2];		 /* events */
	enum rs_rr_next ends[2]; /* the ends of the logs */
	bool differs;		 /* events of any kind differ */
	/* all events up to and including this instruction are equal; if */
	uint64_t icount;
	struct rs_rr_place first[2]; /* in the order of the logs: the first place that differs */
	struct rs_rr_kind_compared kinds[RS_RR_KINDS];
};

/* Compares two logs from rs_rr_log_load(). Borrows them, as do the events' data. Returns RS_DAMAGED
 * if one is not a log. */
struct rs_error *rs_rr_compare(const uint8_t *const bytes[2], const size_t size[2],
			       struct rs_rr_compared *compared);

/* Lists events of a log between two instructions, the second included. Stores at most max. Returns
 * their number. */
uint32_t rs_rr_between(const uint8_t *bytes, size_t size, uint64_t from, uint64_t to,
		       struct rs_rr_event *events, uint32_t max);

/* Formats an event's content as text: "2026-11-21 21:00:05.123456789", "'a\x0d'", "1f 8b ..."; ""
 * if it has no content besides its kind. */
#define RS_RR_TEXT_BYTES 96
void rs_rr_event_text(const struct rs_rr_event *event, char text[RS_RR_TEXT_BYTES]);

#endif
