/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a guest kernel's table of its stack frames. */
#include "insight/orc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX	(1u << 22)
#define ROW_BYTES_MAX	8u
#define COPY_BYTES	16u  /* a row, and what reading its bit fields by words touches behind it */
#define LOOKUP_BLOCK	256u /* LOOKUP_BLOCK_SIZE of arch/x86/include/asm/orc_lookup.h */
#define TYPE_BITS_OLD	2u
#define TYPE_BITS	3u
#define TYPE_OLD_OFFSET 2u /* RS_ORC_CALL is 0 there */

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
#define OF_SP_PERCENT 50u /* rows that are relative to SP, at least */

struct rs_orc {
	struct rs_linux *kernel;
	uint64_t code_from, code_to, init_from, init_to;
	uint64_t *addresses;
	uint8_t *rows;
	uint32_t n, row_bytes;
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
		return rs_error_create(RS_DAMAGED, "%s is behind %s", range->from_name,
				       range->to_name);
	range->from = from.address;
	range->to = to.address;
	return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Copies the table that two symbols enclose. The caller frees it. */
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

/* Computes the addresses, each of which the table has as a distance from its own place. */
static struct rs_error *addresses_read(struct rs_orc *orc, const struct symbol_range *range)
{
	void *copy = NULL;
	struct rs_error *err = table_copy(orc->kernel, range, &copy);

	if (err)
		return err;
	orc->addresses = malloc(orc->n * sizeof(*orc->addresses));
	for (uint32_t i = 0; orc->addresses && i < orc->n; i++) {
		int32_t distance;

		memcpy(&distance, (uint8_t *)copy + (size_t)i * 4, sizeof(distance));
		orc->addresses[i] = range->from + (uint64_t)i * 4 + (uint64_t)(int64_t)distance;
	}
	free(copy);
	if (!orc->addresses)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < orc->n; i++)
		if ((i && orc->addresses[i] < orc->addresses[i - 1]) ||
		    orc->addresses[i] < RS_IMAGE_FROM || orc->addresses[i] >= RS_IMAGE_TO)
			return rs_error_create(RS_DAMAGED, "the addresses do not ascend at row %u",
					       i);
	return NULL;
}

/* Returns the last row at or below an address; false if there is none. */
static bool row_of(const struct rs_orc *orc, uint64_t address, uint32_t *row)
{
	uint32_t low = 0, high = orc->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (orc->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low - 1;
	return low > 0;
}

/* Compares with the kernel's index: for each block of code, the row of its first instruction. */
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
	/* The last is of the code's end. */
	for (uint32_t i = 0; !err && i + 1 < blocks; i++) {
		uint32_t has, row;

		memcpy(&has, (uint8_t *)copy + (size_t)i * 4, sizeof(has));
		if (!row_of(orc, orc->code_from + (uint64_t)i * LOOKUP_BLOCK, &row) || has != row)
			err = rs_error_create(RS_DAMAGED,
					      "the kernel's index orc_lookup does not agree at "
					      "block %u",
					      i);
	}
	free(copy);
	return err;
}

static uint64_t field(const struct rs_orc *orc, const uint8_t *copy, enum rs_field_id id)
{
	return rs_linux_value(orc->kernel, copy, COPY_BYTES, id);
}

static void row_copy(const struct rs_orc *orc, uint32_t i, uint8_t copy[COPY_BYTES])
{
	memset(copy, 0, COPY_BYTES);
	memcpy(copy, orc->rows + (size_t)i * orc->row_bytes, orc->row_bytes);
}

/* Finds the numbers of registers by which most rows are relative to SP. */
static struct rs_error *numbers_find(struct rs_orc *orc)
{
	static const uint8_t *const all[] = { until_6_12, since_7_2 };
	uint8_t copy[COPY_BYTES];
	uint32_t of_sp[2] = { 0 };

