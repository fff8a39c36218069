/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing a trace directory. The thread that owns a stream fills its packet in memory. The packet
 * is written with one call when it is full, old enough, or at the end. Before a packet goes
 * out, what its records need of the description is on disk.
 *
 * A stream belongs to one thread at a time; different streams may be written at once. A packet
 * that can't be written is counted as lost, said, and the next one tried in its place.
 *
 * Who has a stream writes its packets; or they wait for somebody who does, up to a bound, so that
 * filling goes on while the disk takes its time.
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

/* Makes the directory. RS_USAGE: it exists and is not empty. */
struct rs_error *rs_store_create(const char *directory, const struct rs_clock *clock,
				 const char *command, struct rs_store **store);
/* The same of a trace that was taken on another host; "": it is unknown which. */
struct rs_error *rs_store_create_of(const char *directory, const struct rs_clock *clock,
				    const char *host, const char *command, struct rs_store **store);

/*
 * Before there are streams: from now on packets that are finished wait in queues, which streams
 * share by turns, until rs_store_write(); bytes of them at most. Where there are as many, who
 * finishes one waits for the disk, or writes. What can't be written, rs_store_close() says. ahead:
 * the memory for all of them is taken now, and not where a ring would wait for it.
 */
struct rs_error *rs_store_set_behind(struct rs_store *store, uint32_t queues, uint64_t bytes,
				     bool ahead);

/* Whether packets wait in its queue that nobody writes. Any thread may call, and write. */
bool rs_store_waits(const struct rs_store_stream *stream);

/* Writes what waits in its queue, or in one by its number, unless somebody does. */
void rs_store_write(const struct rs_store_stream *stream);
void rs_store_write_queue(struct rs_store *store, uint32_t queue);

/* A producer: its schema, which stays the caller's, and the clock of its stamps. */
struct rs_error *rs_store_add_class(struct rs_store *store, struct rs_schema *schema,
				    const struct rs_clock *clock, uint32_t *class_index);

struct rs_error *rs_store_add_stream(struct rs_store *store, uint32_t class_index,
				     const struct rs_stream *identity,
				     struct rs_store_stream **stream);

/* A thread that this class's streams tell of; to be told before the packets with its
 * events are written. Any thread may call. What it says is copied. */
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

/* Adds a line about a binary whose events are in the trace. RS_USAGE: a text but build_id is NULL.
 */
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
