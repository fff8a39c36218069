/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a guest's memory as its processor does, while the machine is stopped: by physical address,
 * and by virtual address through the guest's own page tables.
 *
 * Addresses, tables and sizes come from the guest and are not trusted. A walk reads at most five
 * entries, each once, and follows any content; its result is an address within RAM, or a fault. No
 * function allocates.
 */
#ifndef RS_INTROSPECT_MEMORY_H
#define RS_INTROSPECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/host.h>
#include <ringside/registers.h>

/* Why an address cannot be read. */
enum rs_fault {
	RS_FAULT_NONE,
	RS_FAULT_NOT_PRESENT,	/* an entry has no present bit */
	RS_FAULT_NOT_CANONICAL, /* the processor rejects the address */
	RS_FAULT_RESERVED,	/* an entry has a reserved bit set */
	RS_FAULT_NOT_RAM,	/* the physical address belongs to a device, or is unused */
	RS_FAULT_HOST,		/* the host could not read the memory */
};

/* Returns the text of a fault, such as "the page is not present". */
const char *rs_fault_text(enum rs_fault fault);

/* A part of guest RAM that this process has mapped. */
struct rs_ram {
	uint64_t gpa, bytes;
	const uint8_t *mem;
};

#define RS_RAM_PIECES_MAX 8
#define RS_TLB_ENTRIES	  256u /* must be a power of two */

/* The state by which a processor translates: Intel SDM volume 3, chapter 4. */
struct rs_paging {
	uint64_t cr0, cr3, cr4, efer;
	uint8_t address_bits; /* width of physical addresses (CPUID 80000008H EAX); 0: 52 */
};

struct rs_tlb_entry {
	uint64_t page; /* number of the virtual 4 KiB page, plus 1; 0: empty */
	uint64_t gpa;  /* address of the page */
};

struct rs_memory {
	struct rs_ram ram[RS_RAM_PIECES_MAX];
	uint32_t n_ram;
	/* Reads physical memory that is not mapped. Returns false if it cannot. Optional. */
	bool (*read)(void *ctx, uint64_t gpa, void *buf, size_t bytes);
	/* Returns whether bytes of one page may be read at a virtual address. NULL: all may be
	 * read. */
	bool (*allows)(void *ctx, uint64_t gva, size_t bytes);
	void *ctx;
	/* Translations since the machine stopped; rs_memory_stopped() empties the cache. */
	struct rs_paging paging;
	struct rs_tlb_entry tlb[RS_TLB_ENTRIES];
	uint64_t walks; /* lookups since the beginning, as a measure of cost */
};

/* Initializes *memory to read through a VMM's callbacks. */
void rs_memory_of_guest(const struct rs_guest_memory *guest, struct rs_memory *memory);

/* Discards all translations, since the machine has run and stopped again. */
void rs_memory_stopped(struct rs_memory *memory, const struct rs_paging *paging);
/* Sets the registers of the vCPU to translate for, and discards all translations. */
void rs_memory_at(struct rs_memory *memory, const struct rs_x86_regs *regs);

/* Translates a virtual address to a guest-physical one. Returns the fault, if any. */
enum rs_fault rs_memory_translate(struct rs_memory *memory, uint64_t gva, uint64_t *gpa);

/* Reads the whole range. On a fault, the buffer's content is undefined and *at, if not NULL, is the
 * address that faulted. */
enum rs_fault rs_memory_read_phys(struct rs_memory *memory, uint64_t gpa, void *buf, size_t bytes);
enum rs_fault rs_memory_read(struct rs_memory *memory, uint64_t gva, void *buf, size_t bytes,
			     uint64_t *at);

/* Reads a text up to its NUL, or up to size - 1 bytes. buf always ends with a NUL. */
enum rs_fault rs_memory_read_text(struct rs_memory *memory, uint64_t gva, char *buf, size_t size,
				  uint64_t *at);

#endif
