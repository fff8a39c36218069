/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the ORC table of a guest's kernel. */
#include "insight/orc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX      (1u << 22)
#define ROW_BYTES_MAX 8u
/* a row, and the bytes after it that word reads of its bit-fields include */
#define COPY_BYTES	16u
#define LOOKUP_BLOCK	256u /* LOOKUP_BLOCK_SIZE of arch/x86/include/asm/orc_lookup.h */
#define TYPE_BITS_OLD	2u
#define TYPE_BITS	3u
#define TYPE_OLD_OFFSET 2u /* RS_ORC_CALL is 0 in the old format */

/* The registers by their numbers, ORC_REG_* of orc_types.h. */
#define N_NUMBERS 16u
static const uint8_t until_6_12[N_NUMBERS] = {
	RS_ORC_NONE,	RS_ORC_PREVIOUS_SP, RS_ORC_DX,	    RS_ORC_DI,
	RS_ORC_BP,	RS_ORC_SP,	    RS_ORC_R10,	    RS_ORC_R13,
	RS_ORC_AT_BP,	RS_ORC_AT_SP,	    RS_ORC_UNKNOWN, RS_ORC_UNKNOWN,
	RS_ORC_UNKNOWN, RS_ORC_UNKNOWN,	    RS_ORC_UNKNOWN, RS_ORC_UNKNOWN,
};
static const uint8_t since_7_2[N_NUMBERS] = {
	RS_ORC_NONE,	    RS_ORC_AX,	    RS_ORC_DX,	    RS_ORC_SP,
	RS_ORC_BP,	    RS_ORC_DI,	    RS_ORC_R10,	    RS_ORC_R13,
	RS_ORC_PREVIOUS_SP, RS_ORC_AT_SP,   RS_ORC_AT_BP,   RS_ORC_UNKNOWN,
	RS_ORC_UNKNOWN,	    RS_ORC_UNKNOWN, RS_ORC_UNKNOWN, RS_ORC_UNKNOWN,
};
#define OF_SP_PERCENT 50u /* minimal share of rows that are relative to SP */

struct rs_orc_table {
	uint64_t *addresses;
	uint8_t *rows;
	uint32_t n;
};

struct rs_orc {
	struct rs_linux *kernel;
	struct rs_linux_code code;
	struct rs_orc_table own;
	uint32_t row_bytes;
	bool offset_first; /* until 5.11: see rs_orc_row */
	const uint8_t *numbers;
};

struct symbol_range {
	const char *from_name, *to_name;
	uint64_t from, to;
};

static struct rs_error *range_find(const struct rs_linux *kernel, struct symbol_range *range)
{
	struct rs_ksym from, to;

	if (!rs_kallsyms_by_name(kernel->symbols, range->from_name, &from) ||
	    !rs_kallsyms_by_name(kernel->symbols, range->to_name, &to))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no %s or no %s",
				       range->from_name, range->to_name);
	if (to.address < from.address)
		return rs_error_create(RS_DAMAGED, "%s is not before %s", range->from_name,
				       range->to_name);
	range->from = from.address;
	range->to = to.address;
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Copies the table between two symbols. The caller frees it. */
static struct rs_error *table_copy(struct rs_linux *kernel, const struct symbol_range *range,
				   void **copy)
{
	struct rs_error *err;

	if (range->to - range->from > (uint64_t)ROWS_MAX * ROW_BYTES_MAX)
		return rs_error_create(RS_DAMAGED, "%s has %" PRIu64 " bytes", range->from_name,
				       range->to - range->from);
	*copy = malloc(range->to - range->from + COPY_BYTES);
	if (!*copy)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, range->from, *copy, range->to - range->from);
	if (err) {
		free(*copy);
		*copy = NULL;
	}
	return err;
}

/* Reads a table: the addresses, each of which is an offset from the entry's own address, and a row
 * for each. */
