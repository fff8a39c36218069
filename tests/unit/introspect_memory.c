/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guest memory through the guest's own tables: page tables for each of the processor's modes, built
 * by hand as in Intel's SDM volume 3, chapter 4, valid and invalid.
 */
#include "../test.h"

#include "introspect/memory.h"

#define RAM_BYTES (4u << 20)
#define P	  UINT64_C(1)
#define PS	  UINT64_C(0x80)
#define PG	  UINT64_C(0x80000000)
#define PSE	  UINT64_C(0x10)
#define PAE	  UINT64_C(0x20)
#define LA57	  UINT64_C(0x1000)
#define LMA	  UINT64_C(0x400)

static uint8_t ram[RAM_BYTES];
static struct rs_memory memory;

static void put64(uint64_t gpa, uint64_t value)
{
	memcpy(ram + gpa, &value, sizeof(value));
}

static void put32(uint64_t gpa, uint32_t value)
{
	memcpy(ram + gpa, &value, sizeof(value));
}

static void begin(uint64_t cr4, uint64_t cr3, uint64_t efer)
{
	memset(ram, 0, sizeof(ram));
	memset(&memory, 0, sizeof(memory));
	memory.ram[0] = (struct rs_ram){ 0, RAM_BYTES, ram };
	memory.n_ram = 1;
	rs_memory_stopped(&memory,
			  &(struct rs_paging){ .cr0 = PG, .cr3 = cr3, .cr4 = cr4, .efer = efer });
}

/* Looked up again. */
static void again(void)
{
	struct rs_paging paging = memory.paging;

	rs_memory_stopped(&memory, &paging);
}

#define AT(gva, gpa)                                                                               \
	do {                                                                                       \
		uint64_t found = 1;                                                                \
                                                                                                   \
		CHECK_EQ_U64(rs_memory_translate(&memory, (gva), &found), RS_FAULT_NONE);          \
		CHECK_EQ_U64(found, (gpa));                                                        \
	} while (0)

#define FAULTS(gva, fault)                                                                         \
	do {                                                                                       \
		uint64_t found = 1;                                                                \
                                                                                                   \
		CHECK_EQ_U64(rs_memory_translate(&memory, (gva), &found), (fault));                \
	} while (0)

TEST(four_levels)
{
	begin(PAE, 0x1000 | 0x18, LMA); /* PWT and PCD are not part of the address */
	put64(0x1000 + 8 * 0x1ff, 0x2000 | P);
	put64(0x2000 + 8 * 0x1fe, 0x3000 | P);
	put64(0x3000 + 8 * 3, 0x4000 | P | UINT64_C(1) << 63); /* NX */
	put64(0x4000 + 8 * 5, 0x5000 | P);
	put64(0x3000 + 8 * 4, 0x200000 | P | PS | 1 << 12); /* PAT is not part of the address */
	put64(0x2000 + 8 * 0x1ff, UINT64_C(0x40000000) | P | PS);
	AT(0xffffffff80605123, 0x5123);
	AT(0xffffffff80812345, 0x212345);
	AT(0xffffffffc1234567, 0x41234567);
	FAULTS(0xffffffff80606000, RS_FAULT_NOT_PRESENT);
	FAULTS(0xffffffff00000000, RS_FAULT_NOT_PRESENT);
	FAULTS(0, RS_FAULT_NOT_PRESENT);
	FAULTS(0x0000800000000000, RS_FAULT_NOT_CANONICAL);
	FAULTS(0xffff7fffffffffff, RS_FAULT_NOT_CANONICAL);
	put64(0x4000 + 8 * 5, 0x6000 | P); /* not until the machine has run again */
	AT(0xffffffff80605123, 0x5123);
	again();
	AT(0xffffffff80605123, 0x6123);
}

TEST(five_levels)
{
	begin(PAE | LA57, 0x1000, LMA);
	put64(0x1000 + 8 * 0x100, 0x2000 | P); /* bit 56 is the sign */
	put64(0x2000, 0x3000 | P);
	put64(0x3000, 0x4000 | P);
	put64(0x4000, 0x5000 | P);
	put64(0x5000 + 8 * 0x1ff, 0x7000 | P);
	AT(0xff000000001ff001, 0x7001);
	FAULTS(0x0100000000000000, RS_FAULT_NOT_CANONICAL);
	put64(0x1000, 0x2000 | P | PS);
	FAULTS(0x0, RS_FAULT_RESERVED);
	put64(0x1000, 0x2000 | P);
	put64(0x2000, 0x3000 | P | PS);
	again();
	FAULTS(0x0, RS_FAULT_RESERVED);
}

TEST(pae)
{
	begin(PAE, 0x1020, 0); /* the four entries may be at any multiple of 32 bytes */
	put64(0x1020 + 8 * 3, 0x2000 | P);
	put64(0x2000 + 8 * 1, 0x3000 | P);
	put64(0x3000 + 8 * 2, 0x9000 | P);
	put64(0x2000 + 8 * 2, 0x200000 | P | PS);
	AT(0xc0202abc, 0x9abc);
	AT(0xc0412345, 0x212345);
	AT(0x12345678c0202abc, 0x9abc); /* 32 bits count */
	FAULTS(0x0, RS_FAULT_NOT_PRESENT);
	put64(0x1020, 0x2000 | P | PS);
	FAULTS(0x0, RS_FAULT_RESERVED);
}

