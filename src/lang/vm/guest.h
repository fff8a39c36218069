/* SPDX-License-Identifier: BSD-2-Clause */
/* D's access to the stacks and names of a stopped guest (struct rs_script_guest). */
#ifndef RS_LANG_VM_GUEST_H
#define RS_LANG_VM_GUEST_H

#include "lang/vm/runtime.h"

/*
 * Formats the running thread's stack: a newline, then a line for each of at most `most` frames, as
 * DTrace prints them. The text is LANG_NO_STACK if no stack is known, which is reported once.
 * Returns false with the fault set if the firing has no memory for it.
 */
bool rs_lang_guest_stack(struct firing *firing, bool user, uint64_t most, struct value *value);

/* Counts the frames of a stack. Returns false if the stack is unknown. */
bool rs_lang_guest_depth(const struct firing *firing, bool user, uint32_t *n);

/* Finds the address of the index-th variable of the guest (struct rs_script.guest_variables).
 * Returns false with the fault set if it is unknown, which is reported once for each variable. */
bool rs_lang_guest_variable_at(struct firing *firing, uint32_t index, uint64_t *address);

/* Functions of D; function.c has their prototypes. */
#define GUEST_FUNCTION(name)                                                                       \
	bool rs_lang_guest_##name(struct firing *firing, const struct value *args, uint32_t n,     \
				  struct value *result)
GUEST_FUNCTION(kstack);
GUEST_FUNCTION(ustack);
GUEST_FUNCTION(sym);
GUEST_FUNCTION(place);
GUEST_FUNCTION(mod);

#endif
