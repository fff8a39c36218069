/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace's description: clocks, classes (a producer's schema and clock), streams, threads whose
 * events a stream contains, binaries. It is written as JSON lines, each when its subject is created
 * and before any packet that needs it, so that a recorder killed at any point leaves what its
 * packets need. A class is a stream class of CTF.
 */
#ifndef RS_STORE_DESCRIBE_H
#define RS_STORE_DESCRIBE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "store/format.h"
#include <ringside/reader.h>

struct rs_class {
	uint32_t index;
	struct rs_schema *schema;
	struct rs_clock *clock;
	uint32_t clock_index;
	bool has_threads;
	bool lost; /* a reader's: no line describes it, and its streams cannot be read */
	/* How much of the schema is on disk; the writer's. */
	uint32_t events_written, names_written;
	/* How many of its streams are described, and of them are of one CPU. */
	uint32_t streams, streams_of_a_cpu;
};

/* Returns whether each stream of a class is of one CPU. */
static inline bool rs_class_has_cpus(const struct rs_class *class)
{
	return class->streams && class->streams_of_a_cpu == class->streams;
}

/* A line of a thread in a description. Its stream is what its events' views point to. */
struct rs_thread_entry {
	struct rs_thread thread;
	struct rs_class *class;
	uint32_t number; /* of its line: a later one of the same tid and from replaces it */
	struct rs_stream stream;
};

/* A thread that continues the stream of a thread that has ended: from a stamp on, the stream's
 * records are this thread's. */
struct rs_owner {
	const char *vm, *thread; /* NULL: unknown */
	int vcpu, tid;
	uint64_t from;
};

/* A line of an owner in a description. Its stream is what its records' views point to. */
struct rs_owner_entry {
	uint32_t file; /* index of the stream that holds its records */
	uint32_t number;
	uint64_t from;
	struct rs_stream stream;
};

/* A domain of Xen's: the VM of its vCPUs' events. */
struct rs_domain {
	const struct rs_class *class;
	uint32_t dom;
	const char *vm;
};

/* What a stream's file contained when it was closed. */
struct rs_stream_end {
	bool known;
	uint64_t bytes, records, lost;
};

struct rs_folder;

/* Invalid lines of a description, which readers skip. */
struct rs_bad_lines {
	size_t *numbers; /* in the file, from 1, growing */
	uint32_t n, room;
	uint8_t *mended; /* by stream: 1: its line is missing, its packets say what it is */
	char *first;	 /* what is wrong with the first; NULL: none */
	char *cost; /* the file, its first bad line, the streams lost by it; NULL: no bad line */
};

struct rs_describe {
	struct rs_arena arena; /* texts, and in a reader all else */
	char uuid[37];
	uint64_t check; /* of the file that was read; check.h */
	const char *hostname, *command;
	struct rs_clock **clocks;
	struct rs_class **classes;
	struct rs_stream **streams;
	struct rs_class **stream_class;	   /* by stream */
	struct rs_class *no_class;	   /* of streams whose class is not known; lost */
	struct rs_stream_end **stream_end; /* by stream */
	struct rs_trace_binary **binaries;
	struct rs_thread_entry **threads; /* once read: by class, tid, from, number */
	struct rs_domain **domains;	  /* of one number the last holds */
	struct rs_owner_entry **owners;	  /* once read: by file, from, number */
	uint32_t n_clocks, n_classes, n_streams, n_binaries, n_threads, n_domains, n_owners;
	struct {
		uint32_t clocks, classes, streams, stream_class, stream_end, binaries, threads,
			domains, owners;
	} room; /* of the arrays */
	struct rs_trace_flight flight;
	bool has_flight;
	int64_t closed_ns;
	bool has_closed;
	struct rs_bad_lines bad;
	bool has_ends;	     /* a writer's: the streams' ends are known */
	bool metadata_stale; /* a writer's: streams changed what it says of their class */
	bool owns_schemas;   /* a reader's; a writer's belong to the producers */
};

/* Returns whether no line and no packet describes a stream's file. */
bool rs_describe_lost(const struct rs_describe *describe, uint32_t stream);

void rs_describe_deinit(struct rs_describe *describe);

/* Each adds a copy; the pointers in *describe stay valid when more are added. */
struct rs_error *rs_describe_add_clock(struct rs_describe *describe, const struct rs_clock *clock);
struct rs_error *rs_describe_add_class(struct rs_describe *describe, struct rs_schema *schema,
				       uint32_t clock_index);
