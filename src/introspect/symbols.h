/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the addresses of a guest: function, file and line, through its binaries' symbol tables
 * and DWARF. A set holds the binaries of one address space, each where it lies there.
 *
 * A binary is untrusted, and so is its debug file: their tables may say anything. A table that is
 * damaged gives fewer names. All files are opened by rs_symbols_add(); a lookup opens none. One
 * thread at a time may use a set.
 */
#ifndef RS_INTROSPECT_SYMBOLS_H
#define RS_INTROSPECT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_symbols;

/* A function at an address. Several share one if the compiler has inlined them. Texts belong to the
 * set. They are valid UTF-8 without control characters, whatever the binary has. */
struct rs_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *file;     /* of the source; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	bool inlined;	      /* into the function of the next frame */
	const char *module;   /* the last part of the binary's path */
	/* The address less the function's beginning; without a function, less the load address.
	 * 0 of an inlined frame. */
	uint64_t offset;
};

#define RS_SYMBOL_FRAMES_MAX 64u /* that one address has */

/* Creates an empty set. symfs is a folder in which files are searched as in /, or NULL. */
struct rs_error *rs_symbols_create(const char *symfs, struct rs_symbols **set);
void rs_symbols_destroy(struct rs_symbols *set); /* NULL is ignored */

/*
 * Adds the binary at path, an ELF file for x86-64 that is linked. `load` is added to the addresses
 * of the file: where a position-independent binary lies; 0 for one that is linked at fixed
 * addresses. `expected` is its build-id or its hash in hexadecimal (binary.h), or NULL.
 *
 * Under symfs, the file is symfs/path. If there is none and `expected` is a build-id, the binary is
 * searched by it. Its debug file is searched by its build-id, in /usr/lib/debug/.build-id and
 * .build-id, then by its .gnu_debuglink. None is no error.
 *
 * Returns RS_USAGE if it is another binary than expected (the message has both ids), if it is not
 * one for x86-64, or if it overlaps one of the set; RS_DAMAGED if it is not an ELF file.
 */
struct rs_error *rs_symbols_add(struct rs_symbols *set, const char *path, const char *expected,
				uint64_t load);

/* Adds a binary whose content is in memory, which is copied: such as one that was read of a guest.
 * `path` is its name. Its debug file is searched as rs_symbols_add() does. */
struct rs_error *rs_symbols_add_bytes(struct rs_symbols *set, const char *path, const void *bytes,
				      uint64_t size, uint64_t load);

/* Creates a set of one binary, whose addresses are those of its file. */
struct rs_error *rs_symbols_read(const char *path, struct rs_symbols **set);

/*
 * Looks an address up that is the beginning of an instruction. Returns how many frames it has,
 * innermost inlined first, at most max; 0 if it is in none of the binaries.
 */
uint32_t rs_symbols_lookup(struct rs_symbols *set, uint64_t address, struct rs_frame *frames,
			   uint32_t max);

/*
 * Looks up element i of a stack, whose innermost address is first, and returns what
 * rs_symbols_lookup() returns. Element 0 is exact. The others
 * are return addresses, so the call before one is looked up: a function that ends with a call has
 * no instruction behind it. An address that a signal or an interrupt left is exact, too: CFI says
 * that the element before it is such a handler's frame.
 */
uint32_t rs_symbols_lookup_stack(struct rs_symbols *set, const uint64_t *stack, uint32_t i,
				 struct rs_frame *frames, uint32_t max);

#define RS_SYMBOL_TEXT_MAX 128u

/* Writes an address as "main+0x1f". Returns false, and writes nothing, if it is in no function. */
bool rs_symbols_text(struct rs_symbols *set, uint64_t address, char text[RS_SYMBOL_TEXT_MAX]);

#endif
