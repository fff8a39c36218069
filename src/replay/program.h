/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of a guest's, by its ELF file: where Linux puts it, and whether it is what is there.
 *
 * A position independent one is put where the kernel likes. Without address randomization (the
 * kernel's norandmaps, which recordings have) there is one such place, by fs/binfmt_elf.c:
 *
 *	one that has an interpreter	ELF_ET_DYN_BASE, 0x555555554000
 *	static-pie			at the top of the mmap area, before anything else is there;
 *					which is lower where the stack has no limit
 *
 * Nothing is taken for granted of that: the program is at a place when its build-id and its code
 * are there, or, where it has no build-id or that page is not in memory, all that is in memory of
 * what the guest can't write. A file is untrusted.
 */
#ifndef RS_REPLAY_PROGRAM_H
#define RS_REPLAY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_PROGRAM_BASES_MAX	4u
#define RS_PROGRAM_SEGMENTS_MAX 64u

/* What the guest has mapped, and can't write. */
struct rs_program_segment {
	uint64_t address, bytes;
	uint8_t *data;
	uint64_t skip; /* bytes at its beginning that `strip` changes: the ELF header */
};

struct rs_program {
	char *path;
	bool moves;  /* position independent: its addresses are from a base on */
	bool given;  /* its base was said */
	bool kernel; /* a vmlinux, which has parts in the kernel's half: they are not read */
	uint64_t bases[RS_PROGRAM_BASES_MAX]; /* where it may be; of one that does not move, 0 */
	uint32_t n_bases;
	uint64_t entry; /* where it begins; 0: it is none that is begun */
	struct rs_program_segment segments[RS_PROGRAM_SEGMENTS_MAX];
	uint32_t n_segments;
	uint64_t build_id;	 /* the address of that note; */
	uint32_t build_id_bytes; /* 0: it has none */
};

/* path: an ELF file of x86-64, or FILE@0xBASE where no file has that name. RS_ABSENT, RS_DAMAGED:
 * it is none. RS_USAGE: it is none of x86-64, or has no place without a base. */
struct rs_error *rs_program_read(const char *path, struct rs_program *program);
void rs_program_deinit(struct rs_program *program); /* also one of zero bytes */

/* The guest's memory, as it is translated now; false: it is not there. */
typedef bool rs_program_read_fn(void *ctx, uint64_t gva, void *buf, size_t bytes);

/* Whether it is this program that is executed at an address, its base being that. */
bool rs_program_is_at(const struct rs_program *program, uint64_t base, uint64_t address,
		      rs_program_read_fn *read, void *ctx);

struct rs_gdb;
/* Whether a machine that stands there executes it, by what its GDB stub has of memory; its base. */
bool rs_program_is_executed(const struct rs_program *program, struct rs_gdb *gdb, uint64_t address,
			    uint64_t *base);

#endif
