/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file, copied to memory, so that later changes of the file have no effect. libelf checks
 * its structure. Readers of its sections, such as libdw, may read some bytes too far in a damaged
 * file, so the copy is followed by spare memory.
 */
#ifndef RS_INTROSPECT_ELF_FILE_H
#define RS_INTROSPECT_ELF_FILE_H

#include <gelf.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_elf_file { /* all zero: no file */
	Elf *elf;
	char *bytes;
	uint64_t size;
};

/* Reads a linked file for x86-64. Returns RS_DAMAGED if it is not an ELF file, RS_USAGE if it is an
 * ELF file of another kind. */
struct rs_error *rs_elf_file_open(const char *path, struct rs_elf_file *file);
/* Copies a linked file for x86-64 whose content is in memory. `path` is for messages. */
struct rs_error *rs_elf_file_of_bytes(const char *path, const void *bytes, uint64_t size,
				      struct rs_elf_file *file);
void rs_elf_file_close(struct rs_elf_file *file); /* accepts all zero */

#define RS_BUILD_ID_TEXT_MAX 130u /* 64 bytes and a NUL */

/* Writes the build-id in hexadecimal, or an empty text if there is none. */
void rs_elf_build_id(const struct rs_elf_file *file, char text[RS_BUILD_ID_TEXT_MAX]);

/* Returns the section of that name, uncompressed, and its header, or NULL. */
Elf_Scn *rs_elf_section(const struct rs_elf_file *file, const char *name, GElf_Shdr *head);

/* Returns a pointer to n bytes of the file's content that are loaded at an address of the file, or
 * NULL. */
const uint8_t *rs_elf_loaded(const struct rs_elf_file *file, uint64_t address, uint64_t n);

#endif
