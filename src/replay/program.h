/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's program, read from its ELF file: the address at which Linux loads it, and whether it is
 * there.
 *
 * The kernel chooses the base of a position independent program. Without address randomization (the
 * kernel's norandmaps, which recordings have) there is one possible base, by fs/binfmt_elf.c:
 *
 *	with an interpreter		ELF_ET_DYN_BASE, 0x555555554000
 *	static-pie			at the top of the mmap area, which is still empty;
 *					it is lower if the stack has no limit
 *
 * Other bases, and those of libraries, are found as the guest runs (probed_bases.c,
 * probed_variables.c), or are given.
 *
 * The base is verified: the program is at a base if its build-id and its code match there or, if it
 * has no build-id or that page is not in memory, all read-only pages that are in memory match. A
 * file is untrusted.
 */
#ifndef RS_REPLAY_PROGRAM_H
#define RS_REPLAY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_PROGRAMS_MAX		8u /* of a machine, whose probes are asked for */
#define RS_PROGRAM_BASES_MAX	4u
#define RS_PROGRAM_SEGMENTS_MAX 64u

/* A read-only segment of the program. */
struct rs_program_segment {
	uint64_t address, bytes;
	uint8_t *data;
	uint64_t skip; /* size of the beginning that `strip` changes: the ELF header */
};

struct rs_program {
	char *path;
	bool moves;  /* position independent: its addresses are relative to a base */
	bool given;  /* the user gave its base */
	bool kernel; /* a vmlinux, whose segments in the kernel's half are not read */
	uint64_t bases[RS_PROGRAM_BASES_MAX]; /* its possible bases; 0 if it is not relocatable */
	uint32_t n_bases;		      /* 0: a library, which may be anywhere */
	uint64_t entry; /* its entry point; 0: it is not started directly */
	struct rs_program_segment segments[RS_PROGRAM_SEGMENTS_MAX];
	uint32_t n_segments;
	uint64_t build_id;	 /* the address of the build-id note */
	uint32_t build_id_bytes; /* 0: it has none */
};

/* Reads a program. path is an ELF file for x86-64, or FILE@0xBASE if no file has that name. Returns
 * RS_ABSENT or RS_DAMAGED if there is no such file, and RS_USAGE if it is for another processor, or
 * its base is unknown. */
struct rs_error *rs_program_read(const char *path, struct rs_program *program);
void rs_program_deinit(struct rs_program *program); /* accepts all zero */

/* Reads the guest's memory through the present page tables. Returns false if it is not present. */
typedef bool rs_program_read_fn(void *ctx, uint64_t gva, void *buf, size_t bytes);

/* Returns whether the code at an address is this program's, with this base. */
bool rs_program_is_at(const struct rs_program *program, uint64_t base, uint64_t address,
		      rs_program_read_fn *read, void *ctx);

/* Returns whether the program is in memory with this base: its build-id, or if that is absent, all
 * read-only pages that are in memory, and at least one. */
bool rs_program_is_mapped(const struct rs_program *program, uint64_t base, rs_program_read_fn *read,
			  void *ctx);

/* Returns whether a file whose first bytes are given is this program, which moves; and the base if
 * that part of it is mapped at `start`. */
bool rs_program_is_file(const struct rs_program *program, const uint8_t *first, uint64_t bytes,
			uint64_t start, uint64_t *base);

struct rs_gdb;
/* Returns whether a machine that is stopped at the address executes the program, and sets *base.
 * Reads memory through the machine's GDB stub. */
bool rs_program_is_executed(const struct rs_program *program, struct rs_gdb *gdb, uint64_t address,
			    uint64_t *base);

#endif
