/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads types from DWARF with libdw. A type's number is the offset of its entry; entries of the
 * file that several debug files share (.gnu_debugaltlink) also have the highest bit set. An array
 * of several dimensions is one entry: the number of an inner array is that entry's offset and its
 * first dimension.
 *
 * In C, a name has at most one type in each unit. Types of one name in several units are considered
 * the same if they have the same size and members.
 */
#include "introspect/dwarf_types.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/map.h"
#include "introspect/debug_file.h"
#include "introspect/dwarf_address.h"
#include "introspect/elf_file.h"

/* length of a chain of typedefs and qualifiers */
#define DEPTH_MAX      16u
#define MEMBERS_MAX    65536u			   /* members of one type */
#define ENTRIES_MAX    (1u << 26)		   /* entries of a file's units */
#define ENTRIES_A_LOOK 256u			   /* entries between two reads of the clock */
#define CPU_NS_MAX     (UINT64_C(30) * 1000000000) /* CPU time for the units of one file */
/* bit of a number: the entry is in the shared file */
#define IN_OTHER       (UINT64_C(1) << 63)
#define DIMENSION      48			   /* lowest bit of the dimension in a number */
#define DIMENSIONS_MAX 16u
#define OFFSET_MASK    ((UINT64_C(1) << DIMENSION) - 1)
#define DIMENSION_MASK (UINT64_C(0xff) << DIMENSION)
#define IS_ENUMERATOR  RS_CNAMES		   /* after the sorts of enum rs_cname */

/* A name, and its first entry. */
struct named {
	const char *name;
	uint32_t what;
	bool differ; /* other entries of this name differ */
	uint64_t id; /* of an enumerator: its value */
};

struct dwarf_types {
	struct rs_types types;
	struct rs_elf_file binary, debug, shared;
	Dwarf *dwarf, *other;
	bool read;
	struct rs_arena arena;
	struct rs_map names;
	uint64_t n_entries, began_ns;
};

/* ---- entries ------------------------------------------------------------------------------ */

static uint64_t id_of(const struct dwarf_types *t, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);

	return dwarf_cu_getdwarf(die->cu) == t->other ? offset | IN_OTHER : offset;
}

static bool die_at(const struct dwarf_types *t, uint64_t id, Dwarf_Die *die)
{
	Dwarf *in = id & IN_OTHER ? t->other : t->dwarf;

	return in && dwarf_offdie(in, id & OFFSET_MASK, die);
}

/* Returns false at void, which has no entry. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type);
}

static bool number_of(Dwarf_Die *die, unsigned int name, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &word))
		return false;
	*value = word;
	return true;
}

/* Follows typedefs and qualifiers. Returns 1, or 0 if the type is void, or -1 if the chain is too
 * long. */
static int resolve(Dwarf_Die *die)
{
	for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
		switch (dwarf_tag(die)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_of(die, die))
				return 0;
			break;
		default:
			return 1;
		}
	}
	return -1;
}

/* ---- names, after they were read ------------------------------------------------------------ */

struct wanted {
	const char *name;
	uint32_t what;
};

static bool same_name(const void *item, const void *key)
{
	const struct named *named = item;
	const struct wanted *wanted = key;

	return named->what == wanted->what && !strcmp(named->name, wanted->name);
}

static struct named *named_find(const struct dwarf_types *t, uint32_t what, const char *name)
{
	const struct wanted wanted = { name, what };

	return rs_map_find(&t->names, rs_hash_pair(rs_hash_bytes(name, strlen(name)), what),
			   same_name, &wanted);
}

/* ---- entries in an entry -------------------------------------------------------------------- */

static bool first_in(Dwarf_Die *die, Dwarf_Die *child)
{
	return !dwarf_child(die, child);
}

/* Moves to the next entry, which must have a higher offset, so that each walk ends. */
static bool next_to(Dwarf_Die *die)
{
	Dwarf_Off last = dwarf_dieoffset(die);

	return !dwarf_siblingof(die, die) && dwarf_dieoffset(die) > last;
}

/* ---- types -------------------------------------------------------------------------------- */

static bool is_power(uint64_t bytes)
{
	return bytes && bytes <= 8 && !(bytes & (bytes - 1));
}

