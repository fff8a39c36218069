/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of a program: of its structs and arrays, and of memory from alloca(). An address is
 * a number with its region in the bits from 48 on, so that it differs from all addresses in events.
 * Programs calculate with addresses, so each access checks them. All other addresses are the
 * guest's, and readable if the source has stopped a machine.
 *
 *	globals   structs and arrays of the program	last as long as the program runs
 *	this	  this-> structs and arrays		last for the firing, zeroed at its start
 *	scratch	  alloca()				lasts for the firing
 *	zeros	  a missing x[key]			read-only
 *	dynamic	  x[key], self->x			valid until 0 is assigned
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
/* Returns whether an address is of the guest, if the source has a machine (machine.h). */
static inline bool memory_is_guest(uint64_t address)
{
	return address < MEMORY_GLOBALS || address >= MEMORY_DYNAMIC + MEMORY_GLOBALS;
}
#define MEMORY_HANDLE 16 /* the handle of an object in the dynamic region begins at this bit */

_Static_assert(LANG_OBJECT_MAX < 1u << MEMORY_HANDLE, "an object's bytes are below its handle");

/* Returns a pointer to that many bytes; NULL, with the fault set, if they do not exist or may
 * not be written. */
char *rs_lang_memory_at(struct firing *firing, uint64_t address, uint64_t bytes, bool write);

/* Loads and stores a number of n bytes: 1, 2, 4 or 8, | 0x80 if it is signed. */
bool rs_lang_memory_load(struct firing *firing, uint64_t address, uint8_t n, uint64_t *value);
bool rs_lang_memory_store(struct firing *firing, uint64_t address, uint8_t n, uint64_t value);

/* Loads a string up to its NUL, of at most that many bytes, into scratch memory; stores one, cut
 * to that many bytes. */
bool rs_lang_memory_load_text(struct firing *firing, uint64_t address, uint64_t most,
			      struct value *value);
bool rs_lang_memory_store_text(struct firing *firing, uint64_t address, uint64_t most,
			       const struct value *value);

/* Returns the address of zeroed scratch memory; 0, with the fault set, if it is used up. */
uint64_t rs_lang_memory_alloca(struct firing *firing, uint64_t bytes);
uint64_t rs_lang_memory_of_text(struct firing *firing, const struct value *text);

#endif
