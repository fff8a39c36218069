/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collecting a log: rings, wherever they are, into lines in order.
 *
 *	a log's memory (log_ring.h)		one; its lanes
 *	files with an sbuf of 80-byte elements	ACRN's form, a file a CPU
 *	/dev/acrn_hvlog_*, FIFOs		read() gives an element; a file a CPU
 *
 * All that is given is one log, with one sequence of numbers. What is in rings is hostile.
 */
#ifndef RS_LOG_COLLECT_H
#define RS_LOG_COLLECT_H

#include "log/merge.h"

#define RS_LOG_PATIENCE_MS 500u

struct rs_log_collect_options {
	const char *const *paths;
	uint32_t n_paths;
	uint32_t patience_ms; /* for lines that are being written; see merge.h */
	/* Tell the rings what has been taken, and go on where the last collector did. Else what is
	 * there is shown, and stays as it is. */
	bool consume;
	/* Only what is there now. */
	bool once;
};

enum rs_log_path {
	RS_LOG_PATH_MEMORY, /* a log of its own */
	RS_LOG_PATH_RING,   /* a CPU's ring of ACRN's form */
	RS_LOG_PATH_LAST,   /* the same, of the last boot */
};

/* What is at path, by its name and its first bytes. */
enum rs_log_path rs_log_path_kind(const char *path);

struct rs_log_collector;

struct rs_error *rs_log_collector_create(const struct rs_log_collect_options *options,
					 const struct rs_log_taker *taker,
					 struct rs_log_collector **collector);
void rs_log_collector_destroy(struct rs_log_collector *collector);

struct rs_log_collected {
	uint64_t lines, missing, gaps;
	uint64_t late;	  /* lines that came after a gap had told of them */
	uint64_t damaged; /* elements and lines that make no sense */
	uint32_t runs;	  /* that began while we looked on */
	bool writing;	  /* somebody holds the memory; or it is no memory */
	bool new_last;	  /* a run has ended that rs_log_recover() is for */
};

/* Takes what there is. *done: with `once`, nothing more will come. The first error ends it. */
struct rs_error *rs_log_collector_poll(struct rs_log_collector *c, int64_t now_ms, bool *done);

/* Nobody will ask again: gives what still waits. */
struct rs_error *rs_log_collector_end(struct rs_log_collector *c, int64_t now_ms);

struct rs_log_collected rs_log_collector_sum(const struct rs_log_collector *c);

/* What the files that are made of it are called: of a memory its own name, else "acrnlog". */
const char *rs_log_collector_name(const struct rs_log_collector *c);

/* The path of the memory; NULL: it is none. */
const char *rs_log_collector_memory(const struct rs_log_collector *c);

#endif
