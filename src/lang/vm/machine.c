/* SPDX-License-Identifier: BSD-2-Clause */
/* D's access to a stopped machine: registers, virtual and physical memory. */
#include "lang/vm/machine.h"

#include <string.h>

#define PAGE 4096u /* a string may end just before a missing page */

/* The registers of uregs[], by index: those of D, and the control registers. */
static const struct {
	const char *name, *reg;
} registers[] = {
	{ "R_RAX", "rax" },	   { "R_RBX", "rbx" },	      { "R_RCX", "rcx" },
	{ "R_RDX", "rdx" },	   { "R_RSI", "rsi" },	      { "R_RDI", "rdi" },
	{ "R_RBP", "rbp" },	   { "R_RSP", "rsp" },	      { "R_R8", "r8" },
	{ "R_R9", "r9" },	   { "R_R10", "r10" },	      { "R_R11", "r11" },
	{ "R_R12", "r12" },	   { "R_R13", "r13" },	      { "R_R14", "r14" },
	{ "R_R15", "r15" },	   { "R_RIP", "rip" },	      { "R_RFL", "eflags" },
	{ "R_CS", "cs" },	   { "R_SS", "ss" },	      { "R_DS", "ds" },
	{ "R_ES", "es" },	   { "R_FS", "fs" },	      { "R_GS", "gs" },
	{ "R_FSBASE", "fs_base" }, { "R_GSBASE", "gs_base" }, { "R_CR0", "cr0" },
	{ "R_CR2", "cr2" },	   { "R_CR3", "cr3" },	      { "R_CR4", "cr4" },
	{ "R_CR8", "cr8" },	   { "R_EFER", "efer" },      { "R_PC", "rip" },
	{ "R_SP", "rsp" },	   { "R_FP", "rbp" },
};
#define N_REGISTERS (sizeof(registers) / sizeof(registers[0]))

bool rs_lang_machine_register(const char *name, uint64_t *number)
{
	for (size_t i = 0; i < N_REGISTERS; i++) {
		if (!strcmp(registers[i].name, name)) {
			*number = i;
			return true;
		}
	}
	return false;
}

const char *rs_lang_machine_register_name(uint64_t number)
{
	return number < N_REGISTERS ? registers[number].reg : "";
}

const struct rs_machine *rs_lang_machine_of(const struct firing *f)
{
	return f->view ? f->view->stream->machine : NULL;
}

bool rs_lang_machine_fault(struct firing *f, uint64_t address)
{
	f->fault = FAULT_BADADDR;
	f->fault_value = address;
	return false;
}

bool rs_lang_machine_read(struct firing *f, uint64_t gva, void *buf, size_t bytes)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);
	uint64_t at = gva;

	if (!machine || !machine->read(machine->ctx, gva, buf, bytes, &at))
		return rs_lang_machine_fault(f, at);
	return true;
}

char *rs_lang_machine_copy(struct firing *f, uint64_t gva, uint64_t bytes)
{
	char *at;

	if (!rs_lang_machine_of(f)) { /* before the allocation: the fault is the address */
		rs_lang_machine_fault(f, gva);
		return NULL;
	}
	if (bytes > LANG_SCRATCH) {
		f->fault = FAULT_NOSCRATCH;
		return NULL;
	}
	at = scratch(f, bytes);
	return at && rs_lang_machine_read(f, gva, at, bytes) ? at : NULL;
}

bool rs_lang_machine_text(struct firing *f, uint64_t gva, uint64_t most, struct value *value)
{
	char *copy = scratch(f, most + 1);
	size_t len = 0;

	if (!copy)
		return false;
	while (len < most) {
		uint64_t page = PAGE - ((gva + len) & (PAGE - 1));
		size_t part = most - len < page ? (size_t)(most - len) : (size_t)page, used;

		if (!rs_lang_machine_read(f, gva + len, copy + len, part))
			return false;
		used = strnlen(copy + len, part);
		len += used;
		if (used < part)
			break;
	}
	copy[len] = '\0';
	f->rt->scratch_used -= most - len; /* frees the rest */
	*value = (struct value){ .s = copy, .len = (uint32_t)len };
	return true;
}

void rs_lang_machine_refuse(struct firing *f, const char *why)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);

	if (machine && machine->frame)
		machine->frame->refuse(machine->ctx, why);
}
