/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the texts that a tracepoint's arguments point to, in the kernel, when the tracepoint fires:
 *
 *	tracepoint --> BPF program --> record | read | text | read | text ... --> the CPU's ring
 *
 * The program writes the whole record in perf's layout, followed by two fields for each argument of
 * type char *: NAME_read, the helper's result (the number of bytes with the NUL, or a negative
 * errno), and NAME_text. So records of programs and of perf are converted by the same format.
 *
 * Once attached to one perf event of the tracepoint, the program runs on all CPUs. It writes to a
 * ring only while the CPU's output event is on. It returns 1, so that other tools' perf events of
 * the tracepoint still fire.
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
#define RS_TRACEPOINT_TEXT_BYTES 256u /* bytes of each text, with the NUL; a longer text is cut */

/* The texts that are read of an event. n is 0 if it has no such argument, or if its records vary in
 * length. */
struct rs_tracepoint_texts {
	uint32_t n;
	uint32_t pointers[RS_TRACEPOINT_TEXTS_MAX]; /* the offset of each argument in the record */
	uint32_t record_bytes;
};

/* Finds the arguments of type char * of an event, and adds the two fields of each to its format. */
struct rs_error *rs_tracepoint_texts_plan(struct tep_event *format,
					  struct rs_tracepoint_texts *texts);

/* The state that the programs of a session share. */
struct rs_tracepoint_reader;

/* Creates the reader. Returns RS_ABSENT if the kernel refuses BPF to this user. The message
 * contains the remedy. */
struct rs_error *rs_tracepoint_reader_create(struct rs_tracepoint_reader **reader);

/* Closes the programs, after the perf events to which they are attached. NULL is ignored. */
void rs_tracepoint_reader_destroy(struct rs_tracepoint_reader *reader);

/* Makes fd, a perf event PERF_COUNT_SW_BPF_OUTPUT of a CPU, that CPU's output. */
struct rs_error *rs_tracepoint_reader_output(struct rs_tracepoint_reader *reader, int cpu, int fd);

/* Loads an event's program and attaches it to fd, a perf event of the tracepoint. */
struct rs_error *rs_tracepoint_reader_attach(struct rs_tracepoint_reader *reader,
					     const struct tep_event *format,
					     const struct rs_tracepoint_texts *texts, int fd);

/* Sets *missed to the number of times that the kernel did not run the programs, because another
 * program was running on the CPU. A kernel without bpf_prog_inc_misses_counters() gives 0. */
struct rs_error *rs_tracepoint_reader_missed(const struct rs_tracepoint_reader *reader,
					     uint64_t *missed);

#endif
