/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what introspection reads from the core of a virtual machine. Memory is in hexadecimal:
 *
 *	registers CORE			a line for each register: vCPU, name, value
 *	read CORE VCPU GVA BYTES	memory, through the vCPU's page tables
 *	physical CORE GPA BYTES		physical memory
 *	unwind CORE VCPU FILE		its stack: address, "cfi", "fp" or "in", function
 *	raw FILE GPA BYTES [GPA:BYTES:OFFSET...]	physical memory of a raw dump
 *
 * An error is printed as "error: MESSAGE", a fault as "fault: MESSAGE".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/record.h>

#include "introspect/core.h"
#include "introspect/registers.h"
#include "introspect/symbols.h"
#include "introspect/unwind.h"

#define BYTES_MAX  65536u
#define PIECES_MAX 16

static struct rs_core *core;
static struct rs_memory memory;

static void need(struct rs_error *err)
{
	if (!err)
		return;
	printf("error: %s\n", rs_error_text(err));
	exit(1);
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 0);
}

static void print(enum rs_fault fault, const uint8_t *buf, size_t bytes)
{
	if (fault) {
		printf("fault: %s\n", rs_fault_text(fault));
		exit(1);
	}
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", buf[i]);
	printf("\n");
}

static struct rs_x86_regs at_vcpu(const char *vcpu)
{
	struct rs_x86_regs regs;

	if (!rs_core_registers(core, (uint32_t)number(vcpu), &regs))
		exit(2);
	rs_memory_at(&memory, &regs);
	return regs;
}

static void registers(void)
{
	for (uint32_t i = 0; i < rs_core_vcpus(core); i++) {
		struct rs_x86_regs regs;
		uint64_t value = 0;
		const char *name;

		rs_core_registers(core, i, &regs);
		for (uint32_t r = 0; (name = rs_x86_reg_name(r)); r++) {
			rs_x86_reg(&regs, name, &value);
			printf("%u %s 0x%" PRIx64 "\n", i, name, value);
		}
	}
}

static void unwind(const char *vcpu, const char *file)
{
	struct rs_x86_regs regs = at_vcpu(vcpu);
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint64_t stack[RS_STACK_DEPTH_MAX], by_fp = 0;
	struct rs_symbols *set = NULL;
	uint32_t n;

	need(rs_symbols_create(NULL, &set));
	need(rs_symbols_add(set, file, NULL, 0));
	n = rs_unwind(set, &memory, &regs, stack, RS_STACK_DEPTH_MAX, &by_fp);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t found =
			rs_symbols_lookup_stack(set, stack, i, frames, RS_SYMBOL_FRAMES_MAX);

		for (uint32_t f = 0; f < found; f++)
			printf("0x%" PRIx64 " %s %s\n", stack[i],
			       frames[f].inlined ? "in"
			       : by_fp >> i & 1	 ? "fp"
						 : "cfi",
			       frames[f].function ? frames[f].function : "?");
	}
	rs_symbols_destroy(set);
}

static void raw_open(const char *path, int n, char **texts)
{
	struct rs_core_piece pieces[PIECES_MAX];

	if (n > PIECES_MAX)
		exit(2);
	for (int i = 0; i < n; i++) {
		if (sscanf(texts[i], "%" SCNi64 ":%" SCNi64 ":%" SCNi64, &pieces[i].gpa,
			   &pieces[i].bytes, &pieces[i].offset) != 3)
			exit(2);
	}
	need(rs_core_open_raw(path, pieces, (uint32_t)n, &core));
}

int main(int argc, char **argv)
{
	static uint8_t buf[BYTES_MAX];
	const char *what = argc > 2 ? argv[1] : "";
	size_t bytes;

	if (!strcmp(what, "raw") && argc > 4)
		raw_open(argv[2], argc - 5, argv + 5);
	else if (argc > 2)
		need(rs_core_open(argv[2], &core));
	else
		return 2;
	rs_core_memory(core, &memory);
	if (!strcmp(what, "registers")) {
		registers();
	} else if (!strcmp(what, "unwind") && argc == 5) {
		unwind(argv[3], argv[4]);
	} else if (!strcmp(what, "read") && argc == 6 &&
		   (bytes = (size_t)number(argv[5])) <= BYTES_MAX) {
		at_vcpu(argv[3]);
		print(rs_memory_read(&memory, number(argv[4]), buf, bytes, NULL), buf, bytes);
	} else if (argc > 4 && (bytes = (size_t)number(argv[4])) <= BYTES_MAX) {
		print(rs_memory_read_phys(&memory, number(argv[3]), buf, bytes), buf, bytes);
	} else {
		return 2;
	}
	rs_core_close(core);
	return 0;
}
