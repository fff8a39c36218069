/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of tests/replay/placed.test: position independent or not, with these numbers or
 * others in the same code. Each prints its address.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <ringside/replay.h>

#ifndef PROBES
#define PROBES	53
#define ASSERTS 101
#define HOLD	97
#endif

#ifndef ROUNDS
#define ROUNDS 0 /* each spins, and then reads a random number, where recordings diverge */
#endif
#define SPINS 4000000

volatile uint64_t written = 7;

__attribute__((noinline)) static uint64_t draws(void)
{
	uint64_t number;

	__asm__ volatile("rdrand %0" : "=r"(number));
	return number;
}

__attribute__((noinline)) static void rounds(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (volatile uint32_t i = 0; i < SPINS; i++)
			;
		printf("%llx\n", (unsigned long long)draws());
	}
}

int main(int argc, char **argv)
{
	const int times = argc > 1 ? atoi(argv[1]) : 1, most = ASSERTS, hold = HOLD;

	for (int16_t i = 0; i < PROBES; i++) {
		written += 3;
		rs_replay_probe(request, i, written, times);
	}
	for (int i = 0; i < ASSERTS; i++) {
		rs_replay_assert(i < most, i, most);
		rs_replay_assert(i < hold, i, hold);
	}
	printf("%s %p\n", argv[0], (void *)(uintptr_t)main);
	fflush(stdout);
	if (ROUNDS)
		rounds();
	return 0;
}
