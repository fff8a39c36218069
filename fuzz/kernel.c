/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel data beyond its symbols: the table of its frames (ORC), the frames on a task's stack, by
 * ORC and by frame pointers, and a file in the page cache. The symbols, the layouts of structures
 * and valid memory are generated; the input has registers, and changes of the memory: where, and
 * which bits are flipped.
 *
 *	u8 layout of ORC's rows; u16 rip, rsp, rbp: offsets in the memory
 *	u16 where, u8 flipped bits: each change
 *
 * Unchanged memory must be read.
 */
#include "fuzz.h"

#include "insight/pages.h"
#include "insight/stack_kernel.h"

#include "kernel_made.h"

/*
 * The layout of memory, which begins at BASE. There is no paging: the physical address is the lower
 * half of the virtual one.
 */
#define BASE	   (MADE_BASE + 0x100000)
#define BYTES	   0x10000u
#define STACK	   0x0000u
#define STACK_TOP  0x4000u
#define TASK	   0x4000u
#define CODE	   0x5000u
#define CODE_END   0x6000u
#define INIT_END   0x6100u
#define IPS	   0x7000u
#define ROWS	   0x7100u
#define LOOKUP	   0x7400u
#define VMEMMAP_AT 0x8000u
#define FILE_AT	   0x8100u
#define MAPPING	   0x8200u
#define INODE	   0x8300u
#define NODE	   0x8400u
#define PAGES	   0xa000u
#define FRAMES	   8u /* of file content, from physical address 0 */

#define N_ROWS	    64u
#define ROW_BYTES   6u
#define CODE_STEP   64u	 /* bytes of code for each row */
#define BLOCK	    256u /* of code, in the index */
#define FILE_BYTES  (3 * 4096u - 100)
#define PAGE_STRUCT 64u
#define SP_REG	    5u /* ORC_REG_SP until 6.12 */
#define BP_REG	    4u
#define AT_SP_REG   9u

static const struct made_symbol symbols[] = {
	{ "__start_init_stack", BASE + STACK },
	{ "__end_init_stack", BASE + STACK_TOP },
	{ "_stext", BASE + CODE },
	{ "_etext", BASE + CODE_END },
	{ "_sinittext", BASE + CODE_END },
	{ "_einittext", BASE + INIT_END },
	{ "__start_orc_unwind_ip", BASE + IPS },
	{ "__stop_orc_unwind_ip", BASE + IPS + N_ROWS * 4 },
	{ "__start_orc_unwind", BASE + ROWS },
	{ "__stop_orc_unwind", BASE + ROWS + N_ROWS *ROW_BYTES },
	{ "orc_lookup", BASE + LOOKUP },
	{ "orc_lookup_end", BASE + LOOKUP + (CODE_END - CODE) / BLOCK * 4 + 4 },
	{ "vmemmap_base", BASE + VMEMMAP_AT },
};

static const struct made_field {
	enum rs_field_id id;
	struct rs_btf_member member;
} fields[] = {
	{ RS_FIELD_TASK_STACK, { 0, 8 } },
	{ RS_FIELD_ORC_SP_OFFSET, { 0, 2 } },
	{ RS_FIELD_ORC_BP_OFFSET, { 2, 2 } },
	{ RS_FIELD_ORC_SP_REG, { 4, 4, .bitfield = 4 } },
	{ RS_FIELD_ORC_BP_REG, { 4, 4, .bit_offset = 4, .bitfield = 4 } },
	{ RS_FIELD_REGS_R15, { 0, 8 } },
	{ RS_FIELD_REGS_R14, { 8, 8 } },
	{ RS_FIELD_REGS_R13, { 16, 8 } },
	{ RS_FIELD_REGS_R12, { 24, 8 } },
	{ RS_FIELD_REGS_BP, { 32, 8 } },
	{ RS_FIELD_REGS_BX, { 40, 8 } },
	{ RS_FIELD_REGS_R11, { 48, 8 } },
	{ RS_FIELD_REGS_R10, { 56, 8 } },
	{ RS_FIELD_REGS_R9, { 64, 8 } },
	{ RS_FIELD_REGS_R8, { 72, 8 } },
	{ RS_FIELD_REGS_AX, { 80, 8 } },
	{ RS_FIELD_REGS_CX, { 88, 8 } },
	{ RS_FIELD_REGS_DX, { 96, 8 } },
	{ RS_FIELD_REGS_SI, { 104, 8 } },
	{ RS_FIELD_REGS_DI, { 112, 8 } },
	{ RS_FIELD_REGS_IP, { 128, 8 } },
	{ RS_FIELD_REGS_CS, { 136, 8 } },
	{ RS_FIELD_REGS_FLAGS, { 144, 8 } },
	{ RS_FIELD_REGS_SP, { 152, 8 } },
	{ RS_FIELD_REGS_SS, { 160, 8 } },
	{ RS_FIELD_FILE_MAPPING, { 0, 8 } },
	{ RS_FIELD_MAPPING_HOST, { 0, 8 } },
	{ RS_FIELD_MAPPING_ROOT, { 16, 8 } },
	{ RS_FIELD_INODE_MAPPING, { 0, 8 } },
	{ RS_FIELD_INODE_SIZE, { 8, 8 } },
	{ RS_FIELD_XA_SHIFT, { 0, 1 } },
	{ RS_FIELD_XA_PARENT, { 8, 8 } },
	{ RS_FIELD_XA_ARRAY, { 16, 8 } },
	{ RS_FIELD_XA_SLOTS, { 24, 512, .elements = 64 } },
	{ RS_FIELD_FOLIO_MAPPING, { 0, 8 } },
	{ RS_FIELD_FOLIO_INDEX, { 8, 8 } },
};
#define REGS_BYTES 168u

