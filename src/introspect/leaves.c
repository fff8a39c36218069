/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the instructions that leave a function, and evaluates whether they do. */
#include "introspect/leaves.h"

#include <capstone/capstone.h>
#include <stdlib.h>

#define INSN_BYTES_MAX 15u
#define PAGE	       UINT64_C(4096)

struct rs_leaves {
	csh engine;
	cs_insn *insn;
	struct {
		uint64_t from, to;
	} parts[RS_LEAVES_PARTS_MAX];
	uint32_t n_parts;
	uint64_t places[RS_LEAVES_PLACES_MAX];
	uint32_t n_places;
};

struct rs_error *rs_leaves_create(struct rs_leaves **out)
{
	struct rs_leaves *l = calloc(1, sizeof(*l));

	if (!l)
		return rs_error_no_memory();
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &l->engine) != CS_ERR_OK) {
		free(l);
		return rs_error_create(RS_FAILED, "libcapstone has no decoder for x86");
	}
	cs_option(l->engine, CS_OPT_DETAIL, CS_OPT_ON);
	l->insn = cs_malloc(l->engine);
	if (!l->insn) {
		rs_leaves_destroy(l);
		return rs_error_no_memory();
	}
	*out = l;
	return NULL;
}

void rs_leaves_destroy(struct rs_leaves *l)
{
	if (!l)
		return;
	if (l->insn)
		cs_free(l->insn, 1);
	cs_close(&l->engine);
	free(l);
}

/* ---- instructions ------------------------------------------------------------------------- */

/* Conditional jumps, by the bits of their condition (Intel SDM volume 1, appendix B). */
static const unsigned int jumps[16] = {
	X86_INS_JO,  X86_INS_JNO, X86_INS_JB,  X86_INS_JAE, X86_INS_JE, X86_INS_JNE,
	X86_INS_JBE, X86_INS_JA,  X86_INS_JS,  X86_INS_JNS, X86_INS_JP, X86_INS_JNP,
	X86_INS_JL,  X86_INS_JGE, X86_INS_JLE, X86_INS_JG,
};

/* Returns whether a condition holds: the flags CF, PF, ZF, SF and OF are bits 0, 2, 6, 7 and 11. */
static bool condition(uint32_t code, uint64_t flags)
{
	const bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1, sf = flags >> 7 & 1,
		   of = flags >> 11 & 1;
	const bool holds[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };

	return holds[code >> 1] != (code & 1);
}

/* Returns whether a conditional jump is taken. */
static bool is_taken(const cs_insn *insn, uint64_t flags)
{
	for (uint32_t i = 0; i < 16; i++) {
		if (jumps[i] == insn->id)
			return condition(i, flags);
	}
	return insn->id == X86_INS_JMP;
}

static bool is_return(const cs_insn *insn)
{
	return insn->id == X86_INS_RET;
}

static bool is_jump(const cs_insn *insn)
{
	for (uint32_t i = 0; i < 16; i++) {
		if (jumps[i] == insn->id)
			return true;
	}
	return insn->id == X86_INS_JMP;
}

/* Returns whether the segment of an operand has a base other than 0. */
static bool has_base(x86_reg segment)
{
	return segment == X86_REG_FS || segment == X86_REG_GS;
}

/* Returns the number of a register in struct rs_x86_regs, or -1 if it is not a general register of
 * 64 bits. */
static int number_of(x86_reg reg)
{
	static const x86_reg regs[16] = { X86_REG_RAX, X86_REG_RBX, X86_REG_RCX, X86_REG_RDX,
					  X86_REG_RSI, X86_REG_RDI, X86_REG_RBP, X86_REG_RSP,
					  X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
					  X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15 };

	for (int i = 0; i < 16; i++) {
		if (regs[i] == reg)
			return i;
	}
	return -1;
}

/* Adds a register's value to an address. Returns false if the register is unknown. */
static bool add(x86_reg reg, uint64_t scale, const struct rs_x86_regs *regs, uint64_t next,
		uint64_t *address)
{
	int number = number_of(reg);

	if (reg == X86_REG_RIP)
		*address += next;
	else if (number >= 0)
		*address += regs->gpr[number] * scale;
	return reg == X86_REG_INVALID || reg == X86_REG_RIP || number >= 0;
}

