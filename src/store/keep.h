/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the newest finished packets of all streams in memory, bounded by age and by bytes.
 *
 *	add -->  [oldest] ... [newest]  --> dropped: too old, or too many bytes
 *	              \ held by a thread that writes them to a directory meanwhile
 *
 * Any thread may call.
 */
#ifndef RS_STORE_KEEP_H
#define RS_STORE_KEEP_H

#include <pthread.h>

#include "store/writer.h"

/* A thread that continues a stream. Counted: the stream and its packets each hold a reference. */
struct rs_kept_owner {
	uint32_t refs; /* atomic */
	struct rs_owner owner;
	char vm[64], thread[64];
};
/* Returns NULL if there is no memory. */
struct rs_kept_owner *rs_kept_owner_create(const struct rs_owner *owner);
struct rs_kept_owner *rs_kept_owner_get(struct rs_kept_owner *owner); /* accepts NULL */
void rs_kept_owner_put(struct rs_kept_owner *owner);

struct rs_kept_packet {
	struct rs_kept_packet *next;
	/* guarded by the lock: references of the list and of holders */
	uint32_t refs;
	uint32_t stream;	     /* index */
	uint64_t at_ns;		     /* time when it was finished; CLOCK_MONOTONIC */
	int64_t end_ns;		     /* time of its last record, on the trace's timeline */
	struct rs_kept_owner *owner; /* NULL: the first owner of the stream */
	struct rs_drained what;
	uint8_t content[]; /* what.bytes bytes of records */
};

struct rs_keep {
	struct rs_store_keep limits;
	pthread_mutex_t lock;
	struct rs_kept_packet *oldest, **newest;
	uint32_t n;
	uint64_t bytes;
	int64_t dropped_to_ns;	 /* the latest end of dropped packets; INT64_MIN: none */
	int64_t squeezed_out_ns; /* the latest end of those dropped to make room */
};

void rs_keep_init(struct rs_keep *keep, const struct rs_store_keep *limits);
void rs_keep_deinit(struct rs_keep *keep);

/* Keeps a copy of a packet's content. Returns false if there is no memory. */
bool rs_keep_add(struct rs_keep *keep, uint32_t stream, struct rs_kept_owner *owner,
		 const struct rs_drained *what, const void *content, int64_t end_ns);

/* Takes a reference to each kept packet, the oldest first, until rs_keep_release(). Returns false
 * if there is no memory. */
struct rs_kept {
	struct rs_kept_packet **packets;
	uint32_t n;
	int64_t dropped_to_ns, squeezed_out_ns;
};
bool rs_keep_hold(struct rs_keep *keep, struct rs_kept *kept);
void rs_keep_release(struct rs_keep *keep, struct rs_kept *kept);

#endif
