/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of names and stacks: nested ranges, names of C++ and Rust, rows of call frame
 * information and expressions of DWARF, from literal bytes; and stacks in synthetic memory that no
 * program produces. tests/introspect/stacks.test uses real programs.
 */
#include "../test.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <ringside/record.h>

#include "introspect/cfi.h"
#include "introspect/demangle.h"
#include "introspect/expression.h"
#include "introspect/ranges.h"
#include "introspect/unwind.h"

/* ---- ranges ------------------------------------------------------------------------------- */

static uint32_t item_at(const struct rs_ranges *ranges, uint64_t address)
{
	const struct rs_range *range = rs_ranges_find(ranges, address);

	return range ? range->item : 0;
}

TEST(the_innermost_range_is_found)
{
	static const struct rs_range some[] = {
		{ 100, 200, 1, 0 }, { 120, 160, 2, 1 }, { 130, 140, 3, 2 }, { 150, 160, 4, 2 },
		{ 100, 110, 5, 1 }, { 300, 400, 6, 0 }, { 350, 450, 7, 0 }, /* not within 6 */
		{ 500, 500, 8, 0 },
	};
	static const uint32_t expected[][2] = {
		{ 99, 0 },  { 100, 5 }, { 109, 5 }, { 110, 1 }, { 119, 1 }, { 120, 2 }, { 130, 3 },
		{ 139, 3 }, { 140, 2 }, { 150, 4 }, { 160, 1 }, { 199, 1 }, { 200, 0 }, { 299, 0 },
		{ 349, 6 }, { 350, 7 }, { 449, 7 }, { 450, 0 }, { 500, 0 },
	};
	struct rs_ranges ranges = { 0 };

	CHECK(!rs_ranges_find(&ranges, 100));
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		REQUIRE(rs_ranges_add(&ranges, some[i]));
	REQUIRE(rs_ranges_flatten(&ranges));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_EQ_U64(item_at(&ranges, expected[i][0]), expected[i][1]);
	rs_ranges_deinit(&ranges);
}

/* ---- names -------------------------------------------------------------------------------- */

#define IS(symbol, expected)                                                                       \
	do {                                                                                       \
		rs_demangle(symbol, name, sizeof(name));                                           \
		CHECK_STR(name, expected);                                                         \
	} while (0)

