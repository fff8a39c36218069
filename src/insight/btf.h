/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the layouts of a Linux kernel's structures from its BTF (Documentation/bpf/btf.rst in the
 * kernel's source). The bytes come from a guest and are not trusted. libbpf's reader is not used:
 * before version 1.3, which added btf_sanity_check(), it checks the sizes of records but not their
 * references, and follows types without a bound.
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

/* Reads BTF, and copies it. Returns RS_DAMAGED if a record exceeds it or is of an unknown kind. */
struct rs_error *rs_btf_create(const void *data, uint64_t bytes, struct rs_btf **out);
void rs_btf_destroy(struct rs_btf *btf); /* NULL is ignored */

uint32_t rs_btf_count(const struct rs_btf *btf);

enum rs_btf_kind {
	RS_BTF_INT = 1,
	RS_BTF_PTR,
	RS_BTF_ARRAY,
	RS_BTF_STRUCT,
	RS_BTF_UNION,
	RS_BTF_ENUM,
	RS_BTF_FWD,
	RS_BTF_TYPEDEF,
	RS_BTF_VOLATILE,
	RS_BTF_CONST,
	RS_BTF_RESTRICT,
	RS_BTF_FUNC,
	RS_BTF_FUNC_PROTO,
	RS_BTF_VAR,
	RS_BTF_DATASEC,
	RS_BTF_FLOAT,
	RS_BTF_DECL_TAG,
	RS_BTF_TYPE_TAG,
	RS_BTF_ENUM64,
	RS_BTF_KINDS
};

/* A type's record, and the data after it, whose size depends on its kind. */
struct rs_btf_record {
	enum rs_btf_kind kind;
	const char *name;
	uint32_t size_or_type, n; /* n: number of elements after the record */
	bool flag;		  /* kind_flag */
	const uint8_t *rest;
};
/* Reads a record. Returns false if there is none, as for number 0, which is void. */
bool rs_btf_record(const struct rs_btf *btf, uint32_t id, struct rs_btf_record *record);
/* Follows typedefs and qualifiers from *id on. Returns false at void, and sets *id to 0; or if the
 * chain is too long, with another *id. */
bool rs_btf_resolve(const struct rs_btf *btf, uint32_t *id, struct rs_btf_record *record);
/* Returns the string at an offset of the string section, or "" if the offset is outside it. */
const char *rs_btf_text(const struct rs_btf *btf, uint32_t at);

/* Returns the number of the first struct or union of a name, without "struct ", or 0. */
uint32_t rs_btf_struct(const struct rs_btf *btf, const char *name);

/* Returns the size of a struct or union in bytes, or 0 for another type. */
uint32_t rs_btf_struct_bytes(const struct rs_btf *btf, uint32_t id);

struct rs_btf_member {
	uint32_t offset;    /* in bytes; of a bit-field, that of its first byte */
	uint32_t bytes;	    /* size of its type; 0: the type has no size */
	uint32_t elements;  /* number of elements of an array; 0: not an array */
	uint8_t bit_offset; /* of a bit-field: its first bit in its first byte */
	uint8_t bitfield;   /* width of a bit-field; 0: not a bit-field */
};

/* Looks up a member of a struct or union by its path ("f_path.dentry"), also through unnamed
 * members. Returns false if there is none. */
bool rs_btf_member(const struct rs_btf *btf, uint32_t id, const char *path,
		   struct rs_btf_member *member);

#endif
