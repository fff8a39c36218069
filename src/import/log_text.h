/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the text files of a hypervisor's log line by line, as ACRN's acrnlog and `ringside log`
 * write them. All files of a log are one text, in the order of their numbers.
 *
 *	[1234us][cpu=0][vm0:vcpu0][sev=5][seq=17]:the message	a line (event/log_line.h)
 *	[gap: 17 lines are missing, seq 101 to 117, cpu 0 3, ...]	ringside log's, of a gap
 *		WARNING: logs missing here! ...				acrnlog's, of unknown size
 *
 * A line may be torn, cut, too long or full of NULs. A line without a head continues the message
 * before it, which had a newline in it, unless the line has parts of a head. An invalid line is an
 * item of its own, with its place. Memory: a buffer and a line. One thread.
 */
#ifndef RS_IMPORT_LOG_TEXT_H
#define RS_IMPORT_LOG_TEXT_H

#include "event/log_line.h"
#include <ringside/error.h>

enum rs_log_item_kind {
	RS_LOG_ITEM_LINE,
	RS_LOG_ITEM_GAP,
	RS_LOG_ITEM_GAP_OPEN, /* a gap of unknown size */
	RS_LOG_ITEM_DAMAGE,
	RS_LOG_ITEM_END,
};

struct rs_log_item {
	enum rs_log_item_kind kind;
	struct rs_log_line line; /* an item; its texts are valid until the reader's next item */
	struct rs_log_gap gap;
	const char *path;
	uint64_t number; /* of the line in its file, from 1 */
	/* The item's defect: always set for DAMAGE; for a line, the parts that it lacks, or NULL.
	 * The caller frees it. */
	struct rs_error *error;
};

struct rs_log_text;

/* Creates a reader. It copies the paths, and opens each file when it reaches it. fd: the first
 * file, if it is already open and the bytes at head were read from it; else -1. The reader owns
 * fd. */
struct rs_error *rs_log_text_create(const char *const *paths, uint32_t n, int fd, const void *head,
				    size_t bytes, struct rs_log_text **text);
void rs_log_text_destroy(struct rs_log_text *text); /* NULL is ignored */

/* Reads the next item. Returns an error if a file cannot be read; the reader is then at its end. */
struct rs_error *rs_log_text_next(struct rs_log_text *text, struct rs_log_item *item);

struct rs_log_text_sum {
	uint64_t items;	 /* lines, gaps, damage */
	uint64_t joined; /* lines without a head, which were added to the message before them */
	uint64_t cut;	 /* messages that were too long, and were cut */
};
struct rs_log_text_sum rs_log_text_sum(const struct rs_log_text *text);

/* Returns whether a file begins like a log. */
bool rs_log_text_is(const uint8_t *head, size_t bytes);

#endif
