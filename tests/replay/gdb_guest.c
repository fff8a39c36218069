/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of tests/replay/gdb.test: /init, static and not PIE. It starts processes with known
 * names, stacks and values, and a thread, and prints `ps`. Then one process adds up numbers, while
 * the others wait. All run this program, so that gdb has the symbols of each.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDED 31 /* prime */
#define OWN   7919
#define ENDS  "ps ends"

volatile uint64_t total __attribute__((aligned(64)));
volatile int own = 1; /* of each process */

__attribute__((noinline)) static void *thread_waits(void *arg)
{
	prctl(PR_SET_NAME, "a <&>\"thread");
	for (;;)
		pause();
	return arg;
}

__attribute__((noinline)) static int inner(int depth)
{
	int deeper = depth + 1;

	pause();
	return deeper;
}

__attribute__((noinline)) static int middle(int depth)
{
	int deeper = depth + 10;

	return inner(deeper) + 1;
}

__attribute__((noinline)) static int outer(int depth)
{
	return middle(depth * 2) + 1;
}

static void sleeper(void)
{
	pthread_t thread;

	prctl(PR_SET_NAME, "sleeper");
	own = OWN;
	pthread_create(&thread, NULL, thread_waits, NULL);
	outer(21);
}

/* Other processes run in between: each number is added in a separate time slice. */
__attribute__((noinline)) void add(uint64_t number)
{
	uint64_t before = total;
	uint64_t after = before + number;

	total = after;
	usleep(1000);
}

__attribute__((noinline)) void added(void)
{
	own = 0;
}

static void adder(void)
{
	prctl(PR_SET_NAME, "adder");
	own = 2 * OWN;
	for (uint64_t i = 1; i <= ADDED; i++)
		add(i);
	added();
}

static pid_t start(void (*role)(void))
{
	pid_t pid = fork();

	if (!pid) {
		role();
		exit(0);
	}
	return pid;
}

/* Prints the tasks, as a guest's `ps` would. */
static void ps(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/busybox", "ps", "-T", "-o", "pid,ppid,comm", NULL);
		exit(127);
	}
	waitpid(pid, NULL, 0);
	puts(ENDS);
}

__attribute__((noinline)) void listed(void)
{
	__asm__ volatile("" : : : "memory");
}

int main(void)
{
	mount("proc", "/proc", "proc", 0, NULL);
	start(sleeper);
	usleep(200000);
	ps();
	listed();
	ps();
	waitpid(start(adder), NULL, 0);
	reboot(RB_POWER_OFF);
	return 0;
}