/* The members that depend on the kernel's version: 6.4 and later, 6.3, earlier. */
static void orc_layout(struct rs_linux *kernel, uint32_t which)
{
	const struct made_field all[3][3] = {
		{ { RS_FIELD_ORC_TYPE, { 5, 4, .bitfield = 3 } },
		  { RS_FIELD_ORC_SIGNAL, { 5, 4, .bit_offset = 3, .bitfield = 1 } },
		  { RS_FIELD_ORC_SIGNAL, { 5, 4, .bit_offset = 3, .bitfield = 1 } } },
		{ { RS_FIELD_ORC_TYPE, { 5, 4, .bitfield = 2 } },
		  { RS_FIELD_ORC_SIGNAL, { 5, 4, .bit_offset = 2, .bitfield = 1 } },
		  { RS_FIELD_ORC_END, { 5, 4, .bit_offset = 3, .bitfield = 1 } } },
		{ { RS_FIELD_ORC_TYPE, { 5, 4, .bitfield = 2 } },
		  { RS_FIELD_ORC_END, { 5, 4, .bit_offset = 2, .bitfield = 1 } },
		  { RS_FIELD_ORC_END, { 5, 4, .bit_offset = 2, .bitfield = 1 } } },
	};
	static const char *const versions[] = { "Linux version 6.8", "Linux version 6.3",
						"Linux version 5.10" };

	snprintf(kernel->version, sizeof(kernel->version), "%s", versions[which]);
	for (uint32_t i = 0; i < 3; i++) {
		kernel->fields.fields[all[which][i].id].found = true;
		kernel->fields.fields[all[which][i].id].member = all[which][i].member;
	}
}

static void put(uint8_t *memory, uint32_t at, uint64_t value, uint32_t bytes)
{
	memcpy(memory + at, &value, bytes);
}

/* A row of ORC: most are for a call, with sp 16 below the caller's. */
static void row_put(uint8_t *memory, uint32_t i, uint32_t which)
{
	static const uint8_t call[] = { 2, 0, 0 }, registers[] = { 3, 1, 1 }, end[] = { 1, 8, 4 };
	uint32_t at = ROWS + i * ROW_BYTES;
	uint8_t sp = i % 8 == 3 ? BP_REG : i % 16 == 5 ? AT_SP_REG : SP_REG;
	uint8_t type = i % 16 == 7 ? registers[which] : call[which];

	if (i == N_ROWS - 1)
		sp = which ? 0 : sp, type = end[which];
	put(memory, at, 16, 2);
	put(memory, at + 2, (uint64_t)-16, 2);
	memory[at + 4] = (uint8_t)(sp | (i % 4 == 1) << 4);
	memory[at + 5] = type;
}

static void orc_put(uint8_t *memory, uint32_t which)
{
	for (uint32_t i = 0; i < N_ROWS; i++) {
		put(memory, IPS + i * 4, (uint64_t)(CODE + i * CODE_STEP) - (IPS + i * 4), 4);
		row_put(memory, i, which);
	}
	for (uint32_t i = 0; i < (CODE_END - CODE) / BLOCK; i++)
		put(memory, LOOKUP + i * 4, i * (BLOCK / CODE_STEP), 4);
	/* Calls, however an address behind them is chosen. */
	memset(memory + CODE, 0xe8, CODE_END - CODE);
	/* Return addresses and frame pointers all over the stack. */
	for (uint32_t at = STACK; at < STACK_TOP; at += 16) {
		put(memory, at, BASE + at + 32, 8);
		put(memory, at + 8, BASE + CODE + 8 + at * 5 % (CODE_END - CODE - 8), 8);
	}
	put(memory, STACK_TOP - REGS_BYTES + 128, 0x401000, 8); /* in user mode */
	put(memory, STACK_TOP - REGS_BYTES + 136, 0x33, 8);
	put(memory, STACK_TOP - REGS_BYTES + 144, 0x202, 8);
	put(memory, STACK_TOP - REGS_BYTES + 152, 0x7ffffff0, 8);
	put(memory, STACK_TOP - REGS_BYTES + 160, 0x2b, 8);
	put(memory, TASK, BASE + STACK, 8);
}

