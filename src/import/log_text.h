/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text files of a hypervisor's log, line by line: what ACRN's acrnlog and `ringside log` write.
 * All files of a log are one text, in the order of their numbers.
 *
 *	[1234us][cpu=0][vm0:vcpu0][sev=5][seq=17]:the message	a line (event/log_line.h)
 *	[gap: 17 lines are missing, seq 101 to 117, cpu 0 3, ...]	ours of a gap
 *		WARNING: logs missing here! ...				acrnlog's, which has no size
 *
 * Whoever wrote them, nothing is promised: a line may be torn, cut, too long, full of NULs. What
 * has no head of its own behind a line is the rest of its message, which had a newline in it;
 * unless it shows the remains of a head. What is invalid is an item of its own, and says where
 * it stands. Memory: a buffer, a line. One thread.
 */
#ifndef RS_IMPORT_LOG_TEXT_H
#define RS_IMPORT_LOG_TEXT_H

#include "event/log_line.h"
#include <ringside/error.h>

enum rs_log_item_kind {
	RS_LOG_ITEM_LINE,
	RS_LOG_ITEM_GAP,
	RS_LOG_ITEM_GAP_OPEN, /* a gap whose size is not told */
	RS_LOG_ITEM_DAMAGE,
	RS_LOG_ITEM_END,
};

struct rs_log_item {
	enum rs_log_item_kind kind;
	struct rs_log_line line; /* texts point into the reader, until its next item */
	struct rs_log_gap gap;
	const char *path;
	uint64_t number; /* of the line in it, from 1 */
	/* What is wrong with it: of DAMAGE always, of a line what of it is missing. The taker's. */
	struct rs_error *error;
};

struct rs_log_text;

/* Files are opened as they are reached. fd: the first one's, if it is open already, of which the
 * bytes at head were read; else -1. It is taken over, the paths are copied. */
struct rs_error *rs_log_text_create(const char *const *paths, uint32_t n, int fd, const void *head,
				    size_t bytes, struct rs_log_text **text);
void rs_log_text_destroy(struct rs_log_text *text); /* NULL is nothing */

/* The error: a file can't be read; what comes after it is not read either. */
struct rs_error *rs_log_text_next(struct rs_log_text *text, struct rs_log_item *item);

struct rs_log_text_sum {
	uint64_t items;	 /* lines, gaps, damage */
	uint64_t joined; /* lines without a head that were taken for more of a message */
	uint64_t cut;	 /* messages whose end was left out, as too long */
};
struct rs_log_text_sum rs_log_text_sum(const struct rs_log_text *text);

/* Whether a file begins as a log's does. */
bool rs_log_text_is(const uint8_t *head, size_t bytes);

#endif
