/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads types from BTF. A search reads all types, of which a kernel has about 100,000. */
#include "insight/btf_types.h"

#include <stdlib.h>
#include <string.h>

/* Data after the records, as in include/uapi/linux/btf.h. */
struct member {
	uint32_t name, type, offset;
};

struct array {
	uint32_t type, index_type, n;
};

struct enumerator {
	uint32_t name;
	int32_t value;
};

struct enumerator64 {
	uint32_t name, low, high;
};

#define INT_SIGNED 1u /* bits of the encoding, from bit 24 on */
#define BYTES_MAX  8u /* bits of a number's size */

struct var_secinfo {
	uint32_t type, offset, bytes;
};

#define PERCPU_SECTION ".data..percpu"

struct btf_types {
	struct rs_types types;
	const struct rs_btf *btf;
	const struct rs_kallsyms *symbols; /* NULL: none */
};

static const struct rs_btf *btf_of(const struct rs_types *types)
{
	return ((const struct btf_types *)types)->btf;
}

/* ---- types -------------------------------------------------------------------------------- */

static bool is_number(uint64_t bytes)
{
	return bytes && bytes <= BYTES_MAX && !(bytes & (bytes - 1));
}

static void get_int(const struct rs_btf_record *record, struct rs_ctype *type)
{
	uint32_t how;

	type->bytes = record->size_or_type;
	if (record->kind == RS_BTF_INT) {
		memcpy(&how, record->rest, sizeof(how));
		type->is_signed = how >> 24 & INT_SIGNED;
		/* an enumeration: flagged if signed since Linux 6.0; before, its values show it */
	} else {
		struct enumerator one;

		type->is_signed = record->flag;
		for (uint32_t i = 0; record->kind == RS_BTF_ENUM && i < record->n; i++) {
			memcpy(&one, record->rest + i * sizeof(one), sizeof(one));
			type->is_signed |= one.value < 0;
		}
	}
	type->kind = is_number(type->bytes) ? RS_CTYPE_INT : RS_CTYPE_OTHER;
}

static bool btf_get(struct rs_types *types, uint64_t number, struct rs_ctype *type)
{
	const struct rs_btf *btf = btf_of(types);
	uint32_t id = (uint32_t)number;
	struct rs_btf_record record;
	struct array array;

	*type = (struct rs_ctype){ .kind = RS_CTYPE_OTHER, .name = "" };
	if (!rs_btf_resolve(btf, &id, &record)) {
		type->kind = RS_CTYPE_VOID;
		return !id;
	}
	type->id = id;
	switch (record.kind) {
	case RS_BTF_INT:
	case RS_BTF_ENUM:
	case RS_BTF_ENUM64:
		get_int(&record, type);
		break;
	case RS_BTF_PTR:
		type->kind = RS_CTYPE_POINTER;
		type->bytes = 8;
		type->to = record.size_or_type;
		break;
	case RS_BTF_ARRAY:
		memcpy(&array, record.rest, sizeof(array));
		type->kind = RS_CTYPE_ARRAY;
		type->n = array.n;
		type->to = array.type;
		break;
	case RS_BTF_STRUCT:
	case RS_BTF_UNION:
		type->kind = record.kind == RS_BTF_UNION ? RS_CTYPE_UNION : RS_CTYPE_STRUCT;
		type->name = record.name;
		type->bytes = record.size_or_type;
		break;
	case RS_BTF_FWD:
		type->kind = record.flag ? RS_CTYPE_UNION : RS_CTYPE_STRUCT;
		type->name = record.name;
		break;
	default:
		break;
	}
	return true;
}

/* Makes a member a bit-field if its type is an INT with fewer bits, as before Linux 5.1. */
static void narrow(const struct rs_btf *btf, struct rs_cmember *member)
{
	uint32_t id = (uint32_t)member->type, how, bits;
	struct rs_btf_record record;

	if (!rs_btf_resolve(btf, &id, &record) || record.kind != RS_BTF_INT)
		return;
	memcpy(&how, record.rest, sizeof(how));
	bits = how & 0xff;
	if (!bits || bits / 8 >= record.size_or_type)
		return;
	member->bits = bits;
	member->bit_offset += how >> 16 & 0xff;
}

