/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects a log: reads rings of any of these kinds, and returns their lines in order.
 *
 *	a log's memory (log_ring.h)		one; its lanes
 *	files with an sbuf of 80-byte elements	ACRN's form, a file a CPU
 *	/dev/acrn_hvlog_*, FIFOs		read() returns an element; a file a CPU
 *
 * All paths belong to one log, with one sequence of numbers. The contents of rings are hostile.
 */
#ifndef RS_LOG_COLLECT_H
#define RS_LOG_COLLECT_H

#include "log/merge.h"

#define RS_LOG_PATIENCE_MS 500u

struct rs_log_collect_options {
	const char *const *paths;
	uint32_t n_paths;
	uint32_t patience_ms; /* for lines that are being written; see merge.h */
	/* Release the collected elements in the rings, and continue where the last collector
	 * stopped. If false, show the content and leave it unchanged. */
	bool consume;
	/* Read only the elements that exist at the start. */
	bool once;
};

enum rs_log_path {
	RS_LOG_PATH_MEMORY, /* a log's memory */
	RS_LOG_PATH_RING,   /* a CPU's ring of ACRN's form */
	RS_LOG_PATH_LAST,   /* the same, of the last boot */
};

/* Returns what is at path, by its name and its first bytes. */
enum rs_log_path rs_log_path_kind(const char *path);

struct rs_log_collector;

struct rs_error *rs_log_collector_create(const struct rs_log_collect_options *options,
					 const struct rs_log_taker *taker,
					 struct rs_log_collector **collector);
void rs_log_collector_destroy(struct rs_log_collector *collector);

struct rs_log_collected {
	uint64_t lines, missing, gaps;
	uint64_t late;	  /* lines that arrived after a gap was written for them */
	uint64_t damaged; /* invalid elements and lines */
	uint32_t runs;	  /* runs that began during the collection */
	bool writing;	  /* a process holds the memory, or the rings are of another kind */
	bool new_last;	  /* a run has ended, and rs_log_recover() can recover it */
};

/* Reads the available elements. Sets *done if, with `once`, all are read. The first error ends the
 * collection. */
struct rs_error *rs_log_collector_poll(struct rs_log_collector *c, int64_t now_ms, bool *done);

/* Ends the collection: emits the waiting lines. */
struct rs_error *rs_log_collector_end(struct rs_log_collector *c, int64_t now_ms);

struct rs_log_collected rs_log_collector_sum(const struct rs_log_collector *c);

/* Returns the name for files of the log: a memory's own name, else "acrnlog". */
const char *rs_log_collector_name(const struct rs_log_collector *c);

/* Returns the path of the memory, or NULL for rings of another kind. */
const char *rs_log_collector_memory(const struct rs_log_collector *c);

#endif
