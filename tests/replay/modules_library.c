/* SPDX-License-Identifier: BSD-2-Clause */
/* The libraries of the guest of modules.test, which differ in ADDED. */
static volatile long sum;

__attribute__((noinline)) long counted(long n)
{
	sum += n;
	return n + ADDED;
}
