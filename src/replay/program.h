/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's program, by its ELF file: the address at which Linux loads it, and whether it is there.
 *
 * The kernel chooses the base of a position independent program. Without address randomization (the
 * kernel's norandmaps, which recordings have) there is one possible base, by fs/binfmt_elf.c:
 *
 *	one that has an interpreter	ELF_ET_DYN_BASE, 0x555555554000
 *	static-pie			at the top of the mmap area, before anything else is there;
 *					which is lower where the stack has no limit
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

#define RS_PROGRAM_BASES_MAX	4u
#define RS_PROGRAM_SEGMENTS_MAX 64u

/* A read-only segment of the program. */
struct rs_program_segment {
	uint64_t address, bytes;
	uint8_t *data;
	uint64_t skip; /* bytes at its beginning that `strip` changes: the ELF header */
};

struct rs_program {
	char *path;
	bool moves;  /* position independent: its addresses are relative to a base */
	bool given;  /* the user gave its base */
	bool kernel; /* a vmlinux, whose segments in the kernel's half are not read */
	uint64_t bases[RS_PROGRAM_BASES_MAX]; /* its possible bases; 0 if it does not move */
	uint32_t n_bases;
	uint64_t entry; /* its entry point; 0: it is not started */
	struct rs_program_segment segments[RS_PROGRAM_SEGMENTS_MAX];
	uint32_t n_segments;
	uint64_t build_id;	 /* the address of that note */
	uint32_t build_id_bytes; /* 0: it has none */
};

/* Reads a program. path is an ELF file for x86-64, or FILE@0xBASE if no file has that name. Returns
 * RS_ABSENT or RS_DAMAGED if there is none, and RS_USAGE if it is for another processor, or its
 * base is unknown. */
struct rs_error *rs_program_read(const char *path, struct rs_program *program);
void rs_program_deinit(struct rs_program *program); /* also a zeroed one */

/* Reads the guest's memory by the present translation. Returns false if it is not present. */
typedef bool rs_program_read_fn(void *ctx, uint64_t gva, void *buf, size_t bytes);

/* Returns whether the code at an address is this program's, with this base. */
bool rs_program_is_at(const struct rs_program *program, uint64_t base, uint64_t address,
		      rs_program_read_fn *read, void *ctx);

struct rs_gdb;
/* Returns whether a machine that is stopped at the address executes the program, by reading memory
 * through its GDB stub; and the base. */
bool rs_program_is_executed(const struct rs_program *program, struct rs_gdb *gdb, uint64_t address,
			    uint64_t *base);

#endif