static struct rs_error *table_read(struct rs_linux *kernel, const struct symbol_range *ips,
				   const struct symbol_range *rows, struct rs_orc_table *table)
{
	void *copy = NULL;
	struct rs_error *err = table_copy(kernel, ips, &copy);

	if (err)
		return err;
	table->n = (uint32_t)((ips->to - ips->from) / 4);
	table->addresses = malloc(table->n * sizeof(*table->addresses));
	for (uint32_t i = 0; table->addresses && i < table->n; i++) {
		int32_t distance;

		memcpy(&distance, (uint8_t *)copy + (size_t)i * 4, sizeof(distance));
		table->addresses[i] = ips->from + (uint64_t)i * 4 + (uint64_t)(int64_t)distance;
	}
	free(copy);
	if (!table->addresses)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < table->n; i++)
		if ((i && table->addresses[i] < table->addresses[i - 1]) ||
		    table->addresses[i] < RS_IMAGE_FROM || table->addresses[i] >= RS_MODULES_TO)
			return rs_error_create(RS_DAMAGED, "the addresses do not ascend at row %u",
					       i);
	return table_copy(kernel, rows, (void **)&table->rows);
}

/* Finds the last row at or below an address. Returns false if there is none. */
static bool row_of(const struct rs_orc_table *table, uint64_t address, uint32_t *row)
{
	uint32_t low = 0, high = table->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low - 1;
	return low > 0;
}

/* Compares the table with the kernel's index, which has the row of the first instruction of each
 * block of code. */
static struct rs_error *lookup_check(struct rs_orc *orc)
{
	struct symbol_range range = { .from_name = "orc_lookup", .to_name = "orc_lookup_end" };
	void *copy = NULL;
	struct rs_error *err = range_find(orc->kernel, &range);
	uint32_t blocks;

	if (!err)
		err = table_copy(orc->kernel, &range, &copy);
	if (err)
		return err;
	blocks = (uint32_t)((range.to - range.from) / 4);
	/* The last element is the row of the code's end. */
	for (uint32_t i = 0; !err && i + 1 < blocks; i++) {
		uint32_t has, row;

		memcpy(&has, (uint8_t *)copy + (size_t)i * 4, sizeof(has));
		if (!row_of(&orc->own, orc->code.from + (uint64_t)i * LOOKUP_BLOCK, &row) ||
		    has != row)
			err = rs_error_create(
				RS_DAMAGED,
				"the kernel's index orc_lookup differs from the table at "
				"block %u",
				i);
	}
	free(copy);
	return err;
}

/* unwind_init() in arch/x86/kernel/unwind_orc.c writes the last element last, and not to 0. */
bool rs_orc_is_indexed(struct rs_linux *kernel)
{
	struct symbol_range range = { .from_name = "orc_lookup", .to_name = "orc_lookup_end" };
	struct rs_error *err = range_find(kernel, &range);
	uint32_t last = 0;

	if (!err && range.to - range.from >= sizeof(last))
		err = rs_linux_bytes(kernel, range.to - sizeof(last), &last, sizeof(last));
	rs_error_free(err);
	return err || last;
}

static uint64_t field(const struct rs_orc *orc, const uint8_t *copy, enum rs_field_id id)
{
	return rs_linux_value(orc->kernel, copy, COPY_BYTES, id);
}

static void row_copy(const struct rs_orc *orc, const struct rs_orc_table *table, uint32_t i,
		     uint8_t copy[COPY_BYTES])
{
	memset(copy, 0, COPY_BYTES);
	memcpy(copy, table->rows + (size_t)i * orc->row_bytes, orc->row_bytes);
}

/* Finds the register numbering by which most rows are relative to SP. */
static struct rs_error *numbers_find(struct rs_orc *orc)
{
	static const uint8_t *const all[] = { until_6_12, since_7_2 };
	uint8_t copy[COPY_BYTES];
	uint32_t of_sp[2] = { 0 };

