/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace's description: clocks, classes (a producer's schema and clock), streams, threads that a
 * stream tells of, binaries.
 * Written as JSON lines, each when its subject comes into being and before any packet that
 * needs it, so that a recorder killed at any point leaves what its packets need. A class is a
 * stream class of CTF.
 */
#ifndef RS_STORE_DESCRIBE_H
#define RS_STORE_DESCRIBE_H

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
	/* How much of the schema is on disk; the writer's. */
	uint32_t events_told, names_told;
};

/* A line of a thread in a description. Its stream is what its events' views point to. */
struct rs_thread_entry {
	struct rs_thread thread;
	struct rs_class *class;
	uint32_t number; /* of its line: a later one of the same tid and from replaces it */
	struct rs_stream stream;
};

/* A domain of Xen's: what its vCPUs' events have for a VM. */
struct rs_domain {
	const struct rs_class *class;
	uint32_t dom;
	const char *vm;
};

/* What a stream's file when it was closed. */
struct rs_stream_end {
	bool known;
	uint64_t bytes, records, lost;
};

struct rs_folder;

struct rs_describe {
	struct rs_arena arena; /* texts, and in a reader all else */
	char uuid[37];
	uint64_t check; /* of the file that was read; check.h */
	const char *hostname, *command;
	struct rs_clock **clocks;
	struct rs_class **classes;
	struct rs_stream **streams;
	struct rs_class **stream_class;	   /* by stream */
	struct rs_stream_end **stream_end; /* by stream */
	struct rs_trace_binary **binaries;
	struct rs_thread_entry **threads; /* once read: by class, tid, from, number */
	struct rs_domain **domains;	  /* of one number the last holds */
	uint32_t n_clocks, n_classes, n_streams, n_binaries, n_threads, n_domains;
	struct rs_trace_flight flight;
	bool has_flight;
	int64_t closed_ns;
	bool has_closed;
	bool owns_schemas; /* a reader's; a writer's belong to the producers */
};

void rs_describe_deinit(struct rs_describe *describe);

/* Each adds a copy; the pointers in *describe stay valid when more are added. */
struct rs_error *rs_describe_add_clock(struct rs_describe *describe, const struct rs_clock *clock);
struct rs_error *rs_describe_add_class(struct rs_describe *describe, struct rs_schema *schema,
				       uint32_t clock_index);
/* stream->schema and ->clock are set from its class. */
struct rs_error *rs_describe_add_stream(struct rs_describe *describe, uint32_t class_index,
					const struct rs_stream *stream);
struct rs_error *rs_describe_add_thread(struct rs_describe *describe, uint32_t class_index,
					const struct rs_thread *thread);
struct rs_error *rs_describe_add_domain(struct rs_describe *describe, uint32_t class_index,
					uint32_t dom, const char *vm);
/* What a domain is called; NULL: no line says. */
const char *rs_describe_domain(const struct rs_describe *describe, const struct rs_class *class,
			       uint32_t dom);
struct rs_error *rs_describe_set_flight(struct rs_describe *describe,
					const struct rs_trace_flight *flight);
struct rs_error *rs_describe_add_binary(struct rs_describe *describe,
					const struct rs_trace_binary *binary);

/* Writers of single lines. The stream's error flag says whether all went well. */
void rs_describe_write_head(FILE *file, const struct rs_describe *describe);
void rs_describe_write_clock(FILE *file, uint32_t index, const struct rs_clock *clock);
void rs_describe_write_class(FILE *file, const struct rs_class *class);
void rs_describe_write_stream(FILE *file, const struct rs_stream *stream, uint32_t class_index);
void rs_describe_write_thread(FILE *file, const struct rs_thread_entry *entry);
void rs_describe_write_domain(FILE *file, const struct rs_domain *domain);
void rs_describe_write_flight(FILE *file, const struct rs_trace_flight *flight);
void rs_describe_write_closed(FILE *file, int64_t at_ns);
void rs_describe_write_end(FILE *file, uint32_t stream, const struct rs_stream_end *end);
void rs_describe_write_binary(FILE *file, const struct rs_trace_binary *binary);
/* What the class's schema has that was not written yet; false: nothing. */
bool rs_describe_write_new(FILE *file, struct rs_class *class);

/* Reads "ringside/describe". A last line without its newline (the recorder was killed in it) is
 * ignored. RS_DAMAGED: file and line. */
struct rs_error *rs_describe_read(const struct rs_folder *folder, struct rs_describe *describe);

/* The CTF metadata of it. */
void rs_metadata_write(FILE *file, const struct rs_describe *describe);

#endif
