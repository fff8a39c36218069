/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of values: their text, size and layout, and C's conversions. */
#ifndef RS_LANG_VM_TYPE_H
#define RS_LANG_VM_TYPE_H

#include <stdbool.h>
#include <stdint.h>

struct rs_script;

enum type_kind {
	TYPE_NONE,
	TYPE_INT,
	TYPE_STRING,
	TYPE_VOID,
	TYPE_AGGREGATION,
	TYPE_POINTER, /* 8 bytes: an address (memory.h) */
	TYPE_RECORD,  /* struct, union: the value is its address */
	TYPE_ARRAY,   /* of a fixed size: the same */
};

struct record;
struct type {
	enum type_kind kind;
	uint8_t bytes; /* of an integer or a pointer */
	bool is_signed;
	bool hex;	       /* of an integer: keys print in hexadecimal */
	bool guest;	       /* of a pointer: its value is from the guest's memory */
	uint32_t n;	       /* number of an array's elements */
	const struct type *to; /* the target of a pointer, the element of an array */
	struct record *record;
};

struct member {
	const char *name;
	struct type type;
	uint32_t offset;  /* bytes; of a bit-field's unit */
	uint8_t bits, at; /* of a bit-field: its width and its first bit in the unit; else 0 */
	struct member *next;
};

struct rs_types;

struct record {
	const char *tag; /* "" if it has none */
	bool is_union, complete;
	bool busy; /* its members are being read */
	/* Of a type of the guest (front/guest_type.c): */
	const char *module;  /* the set of types that the program names; NULL: none */
	struct rs_types *of; /* NULL: declared in the program, or not found */
	uint64_t id;	     /* its number there */
	bool loaded;	     /* its members are converted */
	const char *why;     /* why it is not found, or NULL */
	struct member *members;
	uint32_t bytes, align;
	struct record *next;
};

#define INT_OF(n, sign)                                                                            \
	(struct type)                                                                              \
	{                                                                                          \
		.kind = TYPE_INT, .bytes = n, .is_signed = sign                                    \
	}
#define TYPE_OF_INT    INT_OF(4, true)
#define TYPE_OF_INT64  INT_OF(8, true)
#define TYPE_OF_UINT64 INT_OF(8, false)
#define TYPE_OF_STRING                                                                             \
	(struct type)                                                                              \
	{                                                                                          \
		TYPE_STRING                                                                        \
	}
#define TYPE_OF_VOID                                                                               \
	(struct type)                                                                              \
	{                                                                                          \
		TYPE_VOID                                                                          \
	}

#define TYPE_TEXT_MAX 96
const char *rs_lang_type_text(struct type type, char text[TYPE_TEXT_MAX]);
/* The types of operands, by C's rules. */
struct type rs_lang_type_promote(struct type type);
struct type rs_lang_type_common(struct type a, struct type b);
uint64_t rs_lang_type_cut(struct type type, uint64_t value);
/* Looks up the name of a type: "uint8_t" or, with single blanks, "unsigned long". */
bool rs_lang_type_named(const char *name, struct type *type);
bool rs_lang_type_same(const struct type *a, const struct type *b);
/* Returns whether the type is a number or a pointer, which fits a register. */
bool rs_lang_type_is_scalar(const struct type *type);
/* Returns whether the type is a struct, union or array, which lies in memory. */
bool rs_lang_type_is_object(const struct type *type);
/* Returns the size in memory: strsize for a string, or 0 if the type has no size. */
uint64_t rs_lang_type_bytes(const struct rs_script *script, const struct type *type);
uint32_t rs_lang_type_align(const struct type *type);
const struct member *rs_lang_member_find(const struct record *record, const char *name);

#endif
