/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of this program from its own DWARF, compared with the compiler's. */
#include "../test.h"

#include <stddef.h>

#include "introspect/dwarf_types.h"

enum sample_enum { SAMPLE_FIRST = 3, SAMPLE_SECOND = -70000 };
typedef struct sample_outer *sample_pointer;
struct sample_inner {
	short a, b;
};
struct sample_outer {
	char name[12];
	unsigned int low : 3, high : 7;
	signed int below : 5;
	enum sample_enum kind;
	struct sample_inner grid[2][3];
	union {
		uint64_t word;
		uint8_t bytes[8];
	};
	double real;
	struct sample_outer *next;
	int tail[];
};
struct sample_outer *sample_variable; /* external, so that it has an address */
sample_pointer sample_other;

static struct rs_types *types;

static uint64_t id_of(enum rs_cname what, const char *name)
{
	uint64_t id = 0;
	bool found = false;

	CHECK_OK(types->ops->find(types, what, name, &id, &found));
	CHECK(found);
	return id;
}

struct member_of {
	const char *name;
	struct rs_cmember member;
	bool found;
};

static bool find_member(void *ctx, const struct rs_cmember *member)
{
	struct member_of *m = ctx;

	if (strcmp(m->name, member->name) != 0)
		return true;
	m->member = *member;
	m->found = true;
	return false;
}

static struct rs_cmember member(uint64_t id, const char *name)
{
	struct member_of m = { .name = name };

	CHECK(types->ops->members(types, id, find_member, &m));
	CHECK(m.found);
	return m.member;
}

static struct rs_ctype type_of(uint64_t id)
{
	struct rs_ctype type = { 0 };

	CHECK(types->ops->get(types, id, &type));
	return type;
}

TEST(opens_its_own_dwarf)
{
	REQUIRE_OK(rs_dwarf_types_open(NULL, "/proc/self/exe", "self", &types));
	sample_variable = NULL;
	sample_other = sample_variable;
}

TEST(members_equal_the_compiler_s)
{
	uint64_t id = id_of(RS_CNAME_STRUCT, "sample_outer");
	struct rs_cmember high, below, unnamed;
	struct rs_ctype type = type_of(id), array;

	CHECK_EQ_U64(type.bytes, sizeof(struct sample_outer));
	CHECK_EQ_U64(member(id, "grid").bit_offset, offsetof(struct sample_outer, grid) * 8);
	CHECK_EQ_U64(member(id, "next").bit_offset, offsetof(struct sample_outer, next) * 8);
	CHECK_EQ_U64(member(id, "tail").bit_offset, offsetof(struct sample_outer, tail) * 8);
	high = member(id, "high");
	below = member(id, "below");
	CHECK_EQ_U64(high.bits, 7);
	CHECK_EQ_U64(high.bit_offset, 12 * 8 + 3);
	CHECK_EQ_U64(below.bits, 5);
	CHECK(type_of(below.type).is_signed);
	CHECK(!type_of(high.type).is_signed);
	unnamed = member(id, "");
	CHECK_EQ_U64(type_of(unnamed.type).kind, RS_CTYPE_UNION);
	CHECK_EQ_U64(unnamed.bit_offset, offsetof(struct sample_outer, word) * 8);
	array = type_of(member(id, "grid").type);
	CHECK_EQ_U64(array.n, 2);
	array = type_of(array.to);
	CHECK_EQ_U64(array.kind, RS_CTYPE_ARRAY);
	CHECK_EQ_U64(array.n, 3);
	CHECK_EQ_U64(type_of(array.to).bytes, sizeof(struct sample_inner));
	CHECK_EQ_U64(type_of(member(id, "tail").type).n, 0);
	CHECK_EQ_U64(type_of(member(id, "real").type).kind, RS_CTYPE_OTHER);
	/* The pointer points to the same type. */
	CHECK_EQ_U64(type_of(type_of(member(id, "next").type).to).id, type.id);
}

TEST(names_lead_to_types)
{
	int64_t value = 0;
	struct rs_cvariable variable = { 0 }, other = { 0 };
	uint64_t id;
	bool found = false;

	CHECK_EQ_U64(type_of(id_of(RS_CNAME_TYPEDEF, "sample_pointer")).kind, RS_CTYPE_POINTER);
	id = id_of(RS_CNAME_ENUM, "sample_enum");
	CHECK_EQ_U64(type_of(id).bytes, 4);
	CHECK(type_of(id).is_signed);
	CHECK_EQ_U64(types->ops->enumerator(types, "SAMPLE_SECOND", &value), 1);
	CHECK_EQ_S64(value, SAMPLE_SECOND);
	CHECK_EQ_U64(types->ops->enumerator(types, "SAMPLE_THIRD", &value), 0);
	CHECK_OK(types->ops->find(types, RS_CNAME_UNION, "sample_outer", &id, &found));
	CHECK(!found);
	CHECK_OK(types->ops->variable(types, "sample_variable", &variable, &found));
	CHECK(found && variable.has_type);
	CHECK_EQ_U64(type_of(variable.type).kind, RS_CTYPE_POINTER);
	/* Addresses of this file differ by the loader's offset. */
	CHECK_OK(types->ops->variable(types, "sample_other", &other, &found));
	CHECK_EQ_U64(other.address - variable.address,
		     (uint64_t)((char *)&sample_other - (char *)&sample_variable));
}

TEST(closes)
{
	rs_types_close(types);
	types = NULL;
	CHECK_ERR(rs_dwarf_types_open(NULL, "/etc/passwd", "passwd", &types), RS_DAMAGED, "passwd");
}
