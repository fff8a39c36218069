/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a program, or of a kernel's vmlinux: whose an address is, of the file's (of a
 * program that is position independent, from its base on). A file is untrusted: what is invalid
 * is left out.
 */
#ifndef RS_REPLAY_SYMBOLS_H
#define RS_REPLAY_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_SYMBOL_TEXT_MAX 128u

struct rs_symbol {
	uint64_t address, bytes; /* bytes 0: to the next */
	char *name;
};

struct rs_symbols {
	struct rs_symbol *at; /* by address */
	uint32_t n, room;
};

/* Of an ELF file; none is no error. RS_DAMAGED: it is none. RS_USAGE: it is not linked, or
 * another processor's. */
struct rs_error *rs_symbols_read(const char *path, struct rs_symbols *symbols);
void rs_symbols_deinit(struct rs_symbols *symbols); /* also one of zero bytes */

/* "main+0x1f"; false: nobody's. */
bool rs_symbols_find(const struct rs_symbols *symbols, uint64_t address,
		     char text[RS_SYMBOL_TEXT_MAX]);

#endif