TEST(thirty_two_bits)
{
	begin(PSE, 0x1fff, 0); /* the lower 12 bits are not part of the address */
	put32(0x1000 + 4 * 0x300, 0x2000 | P);
	put32(0x2000 + 4 * 0x3ff, 0x8000 | P);
	put32(0x1000 + 4 * 0x301, 0x00400000 | P | PS);
	put32(0x1000 + 4 * 0x302, 0x00400000 | 0x2000 | P | PS); /* PSE-36: address bit 32 */
	AT(0xc03ff004, 0x8004);
	AT(0xc0512345, 0x512345);
	AT(0xc0912345, 0x100512345);
	/* Without PSE the bit has no meaning. */
	begin(0, 0x1000, 0);
	put32(0x1000, 0x2000 | P | PS);
	put32(0x2000, 0x3000 | P);
	AT(0x10, 0x3010);
	/* Without paging, virtual addresses are physical. */
	rs_memory_stopped(&memory, &(struct rs_paging){ 0 });
	AT(0xdead, 0xdead);
}

TEST(reserved_bits)
{
	begin(PAE, 0x1000, LMA);
	memory.paging.address_bits = 40;
	put64(0x1000, 0x2000 | P);
	put64(0x2000, 0x3000 | P);
	put64(0x3000, 0x4000 | P);
	put64(0x4000, 0x5000 | P | UINT64_C(1) << 40);
	FAULTS(0x0, RS_FAULT_RESERVED);
	memory.paging.address_bits = 41;
	again();
	AT(0x0, 0x10000005000);
	/* Bits 52 to 62 are ignored. */
	put64(0x4000, 0x5000 | P | UINT64_C(0x7ff) << 52);
	again();
	AT(0x0, 0x5000);
	put64(0x1000, 0x2000 | P | PS);
	again();
	FAULTS(0x0, RS_FAULT_RESERVED);
}

TEST(tables_that_lead_nowhere)
{
	uint8_t byte;

	begin(PAE, 0x1000, LMA);
	put64(0x1000, 0x1000 | P); /* all levels are one table */
	AT(0x123, 0x1123);
	put64(0x1000 + 8, UINT64_C(0x40000000) | P);
	FAULTS(UINT64_C(1) << 39, RS_FAULT_NOT_RAM);
	CHECK_EQ_U64(rs_memory_read_phys(&memory, RAM_BYTES, &byte, 1), RS_FAULT_NOT_RAM);
	CHECK_EQ_U64(rs_memory_read_phys(&memory, RAM_BYTES - 1, &byte, 2), RS_FAULT_NOT_RAM);
	CHECK_EQ_U64(rs_memory_read_phys(&memory, UINT64_MAX, &byte, 1), RS_FAULT_NOT_RAM);
	begin(PAE, UINT64_MAX & ~UINT64_C(0xfff), LMA);
	FAULTS(0x0, RS_FAULT_NOT_RAM);
}

/* Contiguous pages, and separate memory. */
TEST(reads)
{
	char text[32];
	uint8_t bytes[16];
	uint64_t at = 0;

	begin(PAE, 0x1000, LMA);
	put64(0x1000, 0x2000 | P);
	put64(0x2000, 0x3000 | P);
	put64(0x3000, 0x4000 | P);
	put64(0x4000 + 8 * 1, 0x9000 | P);
	put64(0x4000 + 8 * 2, 0x7000 | P);
	memcpy(ram + 0x9ffc, "over", 4);
	memcpy(ram + 0x7000, " the edge", 10);
	CHECK_EQ_U64(rs_memory_read(&memory, 0x1ffc, bytes, 8, &at), RS_FAULT_NONE);
	CHECK(!memcmp(bytes, "over the", 8));
	CHECK_EQ_U64(rs_memory_read_text(&memory, 0x1ffc, text, sizeof(text), &at), RS_FAULT_NONE);
	CHECK_STR(text, "over the edge");
	CHECK_EQ_U64(rs_memory_read_text(&memory, 0x1ffc, text, 7, &at), RS_FAULT_NONE);
	CHECK_STR(text, "over t");
	memset(ram + 0x7ff0, 'x', 16);
	CHECK_EQ_U64(rs_memory_read_text(&memory, 0x2ff8, text, sizeof(text), &at),
		     RS_FAULT_NOT_PRESENT);
	CHECK_STR(text, "xxxxxxxx");
	CHECK_EQ_U64(at, 0x3000);
	CHECK_EQ_U64(rs_memory_read(&memory, 0x2ffc, bytes, 8, &at), RS_FAULT_NOT_PRESENT);
	CHECK_EQ_U64(at, 0x3000);
	CHECK_EQ_U64(memory.walks, 4);
}

static bool other_read(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	memset(buf, (int)(gpa >> 32), bytes);
	return *(bool *)ctx;
}

TEST(unmapped_memory)
{
	bool good = true;
	uint8_t byte = 0;

	begin(0, 0, 0);
	memory.read = other_read;
	memory.ctx = &good;
	CHECK_EQ_U64(rs_memory_read_phys(&memory, UINT64_C(7) << 32, &byte, 1), RS_FAULT_NONE);
	CHECK_EQ_U64(byte, 7);
	good = false;
	CHECK_EQ_U64(rs_memory_read_phys(&memory, UINT64_C(7) << 32, &byte, 1), RS_FAULT_HOST);
	CHECK_STR(rs_fault_text(RS_FAULT_HOST), "the host could not read the memory");
}
