/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges lines of many lanes in the order of their sequence numbers.
 *
 *	lanes -> heap by number -> line, line, gap, line ...
 *
 * A line whose number is due is emitted at once. A line with a later number waits, since the lines
 * in between may still be written. After `patience_ms`, or when no more lines can be kept, a gap
 * takes the place of the missing lines. If they arrive later, they are dropped and counted. One
 * thread.
 */
#ifndef RS_LOG_MERGE_H
#define RS_LOG_MERGE_H

#include "log/text.h"
#include <ringside/error.h>

#define RS_LOG_WAITING_MAX 65536u

struct rs_log_taker {
	void *ctx;
	struct rs_error *(*line)(void *ctx, const struct rs_log_line *line);
	struct rs_error *(*gap)(void *ctx, const struct rs_log_gap *gap);
};

/* Lines with numbers between these, of one lane, are lost. */
struct rs_log_loss {
	uint64_t after, before; /* UINT64_MAX: not known yet */
	uint32_t cpus[2];	/* of the lane's lines before and after */
};
#define RS_LOG_LOSSES 16u

struct rs_log_merge_lane {
	uint64_t last; /* the lane's highest number so far */
	uint32_t cpu;  /* of its last line; a lane may be several CPUs' */
	uint32_t n_losses;
	struct rs_log_loss losses[RS_LOG_LOSSES];
};

struct rs_log_merge_entry;

struct rs_log_merge {
	struct rs_log_taker taker;
	struct rs_log_merge_lane *lanes;
	uint32_t n_lanes;
	uint64_t next; /* the next number; 0: the lowest */
	uint64_t last_us;
	struct rs_log_merge_entry *entries;
	uint32_t *heap, *spare; /* places in entries */
	uint32_t n, n_spare, room;
	uint64_t lines, missing, gaps, late, odd; /* odd: no lines at all */
};

struct rs_error *rs_log_merge_init(struct rs_log_merge *m, uint32_t n_lanes,
				   const struct rs_log_taker *taker);
void rs_log_merge_deinit(struct rs_log_merge *m);

/* Sets the next number that is due; 0: unknown. Discards the losses of all lanes. */
void rs_log_merge_begin(struct rs_log_merge *m, uint64_t next);

/* Adds a line of a lane, at most RS_LOG_TEXT_MAX bytes of it. The caller checks by
 * rs_log_merge_full() that there is room. */
struct rs_error *rs_log_merge_put(struct rs_log_merge *m, uint32_t lane, const char *text,
				  size_t bytes, bool cut, int64_t now_ms);

/* Adds a loss of this lane's lines, between its last line and its next one. */
void rs_log_merge_lost(struct rs_log_merge *m, uint32_t lane);

static inline bool rs_log_merge_full(const struct rs_log_merge *m)
{
	return m->n == RS_LOG_WAITING_MAX;
}

/* Emits the lines that are due. end: no more lines will be added. */
struct rs_error *rs_log_merge_run(struct rs_log_merge *m, int64_t now_ms, uint32_t patience_ms,
				  bool end);

#endif