/* stream->schema and ->clock are set from its class. */
struct rs_error *rs_describe_add_stream(struct rs_describe *describe, uint32_t class_index,
					const struct rs_stream *stream);
/* Adds a stream of a class; and describes an existing stream again. */
struct rs_error *rs_describe_add_stream_of(struct rs_describe *describe, struct rs_class *class,
					   const struct rs_stream *stream);
struct rs_error *rs_describe_set_stream(struct rs_describe *describe, uint32_t index,
					struct rs_class *class, const struct rs_stream *stream);
struct rs_error *rs_describe_add_thread(struct rs_describe *describe, uint32_t class_index,
					const struct rs_thread *thread);
struct rs_error *rs_describe_add_domain(struct rs_describe *describe, uint32_t class_index,
					uint32_t dom, const char *vm);
struct rs_error *rs_describe_add_owner(struct rs_describe *describe, uint32_t stream,
				       const struct rs_owner *owner);
/* Returns a domain's name, or NULL if no line has it. */
const char *rs_describe_domain(const struct rs_describe *describe, const struct rs_class *class,
			       uint32_t dom);
struct rs_error *rs_describe_set_flight(struct rs_describe *describe,
					const struct rs_trace_flight *flight);
struct rs_error *rs_describe_add_binary(struct rs_describe *describe,
					const struct rs_trace_binary *binary);

/*
 * Lines of a description on their way to the disk. A line is added whole or not at all: without
 * memory for it, its writer tries again later.
 */
struct rs_lines {
	char *text;
	size_t bytes, room; /* of the lines that are not on the disk yet */
	uint64_t check;	    /* of all lines that were ever made; check.h */
};

/* Allocates the memory for lines now. Returns false if there is none. */
bool rs_lines_init(struct rs_lines *lines);
void rs_lines_deinit(struct rs_lines *lines);

/* The kinds of things in a description that have lines. */
enum rs_line {
	RS_LINE_HEAD,
	RS_LINE_CLOCKS,
	RS_LINE_CLASSES,
	RS_LINE_STREAMS,
	RS_LINE_THREADS,
	RS_LINE_DOMAINS,
	RS_LINE_BINARIES,
	RS_LINE_FLIGHT,
	RS_LINE_CLOSED,
	RS_LINE_ENDS,
	RS_LINE_KINDS,
};

/*
 * Makes a line of each thing in the description that is in none yet, in an order in which a line
 * follows those that it needs. `written` counts, by kind, the things that have theirs; to have the
 * lines from the i-th thing on made again, the caller lowers the count to i. Returns false if a
 * line found no memory: that line and the ones behind it are for the next call. *schema is set if
 * a line was made that the metadata depends on.
 */
bool rs_describe_write(struct rs_describe *describe, uint32_t written[RS_LINE_KINDS],
		       struct rs_lines *lines, bool *schema);

/* Makes the line of an owner that is not in the description. Returns false without memory. */
bool rs_describe_write_owner(struct rs_lines *lines, uint32_t stream, const struct rs_owner *owner);

/* Make the line of one stream, and that of its end if it is known. Return false without memory. */
bool rs_describe_write_stream(const struct rs_describe *describe, struct rs_lines *lines,
			      uint32_t stream);
bool rs_describe_write_end(const struct rs_describe *describe, struct rs_lines *lines,
			   uint32_t stream);

/*
 * Reads "ringside/describe". A last line without its newline (the recorder was killed in it) is
 * ignored. An invalid line is skipped, and noted in `bad`. A stream without a line has only the
 * identity that its packets give, or is lost. RS_DAMAGED, with file and line: the trace itself or
 * its clock is not described, or a limit is exceeded.
 */
struct rs_error *rs_describe_read(const struct rs_folder *folder, struct rs_describe *describe);

/* Writes the CTF metadata of a description. */
void rs_metadata_write(FILE *file, const struct rs_describe *describe);

/* Reads lines of a description. Of zero bytes but for `file`; the caller frees `buffer`. */
struct rs_lines_reader {
	FILE *file;
	char *buffer;
	size_t at, end, room, given;
};

/* Reads the next line with its newline: *len bytes at *text, until the next call; 0 at the end of
 * the file. A line may have RS_DESCRIBE_LINE_MAX bytes; the beginning of a longer one is given.
 * Returns whether there was memory. */
#define RS_DESCRIBE_LINE_MAX (1u << 20)
bool rs_describe_line(struct rs_lines_reader *reader, const char **text, size_t *len);

#endif
