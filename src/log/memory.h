/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log's memory as a file: maps it, checks it, and locks it.
 *
 *	the process that logs locks byte 0 of the file, one that recovers byte 1 (F_OFD_SETLK: the
 *	kernel unlocks when the process ends, also if it is killed)
 *
 * A half belongs to one run. Its states, and what changes them:
 *
 *	FREE --start--> IN_USE --stop--> ENDED
 *	         next start, or recovery, holding byte 0: IN_USE, ENDED --> LAST
 *	         recovery, holding byte 1:                LAST --> FREE
 */
#ifndef RS_LOG_MEMORY_H
#define RS_LOG_MEMORY_H

#include <ringside/log.h>
#include <ringside/ring.h>

struct rs_log_memory {
	struct rs_ring_memory map;
	struct rs_log_head *head; /* shared: each field is read once */
	struct rs_log_layout layout;
	char name[RS_LOG_NAME_MAX]; /* for the names of recovered files: the path's last part */
	bool sound;		    /* the head is valid; else `layout` is not set */
};

/* Maps an existing memory. Returns RS_DAMAGED, with *memory valid, if the head is invalid, and
 * RS_USAGE if the file is not a log. */
struct rs_error *rs_log_memory_open(const char *path, struct rs_log_memory *memory);

/*
 * Claims a half for a process that will log: maps the memory, or creates it with the sizes of
 * options, which are all set; locks byte 0; and finds a free half, after it has recovered the
 * halves of earlier runs, or if these may stay. Returns RS_USAGE if another process logs to the
 * memory. Sets *made if no valid memory existed. Adds to *left.
 */
struct rs_error *rs_log_memory_claim(const struct rs_log_options *options, struct rs_log_left *left,
				     struct rs_log_memory *memory, uint32_t *half, bool *made);

/* Marks the run in this half as ended in order. The caller holds byte 0. */
void rs_log_memory_end(struct rs_log_memory *memory, uint32_t half);

void rs_log_memory_close(struct rs_log_memory *memory);

enum rs_log_lock {
	RS_LOG_LOCK_WRITER = 0,
	RS_LOG_LOCK_RECOVERY = 1,
};
/* Locks or unlocks. Returns false if another process holds the lock. */
bool rs_log_memory_lock(const struct rs_log_memory *memory, enum rs_log_lock lock, bool take);
/* Returns whether another process holds the lock. */
bool rs_log_memory_is_locked(const struct rs_log_memory *memory, enum rs_log_lock lock);

/* Returns the lane of a half, in this process's memory. */
void rs_log_memory_lane(const struct rs_log_memory *memory, uint32_t half, uint32_t lane,
			struct rs_log_lane *out);

/* Marks the halves of runs that have ended as LAST, or as FREE if all lines were collected. The
 * caller holds byte 0. */
void rs_log_memory_settle(struct rs_log_memory *memory);

/* Finds the oldest half in state LAST. Returns false if no half is in this state. */
bool rs_log_memory_oldest_last(const struct rs_log_memory *memory, uint32_t *half);

/* Recovers each half in state LAST, and adds to *left. The caller holds byte 1. */
struct rs_error *rs_log_memory_recover(struct rs_log_memory *memory, const char *directory,
				       uint32_t files, struct rs_log_left *left);

/* Locks byte 1. Waits for the lock up to a limit. */
struct rs_error *rs_log_memory_lock_recovery(const struct rs_log_memory *memory);

#endif
