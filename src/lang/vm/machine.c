/* SPDX-License-Identifier: BSD-2-Clause */
/* D's access to a stopped machine: registers, virtual and physical memory. */
#include "lang/vm/machine.h"

#include <string.h>

#include "live/tracepoint_text.h"

#define PAGE 4096u /* a text may end just before one that is missing */

/* What uregs[] can be asked for, by its place here; D's names, and the control registers. */
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

bool machine_register(const char *name, uint64_t *number)
{
	for (size_t i = 0; i < N_REGISTERS; i++) {
		if (!strcmp(registers[i].name, name)) {
			*number = i;
			return true;
		}
	}
	return false;
}

static const struct rs_machine *machine_of(const struct firing *f)
{
	return f->view ? f->view->stream->machine : NULL;
}

static bool bad(struct firing *f, uint64_t address)
{
	f->fault = FAULT_BADADDR;
	f->fault_value = address;
	return false;
}

bool machine_read(struct firing *f, uint64_t gva, void *buf, size_t bytes)
{
	const struct rs_machine *machine = machine_of(f);
	uint64_t at = gva;

	if (!machine || !machine->read(machine->ctx, gva, buf, bytes, &at))
		return bad(f, at);
	return true;
}

char *machine_copy(struct firing *f, uint64_t gva, uint64_t bytes)
{
	char *at;

	if (!machine_of(f)) { /* before scratch is asked for: it is the address that is wrong */
		bad(f, gva);
		return NULL;
	}
	if (bytes > LANG_SCRATCH) {
		f->fault = FAULT_NOSCRATCH;
		return NULL;
	}
	at = scratch(f, bytes);
	return at && machine_read(f, gva, at, bytes) ? at : NULL;
}

bool machine_text(struct firing *f, uint64_t gva, uint64_t most, struct value *value)
{
	char *copy = scratch(f, most + 1);
	size_t len = 0;

	if (!copy)
		return false;
	while (len < most) {
		uint64_t page = PAGE - ((gva + len) & (PAGE - 1));
		size_t part = most - len < page ? (size_t)(most - len) : (size_t)page, used;

		if (!machine_read(f, gva + len, copy + len, part))
			return false;
		used = strnlen(copy + len, part);
		len += used;
		if (used < part)
			break;
	}
	copy[len] = '\0';
	f->rt->scratch_used -= most - len; /* the rest of it is given back */
	*value = (struct value){ .s = copy, .len = (uint32_t)len };
	return true;
}

/* ---- functions ---------------------------------------------------------------------------- */

#define FUNCTION(name)                                                                             \
	bool machine_##name(struct firing *f, const struct value *args, uint32_t n,                \
			    struct value *result)

FUNCTION(copyin)
{
	char *to;

	(void)n;
	result->i = memory_alloca(f, args[1].i);
	to = result->i ? memory_at(f, result->i, args[1].i, true) : NULL;
	return to && machine_read(f, args[0].i, to, args[1].i);
}

FUNCTION(copyinphys)
{
	const struct rs_machine *machine = machine_of(f);
	uint64_t at = args[0].i;
	char *to;

	(void)n;
	result->i = memory_alloca(f, args[1].i);
	to = result->i ? memory_at(f, result->i, args[1].i, true) : NULL;
	if (!to)
		return false;
	if (!machine || !machine->read_phys(machine->ctx, args[0].i, to, args[1].i, &at))
		return bad(f, at);
	return true;
}

static const struct rs_field *field_with(const struct rs_event *event, const char *base, size_t len,
					 const char *suffix)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const char *name = event->fields[i].name;

		if (!strncmp(name, base, len) && !strcmp(name + len, suffix))
			return &event->fields[i];
	}
	return NULL;
}

/* Finds what the kernel has read at an address that is an argument of the event
 * (tracepoint_text.h). Returns false if it has read nothing there. */
static bool text_of_argument(const struct firing *f, uint64_t address, uint64_t most,
			     struct value *value)
{
	const struct rs_event *event = f->view ? f->view->event : NULL;

	for (uint16_t i = 0; event && i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i], *pointer, *read;
		size_t len = strlen(field->name), end = sizeof(RS_TRACEPOINT_TEXT) - 1;

		if (field->type != RS_TYPE_TEXT || len <= end ||
		    strcmp(field->name + len - end, RS_TRACEPOINT_TEXT) != 0)
			continue;
		pointer = field_with(event, field->name, len - end, "");
		read = field_with(event, field->name, len - end, RS_TRACEPOINT_READ);
		if (!pointer || !read || pointer->type != RS_TYPE_U64 ||
		    read->type != RS_TYPE_S64 ||
		    rs_field_value(pointer, f->view->payload) != address ||
		    (int64_t)rs_field_value(read, f->view->payload) < 0)
			continue;
		value->s = rs_view_text(f->view, field, &len);
		value->len = (uint32_t)(len < most ? len : most);
		return true;
	}
	return false;
}

FUNCTION(copyinstr)
{
	uint64_t most = f->script->options[OPT_STRSIZE] - 1;

	if (n > 1 && args[1].i < most)
		most = args[1].i;
	if (!machine_of(f) && text_of_argument(f, args[0].i, most, result))
		return true;
	return machine_text(f, args[0].i, most, result);
}

FUNCTION(copyinto)
{
	char *to = memory_at(f, args[2].i, args[1].i, true);

	(void)n, (void)result;
	return to && machine_read(f, args[0].i, to, args[1].i);
}

static bool reg_by_name(struct firing *f, const char *name, struct value *result)
{
	const struct rs_machine *machine = machine_of(f);

	if (machine && machine->reg(machine->ctx, name, &result->i))
		return true;
	f->fault = FAULT_ILLOP;
	f->fault_value = 0;
	return false;
}

FUNCTION(reg)
{
	char name[16] = "";

	(void)n;
	if (args[0].len < sizeof(name))
		memcpy(name, args[0].s, args[0].len);
	return reg_by_name(f, name, result);
}

FUNCTION(uregs)
{
	(void)n;
	if (args[0].i < N_REGISTERS)
		return reg_by_name(f, registers[args[0].i].reg, result);
	return reg_by_name(f, "", result);
}
