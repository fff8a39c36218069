/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps addresses to the functions of a program or a kernel's vmlinux. Addresses are those of the
 * file (for a position independent program, relative to its base). A file is untrusted: invalid
 * entries are left out.
 */
#ifndef RS_REPLAY_SYMBOLS_H
#define RS_REPLAY_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_SYMBOL_TEXT_MAX 128u

struct rs_symbol {
	uint64_t address, bytes; /* bytes 0: up to the next */
	char *name;
};

struct rs_symbols {
	struct rs_symbol *at; /* sorted by address */
	uint32_t n, room;
};

/* Reads the symbols of an ELF file; having none is no error. Returns RS_DAMAGED if it is not an ELF
 * file, and RS_USAGE if it is not linked, or for another processor. */
struct rs_error *rs_symbols_read(const char *path, struct rs_symbols *symbols);
void rs_symbols_deinit(struct rs_symbols *symbols); /* also a zeroed one */

/* Writes an address as "main+0x1f". Returns false if it is in no function. */
bool rs_symbols_find(const struct rs_symbols *symbols, uint64_t address,
		     char text[RS_SYMBOL_TEXT_MAX]);

#endif
