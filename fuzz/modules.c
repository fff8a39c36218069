/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The modules of a guest's kernel: their list, their symbols, the symbols that they export and
 * their tables of frames. The kernel's symbols, the layouts of structures and sound memory are
 * made; the input has changes of the memory.
 *
 *	u8 layout: bit 0: since 6.4, struct module_memory; bit 1: the second module is being loaded
 *	u16 where, u8 what is flipped: each change
 *
 * Memory that is not changed is read. The second half of the changes comes at a second stop.
 */
#include "fuzz.h"

#include "insight/orc.h"

#include "kernel_made.h"

/* There is no paging: the physical address is the lower half of the virtual one. */
#define KERNEL	     (MADE_BASE + 0x100000)
#define KERNEL_BYTES 0x2000u
#define CODE	     0x0000u
#define CODE_END     0x1000u
#define HEAD	     0x1000u
#define IPS	     0x1100u
#define ROWS	     0x1200u
#define LOOKUP	     0x1300u
#define END	     0x1ff8u

/* Each module, from its first byte. */
#define MODULES	     UINT64_C(0xffffffffc0000000)
#define MODULE_BYTES 0x2000u
#define N_MODULES    2u
#define M_CODE_END   0x1000u
#define M_STRUCT     0x1000u
#define M_KALLSYMS   0x1200u
#define M_TABLE	     0x1300u
#define M_TEXTS	     0x1600u
#define M_EXPORTS    0x1800u
#define M_NAME	     0x1900u
#define M_ROWS	     0x1a00u /* followed by the addresses */
#define M_IPS	     0x1a60u
#define N_SYMBOLS    16u
#define SYMBOL_BYTES 24u
#define STEP	     0x80u /* between two functions */
#define TEXT_BYTES   8u
#define N_ROWS	     16u
#define ROW_BYTES    6u
#define BLOCK	     256u /* of code, in the kernel's index */
#define SP_REG	     5u	  /* ORC_REG_SP until 6.12 */
#define TYPE_CALL    2u
#define MEM_BYTES    16u
#define STRUCT_BYTES 304u
#define NAME_BYTES   56u

static const struct made_symbol symbols[] = {
	{ "_stext", KERNEL + CODE },
	{ "_etext", KERNEL + CODE_END },
	{ "_sinittext", KERNEL + CODE_END },
	{ "_einittext", KERNEL + CODE_END },
	{ "modules", KERNEL + HEAD },
	{ "__start_orc_unwind_ip", KERNEL + IPS },
	{ "__stop_orc_unwind_ip", KERNEL + IPS + N_ROWS * 4 },
	{ "__start_orc_unwind", KERNEL + ROWS },
	{ "__stop_orc_unwind", KERNEL + ROWS + N_ROWS *ROW_BYTES },
	{ "orc_lookup", KERNEL + LOOKUP },
	{ "orc_lookup_end", KERNEL + LOOKUP + CODE_END / BLOCK * 4 + 4 },
	{ "_end", KERNEL + END },
};

enum { BOTH, OLD, NEW };

static const struct made_field {
	enum rs_field_id id;
	struct rs_btf_member member;
	int of;
} fields[] = {
	{ RS_FIELD_MODULE_LIST, { 0, 16 } },
	{ RS_FIELD_MODULE_STATE, { 16, 4 } },
	{ RS_FIELD_MODULE_NAME, { 24, NAME_BYTES } },
	{ RS_FIELD_MODULE_BACK, { 80, 8 } },
	{ RS_FIELD_MODULE_KOBJECT_NAME, { 88, 8 } },
	{ RS_FIELD_MODULE_BASE, { 96, 8 }, OLD },
	{ RS_FIELD_MODULE_BYTES, { 104, 4 }, OLD },
	{ RS_FIELD_MODULE_CODE_BYTES, { 108, 4 }, OLD },
	{ RS_FIELD_MODULE_INIT, { 112, 8 }, OLD },
	{ RS_FIELD_MODULE_INIT_BYTES, { 120, 4 }, OLD },
	{ RS_FIELD_MODULE_INIT_CODE_BYTES, { 124, 4 }, OLD },
	{ RS_FIELD_MODULE_MEM, { 128, 7 * MEM_BYTES, .elements = 7 }, NEW },
	{ RS_FIELD_MODMEM_BASE, { 0, 8 }, NEW },
	{ RS_FIELD_MODMEM_BYTES, { 8, 4 }, NEW },
	{ RS_FIELD_MODULE_KALLSYMS, { 240, 8 } },
	{ RS_FIELD_MODULE_EXPORTS, { 248, 8 } },
	{ RS_FIELD_MODULE_N_EXPORTS, { 256, 4 } },
	{ RS_FIELD_MODULE_GPL_EXPORTS, { 264, 8 } },
	{ RS_FIELD_MODULE_N_GPL_EXPORTS, { 272, 4 } },
	{ RS_FIELD_MODULE_ORCS, { 276, 4 } },
	{ RS_FIELD_MODULE_ORC_IPS, { 280, 8 } },
	{ RS_FIELD_MODULE_ORC_ROWS, { 288, 8 } },
	{ RS_FIELD_MODSYMS_TABLE, { 0, 8 } },
	{ RS_FIELD_MODSYMS_COUNT, { 8, 4 } },
	{ RS_FIELD_MODSYMS_TEXTS, { 16, 8 } },
	{ RS_FIELD_ORC_SP_OFFSET, { 0, 2 } },
	{ RS_FIELD_ORC_BP_OFFSET, { 2, 2 } },
	{ RS_FIELD_ORC_SP_REG, { 4, 4, .bitfield = 4 } },
	{ RS_FIELD_ORC_BP_REG, { 4, 4, .bit_offset = 4, .bitfield = 4 } },
	{ RS_FIELD_ORC_TYPE, { 5, 4, .bitfield = 3 } },
	{ RS_FIELD_ORC_SIGNAL, { 5, 4, .bit_offset = 3, .bitfield = 1 } },
};

