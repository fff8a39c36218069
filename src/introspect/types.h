/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types of a program in C, from its debug information: a graph whose nodes have numbers. The
 * same functions read DWARF (dwarf_types.h) and BTF (insight/btf_types.h).
 *
 * The information is untrusted. Every reader bounds its own work. The graph may have cycles that no
 * compiler writes (a struct that contains itself), so a caller must bound its descent. Texts belong
 * to the reader, and are valid until it is closed.
 */
#ifndef RS_INTROSPECT_TYPES_H
#define RS_INTROSPECT_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

enum rs_ctype_kind {
	RS_CTYPE_OTHER, /* not readable as a number: a float, a function */
	RS_CTYPE_VOID,
	RS_CTYPE_INT, /* also bool, char and enumerations */
	RS_CTYPE_POINTER,
	RS_CTYPE_ARRAY,
	RS_CTYPE_STRUCT,
	RS_CTYPE_UNION,
};

struct rs_ctype {
	enum rs_ctype_kind kind;
	uint64_t id;	  /* number of the type itself, after typedefs and qualifiers */
	const char *name; /* name of a struct or union, "" if it has none */
	uint64_t bytes;	  /* size of a number, struct or union; 0: only declared */
	bool is_signed;
	uint64_t n;  /* an array's elements; 0: unknown */
	uint64_t to; /* type of a pointer's target or of an array's element */
};

struct rs_cmember {
	const char *name; /* "" if it has none */
	uint64_t type;
	uint64_t bit_offset; /* from the start of the struct */
	uint32_t bits;	     /* width of a bit-field; else 0 */
};

/* The sort of a name. */
enum rs_cname {
	RS_CNAME_STRUCT,
	RS_CNAME_UNION,
	RS_CNAME_ENUM,
	RS_CNAME_TYPEDEF,
	RS_CNAME_VARIABLE,
	RS_CNAMES,
};

/* A variable with a fixed place. */
struct rs_cvariable {
	bool has_type;
	uint64_t type;
	/* Of a program, its address in the file; of the kernel, its address, to which a per-CPU
	 * variable adds the base of the processor's area. */
	uint64_t address;
	bool is_percpu;
};

struct rs_types;

struct rs_types_ops {
	/* Finds the type of a name, which is no variable's. Returns RS_USAGE if several different
	 * types have that name. Sets *found to false if none has it. */
	struct rs_error *(*find)(struct rs_types *types, enum rs_cname what, const char *name,
				 uint64_t *id, bool *found);
	/* Reads a type, and follows typedefs and qualifiers. Returns false if it is damaged. */
	bool (*get)(struct rs_types *types, uint64_t id, struct rs_ctype *type);
	/* Calls each() for each member of a struct or union, in its order, until it returns false.
	 * Returns false if the type is damaged, or is not a struct or union. */
	bool (*members)(struct rs_types *types, uint64_t id,
			bool (*each)(void *ctx, const struct rs_cmember *member), void *ctx);
	/* Finds the value of an enumerator. Returns the number of different values of that name: 0,
	 * 1, or 2 for several. */
	int (*enumerator)(struct rs_types *types, const char *name, int64_t *value);
	/* Finds a variable outside functions. Returns RS_USAGE if several variables have that name,
	 * or if it has no fixed place. Sets *found to false if none has it. */
	struct rs_error *(*variable)(struct rs_types *types, const char *name,
				     struct rs_cvariable *variable, bool *found);
	/* Calls each() for the names of one sort, until it returns false. */
	void (*names)(struct rs_types *types, enum rs_cname what,
		      bool (*each)(void *ctx, const char *name), void *ctx);
	void (*close)(struct rs_types *types);
};

struct rs_types {
	const struct rs_types_ops *ops;
	const char *name; /* "kernel", or the last component of a program's path */
};

static inline void rs_types_close(struct rs_types *types)
{
	if (types)
		types->ops->close(types);
}

#endif
