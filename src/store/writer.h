/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a trace directory. The thread that owns a stream fills its packet in memory. A packet is
 * written when it is full or old enough, and at the end. The lines of the description that its
 * records need are written before it.
 *
 * A stream belongs to one thread at a time; different streams may be written at once. A packet that
 * cannot be written is counted and reported as lost, and the next one is written in its place.
 *
 * By default, the thread that owns a stream writes its packets. Alternatively they wait in a
 * bounded queue until another thread writes them, so that filling continues during a slow write.
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

/* Creates the directory. Returns RS_USAGE if it exists and is not empty. */
struct rs_error *rs_store_create(const char *directory, const struct rs_clock *clock,
				 const char *command, struct rs_store **store);
/* Creates the directory of a trace from another host, "" if that is unknown. */
struct rs_error *rs_store_create_of(const char *directory, const struct rs_clock *clock,
				    const char *host, const char *command, struct rs_store **store);

/*
 * Puts finished packets into queues, to which streams are assigned in rotation, until
 * rs_store_write(). Call it before streams are added. `bytes` limits the packets' memory: at the
 * limit, a thread that finishes a packet waits for the disk, or writes. rs_store_close() returns
 * errors of writes. ahead: allocates the memory for all packets now, so that no ring waits for an
 * allocation.
 */
struct rs_error *rs_store_set_behind(struct rs_store *store, uint32_t queues, uint64_t bytes,
				     bool ahead);

/* Returns whether packets wait in a stream's queue and no thread writes. Any thread may call this,
 * and the two functions below. */
bool rs_store_waits(const struct rs_store_stream *stream);

/* Write the packets in a stream's queue, or in a queue by its number, unless another thread
 * does. */
void rs_store_write(const struct rs_store_stream *stream);
void rs_store_write_queue(struct rs_store *store, uint32_t queue);

/* Adds a producer: its schema, which the caller keeps, and the clock of its stamps. */
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

/* Sets when the recording ended. Readers' time continues until then, even if no event is that
 * late. */
void rs_store_set_closed(struct rs_store *store, int64_t at_ns);

/* Replaces the values of the clock of this id, such as its error or frequency. Any thread may
 * call. */
struct rs_error *rs_store_set_clock(struct rs_store *store, const struct rs_clock *clock);

/* Adds a line about a binary whose events are in the trace, unless there is one of the same role,
 * path and load address. Returns RS_USAGE if it has no role, no path, or a hash without its
 * name. */
struct rs_error *rs_store_add_binary(struct rs_store *store, const struct rs_trace_binary *binary);

/* Sets *at to the place for the next records, and *bytes to its size, at least RS_DRAIN_ROOM_MIN.
 * Writes or queues a full packet first. An error is about that packet; the place is valid
 * anyway. */
struct rs_error *rs_store_room(struct rs_store_stream *stream, uint8_t **at, uint32_t *bytes);

/* Commits the records that were put there. */
void rs_store_commit(struct rs_store_stream *stream, const struct rs_drained *drained);

/* Writes the packet being filled, if age_ns is 0, or if its records have waited for age_ns by
 * now_ns (any clock, the same in all calls) and no packet of this stream waits for the disk. */
struct rs_error *rs_store_flush(struct rs_store_stream *stream, uint64_t now_ns, uint64_t age_ns);

/* Returns the number of records, plus the losses that they report, in the packets that a stream has
 * finished. These packets are written, wait to be written, or are counted as lost. Only the filler
 * may call. */
uint64_t rs_store_finished(const struct rs_store_stream *stream);

/* Returns whether finished packets of a stream are not written yet. */
bool rs_store_is_behind(const struct rs_store_stream *stream);

/* Writes the new lines of the description now. Keeps errors; the next packet tries again. */
void rs_store_sync(struct rs_store *store);

/* Returns the trace's UUID, or NULL if it is kept in memory, and so has no directory. */
const uint8_t *rs_store_uuid(const struct rs_store *store);
/* Returns the path of the trace's directory when it was made, or NULL. */
const char *rs_store_place(const struct rs_store *store);
uint32_t rs_store_stream_index(const struct rs_store_stream *stream);

/* Returns the counts of all packets so far. Any thread may call. */
void rs_store_progress(struct rs_store *store, struct rs_store_summary *summary);

/* Ends a stream whose producer has ended: writes its last packet, and frees its memory. */
struct rs_error *rs_store_end_stream(struct rs_store_stream *stream);

/*
 * Resumes a stream that was ended. Later records belong to the new owner. Its stamps begin at
 * owner->from, after all stamps in the stream. So a trace needs only as many streams as threads
 * that ran at the same time. Copies what owner points to. On failure the stream stays ended.
 */
struct rs_error *rs_store_resume_stream(struct rs_store_stream *stream,
					const struct rs_owner *owner);

/* ---- the newest, in memory ----------------------------------------------------------------- */

/*
 * Creates a flight recorder's store. It has no directory. It keeps finished packets in memory, and
 * drops the oldest ones that are older than age_ns or exceed `bytes`, but never the newest. Dropped
 * packets do not count as lost, but packets without memory do. Otherwise it works like any store.
 */
struct rs_store_keep {
	uint64_t age_ns; /* CLOCK_MONOTONIC, since a packet was finished */
	uint64_t bytes;	 /* of packets, with the memory that they need beside their content */
};

struct rs_error *rs_store_create_keeping(const struct rs_store_keep *keep,
					 const struct rs_clock *clock, const char *command,
					 struct rs_store **store);

struct rs_store_kept {
	struct rs_store_summary sum;
	int64_t whole_from_ns; /* INT64_MIN: nothing was dropped yet */
	bool short_of_bytes;   /* the limit of bytes also dropped packets */
};

/*
 * Writes the kept packets as a separate trace directory, which says from when on it is whole, and
 * why it was written at at_ns. The packets stay in memory. Any thread may call. Packets that are
 * finished meanwhile go into the next directory. clock: refined values, or NULL.
 */
struct rs_error *rs_store_write_kept(struct rs_store *store, const char *directory, const char *why,
				     int64_t at_ns, const struct rs_clock *clock,
				     struct rs_store_kept *kept);

/* Notes in the trace, for its readers, that records are missing. Does not consume err. */
void rs_store_note(struct rs_store *store, const struct rs_error *err);

/* Notes in the trace's state that a stream's ring dies with this process. why is NULL if the file
 * of the rings has no room for it. Any thread may call. */
void rs_store_note_private(struct rs_store *store, uint32_t stream, const struct rs_error *why);

/* Counts records that were lost before they reached any stream. Any thread may call. */
void rs_store_add_unsaid(struct rs_store *store, uint64_t records, const char *why);

/* Writes the remaining packets and closes the directory. clock: refined values, or NULL. Returns
 * the first error of any write. The caller may then destroy the schemas. */
struct rs_error *rs_store_close(struct rs_store *store, const struct rs_clock *clock,
				struct rs_store_summary *summary);

#endif
