/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a trace directory. The thread that owns a stream fills its packet in memory. One call
 * writes the packet when it is full, old enough, or at the end. The lines of the description that
 * its records need are on disk before it.
 *
 * A stream belongs to one thread at a time; different streams may be written at once. A packet that
 * cannot be written is counted and reported as lost, and the next one is written in its place.
 *
 * The thread that owns a stream writes its packets. Or they wait in a bounded queue for another
 * thread to write them, so that filling continues during a slow write.
 */
#ifndef RS_STORE_WRITER_H
#define RS_STORE_WRITER_H

#include "event/drain.h"
#include "store/describe.h"

struct rs_store;
struct rs_store_stream;

struct rs_store_summary {
	uint64_t records, lost, bytes, streams;
};

/* Creates the directory. RS_USAGE: it exists and is not empty. */
struct rs_error *rs_store_create(const char *directory, const struct rs_clock *clock,
				 const char *command, struct rs_store **store);
/* Creates the directory of a trace from another host; "" if that is unknown. */
struct rs_error *rs_store_create_of(const char *directory, const struct rs_clock *clock,
				    const char *host, const char *command, struct rs_store **store);

/*
 * Makes finished packets wait in queues, which streams share in turns, until rs_store_write().
 * Called before there are streams. bytes limits the packets: at the limit, a thread that finishes
 * one waits for the disk, or writes. rs_store_close() returns errors of writes. ahead: allocates
 * the memory for all packets now, so that no ring waits for it.
 */
struct rs_error *rs_store_set_behind(struct rs_store *store, uint32_t queues, uint64_t bytes,
				     bool ahead);

/* Returns whether packets wait in a stream's queue while no thread writes. Any thread may call
 * this, and write. */
bool rs_store_waits(const struct rs_store_stream *stream);

/* Write what waits in a stream's queue, or in a queue by its number, unless another thread does. */
void rs_store_write(const struct rs_store_stream *stream);
void rs_store_write_queue(struct rs_store *store, uint32_t queue);

/* Adds a producer: its schema, which stays the caller's, and the clock of its stamps. */
struct rs_error *rs_store_add_class(struct rs_store *store, struct rs_schema *schema,
				    const struct rs_clock *clock, uint32_t *class_index);

struct rs_error *rs_store_add_stream(struct rs_store *store, uint32_t class_index,
				     const struct rs_stream *identity,
				     struct rs_store_stream **stream);

/* Adds a thread with events in this class's streams, before the packets with these events are
 * written. Copies what thread points to. Any thread may call. */
struct rs_error *rs_store_add_thread(struct rs_store *store, uint32_t class_index,
				     const struct rs_thread *thread);

/* Adds a line with the name of a Xen domain, unless the last line of that domain has the same
 * name. */
struct rs_error *rs_store_add_domain(struct rs_store *store, uint32_t class_index, uint32_t dom,
				     const char *vm);

/* Sets when the recording ended, if no event shows it: readers' time continues until then. */
void rs_store_set_closed(struct rs_store *store, int64_t at_ns);

/* Replaces the values of the clock of this id, such as its error or frequency. Any thread may
 * call. */
struct rs_error *rs_store_set_clock(struct rs_store *store, const struct rs_clock *clock);

/* Adds a line about a binary whose events are in the trace, unless there is one of the same role,
 * path and load address. RS_USAGE: no role, no path, or a hash without its name. */
struct rs_error *rs_store_add_binary(struct rs_store *store, const struct rs_trace_binary *binary);

/* Returns the place for the next records: at least RS_DRAIN_ROOM_MIN bytes. Writes or queues a full
 * packet first; an error is that packet's, and the place is valid. */
struct rs_error *rs_store_room(struct rs_store_stream *stream, uint8_t **at, uint32_t *bytes);

/* Commits what was put there. */
void rs_store_commit(struct rs_store_stream *stream, const struct rs_drained *drained);

/* Writes the packet being filled, if its records have waited for age_ns by now_ns (any clock, the
 * same in all calls) and no packet of this stream waits for the disk; or if age_ns is 0. */
struct rs_error *rs_store_flush(struct rs_store_stream *stream, uint64_t now_ns, uint64_t age_ns);

/* Returns the counts of all packets so far. Any thread may call. */
void rs_store_progress(struct rs_store *store, struct rs_store_summary *summary);

/* Ends a stream whose producer has ended: writes what is left, and frees its memory. */
struct rs_error *rs_store_end_stream(struct rs_store_stream *stream);

/*
 * Resumes a stream that was ended. Later records are its new owner's, whose stamps begin at
 * owner->from, after all stamps in the stream. So a trace has as many streams as threads ran at
 * once. Copies what owner points to. On failure the stream stays ended.
 */
struct rs_error *rs_store_resume_stream(struct rs_store_stream *stream,
					const struct rs_owner *owner);

/* ---- the newest, in memory ----------------------------------------------------------------- */

/*
 * A flight recorder's store: it has no directory, and keeps finished packets in memory until they
 * are older than age_ns or more than bytes, the oldest first; the newest alone may be more. Dropped
 * packets are no loss; those without memory are. Otherwise it works as any store.
 */
struct rs_store_keep {
	uint64_t age_ns; /* CLOCK_MONOTONIC, from when a packet was finished */
	uint64_t bytes;	 /* of packets, and what they take beside their content */
};

struct rs_error *rs_store_create_keeping(const struct rs_store_keep *keep,
					 const struct rs_clock *clock, const char *command,
					 struct rs_store **store);

struct rs_store_kept {
	struct rs_store_summary sum;
	int64_t whole_from_ns; /* INT64_MIN: nothing was dropped yet */
	bool short_of_bytes;   /* the limit of bytes dropped packets, too */
};

/*
 * Writes what is kept as a trace directory of its own, which says from when on it is whole, and
 * why it was written at at_ns. What is kept stays kept. Any thread may call; packets that are
 * finished meanwhile are the next one's. clock: refined, or NULL.
 */
struct rs_error *rs_store_write_kept(struct rs_store *store, const char *directory, const char *why,
				     int64_t at_ns, const struct rs_clock *clock,
				     struct rs_store_kept *kept);

/* Notes in the trace, for its readers, that records are missing. Does not consume err. */
void rs_store_note(struct rs_store *store, const struct rs_error *err);

/* Counts records that were lost before they came to any stream. Any thread may call. */
void rs_store_add_unsaid(struct rs_store *store, uint64_t records, const char *why);

/* Writes what is left and closes the directory. clock: refined, or NULL. The first error of any
 * write. The schemas may go afterwards. */
struct rs_error *rs_store_close(struct rs_store *store, const struct rs_clock *clock,
				struct rs_store_summary *summary);

#endif
