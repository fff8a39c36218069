/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of tests/replay/seek.test: /init, static and not PIE, that makes prime numbers of calls
 * and writes, maps another page at the same address, and has large pages.
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

/* Maps another page each time; the previous one stays mapped at another address. */
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

int main(void)
{
	puts("the guest begins");
	for (uint64_t i = 0; i < CALLS; i++) {
		called(i);
		written = i * 3;
	}
	put_pages();
	put_large();
	puts("the guest ends");
	reboot(RB_POWER_OFF);
	return 0;
}
