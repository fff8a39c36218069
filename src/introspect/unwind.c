/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds a stack by CFI, or by frame pointers where there is no CFI. */
#include "introspect/unwind.h"

#include <string.h>

#include "introspect/cfi.h"
#include "introspect/expression.h"
#include "introspect/module.h"

#define WORD	 8u
#define CR4_LA57 (UINT64_C(1) << 12)

/* Opcodes of x86-64 at the beginning and end of a function. */
#define PUSH_RBP 0x55
#define RET	 0xc3
#define RET_POP	 0xc2
static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct unwinding {
	struct rs_symbols *set;
	struct rs_memory *memory;
	struct rs_frame_registers registers; /* of the frame; 16: its address */
	/* The address is that of an instruction. If false, it is a return address, after a call. */
	bool exact;
};

enum step {
	OUTERMOST,
	END, /* the caller cannot be found */
	BY_CFI,
	BY_GUESS,
};

static bool known(const struct rs_frame_registers *r, uint32_t number)
{
	return r->known >> number & 1;
}

static void assign(struct rs_frame_registers *r, uint32_t number, uint64_t value)
{
	r->value[number] = value;
	r->known |= 1u << number;
}

static bool load(struct unwinding *u, uint64_t address, uint64_t *value)
{
	return !rs_memory_read(u->memory, address, value, WORD, NULL);
}

static bool canonical(const struct rs_memory *memory, uint64_t address)
{
	uint32_t unused = memory->paging.cr4 & CR4_LA57 ? 64 - 57 : 64 - 48;

	return (uint64_t)((int64_t)(address << unused) >> unused) == address;
}

/* ---- by CFI --------------------------------------------------------------------------------- */

static bool evaluate(struct unwinding *u, const struct rs_cfi_row *row,
		     const struct rs_cfi_rule *rule, const uint64_t *cfa, uint64_t *value)
{
	return rs_expression_evaluate(row->section + rule->offset, rule->bytes, &u->registers,
				      u->memory, cfa, value);
}

static bool find_cfa(struct unwinding *u, const struct rs_cfi_row *row, uint64_t *cfa)
{
	if (row->cfa.how == RS_CFI_EXPRESSION)
		return evaluate(u, row, &row->cfa, NULL, cfa);
	*cfa = u->registers.value[row->cfa.base] + (uint64_t)row->cfa.offset;
	return known(&u->registers, row->cfa.base);
}

/* Finds the caller's value of a register. Returns false if it is unknown. */
static bool find_register(struct unwinding *u, const struct rs_cfi_row *row, uint64_t cfa,
			  uint32_t number, uint64_t *value)
{
	const struct rs_cfi_rule *rule = &row->registers[number];
	uint64_t from = number;

	switch ((enum rs_cfi_how)rule->how) {
	case RS_CFI_UNDEFINED:
		return false;
	case RS_CFI_REGISTER:
		from = (uint64_t)rule->offset;
		if (from >= RS_CFI_REGISTERS)
			return false;
		__attribute__((fallthrough));
	case RS_CFI_SAME:
		*value = u->registers.value[from];
		return known(&u->registers, (uint32_t)from);
	case RS_CFI_OFFSET:
		*value = cfa + (uint64_t)rule->offset;
		return true;
	case RS_CFI_AT_OFFSET:
		return load(u, cfa + (uint64_t)rule->offset, value);
	case RS_CFI_EXPRESSION:
		return evaluate(u, row, rule, &cfa, value);
	case RS_CFI_AT_EXPRESSION:
		return evaluate(u, row, rule, &cfa, value) && load(u, *value, value);
	}
	return false;
}

static enum step step_cfi(struct unwinding *u, const struct rs_cfi_row *row)
{
	struct rs_frame_registers caller = { .known = 0 };
	uint64_t cfa, value;

	/* An undefined return address marks the outermost frame. */
	if (row->registers[RS_CFI_RIP].how == RS_CFI_UNDEFINED)
		return OUTERMOST;
	if (!find_cfa(u, row, &cfa))
		return END;
	for (uint32_t i = 0; i < RS_CFI_REGISTERS; i++) {
		if (find_register(u, row, cfa, i, &value))
			assign(&caller, i, value);
	}
	u->registers = caller;
	u->exact = row->interrupted;
	return known(&caller, RS_CFI_RIP) && known(&caller, RS_CFI_RSP) ? BY_CFI : END;
}

/* ---- by guess ------------------------------------------------------------------------------- */

/* Returns whether an address can be a return address. */
static bool returns_to(struct unwinding *u, uint64_t address)
{
	const struct rs_module *m;

	if (address < 2 || !canonical(u->memory, address))
		return false;
	if (!rs_symbols_count(u->set))
		return true;
	m = rs_symbols_module(u->set, address - 1);
	return m && rs_module_is_code(m, address - 1);
}

static bool leave(struct unwinding *u, uint64_t at, uint64_t rbp)
{
	struct rs_frame_registers caller = { .known = 0 };
	uint64_t address;

	if (!load(u, at, &address) || !returns_to(u, address))
		return false;
	assign(&caller, RS_CFI_RIP, address);
	assign(&caller, RS_CFI_RSP, at + WORD);
	assign(&caller, RS_CFI_RBP, rbp);
	u->registers = caller;
	u->exact = false;
	return true;
}

/* Steps from a function that has not set up its frame yet, or has left it. rbp is then the
 * caller's, and the return address is at or near the stack pointer. Returns false if this does not
 * apply, or fails. */
