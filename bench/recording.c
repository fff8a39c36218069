/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording costs, and whether it keeps up. */
#include "recording.h"

#define ROUND_BYTES (64u << 20)
#define CPU_ROUNDS  15u

#define PACED_HZ      2000000u /* records a second */
#define PACED_SECONDS 4u
#define BURST	      200u

static const struct bench_recording *measured; /* bench_run() passes no arguments */

/* Returns the CPU time of its threads for a round's bytes, until the last is written. */
static double cpu_of_recording(void)
{
	const struct bench_recording *r = measured;
	uint64_t start, spent, lost;

	r->start();
	start = bench_others_cpu_ns();
	for (uint64_t slots = 0; slots < ROUND_BYTES / RS_SLOT_BYTES; slots += r->helping) {
		for (uint64_t i = 0; i < r->helping; i++)
			r->put(i);
		r->wait_until_drained();
	}
	lost = r->stop().lost;
	spent = bench_others_cpu_ns() - start;
	if (lost) {
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
		exit(1);
	}
	return (double)spent;
}

/* The rival sleeps as long, and shares a buffer as large as a portion. */
static double cpu_of_rival(void)
{
	const uint32_t slots = ROUND_BYTES / RS_SLOT_BYTES, helping = measured->helping;
	const struct bench_rival rival = {
		.path = measured->piece_path,
		.poll_us = BENCH_POLL_US,
		.helping = helping,
		.helpings = (slots + helping - 1) / helping,
		.fill = measured->fill,
	};

	return bench_rival_round(&rival);
}

void bench_recording_cpu(const struct bench_recording *recording)
{
	static struct bench_rounds rounds;
	double (*const rivals[])(void) = { cpu_of_recording, cpu_of_rival };

	measured = recording;
	bench_run(&rounds, rivals, 2, CPU_ROUNDS);
	bench_figure(recording->name, bench_ratio(&rounds, 0, 1),
		     "%.2f ms of CPU against %.2f ms, for %u MiB", bench_of(&rounds, 0) / 1e6,
		     bench_of(&rounds, 1) / 1e6, ROUND_BYTES >> 20);
}

/*
 * Puts records at the pace, in bursts. A producer that got no CPU for a while does not catch up: it
 * would put much faster than the rate under test. Returns its greatest delay in ns.
 */
static uint64_t put_paced(const struct bench_recording *recording, uint64_t records)
{
	uint64_t start = bench_ns(), late = 0;

	for (uint64_t n = 0; n < records; n++) {
		uint64_t due = start + n * 1000000000 / PACED_HZ;

		if (n % BURST == 0) {
			uint64_t now = bench_ns();

			if (now > due) {
				late = now - due > late ? now - due : late;
				start += now - due;
			}
			while (bench_ns() < due)
				continue;
		}
		recording->put(n);
	}
	return late;
}

void bench_recording_pace(const struct bench_recording *recording)
{
	const uint64_t records = (uint64_t)PACED_HZ * PACED_SECONDS;
	struct rs_recorder_summary sum;
	uint64_t late, known;
	char name[64];

	recording->start();
	late = put_paced(recording, records);
	sum = recording->stop();
	snprintf(name, sizeof(name), "%s-lost", recording->name);
	bench_figure(name, (double)sum.lost,
		     "of %lu at %.1f M a second, in a ring of 4 MiB; the producer was %.1f ms late "
		     "at most",
		     (unsigned long)records, PACED_HZ / 1e6, (double)late / 1e6);
	known = sum.records + sum.lost;
	if (known != records + recording->first) {
		fprintf(stderr, "bench: %lu records are neither kept nor lost\n",
			(unsigned long)(records + recording->first - known));
		exit(1);
	}
}
