/* SPDX-License-Identifier: BSD-2-Clause */
/* Emits single BPF instructions. */
#ifndef RS_LANG_BPF_EMIT_H
#define RS_LANG_BPF_EMIT_H

#include "lang/bpf/code.h"

/* The registers: temporary ones, and the arguments of a filter. */
enum { T0 = 0, T1 = 9, T2 = 3, T3 = 4 };
enum { RECORD = 1, ID = 2, FRAME = 10 };

/* The frame: the r3 and r4 passed in, then the stack entries beyond the registers. */
#define AT_CPU	 (-8)
#define AT_WHO	 (-16)
#define AT_STACK (-24)

static inline void put(struct push_code *c, uint8_t op, uint8_t to, uint8_t from, int off,
		       int32_t imm)
{
	if (c->n == PUSH_INSNS) {
		c->full = true;
		return;
	}
	c->insns[c->n++] = (struct bpf_insn){ .code = op,
					      .dst_reg = to & 0xf,
					      .src_reg = from & 0xf,
					      .off = (int16_t)off,
					      .imm = imm };
}

static inline void alu(struct push_code *c, uint8_t op, uint8_t to, uint8_t from)
{
	put(c, BPF_ALU64 | BPF_X | op, to, from, 0, 0);
}

static inline void alu_imm(struct push_code *c, uint8_t op, uint8_t to, int32_t imm)
{
	put(c, BPF_ALU64 | BPF_K | op, to, 0, 0, imm);
}

static inline void move(struct push_code *c, uint8_t to, uint8_t from)
{
	if (to != from)
		alu(c, BPF_MOV, to, from);
}

static inline bool is_small(uint64_t value)
{
	return (int64_t)value == (int32_t)value;
}

static inline void load_number(struct push_code *c, uint8_t to, uint64_t value)
{
	if (is_small(value)) {
		alu_imm(c, BPF_MOV, to, (int32_t)value);
		return;
	}
	put(c, BPF_LD | BPF_DW | BPF_IMM, to, 0, 0, (int32_t)value);
	put(c, 0, 0, 0, 0, (int32_t)(value >> 32));
}

static inline void load(struct push_code *c, uint8_t size, uint8_t to, uint8_t from, int off)
{
	put(c, BPF_LDX | BPF_MEM | size, to, from, off, 0);
}

static inline void store(struct push_code *c, uint8_t to, int off, uint8_t from)
{
	put(c, BPF_STX | BPF_MEM | BPF_DW, to, from, off, 0);
}

/* Skips the next n instructions if a register compares so with a number. */
static inline void skip_if(struct push_code *c, uint8_t op, uint8_t reg, int32_t imm, int n)
{
	put(c, BPF_JMP | BPF_K | op, reg, 0, n, imm);
}

static inline void negate(struct push_code *c, uint8_t reg)
{
	put(c, BPF_ALU64 | BPF_NEG, reg, 0, 0, 0);
}

/* Cuts a register to n bytes and extends it to 64 bits. */
static inline void widen(struct push_code *c, uint8_t reg, uint32_t bytes, bool is_signed)
{
	int32_t bits = 64 - 8 * (int32_t)bytes;

	if (!bits)
		return;
	alu_imm(c, BPF_LSH, reg, bits);
	alu_imm(c, is_signed ? BPF_ARSH : BPF_RSH, reg, bits);
}

/* Returns the offset of a word of the i-th row from the record. */
static inline int row_at(uint32_t i, uint32_t word)
{
	return (int)(RS_FILTER_AT + i * RS_FILTER_ROW + word) * 8;
}

#endif
