/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder: drains rings into a trace directory. Its threads copy runs of slots into packets of
 * 128 KiB, check them there, write them, and sleep in between. While a slow disk blocks one thread,
 * another one continues to drain.
 *
 *	program's threads, guests --> rings --> drain and check --> packets --> stream_N
 *
 * Up to 64 MiB of packets wait for the disk. At that limit, a drain waits for the next packet to be
 * written; the rings fill, and the records that they refuse are counted.
 *
 * If a recorder is killed, or its disk is full, it leaves a directory that can be read up to the
 * cut.
 */
#ifndef RINGSIDE_RECORDER_H
#define RINGSIDE_RECORDER_H

#include <ringside/language.h>
#include <ringside/host.h>
#include <ringside/reader.h>

RS_C_BEGIN

struct rs_recorder_options {
	/* It is created; RS_USAGE if it exists and is not empty. NULL: the newest packets stay in
	 * memory. */
	const char *directory;
	struct rs_clock clock; /* the host's; its origin is the trace's start */
	/* The longest time between two rounds over the rings; 0 means 1000. Shorter while the rings
	 * fill fast. */
	uint32_t poll_us;
	uint32_t flush_ms; /* a packet is finished after this long even if not full; 0: 100 */
	uint32_t threads;  /* 0 means 1; one stand-in is added */
	/* Its threads have priority over others, if this user has the privilege. It allocates the
	 * memory for waiting packets at the start, so that no ring waits for memory. */
	bool urgent;
	const char *command; /* the recording command, for the trace's env; may be NULL */
	/* Limits for packets in memory, in time and size; the first to be reached applies. */
	uint64_t keep_ns, keep_bytes;
};

struct rs_recorder;

struct rs_error *rs_recorder_create(const struct rs_recorder_options *options,
				    struct rs_recorder **recorder);

/* Collects this program's own threads (trace.h), including later ones. If the recorder writes a
 * directory, what the threads put before the call is written when it returns. */
struct rs_error *rs_recorder_add_trace(struct rs_recorder *recorder);

/*
 * Collects a guest, which must live until rs_recorder_remove_guest() or the recorder's end. With
 * poll, the recorder's threads drain its rings; otherwise only rs_recorder_drain_guest() does.
 * Returns RS_USAGE if the guest has a recorder or a source.
 *
 * A guest whose TSC offset is exact is recorded in the host's clock.
 */
struct rs_error *rs_recorder_add_guest(struct rs_recorder *recorder, struct rs_host_guest *guest,
				       bool poll);

/*
 * Ends the collection of a guest whose vCPUs do not run any more: drains its rings, and drops all
 * references to it, so that it and its memory can be destroyed. No call with this guest may be in
 * progress. A later guest of the same program continues its streams. So a process that runs many
 * guests one after another needs only the memory, the files and the clocks of those that run at the
 * same time. This requires exact TSC offsets. Returns the errors of its rings and of the storage,
 * and RS_USAGE if this recorder does not collect the guest.
 */
struct rs_error *rs_recorder_remove_guest(struct rs_recorder *recorder,
					  struct rs_host_guest *guest);

/*
 * Drains a vCPU's ring on the caller's thread, so that the records of a doorbell are in the packet
 * before the guest continues. If the ring is unknown, searches for it where a doorbell or
 * rs_host_set_area() announced it. Does nothing after the ring was found broken. Returns RS_USAGE
 * if the recorder does not collect this guest. Returns other errors (the area or ring is invalid,
 * the ring broke, the storage failed) once.
 */
struct rs_error *rs_recorder_drain_guest(struct rs_recorder *recorder,
					 const struct rs_host_guest *guest, uint32_t vcpu);

/*
 * A ring in this process's memory that another producer fills: the kernel's BPF programs, or
 * another program. It is an sbuf of 32-byte elements. The caller owns what it points to, which must
 * outlive the recorder. Rings of one schema and clock share a class.
 */
struct rs_recorder_ring {
	void *mem;
	size_t bytes;
	struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_stream *stream; /* its producer: vm, thread, vcpu, cpu, tid */
};

/* Collects such a ring. Returns RS_DAMAGED if it is not a ring. If a ring breaks later, only that
 * ring ends, and rs_recorder_close() reports it. */
struct rs_error *rs_recorder_add_ring(struct rs_recorder *recorder,
				      const struct rs_recorder_ring *ring);

/*
 * A stream that the caller fills record by record, for a low rate of events. It has no ring, so it
 * loses records only if the storage fails. The recorder owns it. Any thread may put, and waits for
 * the others.
 */
struct rs_recorder_stream;
struct rs_error *rs_recorder_add_stream(struct rs_recorder *recorder, struct rs_schema *schema,
					const struct rs_clock *clock,
					const struct rs_stream *identity,
					struct rs_recorder_stream **stream);

/* Puts a record whose payload is laid out as the schema defines for id. A stamp before the last one
 * becomes the last one. Returns RS_USAGE if the schema has no such event, or the size is wrong. */
struct rs_error *rs_recorder_put(struct rs_recorder_stream *stream, uint64_t stamp, uint64_t id,
				 const void *payload, uint32_t bytes);

/* Declares the thread of a tid in the events of such rings and streams, if possible before the
 * events. Returns RS_USAGE if none of them has this schema. */
struct rs_error *rs_recorder_add_thread(struct rs_recorder *recorder,
					const struct rs_schema *schema,
					const struct rs_thread *thread);

/*
 * Records a binary whose events are in the trace (reader.h), so that a reader finds the functions
 * at its addresses. Copies the texts. A binary with the same role, path and load address is
 * recorded once. Returns RS_USAGE if the role or the path is NULL, or if only one of the hash and
 * its name is.
 *
 * A program that records its own events need not name its binaries: once an event of its own has a
 * stack or is of -finstrument-functions, and when the recorder is closed, the program and its
 * shared libraries are recorded with their build-ids.
 */
struct rs_error *rs_recorder_add_binary(struct rs_recorder *recorder,
					const struct rs_trace_binary *binary);

struct rs_recorder_summary {
	uint64_t records;
	uint64_t lost;
	uint64_t bytes;
	uint64_t streams;
	uint64_t silent_guests; /* added guests of which no ring was ever found; set at the close */
};

/* Gets the counts so far: records drained from rings, and known losses. */
void rs_recorder_progress(const struct rs_recorder *recorder, struct rs_recorder_summary *summary);

struct rs_recorder_kept {
	struct rs_recorder_summary sum;
	int64_t from_ns, at_ns; /* complete between these; INT64_MIN: from the start */
	bool short_of_bytes;	/* keep_bytes, and not keep_ns, determined from_ns */
};

/*
 * Drains a recorder that keeps packets in memory, and writes them as a trace directory, which
 * records the reason. The recorder continues meanwhile and afterwards.
 */
struct rs_error *rs_recorder_write_kept(struct rs_recorder *recorder, const char *directory,
					const char *why, struct rs_recorder_kept *kept);

/* Drains the rest, closes the directory, and destroys the recorder. Returns the first error of any
 * thread, such as RS_ABSENT for a guest that has no area where rs_host_set_area() announced it;
 * fills in the summary in any case. NULL is ignored. */
struct rs_error *rs_recorder_close(struct rs_recorder *recorder,
				   struct rs_recorder_summary *summary);

RS_C_END

#endif
