/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of names.test, the first process of a Linux: calls, system calls and threads whose
 * counts are prime numbers, in two processes and three threads. It says on the console which
 * numbers the kernel gave them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))

enum { CALLS = 211, DEPTH = 13, TIMES = 17, ESCAPES = 101, RETURNS = 97 };
enum { SHARED = 307, THREADS = 3, SYSCALLS = 503, FAILED_SYSCALLS = 41 };

static volatile long sink;
static jmp_buf out;

OUT long called(long a, long b, long c, long d, long e, long f)
{
	sink += a + b + c + d + e + f;
	return 7 * a + 1;
}

OUT long deeper(long n)
{
	if (n)
		sink += deeper(n - 1);
	return n + 1000;
}

OUT long tail(long n)
{
	sink++;
	return called(n, 0, 0, 0, 0, 0);
}

OUT void leaves(int how)
{
	sink++;
	if (how)
		longjmp(out, 1);
}

OUT void shared(long n)
{
	sink += n;
}

/* After a jump out of leaves() the same instruction follows as after its return. */
OUT void escape(int how)
{
	if (!setjmp(out))
		leaves(how);
	sink++;
}

static void *thread(void *of)
{
	char name[16];

	snprintf(name, sizeof(name), "thread-%ld", (long)of);
	prctl(PR_SET_NAME, name);
	printf("TASK %s %d %d\n", name, getpid(), gettid());
	for (long i = 0; i < SHARED + (long)of; i++)
		shared(i);
	return NULL;
}

static void alpha(void)
{
	pthread_t threads[THREADS];

	prctl(PR_SET_NAME, "alpha");
	printf("TASK alpha %d %d\n", getpid(), gettid());
	for (long i = 0; i < CALLS; i++)
		called(i, 1, 2, 3, 4, 5);
	for (long i = 0; i < TIMES; i++)
		deeper(DEPTH - 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (long i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void beta(void)
{
	prctl(PR_SET_NAME, "beta");
	printf("TASK beta %d %d\n", getpid(), gettid());
	for (int i = 0; i < ESCAPES; i++)
		escape(1);
	for (int i = 0; i < RETURNS; i++)
		escape(0);
	for (int i = 0; i < TIMES; i++)
		tail(i);
	for (int i = 0; i < SYSCALLS; i++)
		syscall(SYS_getpriority, 0, 0);
	for (int i = 0; i < FAILED_SYSCALLS; i++)
		syscall(SYS_dup2, -1 - i, 5);
}

static void apart(void (*what)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		what();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Under strace, where that is: its summary of this process and its children goes to the console. */
static void traced(void)
{
	execl("/strace", "strace", "-f", "-c", "-U", "name,calls", "/init", "traced", NULL);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "traced")) {
		prctl(PR_SET_NAME, "traced");
		printf("TASK traced %d %d\n", getpid(), gettid());
		apart(alpha);
		apart(beta);
		return 0;
	}
	if (!access("/strace", X_OK)) {
		apart(traced);
		printf("the guest ends\n");
		reboot(RB_POWER_OFF);
	}
	printf("TASK init %d %d\n", getpid(), gettid());
	apart(alpha);
	apart(beta);
	printf("the guest ends\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
