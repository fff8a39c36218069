/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts that a tracepoint's arguments point to, read in the kernel when the tracepoint fires:
 *
 *	tracepoint --> BPF program --> record | read | text | read | text ... --> the CPU's ring
 *
 * The program writes the whole record, as perf would, with two more fields behind it for each
 * argument of type char *: NAME_read, what the helper returned (the bytes with the NUL, or below 0
 * an errno), and NAME_text. The same conversion by the event's format then serves both.
 *
 * The program runs on all CPUs from when it is attached to one perf event of the tracepoint. It
 * reaches a ring only while the CPU's output event is on. It returns 1, so that other tools' perf
 * events of the tracepoint go on.
 */
#ifndef RS_LIVE_TRACEPOINT_TEXT_H
#define RS_LIVE_TRACEPOINT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <ringside/error.h>

struct tep_event;

#define RS_TRACEPOINT_READ	 "_read"
#define RS_TRACEPOINT_TEXT	 "_text"
#define RS_TRACEPOINT_TEXTS_MAX	 4u
#define RS_TRACEPOINT_TEXT_BYTES 256u /* of each, with the NUL; a longer text is cut */

/* What is read of an event. n is 0 if it has no such argument or its records vary in length. */
struct rs_tracepoint_texts {
	uint32_t n;
	uint32_t pointers[RS_TRACEPOINT_TEXTS_MAX]; /* the offset of each in the record */
	uint32_t record_bytes;
};

/* Finds the arguments of type char * of an event, and adds the two fields of each to its format. */
struct rs_error *rs_tracepoint_texts_plan(struct tep_event *format,
					  struct rs_tracepoint_texts *texts);

/* The state that the programs of a session share. */
struct rs_tracepoint_reader;

/* Creates the reader. Returns RS_ABSENT if the kernel refuses BPF to this user; the message says
 * what to do. */
struct rs_error *rs_tracepoint_reader_create(struct rs_tracepoint_reader **reader);

/* Closes the programs, after the perf events that they are attached to. NULL is no reader. */
void rs_tracepoint_reader_destroy(struct rs_tracepoint_reader *reader);

/* Makes fd, a perf event PERF_COUNT_SW_BPF_OUTPUT of a CPU, that CPU's output. */
struct rs_error *rs_tracepoint_reader_output(struct rs_tracepoint_reader *reader, int cpu, int fd);

/* Loads an event's program and attaches it to fd, a perf event of the tracepoint. */
struct rs_error *rs_tracepoint_reader_attach(struct rs_tracepoint_reader *reader,
					     const struct tep_event *format,
					     const struct rs_tracepoint_texts *texts, int fd);

/* Returns in *missed how many times the kernel has not run the programs, because another program
 * was running on the CPU. A kernel without bpf_prog_inc_misses_counters() gives 0. */
struct rs_error *rs_tracepoint_reader_missed(const struct rs_tracepoint_reader *reader,
					     uint64_t *missed);

#endif
