/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of profile.test, the first process of a Linux: two processes whose instructions are
 * known in number, and in which calls they are executed. A turn of spin() is two instructions.
 *
 *	alpha: main - run - alpha_outer - alpha_first or alpha_second - spin
 *	beta:  main - run - beta_recursive, RECURSIONS times more - spin
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLED	    static __attribute__((noipa))
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

#define UNIT 5000000L
/* Turns, in units: primes. */
enum { FIRST = 5, SECOND = 8, BETA = 7, RECURSIONS = 3 };

CALLED void spin(long turns)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(turns));
}

CALLED void alpha_first(void)
{
	spin(FIRST * UNIT);
	KEEP_CALL();
}

CALLED void alpha_second(void)
{
	spin(SECOND * UNIT);
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
		spin(BETA * UNIT);
	KEEP_CALL();
}

CALLED void run(const char *name)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, name);
	if (*name == 'a')
		alpha_outer();
	else
		beta_recursive(RECURSIONS);
	_exit(0);
}

int main(void)
{
	run("alpha");
	run("beta");
	while (wait(NULL) > 0)
		;
	printf("the guest ends\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
