/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a ring of perf event samples (perf_event_open(2)) by time:
 *
 *	the kernel --> | record | record | ...     in the order in which they were finished
 *	               ^ tail   ^ in hand      ^ seen    ^ head
 *
 * An interrupt's sample may precede that of the code that it interrupted, which has the earlier
 * stamp. Records are therefore listed by time, and returned when they are old enough that no
 * earlier one can follow. Their room is released to the kernel when all records before them have
 * been consumed.
 *
 * Each byte is read once, within the ring; invalid data costs the records listed at that point. One
 * thread at a time.
 */
#ifndef RS_LIVE_PERF_RING_H
#define RS_LIVE_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The contents of each sample, in this order: PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_RAW;
 * each other record ends with the first two (sample_id_all). */
#define RS_PERF_IN_HAND 4096u /* the most records listed at once */

enum rs_perf_kind {
	RS_PERF_SAMPLE,
	RS_PERF_LOST,	 /* records that the kernel had no room for, before this time */
	RS_PERF_RENAMED, /* a thread has another name: raw is the name, to its NUL */
	RS_PERF_FORKED,	 /* a thread began, with the name of its parent */
	RS_PERF_EXITED,	 /* a thread ended */
};

struct rs_perf_record {
	enum rs_perf_kind kind;
	uint64_t time;
	uint64_t lost; /* only for RS_PERF_LOST */
	uint32_t pid, tid;
	uint32_t parent_tid; /* only for RS_PERF_FORKED */
	const uint8_t *raw;  /* valid until the next call; NULL if bytes is 0 */
	uint32_t bytes;
};

struct rs_perf_ring {
	void *page; /* struct perf_event_mmap_page */
	const uint8_t *data;
	uint64_t size;	   /* bytes, a power of two */
	uint64_t seen;	   /* records are listed up to here */
	uint64_t damaged;  /* number of times that the content was invalid */
	uint32_t first, n; /* of the listed places */
	struct rs_perf_place {
		uint64_t time, at; /* at: the start of its record */
		uint32_t bytes;
		enum rs_perf_kind kind;
	} * places;	 /* by time */
	uint8_t *record; /* a record that wraps around the ring's end */
};

/* Initialises a reader. The caller keeps page, of 4096 bytes, and data, of size bytes, a power of
 * two. Returns false without memory. */
bool rs_perf_ring_init(struct rs_perf_ring *ring, void *page, const uint8_t *data, uint64_t size);
void rs_perf_ring_deinit(struct rs_perf_ring *ring);

/* Lists new records, and releases to the kernel those that next() returned. Returns false if more
 * records did not fit, and none is held back for being too recent. */
bool rs_perf_ring_poll(struct rs_perf_ring *ring);

/* Returns the earliest listed record if it is not after `until`; *record is valid until the next
 * call. Returns false if there is none. */
bool rs_perf_ring_next(struct rs_perf_ring *ring, uint64_t until, struct rs_perf_record *record);

#endif
