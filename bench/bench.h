/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares rivals with each other: each round runs every rival once, in rotating order, and gives
 * ratios within the round; a figure is the median of the rounds' ratios. A disturbance of a round
 * affects all rivals alike, or is an outlier that the median ignores.
 *
 * A program prints "name<tab>value<tab>detail" for each figure; bench/run has the limits.
 */
#ifndef RS_BENCH_H
#define RS_BENCH_H

#include <ringside/error.h>

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_ROUNDS_MAX 4096u
#define BENCH_RIVALS_MAX 9u

static inline uint64_t bench_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_ns(void)
{
	return bench_clock_ns(CLOCK_MONOTONIC);
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double bench_median(const double *values, uint32_t n)
{
	static double sorted[BENCH_ROUNDS_MAX];

	if (!n)
		return 0;
	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), bench_compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* ns per operation, by rival and round. */
struct bench_rounds {
	double ns[BENCH_RIVALS_MAX][BENCH_ROUNDS_MAX];
	uint32_t n;
};

/* Runs every rival rounds times; each returns the ns of one operation. */
static inline void bench_run(struct bench_rounds *r, double (*const *rivals)(void), uint32_t n,
			     uint32_t rounds)
{
	for (uint32_t i = 0; i < n; i++) /* warm */
		rivals[i]();
	for (r->n = 0; r->n < rounds; r->n++)
		for (uint32_t i = 0; i < n; i++)
			r->ns[(i + r->n) % n][r->n] = rivals[(i + r->n) % n]();
}

static inline double bench_of(const struct bench_rounds *r, uint32_t rival)
{
	return bench_median(r->ns[rival], r->n);
}

static inline double bench_ratio(const struct bench_rounds *r, uint32_t rival, uint32_t to)
{
	static double ratios[BENCH_ROUNDS_MAX];

	for (uint32_t i = 0; i < r->n; i++)
		ratios[i] = r->ns[rival][i] / r->ns[to][i];
	return bench_median(ratios, r->n);
}

static inline double bench_difference(const struct bench_rounds *r, uint32_t rival, uint32_t from)
{
	static double differences[BENCH_ROUNDS_MAX];

	for (uint32_t i = 0; i < r->n; i++)
		differences[i] = r->ns[rival][i] - r->ns[from][i];
	return bench_median(differences, r->n);
}

#define bench_figure(name, value, ...)                                                             \
	do {                                                                                       \
		printf("%s\t%.4f\t", name, value);                                                 \
		printf(__VA_ARGS__);                                                               \
		putchar('\n');                                                                     \
		fflush(stdout);                                                                    \
	} while (0)

/* Ends the program on an error of the library. */
static inline void bench_must(struct rs_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "bench: %s\n", rs_error_text(err));
	exit(1);
}

/*
 * Keeps this thread, and those that it creates, on one of the program's CPUs, counted from the
 * last. Ignores a failure.
 */
static inline void bench_stay_on(int from_last)
{
	static cpu_set_t ours;
	cpu_set_t one;
	int n = 0;

	if (!CPU_COUNT(&ours) && sched_getaffinity(0, sizeof(ours), &ours) < 0)
		return;
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &ours) && n++ == from_last % CPU_COUNT(&ours))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

#endif