	for (uint32_t i = 0; i < orc->own.n; i++) {
		uint64_t number;

		row_copy(orc, &orc->own, i, copy);
		number = field(orc, copy, RS_FIELD_ORC_SP_REG) % N_NUMBERS;
		for (uint32_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			of_sp[k] += all[k][number] == RS_ORC_SP;
	}
	for (uint32_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if ((uint64_t)of_sp[k] * 100 >= (uint64_t)orc->own.n * OF_SP_PERCENT)
			orc->numbers = all[k];
	return orc->numbers
		       ? NULL
		       : rs_error_create(RS_USAGE,
					 "the register numbers of this kernel's ORC are unknown");
}

static struct rs_error *layout_check(const struct rs_linux *kernel, uint32_t *row_bytes)
{
	static const enum rs_field_id needed[] = { RS_FIELD_ORC_SP_OFFSET, RS_FIELD_ORC_BP_OFFSET,
						   RS_FIELD_ORC_SP_REG, RS_FIELD_ORC_BP_REG,
						   RS_FIELD_ORC_TYPE };
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));
	uint32_t bits = kernel->fields.fields[RS_FIELD_ORC_TYPE].member.bitfield;
	bool has_end = kernel->fields.fields[RS_FIELD_ORC_END].found;

	*row_bytes = kernel->fields.struct_bytes[RS_STRUCT_ORC];
	if (!err && (!*row_bytes || *row_bytes > ROW_BYTES_MAX ||
		     !(bits == TYPE_BITS_OLD ? has_end : bits == TYPE_BITS && !has_end)))
		err = rs_error_create(RS_USAGE, "this kernel's orc_entry has an unknown format");
	return err;
}

static struct rs_error *tables_read(struct rs_orc *orc)
{
	struct symbol_range ips = { .from_name = "__start_orc_unwind_ip",
				    .to_name = "__stop_orc_unwind_ip" };
	struct symbol_range rows = { .from_name = "__start_orc_unwind",
				     .to_name = "__stop_orc_unwind" };
	struct symbol_range *all[] = { &ips, &rows };
	struct rs_error *err = layout_check(orc->kernel, &orc->row_bytes);
	unsigned major, minor;

	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = range_find(orc->kernel, all[i]);
	if (!err)
		err = rs_linux_code_find(orc->kernel, &orc->code);
	if (err)
		return err;
	if ((ips.to - ips.from) % 4 || ips.to - ips.from > (uint64_t)ROWS_MAX * 4 ||
	    ips.to == ips.from || (ips.to - ips.from) / 4 * orc->row_bytes != rows.to - rows.from)
		return rs_error_create(RS_DAMAGED,
				       "the tables of addresses and rows have %" PRIu64
				       " and %" PRIu64 " bytes",
				       ips.to - ips.from, rows.to - rows.from);
	/* Kernel commit aa4f853461f8, in 5.12. */
	if (sscanf(orc->kernel->version, "Linux version %u.%u", &major, &minor) != 2)
		return rs_error_create(RS_USAGE, "the kernel's version is unknown");
	orc->offset_first = major < 5 || (major == 5 && minor < 12);
	err = table_read(orc->kernel, &ips, &rows, &orc->own);
	if (!err)
		err = lookup_check(orc);
	return err ? err : numbers_find(orc);
}

struct rs_error *rs_orc_read(struct rs_linux *kernel, struct rs_orc **out)
{
	struct rs_orc *orc = calloc(1, sizeof(*orc));
	struct rs_error *err;

	if (!orc)
		return rs_error_no_memory();
	orc->kernel = kernel;
	err = tables_read(orc);
	if (err) {
		rs_orc_destroy(orc);
		return rs_error_wrap(err, "the kernel's ORC table");
	}
	*out = orc;
	return NULL;
}

void rs_orc_destroy(struct rs_orc *orc)
{
	if (!orc)
		return;
	free(orc->own.addresses);
	free(orc->own.rows);
	free(orc);
}

/* ---- modules -------------------------------------------------------------------------------- */

void rs_orc_table_destroy(struct rs_orc_table *table)
{
	if (!table)
		return;
	free(table->addresses);
	free(table->rows);
	free(table);
}

/* Returns whether a table lies in a module's memory. */
static bool is_in(const struct rs_linux_module *module, const struct symbol_range *range)
{
	const struct rs_linux_module_part *part = rs_linux_module_part(module, range->from);

	return part && range->to - range->from <= part->to - range->from;
}

/* Returns whether the addresses begin where the rows end, except for the alignment of a word:
 * objtool writes the sections .orc_unwind and .orc_unwind_ip one after the other. This is the only
 * other evidence of the number of rows. */
