/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rival of a recorder that moves records from a ring to files: a thread that copies the same
 * bytes to a file without checks. Also measures both.
 */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include "bench.h"

#include <ringside/record.h>

/* CPU time of this process's other threads. */
static inline uint64_t bench_others_cpu_ns(void)
{
	return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Only our own files: a trace directory and its subdirectory. */
void bench_folder_remove(const char *path);

struct bench_rival {
	const char *path;  /* of its file, which is removed */
	uint32_t poll_us;  /* its thread sleeps this long when there is nothing to do */
	uint32_t helping;  /* slots in one copy: at most BENCH_HELPING_MAX, in whole pieces */
	uint32_t helpings; /* a round */
	void (*fill)(struct rs_slot *slots, uint32_t n);
};

#define BENCH_PIECE_BYTES (64u << 10)
#define BENCH_HELPING_MAX 65536u

/* Runs a round. Returns the CPU time of its thread in ns. */
double bench_rival_round(const struct bench_rival *rival);

#endif
