/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information: the input is a section, .eh_frame or .debug_frame. Computes rows at the
 * ends of each entry and between, and evaluates their expressions on registers and memory of the
 * input.
 */
#include "fuzz.h"

#include "introspect/cfi.h"
#include "introspect/expression.h"

#define ADDRESS	  0x2000u /* of the section */
#define PLACES	  64u
#define RAM_BYTES 256u

static void check_rule(const struct rs_cfi_row *row, const struct rs_cfi_rule *rule,
		       struct rs_memory *memory, const uint8_t *section, size_t size)
{
	struct rs_frame_registers registers = { .known = 0x1ffff };
	uint64_t cfa = ADDRESS, value;

	if (rule->how != RS_CFI_EXPRESSION && rule->how != RS_CFI_AT_EXPRESSION)
		return;
	MUST(row->section == section);
	MUST(rule->offset >= 0 && (uint64_t)rule->offset <= size);
	MUST(rule->bytes <= size - (uint64_t)rule->offset);
	for (uint32_t i = 0; i < 17; i++)
		registers.value[i] = i * 16;
	rs_expression_evaluate(section + rule->offset, rule->bytes, &registers, memory, &cfa,
			       &value);
}

static void check_row(const struct rs_cfi_row *row, struct rs_memory *memory,
		      const uint8_t *section, size_t size)
{
	MUST(row->cfa.how == RS_CFI_OFFSET || row->cfa.how == RS_CFI_EXPRESSION);
	MUST(row->cfa.base < RS_CFI_REGISTERS);
	check_rule(row, &row->cfa, memory, section, size);
	for (uint32_t i = 0; i < RS_CFI_REGISTERS; i++)
		check_rule(row, &row->registers[i], memory, section, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t options = fuzz_u8(&in);
	uint8_t *section = malloc(in.left ? in.left : 1); /* of exactly its size */
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	uint8_t ram[RAM_BYTES] = { 1, 2, 3 };
	struct rs_cfi cfi = { 0 };
	struct rs_cfi_row row;

	MUST(section && memory);
	memcpy(section, in.at, in.left);
	memory->ram[0] = (struct rs_ram){ 0, RAM_BYTES, ram };
	memory->n_ram = 1;
	fuzz_drop(rs_cfi_read_bytes(section, in.left, ADDRESS, options & 1, &cfi));
	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t at = i * (options / 2 + 1u);

		if (rs_cfi_find(&cfi, at, &row) == RS_CFI_FOUND)
			check_row(&row, memory, section, in.left);
		if (rs_cfi_find(&cfi, ADDRESS + at, &row) == RS_CFI_FOUND)
			check_row(&row, memory, section, in.left);
		if (rs_cfi_find(&cfi, ADDRESS - at, &row) == RS_CFI_FOUND)
			check_row(&row, memory, section, in.left);
	}
	rs_cfi_deinit(&cfi);
	free(memory);
	free(section);
	return 0;
}