TEST(names)
{
	char name[RS_FUNCTION_NAME_MAX], few[16];

	IS("main", "main");
	IS("_start", "_start");
	IS("_ZN4shop5shelfIiE5countERKi", "shop::shelf<int>::count(int const&)");
	IS("_ZN12_GLOBAL__N_16hiddenplEi", "(anonymous namespace)::hidden::operator+(int)");
	/* Rust's: legacy, without its hash; and the examples of RFC 2603. */
	IS("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	IS("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	IS("_RNvMs_Cs4Cv8Wi1oAIB_8mod_nameNtB4_3Foo3bar", "<mod_name::Foo>::bar");
	IS("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	   "utf8_idents::საჭმელად_გემრიელი_სადილი");
	IS("a\x1b[31m\xff\xc3\xa4", "a?[31m?\xc3\xa4");
	rs_demangle("_ZN4shop5shelfIiE5countERKi", few, sizeof(few));
	CHECK_STR(few, "shop::shelf<...");
	rs_demangle("a_name_of_sixteen", few, sizeof(few));
	CHECK_STR(few, "a_name_of_si...");
	rs_demangle("fifteen_letters", few, sizeof(few));
	CHECK_STR(few, "fifteen_letters");
}

/* Each type has two references to the previous one: a name of 2^40 parts. */
TEST(a_name_that_grows)
{
	char symbol[2048] = "_Z1f1aIii", name[RS_FUNCTION_NAME_MAX];
	size_t n = strlen(symbol);

	symbol[n++] = 'E';
	for (int i = 0; i < 40; i++) {
		char back[8] = "S_";

		if (i)
			snprintf(back, sizeof(back), "S%c%c_", i > 36 ? '1' : '0',
				 "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(i - 1) % 36]);
		n += (size_t)snprintf(symbol + n, sizeof(symbol) - n, "1aI%s%sE", back, back);
	}
	rs_demangle(symbol, name, sizeof(name));
	CHECK(strlen(name) < sizeof(name));
}

/* ---- call frame information --------------------------------------------------------------- */

/* A CIE of .eh_frame with absolute addresses: CFA is rsp + 8, the return address at CFA - 8. */
#define CIE_BYTES                                                                                  \
	0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x00, 0x0c, 7, 8, 0x90, 1, 0, 0
/* An FDE of 0x1000 to 0x1040 with a program of 8 bytes, whose CIE begins `back` bytes before. */
#define FDE_BYTES(back, ...)                                                                       \
	0x1d, 0, 0, 0, back, 0, 0, 0, 0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0,  \
		__VA_ARGS__
#define END 0, 0, 0, 0

#define STEP 7u /* a prime number, so that all positions in instructions occur */

static const uint8_t pushes[] = {
	CIE_BYTES,
	/* After 1 byte the CFA is rsp + 16 and rbp is at CFA - 16; after 4, the CFA is rbp + 16. */
	FDE_BYTES(0x1c, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6), END
};

TEST(rows)
{
	struct rs_cfi_row row;
	struct rs_cfi cfi;

	REQUIRE_OK(rs_cfi_read_bytes(pushes, sizeof(pushes), 0x5000, true, &cfi));
	CHECK_EQ_U64(rs_cfi_find(&cfi, 0xfff, &row), RS_CFI_NONE);
	CHECK_EQ_U64(rs_cfi_find(&cfi, 0x1040, &row), RS_CFI_NONE);
	REQUIRE_EQ_U64(rs_cfi_find(&cfi, 0x1000, &row), RS_CFI_FOUND);
	CHECK_EQ_U64(row.cfa.base, RS_CFI_RSP);
	CHECK_EQ_S64(row.cfa.offset, 8);
	CHECK_EQ_U64(row.registers[RS_CFI_RBP].how, RS_CFI_SAME);
	CHECK_EQ_U64(row.registers[RS_CFI_RIP].how, RS_CFI_AT_OFFSET);
	CHECK_EQ_S64(row.registers[RS_CFI_RIP].offset, -8);
	REQUIRE_EQ_U64(rs_cfi_find(&cfi, 0x1001, &row), RS_CFI_FOUND);
	CHECK_EQ_S64(row.cfa.offset, 16);
	CHECK_EQ_U64(row.registers[RS_CFI_RBP].how, RS_CFI_AT_OFFSET);
	CHECK_EQ_S64(row.registers[RS_CFI_RBP].offset, -16);
	REQUIRE_EQ_U64(rs_cfi_find(&cfi, 0x103f, &row), RS_CFI_FOUND);
	CHECK_EQ_U64(row.cfa.base, RS_CFI_RBP);
	CHECK(!row.interrupted);
	rs_cfi_deinit(&cfi);
}

/* Programs that do not describe how a frame is left. */
TEST(rows_of_damaged_tables)
{
	static const uint8_t programs[][8] = {
		{ 0x0b, 0, 0, 0, 0, 0, 0, 0 },	     /* restores a state that it did not remember */
		{ 0x3f, 0, 0, 0, 0, 0, 0, 0 },	     /* no such instruction */
		{ 0x0d, 99, 0, 0, 0, 0, 0, 0 },	     /* no such register */
		{ 0x0f, 0x7f, 0, 0, 0, 0, 0, 0 },    /* an expression beyond the end */
		{ 0x0f, 1, 0x30, 0x0e, 8, 0, 0, 0 }, /* an offset from an expression */
		{ 0x0c, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 }, /* a number without an end */
	};
	uint8_t section[sizeof(pushes)];
	struct rs_cfi_row row;
	struct rs_cfi cfi;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		memcpy(section, pushes, sizeof(pushes));
		memcpy(section + sizeof(pushes) - 12, programs[i], 8);
		REQUIRE_OK(rs_cfi_read_bytes(section, sizeof(section), 0, true, &cfi));
		CHECK_EQ_U64(rs_cfi_find(&cfi, 0x1000, &row), RS_CFI_INVALID);
		rs_cfi_deinit(&cfi);
	}
}

/* Appends n bytes to the last entry of a section. */
static void enlarge(uint8_t *section, size_t entry, size_t n, uint8_t byte)
{
	uint32_t length;

	memcpy(&length, section + entry, sizeof(length));
	memset(section + entry + sizeof(length) + length, byte, n);
	length += (uint32_t)n;
	memcpy(section + entry, &length, sizeof(length));
}

/* Tables that would need much time: each FDE reads its CIE, and each lookup runs both programs. */
TEST(long_programs_and_cies_are_refused)
{
	static const struct {
		size_t n;
		enum rs_cfi_found early, late;
		uint64_t fdes;
	} fde_cases[] = { { 32768, RS_CFI_FOUND, RS_CFI_FOUND, 1 },
			  { 1 << 20, RS_CFI_FOUND, RS_CFI_INVALID, 1 } },
	  cie_cases[] = { { 2048, RS_CFI_FOUND, RS_CFI_FOUND, 1 },
			  { 8192, RS_CFI_NONE, RS_CFI_NONE, 0 } };
	size_t cie = 24, fde = sizeof(pushes) - 4 - cie;
	uint8_t *section = calloc(1, 2 << 20);
	struct rs_cfi_row row;
	struct rs_cfi cfi;

	REQUIRE(section);
	for (size_t i = 0; i < 2; i++) { /* the FDE is followed by DW_CFA_nop */
		memset(section, 0, 2 << 20);
		memcpy(section, pushes, sizeof(pushes));
		enlarge(section, cie, fde_cases[i].n, 0);
		REQUIRE_OK(rs_cfi_read_bytes(section, 2 << 20, 0, true, &cfi));
		CHECK_EQ_U64(cfi.n, fde_cases[i].fdes);
		CHECK_EQ_U64(rs_cfi_find(&cfi, 0x1001, &row), fde_cases[i].early);
		CHECK_EQ_U64(rs_cfi_find(&cfi, 0x103f, &row), fde_cases[i].late);
		rs_cfi_deinit(&cfi);
	}
	for (size_t i = 0; i < 2; i++) {
		uint32_t back = (uint32_t)(cie + cie_cases[i].n + 4);

		memset(section, 0, 2 << 20);
		memcpy(section, pushes, cie);
		enlarge(section, 0, cie_cases[i].n, 0);
		memcpy(section + back - 4, pushes + cie, fde);
		memcpy(section + back, &back, sizeof(back));
		REQUIRE_OK(rs_cfi_read_bytes(section, 2 << 20, 0, true, &cfi));
		CHECK_EQ_U64(cfi.n, cie_cases[i].fdes);
		CHECK_EQ_U64(rs_cfi_find(&cfi, 0x1001, &row), cie_cases[i].early);
		CHECK_EQ_U64(rs_cfi_find(&cfi, 0x103f, &row), cie_cases[i].late);
		rs_cfi_deinit(&cfi);
	}
	free(section);
}

/* Returns libdw's rule: the register's location, without rules that ours express otherwise. */
static bool same_rule(Dwarf_Frame *frame, uint32_t number, const struct rs_cfi_rule *rule)
{
	Dwarf_Op three[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, (int)number, three, &ops, &n))
		return false;
	switch ((enum rs_cfi_how)rule->how) {
	case RS_CFI_UNDEFINED:
		return !n && ops;
	case RS_CFI_SAME:
		return !n && !ops;
	case RS_CFI_REGISTER:
		return n == 1 && ops[0].atom == DW_OP_regx;
	case RS_CFI_AT_OFFSET:
		return n && n < 3 && ops[0].atom == DW_OP_call_frame_cfa &&
		       (int64_t)(n == 2 ? ops[1].number : 0) == rule->offset;
	case RS_CFI_OFFSET:
		return n > 1 && ops[0].atom == DW_OP_call_frame_cfa &&
		       ops[n - 1].atom == DW_OP_stack_value &&
		       (int64_t)(n == 3 ? ops[1].number : 0) == rule->offset;
	default: /* its operations have another form */
		return n;
	}
}

static bool same_row(Dwarf_Frame *frame, const struct rs_cfi_row *row)
{
	static const uint8_t preserved[] = { RS_CFI_RBX, RS_CFI_RBP, RS_CFI_RSP, RS_CFI_R12,
					     RS_CFI_R13, RS_CFI_R14, RS_CFI_R15, RS_CFI_RIP };
	Dwarf_Op *ops;
	size_t n;
	bool signal;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n ||
	    dwarf_frame_info(frame, NULL, NULL, &signal) != RS_CFI_RIP ||
	    signal != row->interrupted)
		return false;
	if (row->cfa.how == RS_CFI_OFFSET &&
	    (n != 1 || ops[0].atom != DW_OP_bregx || ops[0].number != row->cfa.base ||
	     (int64_t)ops[0].number2 != row->cfa.offset))
		return false;
	/*
	 * Registers that a function preserves. libdw 0.188 counts rax as one by mistake, and not
	 * rbx: backends/x86_64_cfi.c has the number of one with the name of the other.
	 */
	for (size_t i = 0; i < sizeof(preserved); i++) {
		if (preserved[i] == RS_CFI_RBX && row->registers[RS_CFI_RBX].how == RS_CFI_SAME)
			continue;
		if (!same_rule(frame, preserved[i], &row->registers[preserved[i]]))
			return false;
	}
	return true;
}

