/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The /init of a guest with known work on each processor: processor 0 executes spin_inner() and
 * spin_framed() of the process "spinner", in shares of PART_INNER to PART_FRAMED, processor 1 is in
 * read() of /dev/zero for the process "zeroer", and the others are idle. With one processor, both
 * processes take turns on it. spin_framed() has a frame pointer.
 *
 * The guest prints "READY" and the PIDs of these processes on the console. With the kernel's
 * argument did=1 there is no zeroer, and the guest then prints, ten times a second, "DID", the
 * spinner's number of rounds and the time stamp counter.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define READS_BYTES (1u << 20)
/* Primes. A round takes much less than the time between two samples. */
#define PART_INNER  5003u
#define PART_FRAMED 3001u
#define DID_US	    100000
#define IDLE_CPU    2

static char buffer[READS_BYTES];
static struct {
	uint64_t rounds;
	uint32_t named; /* processes that have their name and processor */
} *shared;

/* A macro, because an inlined function would have a name in the profile. */
#define TURN(seed, n)                                                                              \
	for (uint32_t i = 0; i < (n); i++) {                                                       \
		(seed) = (seed)*6364136223846793005u + 1442695040888963407u;                       \
		__asm__ volatile("" : "+r"(seed));                                                 \
	}

/* Calls stay calls, because each adds something after the call. */
__attribute__((noinline)) uint64_t spin_inner(uint64_t seed)
{
	TURN(seed, PART_INNER);
	return seed;
}

/* Reading the frame's address makes the compiler set up a frame pointer. */
__attribute__((noinline)) uint64_t spin_framed(uint64_t seed)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	TURN(seed, PART_FRAMED);
	return seed;
}

__attribute__((noinline)) uint64_t spin_outer(uint64_t seed)
{
	uint64_t result = spin_inner(seed);

	__asm__ volatile("" : "+r"(result));
	result = spin_framed(result);
	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

static void become(const char *name, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu % get_nprocs(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || prctl(PR_SET_NAME, name))
		_exit(1);
}

static void spin(void)
{
	uint64_t seed = 1;

	become("spinner", 0);
	__atomic_add_fetch(&shared->named, 1, __ATOMIC_RELAXED);
	for (;;) {
		seed = spin_outer(seed);
		__atomic_store_n(&shared->rounds, shared->rounds + 1, __ATOMIC_RELAXED);
	}
}

static void read_zeros(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	become("zeroer", 1);
	__atomic_add_fetch(&shared->named, 1, __ATOMIC_RELAXED);
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	_exit(1);
}

/* A log level that "quiet" does not suppress. */
static void print(const char *text, size_t bytes)
{
	int fd = open("/dev/kmsg", O_WRONLY);

	if (write(fd, text, bytes) < 0)
		_exit(1);
	close(fd);
}

int main(void)
{
	void (*const children[])(void) = { spin, read_zeros };
	const uint32_t n = getenv("did") ? 1 : sizeof(children) / sizeof(children[0]);
	int pids[sizeof(children) / sizeof(children[0])] = { 0 };
	char text[96];

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	for (uint32_t i = 0; i < n; i++) {
		pids[i] = fork();
		if (!pids[i])
			children[i]();
	}
	while (__atomic_load_n(&shared->named, __ATOMIC_RELAXED) < n)
		usleep(1000);
	snprintf(text, sizeof(text), "<1>READY %d %d\n", pids[0], pids[1]);
	print(text, strlen(text));
	become("init", IDLE_CPU);
	for (;;) {
		if (!getenv("did"))
			pause();
		usleep(DID_US);
		snprintf(text, sizeof(text), "<1>DID %llu %llu\n",
			 (unsigned long long)__atomic_load_n(&shared->rounds, __ATOMIC_RELAXED),
			 (unsigned long long)__builtin_ia32_rdtsc());
		print(text, strlen(text));
	}
}
