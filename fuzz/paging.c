/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's page tables: the input is control registers, an address, and RAM. For any tables, a
 * walk ends, and reads nothing outside RAM. Its result equals that of another walk in this file,
 * which follows the SDM's rules for tables of 4 and 5 levels (volume 3, 4.5).
 *
 * EFER's highest byte, which no processor has, selects how RAM is laid out:
 *
 *	bit 0		in two halves, with a hole between them
 *	bits 1 to 6	where the second half begins, as a power of two
 *	bit 7		tables that are generated from the input's first 8 bytes: nearly all
 *			entries are present, and point to one of MADE_TARGETS pages, few of
 *			which are not RAM
 */
#include "fuzz.h"

#include "introspect/memory.h"

#define RAM_MAX	     (64u << 10)
#define PAGE	     4096u
#define MADE_PAGES   12u
#define MADE_TARGETS 14u
#define HOLE_BITS    17u /* the second half is at 2 to the power of this, or more */
#define HOLE_PLACES  35u
#define LONG_BITS    52u
#define PRESENT	     UINT64_C(1)
#define LARGE	     UINT64_C(0x80)

static uint8_t *ram_make(struct fuzz_input *in, bool made, size_t *bytes)
{
	uint64_t seed = made ? fuzz_u64(in) | 1 : 0;
	uint8_t *ram;

	*bytes = in->left < RAM_MAX ? in->left : RAM_MAX;
	if (made)
		*bytes = MADE_PAGES * PAGE;
	ram = malloc(*bytes ? *bytes : 1); /* of exactly its size: reading beyond it is detected */
	MUST(ram);
	if (!made)
		memcpy(ram, in->at, *bytes);
	for (size_t i = 0; made && i < *bytes; i += 8) {
		uint64_t entry;

		seed ^= seed << 13; /* xorshift64 */
		seed ^= seed >> 7;
		seed ^= seed << 17;
		entry = (seed >> 20) % MADE_TARGETS << 12;
		entry |= seed & 15 ? PRESENT : 0;
		entry |= seed >> 4 & 7 ? 0 : LARGE;
		entry |= seed >> 8 & 63 ? 0 : UINT64_C(1) << (seed >> 40 & 63);
		memcpy(ram + i, &entry, 8);
	}
	return ram;
}

/* Returns a byte of RAM; NULL: not RAM. */
static const uint8_t *ram_at(const struct rs_memory *memory, uint64_t gpa, uint64_t bytes)
{
	for (uint32_t i = 0; i < memory->n_ram; i++) {
		const struct rs_ram *r = &memory->ram[i];

		if (gpa >= r->gpa && gpa < r->gpa + r->bytes && bytes <= r->gpa + r->bytes - gpa)
			return r->mem + (gpa - r->gpa);
	}
	return NULL;
}

/* Walks tables of long mode. Returns whether there is a translation. */
static bool walk(const struct rs_memory *memory, uint64_t gva, uint64_t *gpa)
{
	const struct rs_paging *p = &memory->paging;
	uint64_t bits = p->address_bits ? p->address_bits : LONG_BITS;
	uint64_t mask = ((UINT64_C(1) << bits) - 1) & ~(uint64_t)(PAGE - 1);
	uint64_t reserved = ((UINT64_C(1) << LONG_BITS) - 1) & ~mask & ~(uint64_t)(PAGE - 1);
	uint64_t table = p->cr3 & mask;
	int level = p->cr4 >> 12 & 1 ? 4 : 3, top = 64 - (12 + 9 * (level + 1));

	if ((uint64_t)((int64_t)(gva << top) >> top) != gva)
		return false;
	for (; level >= 0; level--) {
		uint64_t size = UINT64_C(1) << (12 + 9 * level), entry;
		const uint8_t *at = ram_at(memory, table + gva / size % 512 * 8, 8);

		if (!at)
			return false;
		memcpy(&entry, at, 8);
		if (!(entry & PRESENT) || (entry & reserved) || (level > 2 && entry & LARGE))
			return false;
		table = entry & mask;
		if (!level || entry & LARGE) {
			*gpa = (table & ~(size - 1)) | (gva & (size - 1));
			return true;
		}
	}
	return false;
}

static void check_reads(struct rs_memory *memory, uint64_t gva, enum rs_fault fault, uint64_t gpa)
{
	uint64_t at = 0;
	char text[256];
	uint8_t byte;

	if (!fault) {
		const uint8_t *there = ram_at(memory, gpa, 1);

		MUST(!rs_memory_read(memory, gva, &byte, 1, NULL) == !!there);
		MUST(!there || byte == *there);
	}
	fault = rs_memory_read(memory, gva, text, sizeof(text), &at);
	MUST(!fault || at == gva || !(at & 0xfff));
	rs_memory_read_text(memory, gva, text, sizeof(text), &at);
	MUST(memchr(text, '\0', sizeof(text)));
	MUST(memory->walks <= 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_paging paging = { .cr0 = fuzz_u64(&in),
				    .cr3 = fuzz_u64(&in),
				    .cr4 = fuzz_u64(&in),
				    .efer = fuzz_u64(&in),
				    .address_bits = fuzz_u8(&in) % 53 };
	uint64_t gva = fuzz_u64(&in), gpa = 0, again = 0, other = 0, second;
	uint8_t layout = paging.efer >> 56;
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	enum rs_fault fault;
	size_t bytes, half;
	uint8_t *ram = ram_make(&in, layout & 0x80, &bytes);
	bool is_long = paging.efer & 1 << 10 && paging.cr0 >> 31 & 1;

	MUST(memory);
	half = layout & 1 ? bytes / 2 / PAGE * PAGE : bytes;
	second = UINT64_C(1) << (HOLE_BITS + (layout >> 1 & 63) % HOLE_PLACES);
	memory->ram[memory->n_ram++] = (struct rs_ram){ 0, half, ram };
	if (layout & 1)
		memory->ram[memory->n_ram++] = (struct rs_ram){ second, bytes - half, ram + half };
	if (is_long && paging.address_bits && paging.address_bits < 12)
		paging.address_bits = 32; /* no processor has fewer */
	rs_memory_stopped(memory, &paging);
	fault = rs_memory_translate(memory, gva, &gpa);
	MUST(rs_fault_text(fault)[0]);
	MUST(rs_memory_translate(memory, gva, &again) == fault && again == (fault ? 0 : gpa));
	if (is_long) {
		MUST(walk(memory, gva, &other) == !fault);
		MUST(fault || other == gpa);
	}
	check_reads(memory, gva, fault, gpa);
	free(ram);
	free(memory);
	return 0;
}
