/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lang_many [-n PROGRAMS] [-s SEED] [-1]: this many programs of lang_made.c's grammar, each made
 * from the bytes that its number gives, with any compiler and sanitizer. A crash, a leak or a
 * program that takes too long ends the run, and prints the program's number. -1: only program
 * number SEED, which is printed.
 */
#include "fuzz.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "lang_made.h"

#if defined(__SANITIZE_ADDRESS__)
#define LEAKS_FOUND 1
#elif defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAKS_FOUND 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef LEAKS_FOUND
#include <sanitizer/lsan_interface.h>
#define SANITIZED 1
#else
#define __lsan_do_recoverable_leak_check() 0
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* otherwise memory grows by freed memory that a sanitizer keeps */
#endif

#define BYTES_MAX   700
#define CPU_S_MAX   20 /* limit for one program: under sanitizers it takes milliseconds */
#define GROWTH_MAX  (UINT64_C(64) << 20) /* growth of memory that is a leak */
#define WARM	    2000		 /* programs, after which memory is stable */
#define MEMORY_LOOK 1000		 /* programs between two checks of memory, or for leaks */

static uint64_t number; /* of the current program */

static void die(int signal_number)
{
	char line[] = "program 00000000000000000000: too long, or a crash\n";
	uint64_t left = number;

	for (size_t i = 27; i >= 8; i--, left /= 10)
		line[i] = (char)('0' + left % 10);
	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(3);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* splitmix64: each number gives another sequence. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void run_one(void)
{
	const struct itimerval limit = { .it_value.tv_sec = CPU_S_MAX };
	uint64_t state = number;
	size_t bytes = next(&state) % BYTES_MAX;
	uint8_t *data = malloc(bytes + 8);

	MUST(data);
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = next(&state);

		memcpy(data + i, &word, sizeof(word));
	}
	setitimer(ITIMER_PROF, &limit, NULL);
	LLVMFuzzerTestOneInput(data, bytes);
	free(data);
}

static uint64_t memory_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss;
}

int main(int argc, char **argv)
{
	uint64_t n = 10000, seed = 1, warm_kib = 0;
	bool one = false;
	int option;

	while ((option = getopt(argc, argv, "n:s:1")) != -1) {
		if (option == 'n')
			n = strtoull(optarg, NULL, 0);
		else if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == '1')
			one = true;
		else
			return 2;
	}
	if (one) {
		n = 1;
		setenv("FUZZ_SHOW", "1", 1);
	}
	signal(SIGPROF, die);
	signal(SIGABRT, die);
	if (!SANITIZED)
		signal(SIGSEGV, die);
	for (uint64_t i = 0; i < n; i++) {
		number = seed + i;
		run_one();
		if (i == WARM)
			warm_kib = memory_kib();
		if (!SANITIZED && i > WARM && i % MEMORY_LOOK == 0)
			MUST(memory_kib() < warm_kib + (GROWTH_MAX >> 10));
		if (((i + 1) % MEMORY_LOOK == 0 || i + 1 == n) &&
		    __lsan_do_recoverable_leak_check()) {
			fprintf(stderr, "programs up to %llu, of the last %u: a leak\n",
				(unsigned long long)number, MEMORY_LOOK);
			return 1;
		}
	}
	printf("programs %llu to %llu: %llu compiled; %llu with instructions changed, of which the "
	       "verifier accepted %llu; %llu KiB\n",
	       (unsigned long long)seed, (unsigned long long)(seed + n - 1),
	       (unsigned long long)lang_made_tally.compiled,
	       (unsigned long long)lang_made_tally.spoiled,
	       (unsigned long long)lang_made_tally.passed, (unsigned long long)memory_kib());
	return 0;
}