static void get_number(Dwarf_Die *die, struct rs_ctype *type)
{
	uint64_t how = 0, bytes = 0;
	Dwarf_Die under;

	number_of(die, DW_AT_byte_size, &bytes);
	number_of(die, DW_AT_encoding, &how);
	if (dwarf_tag(die) == DW_TAG_enumeration_type) {
		how = DW_ATE_unsigned;
		if (type_of(die, &under) && resolve(&under) == 1)
			number_of(&under, DW_AT_encoding, &how);
	}
	type->bytes = bytes;
	type->is_signed = how == DW_ATE_signed || how == DW_ATE_signed_char;
	if (is_power(bytes) && (type->is_signed || how == DW_ATE_unsigned ||
				how == DW_ATE_unsigned_char || how == DW_ATE_boolean ||
				how == DW_ATE_UTF || how == DW_ATE_address))
		type->kind = RS_CTYPE_INT;
}

/* Reads the size of a dimension, 0 if it is unknown, as for a flexible array member. */
static uint64_t count_of(Dwarf_Die *dimension)
{
	uint64_t n = 0;

	if (number_of(dimension, DW_AT_count, &n))
		return n;
	if (number_of(dimension, DW_AT_upper_bound, &n) && n < UINT32_MAX)
		return n + 1;
	return 0;
}

/* Reads an array, starting at one of its dimensions. */
static bool get_array(const struct dwarf_types *t, uint64_t id, Dwarf_Die *die,
		      struct rs_ctype *type)
{
	uint32_t dimension = id >> DIMENSION & 0xff, i = 0;
	Dwarf_Die child, element;
	bool more = first_in(die, &child);

	type->kind = RS_CTYPE_ARRAY;
	for (; more && i < DIMENSIONS_MAX; more = next_to(&child)) {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (i == dimension) {
			type->n = count_of(&child);
		} else if (i > dimension) {
			type->to = id_of(t, die) | (uint64_t)i << DIMENSION;
			return true;
		}
		i++;
	}
	if (!type_of(die, &element))
		return false;
	type->to = id_of(t, &element);
	return true;
}

/* Reads a struct or union. If several units have it, reads the first of them, which may have the
 * members of a struct that this unit only declares. */
static void get_record(const struct dwarf_types *t, Dwarf_Die *die, struct rs_ctype *type)
{
	const char *name = dwarf_diename(die);
	bool is_union = dwarf_tag(die) == DW_TAG_union_type;
	const struct named *first =
		name && t->read ? named_find(t, is_union ? RS_CNAME_UNION : RS_CNAME_STRUCT, name)
				: NULL;

	type->kind = is_union ? RS_CTYPE_UNION : RS_CTYPE_STRUCT;
	type->name = name ? name : "";
	if (first && !first->differ && die_at(t, first->id, die))
		type->id = first->id;
	if (!dwarf_hasattr(die, DW_AT_declaration))
		number_of(die, DW_AT_byte_size, &type->bytes);
}

static bool is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_class_type;
}

static bool dwarf_get(struct rs_types *types, uint64_t id, struct rs_ctype *type)
{
	const struct dwarf_types *t = (const struct dwarf_types *)types;
	Dwarf_Die die, to;
	int known;

	*type = (struct rs_ctype){ .kind = RS_CTYPE_VOID, .name = "" };
	if (!id)
		return true;
	if (!die_at(t, id, &die))
		return false;
	known = resolve(&die);
	if (known <= 0)
		return !known;
	type->kind = RS_CTYPE_OTHER;
	type->id = id_of(t, &die) | (id & DIMENSION_MASK);
	if (is_record(dwarf_tag(&die))) {
		get_record(t, &die, type);
		return true;
	}
	switch (dwarf_tag(&die)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		get_number(&die, type);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type->kind = RS_CTYPE_POINTER;
		type->bytes = 8;
		type->to = type_of(&die, &to) ? id_of(t, &to) : 0;
		break;
	case DW_TAG_array_type:
		return get_array(t, id, &die, type);
	case DW_TAG_unspecified_type:
		type->kind = RS_CTYPE_VOID;
		break;
	default:
		break;
	}
	return true;
}

/* ---- members ------------------------------------------------------------------------------ */

/* Reads the first bit of a bit-field. Before DWARF 4, it is counted from the highest bit of a
 * storage unit (DWARF 3, 5.6.6). */
