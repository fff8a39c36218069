/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine that an event was seen on, where the source has stopped it: registers, and memory at
 * addresses that are not the program's own. Everything read there is the guest's, and is copied
 * into the firing's scratch; a page that is missing is a fault, with the address that was missing.
 */
#ifndef RS_LANG_VM_MACHINE_H
#define RS_LANG_VM_MACHINE_H

#include "lang/vm/runtime.h"

/* R_RAX and the like, as uregs[] takes them. False: no register's name. */
bool rs_lang_machine_register(const char *name, uint64_t *number);
/* The name of such a register, as a machine has it; "" if there is none. */
const char *rs_lang_machine_register_name(uint64_t number);

/* The stopped machine of the event, or NULL. */
const struct rs_machine *rs_lang_machine_of(const struct firing *firing);
/* Sets the fault of an address that cannot be read; returns false. */
bool rs_lang_machine_fault(struct firing *firing, uint64_t address);

/* So many bytes, all of them, or false with the fault set. */
bool rs_lang_machine_read(struct firing *firing, uint64_t gva, void *buf, size_t bytes);
/* The same, into scratch; NULL, with the fault set. */
char *rs_lang_machine_copy(struct firing *firing, uint64_t gva, uint64_t bytes);
/* A text to its NUL, of at most so many bytes, into scratch. */
bool rs_lang_machine_text(struct firing *firing, uint64_t gva, uint64_t most, struct value *value);

/* Functions of D (function_machine.c); function.c has their prototypes. */
#define MACHINE_FUNCTION(name)                                                                     \
	bool rs_lang_machine_##name(struct firing *firing, const struct value *args, uint32_t n,   \
				    struct value *result)
MACHINE_FUNCTION(copyin);
MACHINE_FUNCTION(copyinphys);
MACHINE_FUNCTION(copyinstr);
MACHINE_FUNCTION(copyinto);
MACHINE_FUNCTION(reg);
MACHINE_FUNCTION(uregs);

#endif