static void put(uint8_t *memory, uint32_t at, uint64_t value, uint32_t bytes)
{
	memcpy(memory + at, &value, bytes);
}

static void rows_put(uint8_t *memory, uint32_t ips, uint32_t rows, uint32_t code, uint32_t step)
{
	for (uint32_t i = 0; i < N_ROWS; i++) {
		put(memory, ips + i * 4, (uint64_t)(code + i * step) - (ips + i * 4), 4);
		put(memory, rows + i * ROW_BYTES, 16, 2);
		memory[rows + i * ROW_BYTES + 4] = SP_REG;
		memory[rows + i * ROW_BYTES + 5] = TYPE_CALL;
	}
}

static void kernel_put(uint8_t *memory)
{
	put(memory, HEAD, MODULES + M_STRUCT, 8);
	put(memory, HEAD + 8, MODULES + (N_MODULES - 1) * MODULE_BYTES + M_STRUCT, 8);
	rows_put(memory, IPS, ROWS, CODE, BLOCK);
	for (uint32_t i = 0; i < CODE_END / BLOCK; i++)
		put(memory, LOOKUP + i * 4, i, 4);
}

static void list_put(uint8_t *m, uint32_t i)
{
	uint64_t base = MODULES + i * MODULE_BYTES;

	put(m, M_STRUCT, i + 1 < N_MODULES ? base + MODULE_BYTES + M_STRUCT : KERNEL + HEAD, 8);
	put(m, M_STRUCT + 8, i ? base - MODULE_BYTES + M_STRUCT : KERNEL + HEAD, 8);
}

static void symbols_put(uint8_t *m, uint64_t base)
{
	for (uint32_t i = 1; i < N_SYMBOLS; i++) {
		uint32_t at = M_TABLE + i * SYMBOL_BYTES;

		put(m, at, i * TEXT_BYTES, 4);
		m[at + 6] = 1; /* of a section */
		put(m, at + 8, base + i * STEP, 8);
		snprintf((char *)m + M_TEXTS + i * TEXT_BYTES, TEXT_BYTES, "fn_%u", i);
	}
	for (uint32_t i = 0; i < 2; i++) { /* fn_3 and fn_4 are exported */
		uint32_t at = M_EXPORTS + i * 12;

		put(m, at, (uint64_t)((3 + i) * STEP) - at, 4);
		put(m, at + 4, (uint64_t)(M_TEXTS + (3 + i) * TEXT_BYTES) - (at + 4), 4);
	}
}

static void module_put(uint8_t *m, uint32_t i, bool is_new, bool is_coming)
{
	const uint64_t base = MODULES + i * MODULE_BYTES;
	const struct {
		uint32_t at;
		uint64_t value;
		uint32_t bytes;
	} words[] = {
		{ 16, is_coming ? 1 : 0, 4 },
		{ 80, is_coming ? 0 : base + M_STRUCT, 8 },
		{ 88, base + M_NAME, 8 },
		{ is_new ? 128 : 96, base, 8 },
		{ is_new ? 136 : 104, is_new ? M_CODE_END : MODULE_BYTES, 4 },
		{ is_new ? 144 : 108, is_new ? base + M_CODE_END : M_CODE_END, is_new ? 8 : 4 },
		{ is_new ? 152 : 112, is_new ? MODULE_BYTES - M_CODE_END : 0, 4 },
		{ 240, base + M_KALLSYMS, 8 },
		{ 248, base + M_EXPORTS, 8 },
		{ 256, 1, 4 },
		{ 264, base + M_EXPORTS + 12, 8 },
		{ 272, 1, 4 },
		{ 276, N_ROWS, 4 },
		{ 280, base + M_IPS, 8 },
		{ 288, base + M_ROWS, 8 },
	};

	list_put(m, i);
	for (uint32_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
		put(m, M_STRUCT + words[w].at, words[w].value, words[w].bytes);
	snprintf((char *)m + M_STRUCT + 24, NAME_BYTES, "module_%u", i);
	snprintf((char *)m + M_NAME, NAME_BYTES, "module_%u", i);
	put(m, M_KALLSYMS, base + M_TABLE, 8);
	put(m, M_KALLSYMS + 8, N_SYMBOLS, 4);
	put(m, M_KALLSYMS + 16, base + M_TEXTS, 8);
	symbols_put(m, base);
	rows_put(m, M_IPS, M_ROWS, 0, STEP);
}

/* Makes the kernel once for all inputs. */
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
	snprintf(kernel->version, sizeof(kernel->version), "Linux version 6.8");
	return kernel;
}