static bool get_bits(Dwarf_Die *die, uint64_t bytes_at, struct rs_cmember *member)
{
	uint64_t bits, at, unit = 0;
	Dwarf_Die type;

	if (!number_of(die, DW_AT_bit_size, &bits))
		return true;
	member->bits = (uint32_t)bits;
	if (number_of(die, DW_AT_data_bit_offset, &at)) {
		member->bit_offset = at;
	} else if (number_of(die, DW_AT_bit_offset, &at)) {
		if (!number_of(die, DW_AT_byte_size, &unit) && type_of(die, &type) &&
		    resolve(&type) == 1)
			number_of(&type, DW_AT_byte_size, &unit);
		if (unit > 16 || at + bits > unit * 8)
			return false;
		member->bit_offset = bytes_at * 8 + unit * 8 - at - bits;
	}
	return bits && bits <= 64 && member->bit_offset < UINT64_C(1) << 40;
}

static bool get_member(const struct dwarf_types *t, Dwarf_Die *die, struct rs_cmember *member)
{
	const char *name = dwarf_tag(die) == DW_TAG_inheritance ? NULL : dwarf_diename(die);
	uint64_t at = 0;
	Dwarf_Die type;

	*member = (struct rs_cmember){ .name = name ? name : "" };
	if (!type_of(die, &type))
		return false;
	if (dwarf_hasattr(die, DW_AT_data_member_location) &&
	    (!number_of(die, DW_AT_data_member_location, &at) || at >= UINT64_C(1) << 37))
		return false; /* member of a virtual base, which needs an expression */
	member->type = id_of(t, &type);
	member->bit_offset = at * 8;
	return get_bits(die, at, member);
}

static bool dwarf_members(struct rs_types *types, uint64_t id,
			  bool (*each)(void *ctx, const struct rs_cmember *member), void *ctx)
{
	const struct dwarf_types *t = (const struct dwarf_types *)types;
	Dwarf_Die die, child;
	bool more;

	if (!id || !die_at(t, id, &die) || resolve(&die) != 1 || !is_record(dwarf_tag(&die)))
		return false;
	more = first_in(&die, &child);
	for (uint32_t i = 0; more && i < MEMBERS_MAX; i++, more = next_to(&child)) {
		struct rs_cmember member;
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    !dwarf_hasattr(&child, DW_AT_external) && /* static member in C++ */
		    get_member(t, &child, &member) && !each(ctx, &member))
			break;
	}
	return true;
}

/* Returns whether two structs have the same size, and the same members at the same places. */
struct list {
	uint64_t hash, n;
};

static bool add_to_hash(void *ctx, const struct rs_cmember *member)
{
	struct list *list = ctx;
	uint64_t one = rs_hash_pair(rs_hash_bytes(member->name, strlen(member->name)),
				    member->bit_offset << 8 | member->bits);

	list->hash = rs_hash_pair(list->hash, one);
	list->n++;
	return true;
}

