/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks a guest's page tables and reads its memory. */
#include "introspect/memory.h"

#include <string.h>

#define PAGE_BITS  12u
#define PAGE_BYTES (UINT64_C(1) << PAGE_BITS)

#define CR0_PG	  (UINT64_C(1) << 31)
#define CR4_PSE	  (UINT64_C(1) << 4)
#define CR4_PAE	  (UINT64_C(1) << 5)
#define CR4_LA57  (UINT64_C(1) << 12)
#define EFER_LMA  (UINT64_C(1) << 10)
#define ENTRY_P	  (UINT64_C(1) << 0)
#define ENTRY_PS  (UINT64_C(1) << 7)
#define BITS_MAX  52u
#define PSE36_MAX 40u /* number of address bits of a 4 MiB page of 32-bit paging, at most */

const char *rs_fault_text(enum rs_fault fault)
{
	switch (fault) {
	case RS_FAULT_NONE:
		return "no fault";
	case RS_FAULT_NOT_PRESENT:
		return "the page is not present";
	case RS_FAULT_NOT_CANONICAL:
		return "the address is not canonical";
	case RS_FAULT_RESERVED:
		return "a page table's entry has reserved bits set";
	case RS_FAULT_NOT_RAM:
		return "the physical address is not RAM";
	case RS_FAULT_HOST:
		break;
	}
	return "the host could not read the memory";
}

/* ---- physical ------------------------------------------------------------------------------- */

enum rs_fault rs_memory_read_phys(struct rs_memory *memory, uint64_t gpa, void *buf, size_t bytes)
{
	for (uint32_t i = 0; i < memory->n_ram; i++) {
		const struct rs_ram *ram = &memory->ram[i];

		if (gpa < ram->gpa || gpa - ram->gpa >= ram->bytes ||
		    bytes > ram->bytes - (gpa - ram->gpa))
			continue;
		memcpy(buf, ram->mem + (gpa - ram->gpa), bytes);
		return RS_FAULT_NONE;
	}
	if (!memory->read)
		return RS_FAULT_NOT_RAM;
	return memory->read(memory->ctx, gpa, buf, bytes) ? RS_FAULT_NONE : RS_FAULT_HOST;
}

/* ---- page tables ---------------------------------------------------------------------------- */

/* The layout of a paging mode's tables: `levels` levels, indexes of `bits` bits, entries of
 * `entry_bytes` bytes. */
struct mode {
	uint8_t levels, bits, entry_bytes;
	/* width of virtual addresses; 0: 32 bits, all of which are canonical */
	uint8_t address_bits;
	/* Bit masks by level, from 0, the lowest: levels whose entries can be pages, and levels
	 * where PS is reserved. */
	uint8_t large, never;
};

#define LEVEL(n) (1u << (n))

static const struct mode mode_32 = { 2, 10, 4, 0, 0, 0 },
			 mode_32_pse = { 2, 10, 4, 0, LEVEL(1), 0 },
			 mode_pae = { 3, 9, 8, 0, LEVEL(1), LEVEL(2) },
			 mode_4 = { 4, 9, 8, 48, LEVEL(1) | LEVEL(2), LEVEL(3) },
			 mode_5 = { 5, 9, 8, 57, LEVEL(1) | LEVEL(2), LEVEL(3) | LEVEL(4) };

static const struct mode *mode_of(const struct rs_paging *paging)
{
	if (paging->efer & EFER_LMA)
		return paging->cr4 & CR4_LA57 ? &mode_5 : &mode_4;
	if (paging->cr4 & CR4_PAE)
		return &mode_pae;
	return paging->cr4 & CR4_PSE ? &mode_32_pse : &mode_32;
}

