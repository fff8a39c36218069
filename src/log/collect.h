/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects a log: reads rings of any of these kinds, and returns their lines in order.
 *
 *	a log's memory (log_ring.h)		one; its lanes
 *	files with an sbuf of 80-byte elements	ACRN's form, a file a CPU
 *	/dev/acrn_hvlog_*, FIFOs		read() gives an element; a file a CPU
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
	/* Release what was read in the rings, and continue where the last collector stopped. If
	 * false, show the content and leave it unchanged. */
	bool consume;
	/* Read only what is there now. */
	bool once;
};

enum rs_log_path {
	RS_LOG_PATH_MEMORY, /* a log of its own */
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
	uint64_t late;	  /* lines that came after a gap was written for them */
	uint64_t damaged; /* invalid elements and lines */
	uint32_t runs;	  /* that began during the collection */
	bool writing;	  /* a process holds the memory; or it is no memory */
	bool new_last;	  /* a run has ended that rs_log_recover() is for */
};

/* Reads what is there. *done: with `once`, all is read. The first error ends the collection. */
struct rs_error *rs_log_collector_poll(struct rs_log_collector *c, int64_t now_ms, bool *done);

/* Ends the collection: emits the lines that still wait. */
struct rs_error *rs_log_collector_end(struct rs_log_collector *c, int64_t now_ms);

struct rs_log_collected rs_log_collector_sum(const struct rs_log_collector *c);

/* Returns the name for files made of the log: a memory's own name, else "acrnlog". */
const char *rs_log_collector_name(const struct rs_log_collector *c);

/* Returns the path of the memory, or NULL for rings of another kind. */
const char *rs_log_collector_memory(const struct rs_log_collector *c);

#endif