static bool same_type(struct dwarf_types *t, uint64_t one, uint64_t other)
{
	struct list a = { 0 }, b = { 0 };
	struct rs_ctype x, y;

	if (!dwarf_get(&t->types, one, &x) || !dwarf_get(&t->types, other, &y) ||
	    x.kind != y.kind || x.bytes != y.bytes || x.n != y.n)
		return false;
	if (x.kind != RS_CTYPE_STRUCT && x.kind != RS_CTYPE_UNION)
		return true;
	dwarf_members(&t->types, one, add_to_hash, &a);
	dwarf_members(&t->types, other, add_to_hash, &b);
	return a.n == b.n && a.hash == b.hash;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Adds a name. Returns false if there is no memory. */
static bool named_add(struct dwarf_types *t, uint32_t what, const char *name, uint64_t id)
{
	struct named *named = named_find(t, what, name);

	if (named) {
		if (what == IS_ENUMERATOR)
			named->differ |= named->id != id;
		else if (what == RS_CNAME_VARIABLE)
			named->differ = true;
		else
			named->differ |= !same_type(t, named->id, id);
		return true;
	}
	named = rs_arena_alloc(&t->arena, sizeof(*named));
	if (!named || !rs_map_reserve(&t->names))
		return false;
	*named = (struct named){ name, what, false, id };
	rs_map_add(&t->names, rs_hash_pair(rs_hash_bytes(name, strlen(name)), what), named);
	return true;
}

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Counts an entry. Returns false if the file has exceeded its limits. */
static bool may_go_on(struct dwarf_types *t)
{
	if (++t->n_entries % ENTRIES_A_LOOK == 0 && cpu_now() - t->began_ns > CPU_NS_MAX)
		return false;
	return t->n_entries < ENTRIES_MAX;
}

static bool add_enumerators(struct dwarf_types *t, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword value;
	Dwarf_Die child;

	for (bool more = first_in(type, &child); more && may_go_on(t); more = next_to(&child)) {
		const char *name = dwarf_diename(&child);

		if (dwarf_tag(&child) == DW_TAG_enumerator && name &&
		    dwarf_attr(&child, DW_AT_const_value, &attribute) &&
		    !dwarf_formsdata(&attribute, &value) &&
		    !named_add(t, IS_ENUMERATOR, name, (uint64_t)value))
			return false;
	}
	return true;
}

/* Returns the sort of an entry's name, or -1 if names of this kind are not looked up. */
static int sort_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_tag(die) != DW_TAG_variable && dwarf_hasattr(die, DW_AT_declaration))
		return -1;
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return RS_CNAME_STRUCT;
	case DW_TAG_union_type:
		return RS_CNAME_UNION;
	case DW_TAG_enumeration_type:
		return RS_CNAME_ENUM;
	case DW_TAG_typedef:
		return RS_CNAME_TYPEDEF;
	case DW_TAG_variable:
		return dwarf_attr(die, DW_AT_location, &attribute) ? RS_CNAME_VARIABLE : -1;
	default:
		return -1;
	}
}

static bool add_entry(struct dwarf_types *t, Dwarf_Die *die)
{
	int what = sort_of(die);
	Dwarf_Die declared;
	const char *name;
	Dwarf_Attribute attribute;

	if (what < 0)
		return true;
	if (what == RS_CNAME_ENUM && !add_enumerators(t, die))
		return false;
	name = dwarf_diename(die);
	if (!name && what == RS_CNAME_VARIABLE &&
	    dwarf_attr(die, DW_AT_specification, &attribute) &&
	    dwarf_formref_die(&attribute, &declared))
		name = dwarf_diename(&declared);
	return !name || named_add(t, (uint32_t)what, name, id_of(t, die));
}

/* Walks the top-level entries of the units. Each has a higher offset than the last, so the walk
 * ends. Returns false if there is no memory. */
static bool add_units(struct dwarf_types *t, Dwarf *in)
{
	Dwarf_Off at = 0, next = 0;
	size_t head;
	Dwarf_Die unit, child;

	while (!dwarf_nextcu(in, at, &next, &head, NULL, NULL, NULL) && next > at) {
		bool more = dwarf_offdie(in, at + head, &unit) && first_in(&unit, &child);

		for (; more && may_go_on(t); more = next_to(&child)) {
			if (!add_entry(t, &child))
				return false;
		}
		at = next;
	}
	return true;
}

static struct rs_error *read_names(struct dwarf_types *t)
{
	if (t->read)
		return NULL;
	t->began_ns = cpu_now();
	if (!add_units(t, t->dwarf) || (t->other && !add_units(t, t->other)))
		return rs_error_no_memory();
	t->read = true;
	return NULL;
}

/* ---- looking up --------------------------------------------------------------------------- */

static struct rs_error *named_get(struct dwarf_types *t, uint32_t what, const char *name,
				  uint64_t *id, bool *found)
{
	struct rs_error *err = read_names(t);
	const struct named *named = err ? NULL : named_find(t, what, name);

	*found = named;
	if (!named)
		return err;
	if (named->differ)
		return rs_error_create(RS_USAGE, "%s has several different %s '%s'",
				       t->types.name,
				       what == RS_CNAME_VARIABLE ? "variables" : "types", name);
	*id = named->id;
	return NULL;
}

static struct rs_error *dwarf_find(struct rs_types *types, enum rs_cname what, const char *name,
				   uint64_t *id, bool *found)
{
	return named_get((struct dwarf_types *)types, what, name, id, found);
}

static int dwarf_enumerator(struct rs_types *types, const char *name, int64_t *value)
{
	struct dwarf_types *t = (struct dwarf_types *)types;
	struct rs_error *err = read_names(t);
	const struct named *named = err ? NULL : named_find(t, IS_ENUMERATOR, name);

	rs_error_free(err);
	if (!named)
		return 0;
	*value = (int64_t)named->id;
	return named->differ ? 2 : 1;
}

