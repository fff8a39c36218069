/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of tests/replay/seek.test: /init, static and not PIE, that calls and writes a prime
 * number of times, puts another page at the same address, and has large pages.
 */
#define _GNU_SOURCE /* mremap() */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <unistd.h>

#define CALLS	   101
#define PAGES	   13
#define PAGE	   4096u
#define LARGE	   (2ul << 20)
#define LARGE_MANY 67
#define REST	   100000000

volatile uint64_t written __attribute__((aligned(64)));
char *const place = (char *)0x10000000000;
char *const large = (char *)0x20000000000;

__attribute__((noinline, noclone, aligned(PAGE))) void called(uint64_t i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

__attribute__((noinline, noclone)) void put_there(uint64_t i, const char *page)
{
	__asm__ volatile("" : : "r"(i), "r"(page) : "memory");
}

__attribute__((noinline, noclone)) void large_is(uint64_t i, const char *page)
{
	__asm__ volatile("" : : "r"(i), "r"(page) : "memory");
}

/* Each time another page: the one before is still there, elsewhere. */
static void put_pages(void)
{
	for (uint64_t i = 0; i < PAGES; i++) {
		mmap(place, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
		memcpy(place, &i, sizeof(i));
		put_there(i, place);
		mremap(place, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + (i + 1) * LARGE);
	}
}

static void put_large(void)
{
	mmap(large, LARGE_MANY * LARGE, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(large, LARGE_MANY * LARGE, MADV_HUGEPAGE);
	for (uint64_t i = 0; i < LARGE_MANY; i++) {
		uint64_t word = i * 1000003 + 1;
		char *at = large + i * LARGE + 70000 + 8 * i;

		memcpy(at, &word, sizeof(word));
		large_is(word, at);
	}
}

/*
 * So long that the recorder, which looks five times a second, sees an instruction of it. On a page
 * of its own: QEMU runs code that shares a page with a breakpoint an instruction at a time.
 */
__attribute__((noinline, noclone, aligned(PAGE))) void rest(void)
{
	for (volatile uint32_t i = 0; i < REST; i++)
		;
}

int main(void)
{
	puts("the guest begins");
	for (uint64_t i = 0; i < CALLS; i++) {
		called(i);
		written = i * 3;
	}
	put_pages();
	put_large();
	rest();
	puts("the guest ends");
	reboot(RB_POWER_OFF);
	return 0;
}
