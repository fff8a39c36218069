/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The /init of a guest whose processors do what is known: processor 0 executes spin_inner() of the
 * process "spinner", processor 1 is in read() of /dev/zero for the process "zeroer", and the others
 * are idle. It says "READY" and the numbers of these processes on the console.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READS_BYTES (1u << 20)

static char buffer[READS_BYTES];

/* Calls stay calls: what each adds is done after the call. */
__attribute__((noinline)) uint64_t spin_inner(uint64_t seed)
{
	for (;;) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
		if (!seed)
			return seed;
	}
}

__attribute__((noinline)) uint64_t spin_outer(uint64_t seed)
{
	uint64_t result = spin_inner(seed);

	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

static void become(const char *name, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || prctl(PR_SET_NAME, name))
		_exit(1);
}

static void spin(void)
{
	become("spinner", 0);
	_exit((int)spin_outer(1));
}

static void read_zeros(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	become("zeroer", 1);
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	_exit(1);
}

/* A level that "quiet" lets through. */
static void say(const char *text, size_t bytes)
{
	int fd = open("/dev/kmsg", O_WRONLY);

	if (write(fd, text, bytes) < 0)
		_exit(1);
	close(fd);
}

int main(void)
{
	void (*const children[])(void) = { spin, read_zeros };
	int pids[sizeof(children) / sizeof(children[0])];
	char ready[64];

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
		pids[i] = fork();
		if (!pids[i])
			children[i]();
	}
	sleep(1); /* they have their names long before the host reads them */
	snprintf(ready, sizeof(ready), "<1>READY %d %d\n", pids[0], pids[1]);
	say(ready, strlen(ready));
	for (;;)
		pause();
}
