/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared library of stacks_guest.c. */
#define NOINLINE __attribute__((noipa))

volatile int library_sink;

NOINLINE void library_leaf(int n)
{
	library_sink += n;
	__asm__ volatile(".globl point_library\npoint_library: nop");
}

/* A system call, whose first instruction after it is a point. It has no frame. */
NOINLINE long library_getppid(void)
{
	long result;

	__asm__ volatile("syscall\n.globl point_system_call\npoint_system_call: nop"
			 : "=a"(result)
			 : "a"(110)
			 : "rcx", "r11", "memory");
	return result;
}

/* The compiler inlines it. */
static inline __attribute__((always_inline)) void twice(void (*call)(int n), int n)
{
	call(n);
	call(n + 1);
}

NOINLINE void library_calls(void (*call)(int n), int n)
{
	int local[8 + n];

	for (int i = 0; i < n; i++)
		((volatile int *)local)[i] = i;
	twice(call, local[n - 1]);
	library_sink++;
}