static bool step_edge(struct unwinding *u)
{
	const struct rs_frame_registers *r = &u->registers;
	uint64_t pc = r->value[RS_CFI_RIP], rsp = r->value[RS_CFI_RSP], at, begin;
	struct rs_module *m = rs_symbols_module(u->set, pc);
	const uint8_t *code, *start;
	const char *name;

	if (!m || !rs_module_is_code(m, pc)) /* a call through a wild pointer */
		return rs_symbols_count(u->set) && leave(u, rsp, r->value[RS_CFI_RBP]);
	at = pc - m->load;
	code = rs_elf_loaded(&m->file, at, 1);
	if (code && (*code == RET || *code == RET_POP))
		return leave(u, rsp, r->value[RS_CFI_RBP]);
	if (!rs_functions_find(&m->functions, at, &name, &begin))
		return false;
	start = rs_elf_loaded(&m->file, begin, sizeof(endbr64));
	if (start && at >= begin + sizeof(endbr64) && !memcmp(start, endbr64, sizeof(endbr64)))
		begin += sizeof(endbr64);
	if (at == begin)
		return leave(u, rsp, r->value[RS_CFI_RBP]);
	start = rs_elf_loaded(&m->file, begin, 1);
	return at == begin + 1 && start && *start == PUSH_RBP &&
	       leave(u, rsp + WORD, r->value[RS_CFI_RBP]);
}

static bool step_frame_pointer(struct unwinding *u)
{
	const struct rs_frame_registers *r = &u->registers;
	uint64_t rbp = r->value[RS_CFI_RBP], next;

	if (!known(r, RS_CFI_RBP) || rbp % WORD || rbp < r->value[RS_CFI_RSP])
		return false;
	return load(u, rbp, &next) && leave(u, rbp + WORD, next);
}

/* ---- the stack ------------------------------------------------------------------------------ */

/* Steps to the caller. Returns the method that found it. */
static enum step step(struct unwinding *u, bool first)
{
	uint64_t pc = u->registers.value[RS_CFI_RIP];
	/* a call may be the last instruction of its function */
	uint64_t at = u->exact ? pc : pc - 1;
	const struct rs_module *m = rs_symbols_module(u->set, at);
	struct rs_cfi_row row;

	switch (m ? rs_module_cfi(m, at, &row) : RS_CFI_NONE) {
	case RS_CFI_FOUND:
		return step_cfi(u, &row);
	case RS_CFI_INVALID:
		return END;
	case RS_CFI_NONE:
		break;
	}
	if (first && known(&u->registers, RS_CFI_RSP) && step_edge(u))
		return BY_GUESS;
	return step_frame_pointer(u) ? BY_GUESS : END;
}

static void begin(struct unwinding *u, const struct rs_x86_regs *regs, bool no_sp)
{
	/* DWARF's order of the first eight: rax rdx rcx rbx rsi rdi rbp rsp. */
	static const uint8_t order[] = { 0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	for (uint32_t i = 0; i < sizeof(order); i++)
		assign(&u->registers, i, regs->gpr[order[i]]);
	assign(&u->registers, RS_CFI_RIP, regs->rip);
	if (no_sp) {
		u->registers.value[RS_CFI_RSP] = 0;
		u->registers.known &= ~(1u << RS_CFI_RSP);
	}
	u->exact = true;
}

/* Returns the reason why a stack ends after a step to the caller, or NULL if it continues. */
static const char *end_of(const struct unwinding *u, enum step how, uint64_t last_rsp)
{
	uint64_t rip = u->registers.value[RS_CFI_RIP];

	if (how == END)
		return "its caller cannot be found";
	if (!canonical(u->memory, rip))
		return "its caller's address is not canonical";
	/* A signal handler may run on another stack than the code that it interrupted. */
	if (!u->exact && u->registers.value[RS_CFI_RSP] <= last_rsp)
		return "the caller's frame is not above it on the stack";
	return NULL;
}

static void unwind(struct unwinding *u, uint32_t max, struct rs_unwound *out)
{
	out->exact = 1;
	while (out->n < max) {
		uint64_t rsp = u->registers.value[RS_CFI_RSP];
		enum step how;

		if (out->registers)
			out->registers[out->n] = u->registers;
		out->frames[out->n++] = u->registers.value[RS_CFI_RIP];
		if (out->n == max) {
			out->why = "the stack has more frames";
			break;
		}
		how = step(u, out->n == 1);
		if (how == OUTERMOST || (how != END && !u->registers.value[RS_CFI_RIP]))
			break;
		out->why = end_of(u, how, rsp);
		if (out->why)
			break;
		if (how == BY_GUESS)
			out->by_guess |= UINT64_C(1) << out->n;
		if (u->exact) /* no call returns to the frame of a signal, either */
			out->exact |= UINT64_C(3) << (out->n - 1);
	}
}

void rs_unwind_read(struct rs_symbols *set, struct rs_memory *memory,
		    const struct rs_x86_regs *regs, struct rs_unwound *out)
{
	struct unwinding u = { .set = set, .memory = memory };

	out->n = 0;
	out->by_guess = 0;
	out->why = NULL;
	begin(&u, regs, out->no_sp);
	unwind(&u, RS_STACK_DEPTH_MAX, out);
}

uint32_t rs_unwind(struct rs_symbols *set, struct rs_memory *memory, const struct rs_x86_regs *regs,
		   uint64_t *frames, uint32_t max, uint64_t *by_fp)
{
	struct unwinding u = { .set = set, .memory = memory };
	struct rs_unwound out = { .n = 0 };

	begin(&u, regs, false);
	unwind(&u, max < RS_STACK_DEPTH_MAX ? max : RS_STACK_DEPTH_MAX, &out);
	memcpy(frames, out.frames, out.n * sizeof(*frames));
	*by_fp = out.by_guess;
	return out.n;
}