static bool btf_members(struct rs_types *types, uint64_t number,
			bool (*each)(void *ctx, const struct rs_cmember *member), void *ctx)
{
	const struct rs_btf *btf = btf_of(types);
	uint32_t id = (uint32_t)number;
	struct rs_btf_record record;

	if (!rs_btf_resolve(btf, &id, &record) ||
	    (record.kind != RS_BTF_STRUCT && record.kind != RS_BTF_UNION))
		return false;
	for (uint32_t i = 0; i < record.n; i++) {
		struct rs_cmember out = { 0 };
		struct member member;

		memcpy(&member, record.rest + i * sizeof(member), sizeof(member));
		out.name = rs_btf_text(btf, member.name);
		out.type = member.type;
		out.bit_offset = record.flag ? member.offset & 0xffffff : member.offset;
		out.bits = record.flag ? member.offset >> 24 : 0;
		if (!record.flag)
			narrow(btf, &out);
		if (!each(ctx, &out))
			break;
	}
	return true;
}

/* ---- names -------------------------------------------------------------------------------- */

static bool is_named(const struct rs_btf_record *record, enum rs_cname what)
{
	switch (what) {
	case RS_CNAME_STRUCT:
		return record->kind == RS_BTF_STRUCT;
	case RS_CNAME_UNION:
		return record->kind == RS_BTF_UNION;
	case RS_CNAME_ENUM:
		return record->kind == RS_BTF_ENUM || record->kind == RS_BTF_ENUM64;
	default:
		return record->kind == RS_BTF_TYPEDEF;
	}
}

/* Returns whether two structs have the same members with the same offsets. */
static bool same_members(const struct rs_btf *btf, uint32_t one, uint32_t other)
{
	struct rs_btf_record a, b;
	struct member x, y;

	if (!rs_btf_record(btf, one, &a) || !rs_btf_record(btf, other, &b) || a.kind != b.kind ||
	    a.n != b.n)
		return false;
	for (uint32_t i = 0; a.kind == RS_BTF_STRUCT || a.kind == RS_BTF_UNION; i++) {
		if (i == a.n)
			break;
		memcpy(&x, a.rest + i * sizeof(x), sizeof(x));
		memcpy(&y, b.rest + i * sizeof(y), sizeof(y));
		if (x.offset != y.offset ||
		    strcmp(rs_btf_text(btf, x.name), rs_btf_text(btf, y.name)) != 0)
			return false;
	}
	return true;
}

static struct rs_error *btf_find(struct rs_types *types, enum rs_cname what, const char *name,
				 uint64_t *id, bool *found)
{
	const struct rs_btf *btf = btf_of(types);
	struct rs_ctype first = { 0 }, other;
	struct rs_btf_record record;

	*found = false;
	for (uint32_t i = 1; i < rs_btf_count(btf); i++) {
		if (!rs_btf_record(btf, i, &record) || !is_named(&record, what) ||
		    strcmp(record.name, name) != 0 || !btf_get(types, i, &other))
			continue;
		if (!*found) {
			*found = true;
			*id = i;
			first = other;
		} else if (first.kind != other.kind || first.bytes != other.bytes ||
			   !same_members(btf, (uint32_t)*id, i)) {
			return rs_error_create(RS_USAGE,
					       "the guest's kernel has several types '%s', of "
					       "%llu and %llu bytes",
					       name, (unsigned long long)first.bytes,
					       (unsigned long long)other.bytes);
		}
	}
	return NULL;
}

/* ---- variables ---------------------------------------------------------------------------- */

/* Returns whether a symbol is per-CPU, and its offset in their section. */
static bool is_percpu(const struct rs_kallsyms *symbols, const struct rs_ksym *sym,
		      uint64_t *offset)
{
	struct rs_ksym start, end;

	if (!rs_kallsyms_by_name(symbols, "__per_cpu_start", &start) ||
	    !rs_kallsyms_by_name(symbols, "__per_cpu_end", &end) || start.percpu != sym->percpu)
		return false;
	*offset = sym->address - start.address;
	return sym->address >= start.address && sym->address < end.address;
}

/* Returns whether the section of per-CPU variables has a variable at this offset. */
static bool is_in_section(const struct rs_btf *btf, uint32_t id, uint64_t offset)
{
	struct rs_btf_record record;
	struct var_secinfo info;

	for (uint32_t i = 1; i < rs_btf_count(btf); i++) {
		if (!rs_btf_record(btf, i, &record) || record.kind != RS_BTF_DATASEC ||
		    strcmp(record.name, PERCPU_SECTION) != 0)
			continue;
		for (uint32_t j = 0; j < record.n; j++) {
			memcpy(&info, record.rest + j * sizeof(info), sizeof(info));
			if (info.type == id)
				return info.offset == offset;
		}
	}
	return false;
}

/* Sets the type of a variable if BTF has exactly one variable of that name. */
static void type_find(const struct rs_btf *btf, const char *name, uint64_t offset,
		      struct rs_cvariable *variable)
{
	struct rs_btf_record record;
	uint32_t n = 0;

