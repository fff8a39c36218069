/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses that a program can have: of its structs and arrays, and of what alloca() gave. An
 * address is a number, its region in the bits from 48 on, so that no address of an event is by
 * chance one of these; it may be anything, for programs calculate, and is looked at at each use.
 * All others are the guest's own, and there to be read where the source has stopped a machine.
 *
 *	globals   structs and arrays of the program	as long as it runs
 *	this	  this-> structs and arrays		for the firing, and zero at its beginning
 *	scratch	  alloca()				for the firing
 *	zeros	  x[key], where there is none		read alone
 *	dynamic	  x[key], self->x			until 0 is assigned: then it is no address
 */
#ifndef RS_LANG_VM_MEMORY_H
#define RS_LANG_VM_MEMORY_H

#include "lang/vm/runtime.h"

#define MEMORY_GLOBALS (UINT64_C(1) << 48)
#define MEMORY_THIS    (UINT64_C(2) << 48)
#define MEMORY_SCRATCH (UINT64_C(3) << 48)
#define MEMORY_ZEROS   (UINT64_C(4) << 48)
#define MEMORY_DYNAMIC (UINT64_C(5) << 48)
#define MEMORY_REGION  (UINT64_MAX << 48)
/* None of ours: the guest's, where the source has a machine (machine.h). */
static inline bool memory_is_guest(uint64_t address)
{
	return address < MEMORY_GLOBALS || address >= MEMORY_DYNAMIC + MEMORY_GLOBALS;
}
#define MEMORY_HANDLE 16 /* an object's number in the dynamic region begins at this bit */

_Static_assert(LANG_OBJECT_MAX < 1u << MEMORY_HANDLE, "an object's bytes are below its number");

/* So many bytes there; NULL, with the fault set, where they are not, or not to be written. */
char *rs_lang_memory_at(struct firing *firing, uint64_t address, uint64_t bytes, bool write);

/* A number of 1, 2, 4 or 8 bytes, 0x80 in n saying that it is signed. */
bool rs_lang_memory_load(struct firing *firing, uint64_t address, uint8_t n, uint64_t *value);
bool rs_lang_memory_store(struct firing *firing, uint64_t address, uint8_t n, uint64_t value);

/* A string: up to its NUL, of at most so many bytes, into scratch; and back, cut to them. */
bool rs_lang_memory_load_text(struct firing *firing, uint64_t address, uint64_t most,
			      struct value *value);
bool rs_lang_memory_store_text(struct firing *firing, uint64_t address, uint64_t most,
			       const struct value *value);

/* Zeroed scratch that has an address; 0, with the fault set, when it is used up. */
uint64_t rs_lang_memory_alloca(struct firing *firing, uint64_t bytes);
uint64_t rs_lang_memory_of_text(struct firing *firing, const struct value *text);

#endif
