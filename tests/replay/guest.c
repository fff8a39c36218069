/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of tests/replay/probes.test: /init, static and not PIE, that does what is counted: a
 * prime number of calls, of writes and of reads, and nothing else there.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

#define CALLS  1009
#define WRITES 499
#define READS  251
#define REST   100000000

/* Each on a line of its own: a byte that is watched is no one else's. */
volatile uint64_t written __attribute__((aligned(64)));
volatile uint64_t is_read __attribute__((aligned(64))) = 7;
const char *const words[] = { "zero", "one", "two" };

/* What is called: its arguments are in registers as the processor's ABI has them. */
__attribute__((noinline, noclone)) uint64_t called(uint64_t i, const char *word)
{
	__asm__ volatile("" : : "r"(word) : "memory");
	return i * 3;
}

int main(void)
{
	uint64_t sum = 0;

	puts("the guest begins");
	for (uint64_t i = 0; i < CALLS; i++)
		sum += called(i, words[i % 3]);
	for (uint64_t i = 0; i < WRITES; i++)
		written = i;
	for (uint64_t i = 0; i < READS; i++)
		sum += is_read;
	/* So long that the recorder, which looks five times a second, sees an instruction of it. */
	for (volatile uint32_t i = 0; i < REST; i++)
		;
	printf("the guest ends: %llu\n", (unsigned long long)sum);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
