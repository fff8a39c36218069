/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a log call, alternating with: the C library's vsnprintf() of only its message,
 * without stamp, CPU, number or prefix, and a copy of 80 bytes; the same for the whole line; and
 * ACRN's way (hypervisor/debug/logmsg.c): make the line, take a lock, split into elements, put each
 * into the ring.
 */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ringside/log.h>
#include <ringside/overwrite.h>

#define CALLS  1000u /* shorter than a time slice, so that the median excludes preemption */
#define ROUNDS 2001

#define FORMAT "vCPU %u: exit %s at 0x%llx, %d bytes"
#define VALUES i & 7, "EPT_VIOLATION", (unsigned long long)i << 12, (int)(i & 15)

static struct rs_locked ring;
static pthread_spinlock_t lock;
static char slot[80];
static uint64_t acrn_seq;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t us(void)
{
	return (uint64_t)(now_ns() / 1000);
}

/* The line's prefix and message, as both rivals must format it. */
__attribute__((noinline, format(printf, 2, 3))) static int line_of(char text[320],
								   const char *format, ...)
{
	va_list args;
	int n = snprintf(text, 320, "[%luus][cpu=%hu][%s][sev=%u][seq=%lu]:", us(),
			 (unsigned short)sched_getcpu(), "bench_log", 5u, ++acrn_seq);

	va_start(args, format);
	n += vsnprintf(text + n, (size_t)(320 - n), format, args);
	va_end(args);
	return n < 320 ? n : 320;
}

__attribute__((noinline, format(printf, 2, 3))) static int message_of(char text[320],
								      const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, 320, format, args);
	va_end(args);
	return n;
}

static void ours(void)
{
	for (uint32_t i = 0; i < CALLS; i++)
		RS_LOG(INFO, FORMAT, VALUES);
}

static void line(void)
{
	char text[320];

	for (uint32_t i = 0; i < CALLS; i++) {
		line_of(text, FORMAT, VALUES);
		memcpy(slot, text, sizeof(slot));
		__asm__ volatile("" : : "r"(slot) : "memory");
	}
}

static void message(void)
{
	char text[320];

	for (uint32_t i = 0; i < CALLS; i++) {
		message_of(text, FORMAT, VALUES);
		memcpy(slot, text, sizeof(slot));
		__asm__ volatile("" : : "r"(slot) : "memory");
	}
}

static void acrn(void)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		char text[320];
		int n;

		memset(text, 0, sizeof(text)); /* as it clears its buffer */
		n = line_of(text, FORMAT, VALUES);
		pthread_spin_lock(&lock);
		for (int at = 0; at < n; at += 80)
			rs_locked_put(&ring, text + at);
		pthread_spin_unlock(&lock);
	}
}

static double time_of(void (*run)(void))
{
	double from = now_ns();

	run();
	return (now_ns() - from) / CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

static void ring_make(void)
{
	size_t bytes = rs_sbuf_bytes(8192, 80);
	void *memory = calloc(1, bytes);

	if (!memory || rs_overwrite_create(memory, bytes, 80, 0) != RS_SBUF_OK ||
	    rs_locked_init(&ring, memory, bytes) != RS_SBUF_OK)
		abort();
	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
}

int main(void)
{
	static double t[4][ROUNDS];
	void (*const runs[4])(void) = { ours, line, acrn, message };
	struct rs_log_options options = { .path = "/dev/shm/ringside-bench-log" };
	struct rs_error *err;
	double m[4];

	unlink("/dev/shm/ringside-bench-log");
	err = rs_log_start(&options, NULL);
	if (err) {
		fprintf(stderr, "%s\n", rs_error_text(err));
		return 1;
	}
	ring_make();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 4; i++)
			t[i][round] = time_of(runs[i]);
	}
	rs_log_stop();
	unlink("/dev/shm/ringside-bench-log");
	for (int i = 0; i < 4; i++)
		m[i] = median(t[i]);
	printf("log\t%.3f\t%.0f ns, to %.0f; to its whole line, with stamp and prefix, %.2fx\n",
	       m[0] / m[3], m[0], m[3], m[0] / m[1]);
	printf("log-acrn\t%.3f\t%.0f ns, to %.0f\n", m[2] / m[0], m[2], m[0]);
	return 0;
}
