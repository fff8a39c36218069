/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log's memory as a file: mapping it, checking it, and who may do what.
 *
 *	byte 0 of the file is locked by who logs, byte 1 by who recovers (F_OFD_SETLK: the kernel
 *	lets go when the process ends, however it ends)
 *
 * A half is one run's. Its states, and who changes them:
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
	char name[RS_LOG_NAME_MAX]; /* of files made of it: the path's last part */
	bool sound;		    /* the head makes sense; else layout says nothing */
};

/* Maps what is there. RS_DAMAGED with *memory valid: the head makes no sense; RS_USAGE: it is no
 * log. */
struct rs_error *rs_log_memory_open(const char *path, struct rs_log_memory *memory);

/*
 * For who will log: maps it, made first if it is not there, with options' sizes, which are all
 * given; takes byte 0; and finds a half that is free, after what earlier runs left was recovered,
 * or may stay. RS_USAGE: another process logs there. made: there was none, or none that made sense.
 * left is added to.
 */
struct rs_error *rs_log_memory_claim(const struct rs_log_options *options, struct rs_log_left *left,
				     struct rs_log_memory *memory, uint32_t *half, bool *made);

/* Holding byte 0: the run in this half has ended in order. */
void rs_log_memory_end(struct rs_log_memory *memory, uint32_t half);

void rs_log_memory_close(struct rs_log_memory *memory);

enum rs_log_lock {
	RS_LOG_LOCK_WRITER = 0,
	RS_LOG_LOCK_RECOVERY = 1,
};
/* False: another has it. */
bool rs_log_memory_lock(const struct rs_log_memory *memory, enum rs_log_lock lock, bool take);
/* Whether another has it. */
bool rs_log_memory_is_locked(const struct rs_log_memory *memory, enum rs_log_lock lock);

/* The lane of a half, in this process's memory. */
void rs_log_memory_lane(const struct rs_log_memory *memory, uint32_t half, uint32_t lane,
			struct rs_log_lane *out);

/* Holding byte 0: runs that are no more become last ones, or free if there is nothing in them that
 * has not been collected. */
void rs_log_memory_settle(struct rs_log_memory *memory);

/* Where its `wanted` last recovery begins: the oldest half in state LAST; false: there is none. */
bool rs_log_memory_oldest_last(const struct rs_log_memory *memory, uint32_t *half);

/* Holding byte 1: recovers each half in state LAST. left is added to. */
struct rs_error *rs_log_memory_recover(struct rs_log_memory *memory, const char *directory,
				       uint32_t files, struct rs_log_left *left);

/* Waits for byte 1, but not for ever. */
struct rs_error *rs_log_memory_lock_recovery(const struct rs_log_memory *memory);

#endif
