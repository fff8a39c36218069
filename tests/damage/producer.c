/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * producer DIR RECORDS THREADS RING_BYTES [KILL_US]: each thread emits numbered records, each with
 * a checksum of its number, into a recorded trace. Prints the numbers of kept and lost records.
 * With KILL_US, it is killed that long after it has printed that it records. The tests of kills and
 * of full disks use it.
 */
#include <ringside/recorder.h>
#include <ringside/trace.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 16

RS_TRACE_CLASS(seq, 0)
RS_DEFINE_EVENT(numbered, seq, "numbered", (u64, n), (x64, check));
RS_DEFINE_EVENT(bare, seq, "bare");

static uint64_t records;

static void *emit(void *unused)
{
	for (uint64_t i = 0; i < records; i++) {
		RS_SPAN(seq, "a \"span\" with \\ odd characters, and ümlaut");
		RS_EMIT(numbered, .n = i, .check = i * UINT64_C(0x9e3779b97f4a7c15));
		RS_EMIT(bare);
	}
	return unused;
}

static int fail(struct rs_error *err)
{
	if (err)
		fprintf(stderr, "producer: %s\n", rs_error_text(err));
	rs_error_free(err);
	return err != NULL;
}

/*
 * The kernel sends the signal, because a sender may get no CPU for a second while threads make ten
 * million records.
 */
static int kill_after(long us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value = { us / 1000000, us % 1000000 * 1000 } };
	timer_t timer;

	return timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	       timer_settime(timer, 0, &when, NULL);
}

int main(int argc, char **argv)
{
	struct rs_recorder_options options = { .poll_us = 100, .flush_ms = 1 };
	struct rs_recorder_summary summary;
	pthread_t threads[THREADS_MAX];
	struct rs_recorder *recorder;
	struct rs_error *err;
	int n;

	if (argc < 5 || (n = atoi(argv[3])) < 1 || n > THREADS_MAX)
		return 2;
	options.directory = argv[1];
	records = strtoull(argv[2], NULL, 10);
	if (fail(rs_clock_host(&options.clock)) ||
	    fail(rs_trace_start(&(struct rs_trace_options){
		    .provider = "app", .ring_bytes = (uint32_t)atoi(argv[4]) })) ||
	    fail(rs_recorder_create(&options, &recorder)) ||
	    fail(rs_recorder_add_trace(recorder)))
		return 1;
	puts("recording");
	fflush(stdout);
	if (argc > 5 && kill_after(atol(argv[5])))
		return 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, emit, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	err = rs_recorder_close(recorder, &summary);
	printf("%" PRIu64 " %" PRIu64 "\n", summary.records, summary.lost);
	return fail(err);
}