	for (uint32_t i = 0; i < orc->n; i++) {
		uint64_t number;

		row_copy(orc, i, copy);
		number = field(orc, copy, RS_FIELD_ORC_SP_REG) % N_NUMBERS;
		for (uint32_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			of_sp[k] += all[k][number] == RS_ORC_SP;
	}
	for (uint32_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if ((uint64_t)of_sp[k] * 100 >= (uint64_t)orc->n * OF_SP_PERCENT)
			orc->numbers = all[k];
	return orc->numbers ? NULL
			    : rs_error_create(RS_USAGE,
					      "this kernel's numbers of registers are not known");
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
		err = rs_error_create(RS_USAGE,
				      "this kernel's orc_entry is of a format that is not known");
	return err;
}

static struct rs_error *tables_read(struct rs_orc *orc)
{
	struct symbol_range ips = { .from_name = "__start_orc_unwind_ip",
				    .to_name = "__stop_orc_unwind_ip" };
	struct symbol_range rows = { .from_name = "__start_orc_unwind",
				     .to_name = "__stop_orc_unwind" };
	struct symbol_range code = { .from_name = "_stext", .to_name = "_etext" };
	struct symbol_range init = { .from_name = "_sinittext", .to_name = "_einittext" };
	struct symbol_range *all[] = { &ips, &rows, &code, &init };
	struct rs_error *err = layout_check(orc->kernel, &orc->row_bytes);
	unsigned major, minor;

	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]) && !err; i++)
		err = range_find(orc->kernel, all[i]);
	if (err)
		return err;
	if ((ips.to - ips.from) % 4 || ips.to - ips.from > (uint64_t)ROWS_MAX * 4 ||
	    ips.to == ips.from || (ips.to - ips.from) / 4 * orc->row_bytes != rows.to - rows.from)
		return rs_error_create(RS_DAMAGED,
				       "the tables of addresses and rows have %" PRIu64
				       " and %" PRIu64 " bytes",
				       ips.to - ips.from, rows.to - rows.from);
	orc->n = (uint32_t)((ips.to - ips.from) / 4);
	orc->code_from = code.from;
	orc->code_to = code.to;
	orc->init_from = init.from;
	orc->init_to = init.to;
	/* Kernel commit aa4f853461f8, in 5.12. */
	if (sscanf(orc->kernel->version, "Linux version %u.%u", &major, &minor) != 2)
		return rs_error_create(RS_USAGE, "the kernel's version is not known");
	orc->offset_first = major < 5 || (major == 5 && minor < 12);
	err = addresses_read(orc, &ips);
	if (!err)
		err = lookup_check(orc);
	if (!err)
		err = table_copy(orc->kernel, &rows, (void **)&orc->rows);
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
		return rs_error_wrap(err, "the kernel's stack table (ORC)");
	}
	*out = orc;
	return NULL;
}

void rs_orc_destroy(struct rs_orc *orc)
{
	if (!orc)
		return;
	free(orc->addresses);
	free(orc->rows);
	free(orc);
}

/* ---- looking up ----------------------------------------------------------------------------- */

bool rs_orc_is_code(const struct rs_orc *orc, uint64_t address)
{
	return (address >= orc->code_from && address < orc->code_to) ||
	       (address >= orc->init_from && address < orc->init_to);
}

bool rs_orc_find(const struct rs_orc *orc, uint64_t address, struct rs_orc_row *row)
{
	const struct rs_fields *fields = &orc->kernel->fields;
	uint8_t copy[COPY_BYTES];
	uint64_t type;
	uint32_t i;

	if (!rs_orc_is_code(orc, address) || !row_of(orc, address, &i))
		return false;
	row_copy(orc, i, copy);
	type = field(orc, copy, RS_FIELD_ORC_TYPE);
	*row = (struct rs_orc_row){
		.sp_offset = (int16_t)field(orc, copy, RS_FIELD_ORC_SP_OFFSET),
		.bp_offset = (int16_t)field(orc, copy, RS_FIELD_ORC_BP_OFFSET),
		.sp_base = orc->numbers[field(orc, copy, RS_FIELD_ORC_SP_REG) % N_NUMBERS],
		.bp_base = orc->numbers[field(orc, copy, RS_FIELD_ORC_BP_REG) % N_NUMBERS],
		.interrupted = field(orc, copy, RS_FIELD_ORC_SIGNAL),
		.offset_first = orc->offset_first,
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