static bool is_adjacent(const struct symbol_range *ips, const struct symbol_range *rows)
{
	return ips->from - rows->to < sizeof(int32_t);
}

/* Reads the table of a module, once. Returns NULL if it has none that is believed. */
static const struct rs_orc_table *of_module(const struct rs_orc *orc,
					    struct rs_linux_module *module)
{
	const struct rs_linux_module_facts *facts = &module->facts;
	struct symbol_range ips = { .from_name = "orc_unwind_ip", .from = facts->orc_ips };
	struct symbol_range rows = { .from_name = "orc_unwind", .from = facts->orc_rows };
	struct rs_orc_table *table;
	struct rs_error *err;

	if (module->orc_was_read)
		return module->orc;
	module->orc_was_read = true;
	if (!facts->n_orc_rows || facts->n_orc_rows > ROWS_MAX)
		return NULL;
	ips.to = ips.from + facts->n_orc_rows * 4;
	rows.to = rows.from + facts->n_orc_rows * orc->row_bytes;
	if (!is_in(module, &ips) || !is_in(module, &rows) || !is_adjacent(&ips, &rows))
		return NULL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	err = table_read(orc->kernel, &ips, &rows, table);
	if (err)
		rs_orc_table_destroy(table);
	else
		module->orc = table;
	rs_error_free(err);
	return module->orc;
}

/* Finds the row of an address in a module's code. */
static bool row_of_module(const struct rs_orc *orc, uint64_t address, uint8_t copy[COPY_BYTES])
{
	struct rs_linux_module *module = rs_modules_at(orc->kernel, address);
	const struct rs_linux_module_part *part =
		module ? rs_linux_module_part(module, address) : NULL;
	const struct rs_orc_table *table = part && part->is_code ? of_module(orc, module) : NULL;
	uint32_t i;

	if (!table || !row_of(table, address, &i) || table->addresses[i] < part->from)
		return false;
	row_copy(orc, table, i, copy);
	return true;
}

/* ---- looking up ----------------------------------------------------------------------------- */

bool rs_orc_is_code(const struct rs_orc *orc, uint64_t address)
{
	return rs_linux_is_code(orc->kernel, &orc->code, address);
}

bool rs_orc_find(const struct rs_orc *orc, uint64_t address, struct rs_orc_row *row)
{
	const struct rs_fields *fields = &orc->kernel->fields;
	uint8_t copy[COPY_BYTES];
	bool of_module = address >= RS_MODULES_FROM && !rs_linux_is_own(&orc->code, address);
	uint64_t type;
	uint32_t i;

	if (of_module) {
		if (!row_of_module(orc, address, copy))
			return false;
	} else {
		if (!rs_linux_is_own(&orc->code, address) || !row_of(&orc->own, address, &i))
			return false;
		row_copy(orc, &orc->own, i, copy);
	}
	type = field(orc, copy, RS_FIELD_ORC_TYPE);
	*row = (struct rs_orc_row){
		.sp_offset = (int16_t)field(orc, copy, RS_FIELD_ORC_SP_OFFSET),
		.bp_offset = (int16_t)field(orc, copy, RS_FIELD_ORC_BP_OFFSET),
		.sp_base = orc->numbers[field(orc, copy, RS_FIELD_ORC_SP_REG) % N_NUMBERS],
		.bp_base = orc->numbers[field(orc, copy, RS_FIELD_ORC_BP_REG) % N_NUMBERS],
		.interrupted = field(orc, copy, RS_FIELD_ORC_SIGNAL),
		.offset_first = orc->offset_first,
		.of_module = of_module,
	};
	if (fields->fields[RS_FIELD_ORC_TYPE].member.bitfield == TYPE_BITS_OLD) {
		if (!fields->fields[RS_FIELD_ORC_SIGNAL].found)
			row->interrupted = type > 0;
		type += TYPE_OLD_OFFSET;
		if (row->sp_base == RS_ORC_NONE)
			type = field(orc, copy, RS_FIELD_ORC_END) ? RS_ORC_END : RS_ORC_UNDEFINED;
	}
	row->type = (enum rs_orc_type)type;
	return true;
}