static void file_put(uint8_t *memory)
{
	put(memory, VMEMMAP_AT, BASE + PAGES, 8);
	put(memory, FILE_AT, BASE + MAPPING, 8);
	put(memory, MAPPING, BASE + INODE, 8);
	put(memory, MAPPING + 16, (BASE + NODE) | 2, 8);
	put(memory, INODE, BASE + MAPPING, 8);
	put(memory, INODE + 8, FILE_BYTES, 8);
	put(memory, NODE + 16, BASE + MAPPING + 8, 8);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t page = PAGES + (i + 1) * PAGE_STRUCT;

		put(memory, NODE + 24 + i * 8, BASE + page, 8);
		put(memory, page, BASE + MAPPING, 8);
		put(memory, page + 8, i, 8);
	}
}

/* Makes the kernel once for all inputs; the layout of ORC's rows and the memory vary. */
static struct rs_linux *kernel_made(void)
{
	static struct rs_linux *kernel;
	uint32_t from, to;
	struct rs_image image;

	if (kernel)
		return kernel;
	MUST((kernel = calloc(1, sizeof(*kernel))));
	image = made_image_own(MADE_NEW, false, symbols, sizeof(symbols) / sizeof(symbols[0]),
			       &from, &to);
	MUST(!rs_kallsyms_find(&image, &kernel->symbols));
	rs_image_deinit(&image);
	return kernel;
}

static void kernel_set(struct rs_linux *kernel, uint32_t which, const uint8_t *memory,
		       const uint8_t *frames)
{
	memset(&kernel->fields, 0, sizeof(kernel->fields));
	for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		kernel->fields.fields[fields[i].id].found = true;
		kernel->fields.fields[fields[i].id].member = fields[i].member;
	}
	kernel->fields.struct_bytes[RS_STRUCT_ORC] = ROW_BYTES;
	kernel->fields.struct_bytes[RS_STRUCT_REGS] = REGS_BYTES;
	kernel->fields.struct_bytes[RS_STRUCT_PAGE] = PAGE_STRUCT;
	orc_layout(kernel, which);
	kernel->memory = (struct rs_memory){ .n_ram = 2,
					     .ram = { { (uint32_t)BASE, BYTES, memory },
						      { 0, FRAMES * 4096, frames } } };
}

/* orc NULL: by frame pointers. */
static void frames_run(struct rs_linux *kernel, const struct rs_orc *orc,
		       const struct rs_x86_regs *regs)
{
	const struct rs_linux_task task = { .address = BASE + TASK };
	static struct rs_linux_stack stack;
	struct rs_linux_code code;
	struct rs_x86_regs user;
	struct rs_orc_row row;

	MUST(!rs_linux_code_find(kernel, &code));
	stack.n = stack.n_kernel = 0;
	*stack.kernel_why = *stack.user_why = '\0';
	rs_linux_kernel_frames(kernel, orc, &task, NULL, regs, &stack, &user);
	MUST(stack.n_kernel && stack.n_kernel <= RS_LINUX_FRAMES_MAX);
	for (uint32_t i = 1; i < stack.n_kernel; i++)
		MUST(rs_linux_is_code(kernel, &code,
				      stack.frames[i].address - !stack.frames[i].is_exact));
	if (!orc)
		return;
	for (uint64_t at = BASE + CODE; at < BASE + CODE_END; at += CODE_STEP / 2)
		rs_orc_find(orc, at, &row);
	MUST(!rs_orc_find(orc, BASE + INIT_END, &row));
}

static void file_run(struct rs_linux *kernel, bool is_sound)
{
	struct rs_linux_file file = { 0 };
	struct rs_error *err = rs_linux_file_read(kernel, BASE + FILE_AT, &file);
	uint8_t *copy = NULL;
	uint64_t bytes = file.bytes < 65536 ? file.bytes : 65536;

	if (!err)
		err = rs_linux_file_copy(kernel, &file, bytes, &copy);
	if (is_sound) {
		MUST(!err && bytes == FILE_BYTES);
		for (uint64_t at = 0; at < bytes; at++)
			MUST(copy[at] == 1 + at / 4096);
	}
	fuzz_drop(err);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t frames[FRAMES * 4096];
	static uint8_t memory[BYTES];
	struct fuzz_input in = { data, size };
	struct rs_linux *kernel = kernel_made();
	uint32_t which = fuzz_u8(&in) % 3;
	struct rs_x86_regs regs = { .cs = 0x10 };
	struct rs_orc *orc = NULL;
	bool is_sound;

	regs.rip = BASE + fuzz_u16(&in);
	regs.gpr[7] = BASE + fuzz_u16(&in);
	regs.gpr[6] = BASE + fuzz_u16(&in);
	memset(memory, 0, sizeof(memory));
	for (uint32_t i = 0; i < FRAMES; i++)
		memset(frames + i * 4096, (int)i, 4096);
	orc_put(memory, which);
	file_put(memory);
	is_sound = !in.left;
	while (in.left) {
		uint16_t at = fuzz_u16(&in);

		memory[at] ^= fuzz_u8(&in);
	}
	kernel_set(kernel, which, memory, frames);
	fuzz_drop(rs_orc_read(kernel, &orc));
	MUST(orc || !is_sound);
	if (orc)
		frames_run(kernel, orc, &regs);
	rs_orc_destroy(orc);
	frames_run(kernel, NULL, &regs);
	file_run(kernel, is_sound);
	return 0;
}