static uint64_t low_bits(uint32_t n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool canonical(uint64_t gva, uint32_t bits)
{
	uint64_t high = gva >> (bits - 1);

	return !high || high == low_bits(64 - bits + 1);
}

/* Returns the base of a 4 MiB page of 32-bit paging. Bits 13 and up of the entry are address bits
 * 32 and up. */
static uint64_t pse_base(uint64_t entry, uint32_t address_bits)
{
	uint32_t most = address_bits < PSE36_MAX ? address_bits : PSE36_MAX;

	return (entry & 0xffc00000u) | ((entry >> 13 & 0xff) << 32 & low_bits(most));
}

/* Reads the entry at an index of a table. */
static enum rs_fault entry_read(struct rs_memory *memory, const struct mode *mode, uint64_t table,
				uint64_t index, uint64_t *entry)
{
	enum rs_fault fault;

	*entry = 0;
	fault = rs_memory_read_phys(memory, table + index * mode->entry_bytes, entry,
				    mode->entry_bytes);
	if (fault)
		return fault;
	return *entry & ENTRY_P ? RS_FAULT_NONE : RS_FAULT_NOT_PRESENT;
}

/* Returns the address of the root table. Ignores the register's bits below a table's size. */
static uint64_t root_of(const struct rs_paging *paging, const struct mode *mode,
			uint32_t address_bits)
{
	if (mode == &mode_pae)
		return paging->cr3 & 0xffffffe0u;
	return paging->cr3 & low_bits(mode->address_bits ? address_bits : 32) & ~(PAGE_BYTES - 1);
}

static enum rs_fault walk(struct rs_memory *memory, uint64_t gva, uint64_t *gpa)
{
	const struct rs_paging *paging = &memory->paging;
	const struct mode *mode = mode_of(paging);
	uint32_t address_bits = paging->address_bits ? paging->address_bits : BITS_MAX;
	uint64_t table, entry = 0, address = low_bits(address_bits);

	if (mode->address_bits && !canonical(gva, mode->address_bits))
		return RS_FAULT_NOT_CANONICAL;
	if (!mode->address_bits)
		gva = (uint32_t)gva;
	memory->walks++;
	table = root_of(paging, mode, address_bits);
	for (uint32_t level = mode->levels; level--;) {
		uint32_t shift = PAGE_BITS + level * mode->bits;
		uint64_t index = gva >> shift & low_bits(mode->bits);
		enum rs_fault fault = entry_read(memory, mode, table, index, &entry);

		if (fault)
			return fault;
		/* Address bits above the processor's physical width are reserved. */
		if (mode->entry_bytes == 8 && (entry & low_bits(BITS_MAX) & ~address))
			return RS_FAULT_RESERVED;
		if ((entry & ENTRY_PS) && mode->large & LEVEL(level)) {
			uint64_t base = mode->entry_bytes == 4 ? pse_base(entry, address_bits)
							       : entry & address & ~low_bits(shift);

			*gpa = base | (gva & low_bits(shift));
			return RS_FAULT_NONE;
		}
		if ((entry & ENTRY_PS) && mode->never & LEVEL(level))
			return RS_FAULT_RESERVED;
		table = entry & address & ~(PAGE_BYTES - 1);
	}
	*gpa = table | (gva & (PAGE_BYTES - 1));
	return RS_FAULT_NONE;
}

void rs_memory_stopped(struct rs_memory *memory, const struct rs_paging *paging)
{
	memory->paging = *paging;
	memset(memory->tlb, 0, sizeof(memory->tlb));
}

void rs_memory_at(struct rs_memory *memory, const struct rs_x86_regs *regs)
{
	rs_memory_stopped(memory, &(struct rs_paging){ .cr0 = regs->cr0,
						       .cr3 = regs->cr3,
						       .cr4 = regs->cr4,
						       .efer = regs->efer });
}

void rs_memory_of_guest(const struct rs_guest_memory *guest, struct rs_memory *memory)
{
	*memory = (struct rs_memory){ .read = guest->read, .ctx = guest->ctx };
}

enum rs_fault rs_memory_translate(struct rs_memory *memory, uint64_t gva, uint64_t *gpa)
{
	uint64_t page = gva >> PAGE_BITS;
	struct rs_tlb_entry *entry = &memory->tlb[page % RS_TLB_ENTRIES];
	enum rs_fault fault = RS_FAULT_NONE;

	if (!(memory->paging.cr0 & CR0_PG)) {
		*gpa = (uint32_t)gva;
		return RS_FAULT_NONE;
	}
	if (entry->page != page + 1) {
		uint64_t found = 0;

		fault = walk(memory, page << PAGE_BITS, &found);
		if (fault)
			return fault;
		*entry = (struct rs_tlb_entry){ .page = page + 1, .gpa = found };
	}
	*gpa = entry->gpa + (gva & (PAGE_BYTES - 1));
	return fault;
}

/* ---- virtual -------------------------------------------------------------------------------- */

enum rs_fault rs_memory_read(struct rs_memory *memory, uint64_t gva, void *buf, size_t bytes,
			     uint64_t *at)
{
	uint8_t *to = buf;

	while (bytes) {
		uint64_t left = PAGE_BYTES - (gva & (PAGE_BYTES - 1)), gpa;
		size_t part = bytes < left ? bytes : (size_t)left;
		enum rs_fault fault = rs_memory_translate(memory, gva, &gpa);

		if (!fault && memory->allows && !memory->allows(memory->ctx, gva, part))
			fault = RS_FAULT_HOST;
		if (!fault)
			fault = rs_memory_read_phys(memory, gpa, to, part);
		if (fault) {
			if (at)
				*at = gva;
			return fault;
		}
		gva += part;
		to += part;
		bytes -= part;
	}
	return RS_FAULT_NONE;
}

enum rs_fault rs_memory_read_text(struct rs_memory *memory, uint64_t gva, char *buf, size_t size,
				  uint64_t *at)
{
	size_t got = 0;

	buf[0] = '\0';
	while (got < size - 1) {
		size_t left = (size_t)(PAGE_BYTES - (gva & (PAGE_BYTES - 1)));
		size_t part = size - 1 - got < left ? size - 1 - got : left;
		enum rs_fault fault = rs_memory_read(memory, gva, buf + got, part, at);
		const char *end;

		if (fault) {
			buf[got] = '\0';
			return fault;
		}
		end = memchr(buf + got, '\0', part);
		if (end)
			return RS_FAULT_NONE;
		got += part;
		gva += part;
	}
	buf[got] = '\0';
	return RS_FAULT_NONE;
}