static void kernel_set(struct rs_linux *kernel, bool is_new, const uint8_t *memory,
		       const uint8_t *modules)
{
	memset(&kernel->fields, 0, sizeof(kernel->fields));
	for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		kernel->fields.fields[fields[i].id].found = fields[i].of != (is_new ? OLD : NEW);
		kernel->fields.fields[fields[i].id].member = fields[i].member;
	}
	kernel->fields.struct_bytes[RS_STRUCT_ORC] = ROW_BYTES;
	kernel->fields.struct_bytes[RS_STRUCT_MODULE] = STRUCT_BYTES;
	kernel->fields.struct_bytes[RS_STRUCT_MODULE_MEMORY] = MEM_BYTES;
	kernel->memory = (struct rs_memory){ .n_ram = 2,
					     .ram = { { (uint32_t)KERNEL, KERNEL_BYTES, memory },
						      { (uint32_t)MODULES, N_MODULES * MODULE_BYTES,
							modules } } };
}

/* What is looked up is in a module, whose parts it is in; and has a name that ends. */
static void look_up(struct rs_linux *kernel, const struct rs_orc *orc)
{
	struct rs_orc_row row;
	struct rs_ksym sym;
	const char *name;
	uint64_t size;

	for (uint32_t at = 0; at < N_MODULES * MODULE_BYTES; at += STEP / 2 - 4) {
		uint64_t address = MODULES + at;
		const struct rs_linux_module *module = rs_modules_at(kernel, address);
		bool is_code = module && rs_linux_module_part(module, address)->is_code;

		MUST(!module || module->facts.n_parts);
		if (rs_linux_symbol(kernel, address, &sym, &size, &name)) {
			MUST(module && name && *sym.name && sym.address <= address &&
			     address - sym.address < size);
			MUST(strlen(sym.name) < sizeof(sym.name));
		}
		if (orc && rs_orc_find(orc, address, &row))
			MUST(is_code && row.of_module);
	}
	rs_linux_symbol_by_name(kernel, "fn_7", &sym, &name);
}

static void sound_check(struct rs_linux *kernel, const struct rs_orc *orc, uint32_t n_loaded)
{
	const struct rs_modules *modules;
	struct rs_orc_row row;
	struct rs_ksym sym;
	const char *name;
	uint64_t size;

	MUST(!rs_modules_read(kernel, &modules));
	MUST(modules->n == n_loaded && !modules->damage);
	MUST(rs_linux_symbol(kernel, MODULES + 5 * STEP + 7, &sym, &size, &name));
	MUST(!strcmp(sym.name, "fn_5") && !strcmp(name, "module_0") && size == STEP &&
	     sym.address == MODULES + 5 * STEP);
	MUST(rs_linux_symbol_by_name(kernel, "fn_9", &sym, &name));
	MUST(sym.address == MODULES + 9 * STEP && !strcmp(name, "module_0"));
	MUST(rs_orc_find(orc, MODULES + 5 * STEP + 7, &row) && row.of_module);
	MUST(!rs_orc_find(orc, MODULES + M_CODE_END, &row));
}

static void change(struct fuzz_input *in, uint8_t *memory, uint8_t *modules)
{
	uint16_t at = fuzz_u16(in);
	uint8_t flip = fuzz_u8(in);

	if (at < N_MODULES * MODULE_BYTES)
		modules[at] ^= flip;
	else
		memory[at % KERNEL_BYTES] ^= flip;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t memory[KERNEL_BYTES], modules[N_MODULES * MODULE_BYTES];
	struct fuzz_input in = { data, size };
	struct rs_linux *kernel = kernel_made();
	uint8_t layout = fuzz_u8(&in);
	bool is_new = layout & 1, is_coming = layout & 2, is_sound = !in.left;
	struct rs_orc *orc = NULL;
	size_t half = in.left / 2;

	memset(memory, 0, sizeof(memory));
	memset(modules, 0, sizeof(modules));
	kernel_put(memory);
	for (uint32_t i = 0; i < N_MODULES; i++)
		module_put(modules + i * MODULE_BYTES, i, is_new, i && is_coming);
	kernel_set(kernel, is_new, memory, modules);
	while (in.left > half)
		change(&in, memory, modules);
	fuzz_drop(rs_orc_read(kernel, &orc));
	if (is_sound)
		sound_check(kernel, orc, is_coming ? 1 : N_MODULES);
	look_up(kernel, orc);
	while (in.left)
		change(&in, memory, modules);
	rs_linux_moved(kernel);
	look_up(kernel, orc);
	if (is_sound)
		sound_check(kernel, orc, is_coming ? 1 : N_MODULES);
	rs_modules_forget(kernel);
	rs_orc_destroy(orc);
	return 0;
}
