/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts of a Linux kernel's structures, by its BTF (Documentation/bpf/btf.rst in the kernel's
 * source). The bytes are a guest's and are not trusted. libbpf's reader is not used: until its 1.3,
 * it checks the sizes of records and not what they refer to (btf_sanity_check() came with that),
 * and follows types without a bound.
 *
 * Types are read in place, in a copy that the reader owns: each access is within it, each chain of
 * types is at most RS_BTF_DEPTH_MAX long, and a search stops after RS_BTF_WORK_MAX members.
 */
#ifndef RS_INSIGHT_BTF_H
#define RS_INSIGHT_BTF_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_BTF_MAGIC	 0xeb9fu
#define RS_BTF_BYTES_MAX (64u << 20)
#define RS_BTF_DEPTH_MAX 16u
#define RS_BTF_WORK_MAX	 65536u

struct rs_btf;

/* Reads BTF, which it copies. Returns RS_DAMAGED if a record leaves it or is of an unknown kind. */
struct rs_error *rs_btf_create(const void *data, uint64_t bytes, struct rs_btf **out);
void rs_btf_destroy(struct rs_btf *btf); /* NULL is ignored */

uint32_t rs_btf_count(const struct rs_btf *btf);

/* Returns the number of the first struct or union of a name, without "struct "; 0: there is
 * none. */
uint32_t rs_btf_struct(const struct rs_btf *btf, const char *name);

/* Returns the size of a struct or union in bytes; 0 for another type. */
uint32_t rs_btf_struct_bytes(const struct rs_btf *btf, uint32_t id);

struct rs_btf_member {
	uint32_t offset;    /* in bytes; of a bit field, of the byte that it begins in */
	uint32_t bytes;	    /* of its type; 0: the type has no size */
	uint32_t elements;  /* of an array; 0: it is none */
	uint8_t bit_offset; /* of a bit field, in its first byte */
	uint8_t bitfield;   /* its bits; 0: it is none */
};

/* Looks up a member of a struct or union by its path ("f_path.dentry"), through members without a
 * name. Returns false if there is none. */
bool rs_btf_member(const struct rs_btf *btf, uint32_t id, const char *path,
		   struct rs_btf_member *member);

#endif
