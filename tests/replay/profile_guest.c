/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of profile.test, the first process of a Linux: two processes with known numbers of
 * instructions in known functions. A turn of spin() is two instructions.
 *
 *	alpha: main - run - alpha_outer - alpha_first or alpha_second - spin
 *	beta:  main - run - beta_recursive, RECURSIONS times more - spin
 *
 * With the kernel's argument again=1 they never end, and their turns alternate in rounds (of 50 ms
 * on a slow host): many in each run, so that a change of the machine's speed affects all functions
 * alike. They are no shorter because a kernel's timers may follow its switches from task to task:
 * with Linux 7.2, which has eight times as many timer interrupts as 6.1, and rounds of 1 ms,
 * alpha_second() took 3 % longer than its turns say. The parent then prints "round" ten times a
 * second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLED	    static __attribute__((noipa))
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

#ifndef UNIT
#define UNIT 5000000L
#endif
/* Rounds, in units: primes. */
enum { FIRST = 5, SECOND = 8, BETA = 7, RECURSIONS = 3 };
enum { AGAIN_UNIT = 500000, PRINT_US = 100000, CALLS = 40000 };

static long unit = UNIT;
static int batons[2][2]; /* pipes: a byte in one of them allows alpha's turns, or beta's */

CALLED void spin(long turns)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(turns));
}

CALLED void alpha_first(void)
{
	spin(FIRST * unit);
	KEEP_CALL();
}

CALLED void alpha_second(void)
{
	spin(SECOND * unit);
	KEEP_CALL();
}

CALLED void alpha_outer(void)
{
	alpha_first();
	alpha_second();
	KEEP_CALL();
}

CALLED void beta_recursive(int n)
{
	if (n)
		beta_recursive(n - 1);
	else
		spin(BETA * unit);
	KEEP_CALL();
}

CALLED void turn_await(int which)
{
	char baton;

	if (unit != UNIT && read(batons[which][0], &baton, 1) != 1)
		_exit(1);
}

CALLED void turn_pass(int which)
{
	if (unit != UNIT && write(batons[which][1], "", 1) != 1)
		_exit(1);
}

CALLED void run(const char *name)
{
	const int which = *name != 'a';

	if (fork())
		return;
	prctl(PR_SET_NAME, name);
	do {
		turn_await(which);
		if (!which)
			alpha_outer();
		else
			beta_recursive(RECURSIONS);
		turn_pass(!which);
	} while (unit != UNIT);
	_exit(0);
}

/* A process may have any name. */
CALLED void hostile(void)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, "a;b\n\xff<\x1b[1m");
	for (volatile long i = 0; i < UNIT; i++)
		;
	_exit(0);
}

/* A process that enters the kernel so often that some samples are in the entry. */
CALLED void calls(void)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, "calls");
	for (int i = 0; i < CALLS; i++)
		getppid();
	_exit(0);
}

int main(void)
{
	if (getenv("again")) {
		unit = AGAIN_UNIT;
		if (pipe(batons[0]) || pipe(batons[1]))
			return 1;
		turn_pass(0);
	}
	run("alpha");
	run("beta");
	if (unit == UNIT) {
		hostile();
		calls();
	}
	while (unit != UNIT) {
		printf("round \n");
		fflush(stdout);
		usleep(PRINT_US);
	}
	while (wait(NULL) > 0)
		;
	printf("the guest ends\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
