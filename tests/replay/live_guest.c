/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first process of a live guest: calls a function, writes and reads, CALLS, WRITES and READS
 * times in each round. With the kernel's argument `rounds=N` it begins after a delay, and powers
 * off after N rounds. Otherwise it begins immediately and never ends. Between two rounds it sleeps,
 * prints the round's number, and passes its clock's time to another function.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

#define CALLS  11
#define WRITES 7
#define READS  5

volatile uint64_t written, is_read = 3;

__attribute__((noinline)) uint64_t called(uint64_t n)
{
	__asm__ volatile("" ::: "memory");
	return n * 3;
}

__attribute__((noinline)) void clock_is(uint64_t ns)
{
	__asm__ volatile("" ::"r"(ns) : "memory");
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int main(void)
{
	const char *rounds = getenv("rounds");
	uint64_t n = rounds ? strtoull(rounds, NULL, 10) : UINT64_MAX, sum = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (rounds)
		sleep(3); /* until the machine's rate without probes has been measured */
	for (uint64_t round = 0; round < n; round++) {
		printf("round %llu at %llu ns\n", (unsigned long long)round,
		       (unsigned long long)now_ns());
		for (uint64_t i = 0; i < CALLS; i++)
			sum += called(i);
		for (uint64_t i = 0; i < WRITES; i++)
			written = i;
		for (uint64_t i = 0; i < READS; i++)
			sum += is_read;
		clock_is(now_ns());
		usleep(20000);
	}
	printf("the guest ends: %llu\n", (unsigned long long)sum);
	reboot(RB_POWER_OFF);
	return 0;
}
