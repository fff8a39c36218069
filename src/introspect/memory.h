/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's memory as its processor sees it: physical reads, and virtual ones through the guest's
 * own page tables, while the machine stands still.
 *
 * All of it is the guest's: addresses, tables, sizes. A walk reads at most five entries, each once,
 * and follows them whatever they say; what it finds is an address within RAM, or a fault. Nothing
 * here allocates.
 */
#ifndef RS_INTROSPECT_MEMORY_H
#define RS_INTROSPECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why an address can't be read. */
enum rs_fault {
	RS_FAULT_NONE,
	RS_FAULT_NOT_PRESENT,	/* a table's entry, or the page's, says so */
	RS_FAULT_NOT_CANONICAL, /* no address that the processor would take */
	RS_FAULT_RESERVED,	/* an entry has bits that the processor refuses */
	RS_FAULT_NOT_RAM,	/* a physical address that is a device's, or nobody's */
	RS_FAULT_HOST,		/* the host could not read it */
};

/* "the page is not present" and so on. */
const char *rs_fault_text(enum rs_fault fault);

/* A piece of guest RAM, mapped by us. */
struct rs_ram {
	uint64_t gpa, bytes;
	const uint8_t *mem;
};

#define RS_RAM_PIECES_MAX 8
#define RS_TLB_ENTRIES	  256u /* a power of two */

/* What a processor translates by: Intel SDM volume 3, chapter 4. */
struct rs_paging {
	uint64_t cr0, cr3, cr4, efer;
	uint8_t address_bits; /* of physical addresses (CPUID 80000008H EAX); 0: 52 */
};

struct rs_tlb_entry {
	uint64_t page; /* virtual, its number of 4 KiB, + 1; 0: empty */
	uint64_t gpa;  /* of that page */
};

struct rs_guest_memory {
	struct rs_ram ram[RS_RAM_PIECES_MAX];
	uint32_t n_ram;
	/* Where RAM is not mapped: reads physical memory otherwise; false: it can't. Optional. */
	bool (*read)(void *ctx, uint64_t gpa, void *buf, size_t bytes);
	void *ctx;
	/* What was translated since the machine stopped; rs_memory_stopped() empties it. */
	struct rs_paging paging;
	struct rs_tlb_entry tlb[RS_TLB_ENTRIES];
	uint64_t walks; /* since the beginning, for who wants to know what it costs */
};

/* The machine has stopped anew: nothing that was translated before holds. */
void rs_memory_stopped(struct rs_guest_memory *memory, const struct rs_paging *paging);

/* Where a virtual address is. */
enum rs_fault rs_memory_translate(struct rs_guest_memory *memory, uint64_t gva, uint64_t *gpa);

/* All of it or, with a fault, nothing that counts. *at, if not NULL: the address that faulted. */
enum rs_fault rs_memory_read_phys(struct rs_guest_memory *memory, uint64_t gpa, void *buf,
				  size_t bytes);
enum rs_fault rs_memory_read(struct rs_guest_memory *memory, uint64_t gva, void *buf, size_t bytes,
			     uint64_t *at);

/* A text that ends with a NUL, or after size - 1 bytes; always ended in buf. */
enum rs_fault rs_memory_read_text(struct rs_guest_memory *memory, uint64_t gva, char *buf,
				  size_t size, uint64_t *at);

#endif
