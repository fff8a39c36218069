/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared library of linux_init.c: frames of another binary in the middle of a stack. */
void library_outer(void (*leaf)(void));

#define KEEP_CALL() __asm__ volatile("" ::: "memory")

static __attribute__((noipa)) void library_inner(void (*leaf)(void))
{
	leaf();
	KEEP_CALL();
}

void library_outer(void (*leaf)(void))
{
	library_inner(leaf);
	KEEP_CALL();
}