/* The rows of a file at each STEP-th address of its code, as libdw computes them. */
static void compare_rows(const char *path, uint32_t least)
{
	struct rs_elf_file file;
	struct rs_cfi_row row;
	struct rs_cfi cfi;
	uint32_t found = 0, other = 0;
	uint64_t begin, end;
	Dwarf_CFI *theirs;
	GElf_Shdr text;

	REQUIRE_OK(rs_elf_file_open(path, &file));
	REQUIRE_OK(rs_cfi_read(&file, true, &cfi));
	theirs = dwarf_getcfi_elf(file.elf);
	REQUIRE(theirs && rs_elf_section(&file, ".text", &text));
	begin = text.sh_addr;
	end = begin + text.sh_size;
	for (uint64_t at = begin; at < end; at += STEP) {
		bool ours = rs_cfi_find(&cfi, at, &row) == RS_CFI_FOUND;
		Dwarf_Frame *frame = NULL;

		if (dwarf_cfi_addrframe(theirs, at, &frame))
			other += ours;
		else
			other += !ours || !same_row(frame, &row);
		found += ours;
		free(frame);
	}
	CHECK(found >= least);
	CHECK_EQ_U64(other, 0);
	dwarf_cfi_end(theirs);
	rs_cfi_deinit(&cfi);
	rs_elf_file_close(&file);
}

