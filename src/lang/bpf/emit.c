/* SPDX-License-Identifier: BSD-2-Clause */
/* The code around clauses and events, and forward jumps. */
#include "lang/bpf/emit.h"

void rs_push_begin(struct push_code *c)
{
	store(c, FRAME, AT_CPU, 3);
	store(c, FRAME, AT_WHO, 4);
	c->keep = PUSH_KEEP;
}

void rs_push_goto(struct push_code *c, enum push_label label)
{
	c->jumps[c->n_jumps] = (struct push_jump){ (uint16_t)c->n, (uint8_t)label };
	c->n_jumps += c->n < PUSH_INSNS;
	put(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void rs_push_label_last(struct push_code *c, enum push_label label)
{
	if (c->full)
		return;
	c->jumps[c->n_jumps++] = (struct push_jump){ (uint16_t)(c->n - 1), (uint8_t)label };
}

void rs_push_land(struct push_code *c, enum push_label label, uint32_t from)
{
	uint32_t left = from;

	for (uint32_t i = from; i < c->n_jumps; i++) {
		struct push_jump jump = c->jumps[i];

		if (jump.label == label)
			c->insns[jump.insn].off = (int16_t)(c->n - jump.insn - 1);
		else
			c->jumps[left++] = jump;
	}
	c->n_jumps = left;
}

void rs_push_event(struct push_code *c, uint64_t id)
{
	put(c, BPF_JMP | BPF_JNE | BPF_K, ID, 0, 0, (int32_t)id);
	rs_push_label_last(c, PUSH_SKIP);
}

/* Returns whether some jump targets the label: the kernel's verifier rejects unreachable code. */
static bool is_asked_for(const struct push_code *c, enum push_label label)
{
	for (uint32_t i = 0; i < c->n_jumps; i++) {
		if (c->jumps[i].label == label)
			return true;
	}
	return false;
}

/* A filter keeps unknown events. */
void rs_push_end(struct push_code *c)
{
	rs_push_land(c, PUSH_KEEP, 0);
	alu_imm(c, BPF_MOV, T0, RS_FILTER_KEEP);
	if (is_asked_for(c, PUSH_DONE)) {
		put(c, BPF_JMP | BPF_JA, 0, 0, 1, 0);
		rs_push_land(c, PUSH_DONE, 0);
		alu_imm(c, BPF_MOV, T0, 0);
	}
	rs_push_land(c, PUSH_OUT, 0);
}

void rs_push_rows_begin(struct push_code *c, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < RS_FILTER_ROWS; i++)
		put(c, BPF_ST | BPF_MEM | BPF_DW, RECORD, 0, row_at(i, 0), 0);
}

void rs_push_rows_end(struct push_code *c, uint32_t n, bool live)
{
	int32_t adds = (int32_t)(RS_FILTER_ADD | n << RS_FILTER_N);

	if (live) {
		alu_imm(c, BPF_MOV, T0, adds);
		rs_push_goto(c, PUSH_OUT);
	}
	if (is_asked_for(c, PUSH_KEEP_REST)) {
		rs_push_land(c, PUSH_KEEP_REST, 0);
		alu_imm(c, BPF_MOV, T0, adds | (int32_t)RS_FILTER_KEEP);
		rs_push_goto(c, PUSH_OUT);
	}
}