static void dwarf_names(struct rs_types *types, enum rs_cname what,
			bool (*each)(void *ctx, const char *name), void *ctx)
{
	struct dwarf_types *t = (struct dwarf_types *)types;
	const struct named *named;
	size_t at = 0;

	rs_error_free(read_names(t));
	while ((named = rs_map_next(&t->names, &at))) {
		if (named->what == (uint32_t)what && !each(ctx, named->name))
			return;
	}
}

static struct rs_error *dwarf_variable(struct rs_types *types, const char *name,
				       struct rs_cvariable *variable, bool *found)
{
	struct dwarf_types *t = (struct dwarf_types *)types;
	struct rs_cvariable here = { 0 };
	uint64_t id = 0;
	struct rs_error *err = named_get(t, RS_CNAME_VARIABLE, name, &id, found);
	Dwarf_Attribute attribute;
	Dwarf_Die die, of;
	Dwarf_Op *ops;
	size_t n;

	if (err || !*found)
		return err;
	if (!die_at(t, id, &die) || !dwarf_attr(&die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &n) || n != 1 ||
	    !rs_dwarf_address(&attribute, ops, &here.address))
		return rs_error_create(RS_USAGE,
				       "the variable '%s' of %s has no fixed address (is it "
				       "thread-local?)",
				       name, types->name);
	here.has_type = type_of(&die, &of);
	here.type = here.has_type ? id_of(t, &of) : 0;
	*variable = here;
	return NULL;
}

/* ---- opening ------------------------------------------------------------------------------ */

static void dwarf_close(struct rs_types *types)
{
	struct dwarf_types *t = (struct dwarf_types *)types;

	rs_map_deinit(&t->names);
	rs_arena_deinit(&t->arena);
	dwarf_end(t->dwarf);
	dwarf_end(t->other);
	rs_elf_file_close(&t->shared);
	rs_elf_file_close(&t->debug);
	rs_elf_file_close(&t->binary);
	free(t);
}

static Dwarf *begin(const struct rs_elf_file *file)
{
	GElf_Shdr head;

	if (!file->elf || !rs_elf_section(file, ".debug_info", &head))
		return NULL;
	return dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
}

static struct rs_error *open_files(struct dwarf_types *t, const char *symfs, const char *path)
{
	const char *link;
	const void *id;
	struct rs_error *err = rs_elf_file_open(path, &t->binary);

	if (err)
		return err;
	t->dwarf = begin(&t->binary);
	if (!t->dwarf) {
		rs_debug_file_open(symfs, path, &t->binary, &t->debug);
		t->dwarf = begin(&t->debug);
	}
	if (!t->dwarf)
		return rs_error_create(RS_ABSENT,
				       "%s has no DWARF, and no debug file of it is installed: "
				       "build it with -g, or install its debug package",
				       path);
	if (dwelf_dwarf_gnu_debugaltlink(t->dwarf, &link, &id) <= 0)
		return NULL;
	rs_debug_other_open(symfs, t->debug.elf ? &t->debug : &t->binary, &t->shared);
	t->other = begin(&t->shared);
	/* Otherwise libdw would open any file at the path in .gnu_debugaltlink. */
	if (!t->other)
		return rs_error_create(RS_ABSENT, "%s: its shared debug file, %s, is not "
						  "installed",
				       path, link);
	dwarf_setalt(t->dwarf, t->other);
	return NULL;
}

struct rs_error *rs_dwarf_types_open(const char *symfs, const char *path, const char *name,
				     struct rs_types **types)
{
	static const struct rs_types_ops ops = { .find = dwarf_find,
						 .get = dwarf_get,
						 .members = dwarf_members,
						 .enumerator = dwarf_enumerator,
						 .variable = dwarf_variable,
						 .names = dwarf_names,
						 .close = dwarf_close };
	struct dwarf_types *t = calloc(1, sizeof(*t));
	struct rs_error *err;

	if (!t)
		return rs_error_no_memory();
	t->types = (struct rs_types){ &ops, name };
	err = open_files(t, symfs, path);
	if (err)
		dwarf_close(&t->types);
	else
		*types = &t->types;
	return err;
}