TEST(rows_of_this_program_and_of_libc_equal_libdw_s)
{
	Dl_info libc;

	compare_rows("/proc/self/exe", 10000);
	REQUIRE(dladdr((void *)(uintptr_t)&qsort, &libc));
	compare_rows(libc.dli_fname, 100000);
}

/* ---- expressions -------------------------------------------------------------------------- */

#define RAM_AT	  UINT64_C(0x10000)
#define RAM_BYTES 4096u

static uint8_t ram[RAM_BYTES];
static struct rs_memory memory;

static void begin(void)
{
	memset(ram, 0, sizeof(ram));
	memory = (struct rs_memory){ .ram = { { RAM_AT, RAM_BYTES, ram } }, .n_ram = 1 };
}

static void put(uint64_t address, uint64_t value)
{
	memcpy(ram + (address - RAM_AT), &value, sizeof(value));
}

#define GIVES(expected, ...)                                                                       \
	do {                                                                                       \
		static const uint8_t code[] = { __VA_ARGS__ };                                     \
		uint64_t value = 0;                                                                \
                                                                                                   \
		CHECK(rs_expression_evaluate(code, sizeof(code), &registers, &memory, &cfa,        \
					     &value));                                             \
		CHECK_EQ_U64(value, expected);                                                     \
	} while (0)
#define FAILS(...)                                                                                 \
	do {                                                                                       \
		static const uint8_t code[] = { __VA_ARGS__ };                                     \
		uint64_t value = 0;                                                                \
                                                                                                   \
		CHECK(!rs_expression_evaluate(code, sizeof(code), &registers, &memory, &cfa,       \
					      &value));                                            \
	} while (0)