/* Sets the target of a jump. Returns false if it is unknown. */
static bool target_of(const cs_insn *insn, const struct rs_x86_regs *regs, rs_leaves_read_fn *read,
		      void *ctx, uint64_t *target)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = &x86->operands[0];
	uint64_t address = 0, next = insn->address + insn->size;

	if (x86->op_count != 1)
		return false;
	*target = 0;
	switch (op->type) {
	case X86_OP_IMM:
		*target = (uint64_t)op->imm;
		return true;
	case X86_OP_REG:
		return op->reg != X86_REG_INVALID && add(op->reg, 1, regs, next, target);
	case X86_OP_MEM:
		address = (uint64_t)op->mem.disp;
		return op->size == sizeof(*target) && !has_base(op->mem.segment) &&
		       add(op->mem.base, 1, regs, next, &address) &&
		       add(op->mem.index, (uint64_t)op->mem.scale, regs, next, &address) &&
		       read(ctx, address, target, sizeof(*target));
	default:
		return false;
	}
}

/* Returns whether an address is within the function, but not its beginning. */
static bool is_inside(const struct rs_leaves *l, uint64_t address)
{
	for (uint32_t i = 0; i < l->n_parts; i++) {
		if (address >= l->parts[i].from && address < l->parts[i].to)
			return i || address != l->parts[i].from;
	}
	return false;
}

/* ---- places ------------------------------------------------------------------------------- */

/* Returns whether an instruction in the last part may leave the function. A jump within that part
 * does not. */
static bool may_leave(const struct rs_leaves *l)
{
	const cs_x86 *x86 = &l->insn->detail->x86;

	if (is_return(l->insn))
		return true;
	if (!is_jump(l->insn) || x86->op_count != 1)
		return false;
	return x86->operands[0].type != X86_OP_IMM || !is_inside(l, (uint64_t)x86->operands[0].imm);
}

struct rs_error *rs_leaves_add(struct rs_leaves *l, uint64_t address, const uint8_t *code,
			       size_t bytes)
{
	if (l->n_parts == RS_LEAVES_PARTS_MAX || bytes > RS_LEAVES_CODE_MAX)
		return rs_error_create(RS_USAGE, "the function has more than %u parts or %u bytes",
				       RS_LEAVES_PARTS_MAX, RS_LEAVES_CODE_MAX);
	l->parts[l->n_parts].from = address;
	l->parts[l->n_parts++].to = address + bytes;
	while (bytes) {
		if (!cs_disasm_iter(l->engine, &code, &bytes, &address, l->insn)) {
			code++; /* not an instruction: data, or unknown to libcapstone */
			bytes--;
			address++;
			continue;
		}
		if (!may_leave(l))
			continue;
		if (l->n_places == RS_LEAVES_PLACES_MAX)
			return rs_error_create(RS_USAGE,
					       "the function has more than %u returns and jumps to "
					       "other functions",
					       RS_LEAVES_PLACES_MAX);
		l->places[l->n_places++] = l->insn->address;
	}
	return NULL;
}

bool rs_leaves_place(const struct rs_leaves *l, uint32_t i, uint64_t *address)
{
	if (i >= l->n_places)
		return false;
	*address = l->places[i];
	return true;
}

/* Reads up to the longest length of an instruction at an address, as far as memory is present. */
static size_t read_code(uint64_t address, uint8_t code[INSN_BYTES_MAX], rs_leaves_read_fn *read,
			void *ctx)
{
	size_t first = PAGE - address % PAGE;

	if (first >= INSN_BYTES_MAX)
		return read(ctx, address, code, INSN_BYTES_MAX) ? INSN_BYTES_MAX : 0;
	if (!read(ctx, address, code, first))
		return 0;
	return read(ctx, address + first, code + first, INSN_BYTES_MAX - first) ? INSN_BYTES_MAX
										: first;
}

bool rs_leaves_now(struct rs_leaves *l, const struct rs_x86_regs *regs, uint64_t base,
		   rs_leaves_read_fn *read, void *ctx)
{
	uint8_t code[INSN_BYTES_MAX];
	size_t bytes = read_code(regs->rip, code, read, ctx);
	const uint8_t *at = code;
	uint64_t address = regs->rip, target = 0;

	if (!bytes || !cs_disasm_iter(l->engine, &at, &bytes, &address, l->insn))
		return false;
	if (is_return(l->insn))
		return true;
	return is_taken(l->insn, regs->eflags) && target_of(l->insn, regs, read, ctx, &target) &&
	       !is_inside(l, target - base);
}
