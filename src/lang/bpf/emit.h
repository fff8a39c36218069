/* SPDX-License-Identifier: BSD-2-Clause */
/* Emits BPF: single instructions, jumps, and the code around clauses and events (emit.c). */
#ifndef RS_LANG_BPF_EMIT_H
#define RS_LANG_BPF_EMIT_H

#include <linux/bpf.h>

#include "event/filter.h"

#define PUSH_INSNS (RS_FILTER_INSNS - RS_FILTER_TAIL)

/* The targets of jumps whose code is not emitted yet. */
enum push_label {
	PUSH_KEEP,	/* keep the record */
	PUSH_REJECT,	/* this clause does not need the record */
	PUSH_SKIP,	/* the record is of another event */
	PUSH_DONE,	/* no clause needs the record */
	PUSH_KEEP_REST, /* keep the record, with its rows */
	PUSH_OUT,	/* the result is set */
	PUSH_LABELS,
};

struct push_jump {
	uint16_t insn;
	uint8_t label;
};

struct push_code {
	struct bpf_insn insns[PUSH_INSNS];
	uint32_t n;
	struct push_jump jumps[PUSH_INSNS];
	uint32_t n_jumps;
	bool full;	      /* something did not fit */
	bool thread;	      /* the code reads the thread */
	enum push_label keep; /* the target where BPF cannot decide */
};

/* Emits the start and the end of the filter. */
void rs_push_begin(struct push_code *code);
void rs_push_end(struct push_code *code);

/* Emits a jump to a label; places a label here, for the jumps from the `from`-th on. */
void rs_push_goto(struct push_code *code, enum push_label label);
void rs_push_land(struct push_code *code, enum push_label label, uint32_t from);
/* Makes the last instruction jump to a label. */
void rs_push_label_last(struct push_code *code, enum push_label label);
/* Emits a jump to PUSH_SKIP unless the record is of this event. */
void rs_push_event(struct push_code *code, uint64_t id);

/* Emits the start and the end of an event's rows, at most n. live: some path reaches the end
 * without a need for the record. */
void rs_push_rows_begin(struct push_code *code, uint32_t n);
void rs_push_rows_end(struct push_code *code, uint32_t n, bool live);

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

/* Skips the next n instructions if the comparison of a register with a number holds. */
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