TEST(expressions)
{
	struct rs_frame_registers registers = { .known = 1u << 7 | 1u << 16 };
	const uint64_t cfa = 77;

	begin();
	registers.value[7] = RAM_AT;
	registers.value[16] = 0x401239;
	put(RAM_AT + 160, 0xabc);
	GIVES(77, 0x96);
	GIVES(0xabc, 0x77, 0xa0, 0x01, 0x06); /* glibc's signal frame: rsp + 160, read */
	/* For a procedure linkage table: rsp + 8 + ((rip & 15) >= 11) * 8. */
	GIVES(RAM_AT + 8, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	registers.value[16] = 0x40123b;
	GIVES(RAM_AT + 16, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	GIVES(UINT64_MAX - 1, 0x09, 0xfe);		 /* const1s */
	GIVES(3, 0x31, 0x33, 0x16, 0x13);		 /* swap, drop */
	GIVES(5, 0x31, 0x28, 3, 0, 0x08, 9, 0x2f, 0x35); /* bra taken leaves... */
	FAILS(0x76, 0);					 /* rbp is unknown */
	FAILS(0x30, 0x06);				 /* reads unmapped memory */
	FAILS(0x22, 0x22);				 /* the stack is too short */
	FAILS(0x2f, 0xfd, 0xff);			 /* jumps to itself */
	FAILS(0x2f, 0x00, 0x70);			 /* jumps out */
	FAILS(0x31, 0x30, 0x1b);			 /* divides by 0 */
	FAILS(0xff);
}

/* ---- stacks ------------------------------------------------------------------------------- */

static uint32_t walk(uint64_t rip, uint64_t rsp, uint64_t rbp, uint64_t *frames, uint64_t *by_fp)
{
	struct rs_x86_regs regs = { .gpr = { [6] = rbp, [7] = rsp }, .rip = rip };
	struct rs_symbols *set;
	uint32_t n;

	if (!CHECK_OK(rs_symbols_create(NULL, &set)))
		return 0;
	n = rs_unwind(set, &memory, &regs, frames, RS_STACK_DEPTH_MAX, by_fp);
	CHECK_EQ_U64(rs_unwind(NULL, &memory, &regs, frames, RS_STACK_DEPTH_MAX, by_fp), n);
	rs_symbols_destroy(set);
	return n;
}

TEST(frame_pointers_only)
{
	uint64_t frames[RS_STACK_DEPTH_MAX], by_fp;

	begin();
	put(RAM_AT + 64, RAM_AT + 128);
	put(RAM_AT + 72, 0x401000);
	put(RAM_AT + 128, 0);
	put(RAM_AT + 136, 0x402000);
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + 64, frames, &by_fp), 3);
	CHECK_EQ_U64(frames[0], 0x400000);
	CHECK_EQ_U64(frames[1], 0x401000);
	CHECK_EQ_U64(frames[2], 0x402000);
	CHECK_EQ_U64(by_fp, 6);
}

TEST(stacks_that_end)
{
	uint64_t frames[RS_STACK_DEPTH_MAX], by_fp;

	begin();
	/* A frame that is its own caller's. */
	put(RAM_AT + 64, RAM_AT + 64);
	put(RAM_AT + 72, 0x401000);
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + 64, frames, &by_fp), 2);
	/* A frame below the stack pointer, an unaligned one, and one outside memory. */
	CHECK_EQ_U64(walk(0x400000, RAM_AT + 65, RAM_AT + 64, frames, &by_fp), 1);
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + 63, frames, &by_fp), 1);
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + RAM_BYTES - 8, frames, &by_fp), 1);
	/* Addresses without code. */
	put(RAM_AT + 72, 0);
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + 64, frames, &by_fp), 1);
	put(RAM_AT + 72, UINT64_C(0x0000800000000000));
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT + 64, frames, &by_fp), 1);
	CHECK_EQ_U64(by_fp, 0);
	/* Deeper than the recorded part. */
	for (uint64_t i = 0; i < 100; i++) {
		put(RAM_AT + 16 * i, RAM_AT + 16 * (i + 1));
		put(RAM_AT + 16 * i + 8, 0x401000 + i);
	}
	CHECK_EQ_U64(walk(0x400000, RAM_AT, RAM_AT, frames, &by_fp), RS_STACK_DEPTH_MAX);
	CHECK_EQ_U64(frames[63], 0x401000 + 62);
	CHECK_EQ_U64(by_fp, UINT64_MAX - 1);
}
