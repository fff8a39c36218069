/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of tests/replay/probes.test: /init, static and not PIE, that makes a prime number of
 * calls, of writes and of reads, which probes count, and nothing else there.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

#include <ringside/replay.h>

#define CALLS	1009
#define WRITES	499
#define READS	251
#define ASSERTS 101
#define PROBES	53
#ifndef REST
#define REST 2500000
#endif
#define PAGE	4096

/* Each in a separate cache line: no other variable shares a watched byte's line. */
volatile uint64_t written __attribute__((aligned(64)));
volatile uint64_t is_read __attribute__((aligned(64))) = 7;
const char *const words[] = { "zero", "one", "two" };

/* The function that probes count: its arguments are in registers, by the processor's ABI. */
__attribute__((noinline, noclone, aligned(PAGE))) uint64_t called(uint64_t i, const char *word)
{
	__asm__ volatile("" : : "r"(word) : "memory");
	return i * 3;
}

/*
 * By default 30 ms without a probe: a replay can end after the last one, but well before the guest
 * does. On a separate page, because QEMU runs code that shares a page with a breakpoint one
 * instruction at a time.
 */
__attribute__((noinline, noclone, aligned(PAGE))) void rest(void)
{
	for (volatile uint32_t i = 0; i < REST; i++)
		;
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
	for (int i = 0; i < ASSERTS; i++) {
		rs_replay_assert(i < 97, i);
		rs_replay_assert(i % 2 == 0 || i % 2 == 1, i);
	}
	for (int16_t i = 0; i < PROBES; i++)
		rs_replay_probe(request, i, (int8_t)-i, words[i % 3], written, 5);
	rest();
	printf("the guest ends: %llu\n", (unsigned long long)sum);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
