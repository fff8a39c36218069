/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages from the process that reads a trace.dat to the parent. libtracecmd does not check
 * its files: a hostile file makes it read beyond its memory. So it runs in a child, and the parent
 * checks all messages from the child like any other input.
 *
 *	file --libtracecmd--> child: records of known events --pipe--> parent: checks, views
 *
 * A message is a head of 16 bytes and a body. Its size is a multiple of 8 bytes, so that the slots
 * in it are aligned. CPU, THREAD, CLOCK and BUFFER come before READY, then RECORD and EVENT until
 * END. If the pipe ends without END, the file made the child crash.
 */
#ifndef RS_IMPORT_TRACEDAT_WIRE_H
#define RS_IMPORT_TRACEDAT_WIRE_H

#include <ringside/record.h>
#include <ringside/schema.h>

enum rs_tracedat_kind {
	RS_TRACEDAT_ALIVE,  /* the child is alive */
	RS_TRACEDAT_CPU,    /* id: a host CPU that has data */
	RS_TRACEDAT_THREAD, /* a struct rs_tracedat_thread */
	RS_TRACEDAT_CLOCK,  /* a struct rs_tracedat_clock */
	RS_TRACEDAT_READY,
	RS_TRACEDAT_EVENT,  /* id: an event's number in the file; its declaration (schema.h) */
	RS_TRACEDAT_RECORD, /* class; id: host CPU; slots */
	RS_TRACEDAT_END,    /* a struct rs_tracedat_end and, after an error, its message */
	RS_TRACEDAT_BUFFER, /* before READY; id: of a name; the name of one of several buffers */
	RS_TRACEDAT_HOST,   /* before READY; the name of the recorded host */
};

/* The two producers of a file's events. */
enum rs_tracedat_class {
	RS_TRACEDAT_KVM,    /* provider kvm: events of the catalogue, and losses */
	RS_TRACEDAT_FTRACE, /* provider ftrace: all other events, as the file describes them */
	RS_TRACEDAT_CLASSES,
};

struct rs_tracedat_head {
	uint32_t bytes; /* of the message, this head included */
	uint16_t kind;
	uint16_t class;
	uint32_t id;
	uint32_t text_bytes; /* text at the body's end, before padding */
};
_Static_assert(sizeof(struct rs_tracedat_head) == 16, "keeps slots aligned");

#define RS_TRACEDAT_MESSAGE_MAX 8192u
#define RS_TRACEDAT_COMM	16 /* TASK_COMM_LEN */

struct rs_tracedat_thread {
	int32_t tid, vcpu; /* vcpu: -1 where unknown */
	uint32_t is_vcpu;
	char comm[RS_TRACEDAT_COMM + 4];
};

struct rs_tracedat_clock {
	uint64_t first;	    /* stamp of the first record */
	uint32_t is_cycles; /* stamps are of a counter of unknown frequency; else ns */
	char name[36];	    /* the kernel's: "local", "mono", ... */
};

struct rs_tracedat_end {
	uint64_t records; /* read */
	uint64_t lost, gaps;
	uint64_t undescribed; /* records whose event the file does not describe */
	uint64_t short_ones;  /* records shorter than their event */
	uint64_t fields;      /* fields of events that had no room */
	uint64_t tids;	      /* records of threads beyond the limit */
};

/* The descriptors of the child. */
struct rs_tracedat_reader {
	int in;	 /* the file */
	int out; /* the pipe */
	const struct rs_schema *kvm;
	/* An empty file for an extended copy of a cut file, which libtracecmd cannot open; or
	 * -1. */
	int copy;
};
int rs_tracedat_read(const struct rs_tracedat_reader *reader);

#endif
