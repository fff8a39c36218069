/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's stack during the translation to BPF. The entry at depth n has its own register or,
 * beyond the registers, a place in the frame. Known numbers are written only when a register must
 * hold them.
 */
#include "lang/bpf/stack.h"

#include <string.h>

static const uint8_t registers[] = { 6, 7, 8, 5 };
#define N_REGISTERS sizeof(registers)

static int place_of(uint32_t depth)
{
	return AT_STACK - 8 * (int)(depth - N_REGISTERS);
}

uint8_t rs_push_stack_get(struct translation_of *t, uint32_t depth, uint8_t moment)
{
	const struct entry *entry = &t->stack[depth];
	uint8_t reg = depth < N_REGISTERS ? registers[depth] : moment;

	if (entry->known)
		load_number(t->code, reg, entry->value);
	else if (depth >= N_REGISTERS)
		load(t->code, BPF_DW, reg, FRAME, place_of(depth));
	return reg;
}

void rs_push_stack_set(struct translation_of *t, uint32_t depth, uint8_t reg)
{
	t->stack[depth] = (struct entry){ .text = false };
	if (depth < N_REGISTERS)
		move(t->code, registers[depth], reg);
	else
		store(t->code, FRAME, place_of(depth), reg);
}

void rs_push_stack_settle(struct translation_of *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (t->stack[i].known)
			rs_push_stack_set(t, i, rs_push_stack_get(t, i, T0));
	}
}

void rs_push_stack_leave(struct translation_of *t, const char *why)
{
	if (!t->outcome->why) {
		t->outcome->why = why;
		t->outcome->at = t->clause->places[t->pc];
	}
	rs_push_goto(t->code, t->code->keep);
	t->live = false;
}

bool rs_push_stack_room(struct translation_of *t)
{
	if (t->depth < DEPTH_MAX)
		return true;
	rs_push_stack_leave(t, "it is nested too deeply");
	return false;
}

void rs_push_stack_known(struct translation_of *t, uint64_t value)
{
	if (rs_push_stack_room(t))
		t->stack[t->depth++] = (struct entry){ .known = true, .value = value };
}

void rs_push_stack_text(struct translation_of *t, const char *text, size_t len)
{
	size_t most = t->script->options[OPT_STRSIZE] - 1;

	if (rs_push_stack_room(t))
		t->stack[t->depth++] =
			(struct entry){ .text = true,
					.s = text,
					.len = (uint32_t)strnlen(text, len < most ? len : most) };
}

uint8_t rs_push_stack_next(const struct translation_of *t)
{
	return t->depth < N_REGISTERS ? registers[t->depth] : T0;
}

void rs_push_stack_register(struct translation_of *t, uint8_t reg)
{
	rs_push_stack_set(t, t->depth, reg);
	t->depth++;
}

void rs_push_stack_later(struct translation_of *t, uint8_t reg, enum later later,
			 const struct rs_field *field)
{
	struct entry *entry = &t->stack[t->depth];

	rs_push_stack_register(t, reg);
	entry->text = true;
	entry->later = later;
	entry->field = field;
}
