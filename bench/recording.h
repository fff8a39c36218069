/* SPDX-License-Identifier: BSD-2-Clause */
/* The figures of a recording that moves records from a ring to a trace: its CPU time, compared with
 * that of the rival, and whether it keeps up with a producer. */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include "rival.h"

#include <ringside/recorder.h>

#define BENCH_POLL_US 1000u /* of a recording's threads */

struct bench_recording {
	const char *name;
	const char *piece_path;			  /* of the rival's file */
	uint32_t helping;			  /* records that the ring has room for */
	uint32_t first;				  /* records that start() puts */
	void (*start)(void);			  /* on an empty ring; its threads on CPU 1 */
	struct rs_recorder_summary (*stop)(void); /* and removes the trace */
	void (*put)(uint64_t n);
	void (*wait_until_drained)(void);
	void (*fill)(struct rs_slot *slots, uint32_t n); /* the same records, for the rival */
};

/* Prints the figure `name`: the CPU time of the recording's threads, as a ratio to the rival's. */
void bench_recording_cpu(const struct bench_recording *recording);

/* Prints the figure `name`-lost: how many records of a paced producer are lost. */
void bench_recording_pace(const struct bench_recording *recording);

#endif
