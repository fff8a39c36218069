/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder: drains rings into a trace directory. Its threads copy whole runs of slots into
 * packets of 128 KiB, check them there, write them, and sleep between. While the disk takes its
 * time for one of them, another one goes on draining.
 *
 *	program's threads, guests --> rings --> drain and check --> packets --> stream_N
 *
 * Up to 64 MiB of packets wait for the disk. Where there are as many a drain waits for the next one
 * that is written, the rings fill, and what they refuse is counted.
 *
 * A recorder that is killed, or whose disk is full, leaves a directory that reads up to the cut.
 */
#ifndef RINGSIDE_RECORDER_H
#define RINGSIDE_RECORDER_H

#include <ringside/host.h>
#include <ringside/reader.h>

struct rs_recorder_options {
	/* Made; RS_USAGE if it exists and is not empty. NULL: the newest packets stay in memory. */
	const char *directory;
	struct rs_clock clock; /* the host's; its origin is the trace's start */
	/* Between two rounds over the rings, at most; 0 means 1000. Less where they fill fast. */
	uint32_t poll_us;
	uint32_t flush_ms; /* a packet is finished after this long even if not full; 0: 100 */
	uint32_t threads;  /* 0 means 1; and one that stands in for them */
	/* Its threads go before others, if this user may have that; and the memory for what waits
	 * for the disk is taken at once, so that no ring waits for memory. */
	bool urgent;
	const char *command; /* what was run, for the trace's env; may be NULL */
	/* In memory: no longer than this, and no more, whichever is reached first. */
	uint64_t keep_ns, keep_bytes;
};

struct rs_recorder;

struct rs_error *rs_recorder_create(const struct rs_recorder_options *options,
				    struct rs_recorder **recorder);

/* Collects this program's own threads (trace.h), those that come later too. */
struct rs_error *rs_recorder_add_trace(struct rs_recorder *recorder);

/*
 * Collects a guest, which must outlive the recorder. With poll, the recorder's threads drain its
 * rings. Without, only rs_recorder_drain_guest() does. RS_USAGE: the guest has a recorder or a
 * source.
 */
struct rs_error *rs_recorder_add_guest(struct rs_recorder *recorder, struct rs_host_guest *guest,
				       bool poll);

/*
 * Drains a vCPU's ring on the caller's thread, so that what a doorbell left is in the packet before
 * the guest goes on. A ring that is not known yet is searched for where a doorbell or
 * rs_host_set_area() says. Does nothing after the ring was found broken. RS_USAGE: the recorder
 * does not collect this guest. Other errors (the area or ring is invalid, the ring broke, the
 * storage failed) are returned once.
 */
struct rs_error *rs_recorder_drain_guest(struct rs_recorder *recorder,
					 const struct rs_host_guest *guest, uint32_t vcpu);

/*
 * A ring in this process's memory that somebody else puts into: the kernel's BPF programs, another
 * program. An sbuf of 32-byte elements; what it points to stays the caller's, and must outlive the
 * recorder. Rings of one schema and clock share a class.
 */
struct rs_recorder_ring {
	void *mem;
	size_t bytes;
	struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_stream *stream; /* whose it is: vm, thread, vcpu, cpu, tid */
};

/* Collects such a ring. RS_DAMAGED: it is none. One that breaks later ends alone, and the
 * recorder's close says so. */
struct rs_error *rs_recorder_add_ring(struct rs_recorder *recorder,
				      const struct rs_recorder_ring *ring);

/*
 * A stream that the caller fills itself, record by record, for the little that it has to say: no
 * ring, and so no loss but storage's. Belongs to the recorder. Any thread may put, and waits for
 * the others.
 */
struct rs_recorder_stream;
struct rs_error *rs_recorder_add_stream(struct rs_recorder *recorder, struct rs_schema *schema,
					const struct rs_clock *clock,
					const struct rs_stream *identity,
					struct rs_recorder_stream **stream);

/* payload as the schema has it for id; a stamp before the last one becomes the last one. RS_USAGE:
 * the schema has no such event, or not of these bytes. */
struct rs_error *rs_recorder_put(struct rs_recorder_stream *stream, uint64_t stamp, uint64_t id,
				 const void *payload, uint32_t bytes);

/* Says whose a tid in the events of such rings and streams is; before they come, as far as that can
 * be. RS_USAGE: none of them has this schema. */
struct rs_error *rs_recorder_add_thread(struct rs_recorder *recorder,
					const struct rs_schema *schema,
					const struct rs_thread *thread);

/* Notes a binary whose events are in the trace: its role ("guest"), path, hash and build-id, which
 * `print --tree` shows. Copies the texts. RS_USAGE: one of them but the build-id is NULL. */
struct rs_error *rs_recorder_add_binary(struct rs_recorder *recorder,
					const struct rs_trace_binary *binary);

struct rs_recorder_summary {
	uint64_t records;
	uint64_t lost;
	uint64_t bytes;
	uint64_t streams;
};

/* What there is so far: records that were taken out of rings, lost ones that are known of. */
void rs_recorder_progress(const struct rs_recorder *recorder, struct rs_recorder_summary *summary);

struct rs_recorder_kept {
	struct rs_recorder_summary sum;
	int64_t from_ns, at_ns; /* whole between these; INT64_MIN: from the start */
	bool short_of_bytes;	/* from_ns is so late for lack of keep_bytes */
};

/*
 * Of a recorder that keeps in memory: drains, and writes what is there as a trace directory, which
 * says why. The recorder goes on meanwhile and afterwards.
 */
struct rs_error *rs_recorder_write_kept(struct rs_recorder *recorder, const char *directory,
					const char *why, struct rs_recorder_kept *kept);

/* Drains what is left, closes the directory, destroys the recorder. The first error that any
 * thread met, if one did; the summary is filled in any case. NULL is nothing. */
struct rs_error *rs_recorder_close(struct rs_recorder *recorder,
				   struct rs_recorder_summary *summary);

#endif
