/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring that the kernel puts samples of perf events into (perf_event_open(2)), read by time:
 *
 *	the kernel --> | record | record | ...     in the order in which they were finished
 *	               ^ tail   ^ in hand      ^ seen    ^ head
 *
 * An interrupt's sample may stand before that of what it interrupted, which has the earlier stamp.
 * So records are listed by time, and given when they are old enough that no earlier one will come.
 * Their room is the kernel's again when all records before them are done with.
 *
 * Each byte is read once, within the ring; what is invalid costs the records in hand there.
 * One thread at a time.
 */
#ifndef RS_LIVE_PERF_RING_H
#define RS_LIVE_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each sample has, in this order: PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_RAW; each
 * other record ends with the first two (sample_id_all). */
#define RS_PERF_IN_HAND 4096u /* records that are listed at most */

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
	uint64_t lost; /* of RS_PERF_LOST alone */
	uint32_t pid, tid;
	uint32_t parent_tid; /* of RS_PERF_FORKED alone */
	const uint8_t *raw;  /* until the next call; NULL if bytes is 0 */
	uint32_t bytes;
};

struct rs_perf_ring {
	void *page; /* struct perf_event_mmap_page */
	const uint8_t *data;
	uint64_t size;	   /* bytes, a power of two */
	uint64_t seen;	   /* listed up to here */
	uint64_t damaged;  /* times that what was in the ring made no sense */
	uint32_t first, n; /* of the places in hand */
	struct rs_perf_place {
		uint64_t time, at; /* at: where its record begins */
		uint32_t bytes;
		enum rs_perf_kind kind;
	} * places;	 /* by time */
	uint8_t *record; /* one that comes round the ring's end */
};

/* page, of 4096 bytes, and size bytes at data, a power of two, stay the caller's. False: no memory.
 */
bool rs_perf_ring_init(struct rs_perf_ring *ring, void *page, const uint8_t *data, uint64_t size);
void rs_perf_ring_deinit(struct rs_perf_ring *ring);

/* Lists what has come, and gives the kernel back what was given by next(). False: there are so many
 * that more did not fit, and none is held back for being too young. */
bool rs_perf_ring_poll(struct rs_perf_ring *ring);

/* The earliest record in hand, if it is not after `until`; *record keeps until the next call.
 * False: there is none. */
bool rs_perf_ring_next(struct rs_perf_ring *ring, uint64_t until, struct rs_perf_record *record);

#endif
