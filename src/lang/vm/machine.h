/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stopped machine of an event: registers, and memory at addresses outside the program's own.
 * Bytes read there are copied into the scratch memory of the firing. A missing page is a fault,
 * with the missing address.
 */
#ifndef RS_LANG_VM_MACHINE_H
#define RS_LANG_VM_MACHINE_H

#include "lang/vm/runtime.h"

/* Looks up R_RAX and the like, the index of uregs[]. Returns false if there is no such register. */
bool rs_lang_machine_register(const char *name, uint64_t *number);
/* Returns the name of a register in struct rs_machine, or "" if there is none. */
const char *rs_lang_machine_register_name(uint64_t number);

/* Returns the stopped machine of the event, or NULL. */
const struct rs_machine *rs_lang_machine_of(const struct firing *firing);
/* Sets the fault of an address that cannot be read; returns false. */
bool rs_lang_machine_fault(struct firing *firing, uint64_t address);

/* Reads all the bytes, or returns false with the fault set. */
bool rs_lang_machine_read(struct firing *firing, uint64_t gva, void *buf, size_t bytes);
/* Reads the bytes into scratch memory; returns NULL with the fault set. */
char *rs_lang_machine_copy(struct firing *firing, uint64_t gva, uint64_t bytes);
/* Reads a string up to its NUL, of at most that many bytes, into scratch memory. */
bool rs_lang_machine_text(struct firing *firing, uint64_t gva, uint64_t most, struct value *value);

/* Reports the reason of a fault to the event if it is a frame of a stack. */
void rs_lang_machine_refuse(struct firing *firing, const char *why);

/* Functions of D (function_machine.c); function.c has their prototypes. */
#define MACHINE_FUNCTION(name)                                                                     \
	bool rs_lang_machine_##name(struct firing *firing, const struct value *args, uint32_t n,   \
				    struct value *result)
MACHINE_FUNCTION(copyin);
MACHINE_FUNCTION(copyinphys);
MACHINE_FUNCTION(copyinstr);
MACHINE_FUNCTION(copyinto);
MACHINE_FUNCTION(copyinutf);
MACHINE_FUNCTION(frame);
MACHINE_FUNCTION(framevar);
MACHINE_FUNCTION(hasframevar);
MACHINE_FUNCTION(noframe);
MACHINE_FUNCTION(reg);
MACHINE_FUNCTION(symbol);
MACHINE_FUNCTION(uregs);

#endif
