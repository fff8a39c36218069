/* SPDX-License-Identifier: BSD-2-Clause */
/* Types: their names, and C's rules for operands. */
#include "lang/vm/program.h"
#include "lang/vm/word.h"

#include <stdio.h>
#include <string.h>

/* Messages use the first name of a type. */
static const struct {
	const char *name;
	uint8_t bytes;
	bool is_signed;
} names[] = {
	{ "int", 4, true },
	{ "unsigned int", 4, false },
	{ "char", 1, true },
	{ "unsigned char", 1, false },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
	{ "int64_t", 8, true },
	{ "uint64_t", 8, false },
	{ "signed char", 1, true },
	{ "signed", 4, true },
	{ "signed int", 4, true },
	{ "unsigned", 4, false },
	{ "short int", 2, true },
	{ "unsigned short int", 2, false },
	{ "long", 8, true },
	{ "long int", 8, true },
	{ "signed long", 8, true },
	{ "unsigned long", 8, false },
	{ "unsigned long int", 8, false },
	{ "long long", 8, true },
	{ "long long int", 8, true },
	{ "unsigned long long", 8, false },
	{ "unsigned long long int", 8, false },
	{ "int8_t", 1, true },
	{ "int16_t", 2, true },
	{ "int32_t", 4, true },
	{ "uint8_t", 1, false },
	{ "uint16_t", 2, false },
	{ "uint32_t", 4, false },
	{ "uchar_t", 1, false },
	{ "ushort_t", 2, false },
	{ "uint_t", 4, false },
	{ "ulong_t", 8, false },
	{ "longlong_t", 8, true },
	{ "u_longlong_t", 8, false },
	{ "intptr_t", 8, true },
	{ "uintptr_t", 8, false },
	{ "size_t", 8, false },
	{ "ssize_t", 8, true },
	{ "off_t", 8, true },
	{ "pid_t", 4, true },
	{ "id_t", 4, true },
	{ "ipaddr_t", 4, false },
	{ "time_t", 8, true },
	{ "hrtime_t", 8, true },
	{ "processorid_t", 4, true },
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

bool rs_lang_type_word(uint32_t index, struct rs_lang_word *word)
{
	return index < N_NAMES && rs_lang_word_set(word, names[index].name, "", "");
}

bool rs_lang_type_named(const char *name, struct type *type)
{
	if (!strcmp(name, "string")) {
		*type = TYPE_OF_STRING;
		return true;
	}
	if (!strcmp(name, "void")) {
		*type = TYPE_OF_VOID;
		return true;
	}
	for (size_t i = 0; i < N_NAMES; i++) {
		if (!strcmp(names[i].name, name)) {
			*type = INT_OF(names[i].bytes, names[i].is_signed);
			return true;
		}
	}
	return false;
}

bool rs_lang_type_is_scalar(const struct type *type)
{
	return type->kind == TYPE_INT || type->kind == TYPE_POINTER;
}

bool rs_lang_type_is_object(const struct type *type)
{
	return type->kind == TYPE_RECORD || type->kind == TYPE_ARRAY;
}

/* Returns whether two structs are the same, because a struct of the guest may have several
 * records. */
static bool same_record(const struct record *a, const struct record *b)
{
	return a == b || (a && b && a->of && a->of == b->of && a->id == b->id);
}

bool rs_lang_type_same(const struct type *a, const struct type *b)
{
	for (; a && b && a->kind == b->kind; a = a->to, b = b->to) {
		if (a->bytes != b->bytes || a->is_signed != b->is_signed || a->n != b->n ||
		    !same_record(a->record, b->record))
			return false;
	}
	return !a && !b;
}

uint64_t rs_lang_type_bytes(const struct rs_script *script, const struct type *type)
{
	uint64_t n = 1;

	for (; type->kind == TYPE_ARRAY; type = type->to)
		n *= type->n; /* array_of() and the guest's types bound it */
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_POINTER:
		return n * type->bytes;
	case TYPE_STRING:
		return n * script->options[OPT_STRSIZE];
	case TYPE_RECORD:
		return type->record->complete ? n * type->record->bytes : 0;
	default:
		return 0;
	}
}

uint32_t rs_lang_type_align(const struct type *type)
{
	while (type->kind == TYPE_ARRAY)
		type = type->to;
	if (type->kind == TYPE_RECORD)
		return type->record->align;
	return rs_lang_type_is_scalar(type) ? type->bytes : 1;
}

const struct member *rs_lang_member_find(const struct record *record, const char *name)
{
	const struct member *member = record->members;

	while (member && strcmp(member->name, name))
		member = member->next;
	return member;
}

static const char *int_text(const struct type *type)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (names[i].bytes == type->bytes && names[i].is_signed == type->is_signed)
			return names[i].name;
	}
	return "int";
}

/* int, struct foo *, char [8] */
const char *rs_lang_type_text(struct type type, char text[TYPE_TEXT_MAX])
{
	const struct type *inner = &type;
	char suffix[TYPE_TEXT_MAX / 2] = "", name[TYPE_TEXT_MAX / 2];
	size_t at = 0;

	for (; inner->kind == TYPE_POINTER || inner->kind == TYPE_ARRAY; inner = inner->to) {
		if (at + 16 > sizeof(suffix))
			continue;
		if (inner->kind == TYPE_POINTER)
			at += (size_t)snprintf(suffix + at, sizeof(suffix) - at, "%s*",
					       at ? "" : " ");
		else
			at += (size_t)snprintf(suffix + at, sizeof(suffix) - at, " [%u]", inner->n);
	}
	if (inner->kind == TYPE_RECORD)
		snprintf(name, sizeof(name), "%s %.30s",
			 inner->record->is_union ? "union" : "struct",
			 *inner->record->tag ? inner->record->tag : "{}");
	else
		snprintf(name, sizeof(name), "%s",
			 inner->kind == TYPE_INT	   ? int_text(inner)
			 : inner->kind == TYPE_STRING	   ? "string"
			 : inner->kind == TYPE_AGGREGATION ? "aggregation"
							   : "void");
	snprintf(text, TYPE_TEXT_MAX, "%s%s", name, suffix);
	return text;
}

struct type rs_lang_type_promote(struct type type)
{
	return type.bytes < 4 ? TYPE_OF_INT : type;
}

struct type rs_lang_type_common(struct type a, struct type b)
{
	a = rs_lang_type_promote(a);
	b = rs_lang_type_promote(b);
	if (a.bytes != b.bytes)
		return a.bytes > b.bytes ? a : b;
	return a.is_signed ? b : a;
}

uint64_t rs_lang_type_cut(struct type type, uint64_t value)
{
	unsigned int shift = 64 - 8u * type.bytes;

	if (!shift)
		return value;
	if (type.is_signed)
		return (uint64_t)((int64_t)(value << shift) >> shift);
	return value << shift >> shift;
}
