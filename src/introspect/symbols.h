/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the addresses of a guest: function, file and line, from its binaries' symbol tables and
 * DWARF. A set holds the binaries of one address space, each with its load address.
 *
 * A binary and its debug file are untrusted: their tables may have any content. A damaged table
 * gives fewer names. rs_symbols_add() opens all files; a lookup opens none. Only one thread at a
 * time may use a set.
 */
#ifndef RS_INTROSPECT_SYMBOLS_H
#define RS_INTROSPECT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_symbols;

/* A function at an address. Inlined functions share one address. Texts belong to the set. They are
 * always valid UTF-8 without control characters. */
struct rs_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *file;     /* source file; NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	bool inlined;	      /* inlined into the function of the next frame */
	const char *module;   /* last component of the binary's path */
	/* The address minus the function's beginning; without a function, minus the load address. 0
	 * for an inlined frame. */
	uint64_t offset;
};

#define RS_SYMBOL_FRAMES_MAX 64u /* limit of the frames of one address */

/* Creates an empty set. symfs is a folder that is searched for files instead of /, or NULL. */
struct rs_error *rs_symbols_create(const char *symfs, struct rs_symbols **set);
void rs_symbols_destroy(struct rs_symbols *set); /* NULL is ignored */

/*
 * Adds the binary at path, a linked ELF file for x86-64. `load` is added to the addresses of the
 * file: the load address of a position-independent binary, or 0 for a binary linked at fixed
 * addresses. `expected` is its build-id or its hash in hexadecimal (binary.h), or NULL.
 *
 * With symfs, the file is symfs/path. If it does not exist and `expected` is a build-id, searches
 * the binary by the build-id. Searches the debug file by its build-id, in /usr/lib/debug/.build-id
 * and .build-id, then by the binary's .gnu_debuglink. A missing debug file is no error.
 *
 * Returns RS_USAGE if it is another binary than expected (the message has both ids), if it is not
 * for x86-64, or if it overlaps another binary of the set; RS_DAMAGED if it is not an ELF file.
 */
struct rs_error *rs_symbols_add(struct rs_symbols *set, const char *path, const char *expected,
				uint64_t load);

/* Adds a binary whose content is in memory, such as one that was read from a guest. Copies the
 * content. `path` is its name, which may be any text. Searches its debug file by the build-id
 * only. */
struct rs_error *rs_symbols_add_bytes(struct rs_symbols *set, const char *path, const void *bytes,
				      uint64_t size, uint64_t load);

/* Creates a set of one binary, loaded at the addresses of its file. */
struct rs_error *rs_symbols_read(const char *path, struct rs_symbols **set);

/*
 * Looks up the address of an instruction. Stores its frames, innermost first, and returns their
 * number, at most max; 0 if no binary contains it.
 */
uint32_t rs_symbols_lookup(struct rs_symbols *set, uint64_t address, struct rs_frame *frames,
			   uint32_t max);

/*
 * Looks up element i of a stack, innermost address first, like rs_symbols_lookup(). Element 0 is
 * exact. The others are return addresses, so the call before the address is looked up, since no
 * instruction of the function may follow a call at its end. The address that a signal or an
 * interrupt interrupted is exact, too; CFI marks the element before it as a handler's frame.
 */
uint32_t rs_symbols_lookup_stack(struct rs_symbols *set, const uint64_t *stack, uint32_t i,
				 struct rs_frame *frames, uint32_t max);

#define RS_SYMBOL_TEXT_MAX 128u

/* Writes an address as "main+0x1f". Returns false, and writes nothing, if it is in no function. */
bool rs_symbols_text(struct rs_symbols *set, uint64_t address, char text[RS_SYMBOL_TEXT_MAX]);

#endif