	for (uint32_t i = 1; i < rs_btf_count(btf); i++) {
		if (!rs_btf_record(btf, i, &record) || record.kind != RS_BTF_VAR ||
		    strcmp(record.name, name) != 0)
			continue;
		variable->has_type = !n++ &&
				     (!variable->is_percpu || is_in_section(btf, i, offset));
		variable->type = record.size_or_type;
	}
}

static struct rs_error *btf_variable(struct rs_types *types, const char *name,
				     struct rs_cvariable *variable, bool *found)
{
	const struct rs_kallsyms *symbols = ((const struct btf_types *)types)->symbols;
	struct rs_cvariable here = { 0 };
	struct rs_ksym sym;
	uint64_t offset = 0;

	*found = symbols && rs_kallsyms_by_name(symbols, name, &sym);
	if (!*found)
		return NULL;
	here.address = sym.address;
	here.is_percpu = is_percpu(symbols, &sym, &offset);
	if (sym.percpu && !here.is_percpu)
		return rs_error_create(RS_USAGE, "the symbol '%s' of the guest's kernel is not in "
						 "its per-CPU section",
				       name);
	for (uint32_t i = 0; rs_kallsyms_at(symbols, i, &sym); i++) {
		if (!strcmp(sym.name, name) && sym.address != here.address)
			return rs_error_create(RS_USAGE,
					       "the guest's kernel has several symbols '%s'", name);
	}
	type_find(btf_of(types), name, offset, &here);
	*variable = here;
	return NULL;
}

static void symbol_names(const struct rs_kallsyms *symbols,
			 bool (*each)(void *ctx, const char *name), void *ctx)
{
	struct rs_ksym sym;

	for (uint32_t i = 0; symbols && rs_kallsyms_at(symbols, i, &sym); i++)
		if (!each(ctx, sym.name))
			return;
}

/* ---- names -------------------------------------------------------------------------------- */

static void btf_names(struct rs_types *types, enum rs_cname what,
		      bool (*each)(void *ctx, const char *name), void *ctx)
{
	const struct rs_btf *btf = btf_of(types);
	struct rs_btf_record record;

	if (what == RS_CNAME_VARIABLE) {
		symbol_names(((const struct btf_types *)types)->symbols, each, ctx);
		return;
	}
	for (uint32_t i = 1; i < rs_btf_count(btf); i++) {
		if (rs_btf_record(btf, i, &record) && is_named(&record, what) && *record.name &&
		    !each(ctx, record.name))
			return;
	}
}

/* Reads the i-th name of an enumeration, and its value. */
static const char *enumerator_at(const struct rs_btf *btf, const struct rs_btf_record *record,
				 uint32_t i, int64_t *value)
{
	struct enumerator64 wide;
	struct enumerator one;

	if (record->kind == RS_BTF_ENUM64) {
		memcpy(&wide, record->rest + i * sizeof(wide), sizeof(wide));
		*value = (int64_t)((uint64_t)wide.high << 32 | wide.low);
		return rs_btf_text(btf, wide.name);
	}
	memcpy(&one, record->rest + i * sizeof(one), sizeof(one));
	*value = one.value;
	return rs_btf_text(btf, one.name);
}

static int btf_enumerator(struct rs_types *types, const char *name, int64_t *value)
{
	const struct rs_btf *btf = btf_of(types);
	struct rs_btf_record record;
	int64_t here;
	int n = 0;

	for (uint32_t i = 1; i < rs_btf_count(btf); i++) {
		if (!rs_btf_record(btf, i, &record) || !is_named(&record, RS_CNAME_ENUM))
			continue;
		for (uint32_t j = 0; j < record.n; j++) {
			if (strcmp(enumerator_at(btf, &record, j, &here), name) != 0)
				continue;
			if (n && here != *value)
				return 2;
			*value = here;
			n = 1;
		}
	}
	return n;
}

static void btf_close(struct rs_types *types)
{
	free(types);
}

struct rs_error *rs_btf_types_create(const struct rs_btf *btf, const struct rs_kallsyms *symbols,
				     struct rs_types **out)
{
	static const struct rs_types_ops ops = { .find = btf_find,
						 .get = btf_get,
						 .members = btf_members,
						 .enumerator = btf_enumerator,
						 .variable = btf_variable,
						 .names = btf_names,
						 .close = btf_close };
	struct btf_types *types = calloc(1, sizeof(*types));

	if (!types)
		return rs_error_no_memory();
	types->types = (struct rs_types){ &ops, "kernel" };
	types->btf = btf;
	types->symbols = symbols;
	*out = &types->types;
	return NULL;
}
