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
#include "base/out.h"
#include "store/format.h"
#include <ringside/reader.h>

struct rs_class {
	uint32_t index;
	struct rs_schema *schema;
	struct rs_clock *clock;
	uint32_t clock_index;
	bool has_threads;
	bool lost; /* in a reader: no line describes it, and its streams cannot be read */
	/* In a writer: how much of the schema is on disk. */
	uint32_t events_written, names_written;
	/* How many of its streams are described, and how many of these belong to one CPU. */
	uint32_t streams, streams_of_a_cpu;
};

/* Returns whether each stream of a class belongs to one CPU. */
static inline bool rs_class_has_cpus(const struct rs_class *class)
{
	return class->streams && class->streams_of_a_cpu == class->streams;
}

/* A thread's line in a description. The views of its events point to its stream. */
struct rs_thread_entry {
	struct rs_thread thread;
	struct rs_class *class;
	uint32_t number; /* line number: a later line with the same tid and from replaces it */
	struct rs_stream stream;
};

/* A thread that continues the stream of a thread that has ended. From stamp `from` on, the stream's
 * records belong to this thread. */
struct rs_owner {
	const char *vm, *thread; /* NULL: unknown */
	int vcpu, tid;
	uint64_t from;
};

/* An owner's line in a description. The views of its records point to its stream. */
struct rs_owner_entry {
	uint32_t file; /* index of the stream that holds its records */
	uint32_t number;
	uint64_t from;
	struct rs_stream stream;
};

/* A Xen domain: the VM of its vCPUs' events. */
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
	size_t *numbers; /* line numbers in the file, from 1, ascending */
	uint32_t n, room;
	/* by stream; 1: the line is missing, and the packets identify the stream */
	uint8_t *mended;
	char *first; /* what is wrong with the first bad line; NULL: none */
	/* message: the file, its first bad line, the streams lost by it; NULL: no bad line */
	char *cost;
};

struct rs_describe {
	struct rs_arena arena; /* texts, and in a reader everything else */
	char uuid[37];
	uint64_t check; /* of the file that was read; check.h */
	const char *hostname, *command;
	struct rs_clock **clocks;
	struct rs_class **classes;
	struct rs_stream **streams;
	struct rs_class **stream_class;	   /* by stream */
	struct rs_class *no_class;	   /* class of streams whose class is unknown; lost */
	struct rs_stream_end **stream_end; /* by stream */
	struct rs_trace_binary **binaries;
	struct rs_thread_entry **threads; /* once read: by class, tid, from, number */
	struct rs_domain **domains;	  /* of several with one number, the last is valid */
	struct rs_owner_entry **owners;	  /* once read: by file, from, number */
	uint32_t n_clocks, n_classes, n_streams, n_binaries, n_threads, n_domains, n_owners;
	struct {
		uint32_t clocks, classes, streams, stream_class, stream_end, binaries, threads,
			domains, owners;
	} room; /* capacity of the arrays */
	struct rs_trace_flight flight;
	bool has_flight;
	int64_t closed_ns;
	bool has_closed;
	struct rs_bad_lines bad;
	bool has_ends;	     /* in a writer: the streams' ends are known */
	bool metadata_stale; /* in a writer: streams changed their class's part of the metadata */
	bool owns_schemas;   /* in a reader; a writer's schemas belong to the producers */
};

/* Returns whether no line and no packet describes a stream's file. */
bool rs_describe_lost(const struct rs_describe *describe, uint32_t stream);

void rs_describe_deinit(struct rs_describe *describe);

/* Each adds a copy. The pointers in *describe stay valid when more are added. */
struct rs_error *rs_describe_add_clock(struct rs_describe *describe, const struct rs_clock *clock);
struct rs_error *rs_describe_add_class(struct rs_describe *describe, struct rs_schema *schema,
				       uint32_t clock_index);
/* Sets stream->schema and ->clock from its class. */
struct rs_error *rs_describe_add_stream(struct rs_describe *describe, uint32_t class_index,
					const struct rs_stream *stream);
/* Adds a stream of a class. rs_describe_set_stream() describes an existing stream again. */
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
/* Returns a domain's name, or NULL if no line names it. */
const char *rs_describe_domain(const struct rs_describe *describe, const struct rs_class *class,
			       uint32_t dom);
struct rs_error *rs_describe_set_flight(struct rs_describe *describe,
					const struct rs_trace_flight *flight);
struct rs_error *rs_describe_add_binary(struct rs_describe *describe,
					const struct rs_trace_binary *binary);

/*
 * Lines of a description that are to be written. A line is added whole or not at all. If there is
 * no memory for it, its writer tries again later.
 */
struct rs_lines {
	char *text;
	size_t bytes, room; /* size of the lines that are not on the disk yet */
	uint64_t check;	    /* check of all lines that were ever added; check.h */
	struct rs_out out;  /* adds to the text */
	bool failed;	    /* no memory for the current line */
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
 * Adds a line for each thing in the description that has none yet. A line follows the lines that it
 * refers to. `written` counts, by kind, the things that have a line; to add the lines from the i-th
 * thing on again, the caller lowers the count to i. Returns false if there was no memory for a
 * line; the next call continues with that line. Sets *schema if the metadata depends on an added
 * line.
 */
bool rs_describe_write(struct rs_describe *describe, uint32_t written[RS_LINE_KINDS],
		       struct rs_lines *lines, bool *schema);

/* Adds the line of an owner that is not in the description. Returns false if there is no memory. */
bool rs_describe_write_owner(struct rs_lines *lines, uint32_t stream, const struct rs_owner *owner);

/* Adds the lines of the schemas' events and names that the classes do not count as written. Returns
 * false if there is no memory. */
bool rs_describe_write_schemas(struct rs_describe *describe, struct rs_lines *lines);

/* Returns the bytes of the trace's UUID. */
void rs_describe_uuid(const struct rs_describe *describe, uint8_t uuid[16]);

/* Add a stream's line, and the line of its end if that is known. Return false if there is no
 * memory. */
bool rs_describe_write_stream(const struct rs_describe *describe, struct rs_lines *lines,
			      uint32_t stream);
bool rs_describe_write_end(const struct rs_describe *describe, struct rs_lines *lines,
			   uint32_t stream);

/*
 * Reads "ringside/describe". Ignores a last line without a newline: the recorder was killed while
 * it wrote that line. Skips an invalid line, and notes it in `bad`. A stream without a line has
 * only the identity that its packets give, or is lost. Returns RS_DAMAGED, with file and line, if
 * the trace or its clock is not described, or a limit is exceeded.
 */
struct rs_error *rs_describe_read(const struct rs_folder *folder, struct rs_describe *describe);

/* Writes the CTF metadata of a description. */
void rs_metadata_write(FILE *file, const struct rs_describe *describe);

/* Reads lines of a description. All members but `file` are zero at first. The caller frees
 * `buffer`. */
struct rs_lines_reader {
	FILE *file;
	char *buffer;
	size_t at, end, room, given;
};

/* Reads the next line with its newline: *len bytes at *text, which are valid until the next call; 0
 * at the end of the file. Returns only the beginning of a line of more than RS_DESCRIBE_LINE_MAX
 * bytes. Returns false if there is no memory. */
#define RS_DESCRIBE_LINE_MAX (1u << 20)
bool rs_describe_line(struct rs_lines_reader *reader, const char **text, size_t *len);

#endif
