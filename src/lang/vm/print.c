/* SPDX-License-Identifier: BSD-2-Clause */
/* print() and tracemem(): values with their types, memory byte by byte, in the form of DTrace. */
#include "lang/vm/memory.h"

#include <string.h>

#define INDENT 4

static void print_at(struct firing *f, const struct type *type, uint64_t address, int depth);

static void print_text(struct text *text, const char *bytes, size_t len)
{
	rs_lang_text_add(text, "\"", 1);
	rs_lang_text_add(text, bytes, len);
	rs_lang_text_add(text, "\"", 1);
}

static void print_number(struct text *text, const struct type *type, uint64_t value)
{
	rs_lang_text_print(text, "0x%llx",
			   (unsigned long long)rs_lang_type_cut(INT_OF(type->bytes, false), value));
}

static void print_member(struct firing *f, const struct member *member, uint64_t address, int depth)
{
	char name[TYPE_TEXT_MAX];
	struct text *text = &f->rt->text;
	uint64_t value;

	rs_lang_text_print(text, "%*s%s %s", INDENT * depth, "",
			   rs_lang_type_text(member->type, name), member->name);
	if (!member->bits) {
		rs_lang_text_add(text, " = ", 3);
		print_at(f, &member->type, address + member->offset, depth);
	} else if (rs_lang_memory_load(f, address + member->offset, member->type.bytes, &value)) {
		rs_lang_text_print(text, " :%u = 0x%llx", member->bits,
				   (unsigned long long)(value << (64 - member->bits - member->at) >>
							(64 - member->bits)));
	}
	rs_lang_text_add(text, "\n", 1);
}

static void print_record(struct firing *f, const struct type *type, uint64_t address, int depth)
{
	rs_lang_text_add(&f->rt->text, "{\n", 2);
	for (const struct member *m = type->record->members; m && !f->fault; m = m->next)
		print_member(f, m, address, depth + 1);
	rs_lang_text_print(&f->rt->text, "%*s}", INDENT * depth, "");
}

static void print_array(struct firing *f, const struct type *type, uint64_t address, int depth)
{
	const struct type *of = type->to;
	uint64_t bytes = rs_lang_type_bytes(f->script, of);
	struct text *text = &f->rt->text;
	const char *at;

	if (of->kind == TYPE_INT && of->bytes == 1 && of->is_signed) { /* characters */
		at = rs_lang_memory_at(f, address, type->n, false);
		if (at)
			print_text(text, at, strnlen(at, type->n));
		return;
	}
	rs_lang_text_add(text, "[", 1);
	for (uint32_t i = 0; i < type->n && !f->fault; i++) {
		rs_lang_text_add(text, i ? ", " : " ", i ? 2 : 1);
		print_at(f, of, address + i * bytes, depth);
	}
	rs_lang_text_add(text, " ]", 2);
}

/* The tree of types is no deeper than the parser allows. */
static void print_at(struct firing *f, const struct type *type, uint64_t address, int depth)
{
	struct value value = { .i = 0 };

	switch (type->kind) {
	case TYPE_RECORD:
		print_record(f, type, address, depth);
		break;
	case TYPE_ARRAY:
		print_array(f, type, address, depth);
		break;
	case TYPE_VOID: /* of the guest: D has no such type */
		rs_lang_text_add(&f->rt->text, "?", 1);
		break;
	case TYPE_STRING:
		if (rs_lang_memory_load_text(f, address, 0, &value))
			print_text(&f->rt->text, value.s, value.len);
		break;
	default:
		if (rs_lang_memory_load(f, address, type->bytes, &value.i))
			print_number(&f->rt->text, type, value.i);
		break;
	}
}

void rs_lang_print_value(struct firing *f, const struct type *type, const struct value *value)
{
	char name[TYPE_TEXT_MAX];
	struct text *text = &f->rt->text;

	rs_lang_text_print(text, "%s ", rs_lang_type_text(*type, name));
	if (type->kind == TYPE_STRING)
		print_text(text, value->s, value->len);
	else if (rs_lang_type_is_object(type))
		print_at(f, type, value->i, 0);
	else
		print_number(text, type, value->i);
}

/* The layout of libdtrace: 16 bytes a line. */
void rs_lang_format_bytes(struct text *text, const char *bytes, uint64_t n)
{
	rs_lang_text_print(text, "\n%11s", "");
	for (int i = 0; i < 16; i++)
		rs_lang_text_print(text, "  %x", (unsigned int)i);
	rs_lang_text_print(text, "  0123456789abcdef\n");
	for (uint64_t i = 0; i < n; i += 16) {
		rs_lang_text_print(text, "%10llx:", (unsigned long long)i);
		for (uint64_t j = i; j < i + 16; j++) {
			if (j < n)
				rs_lang_text_print(text, " %02x", (unsigned char)bytes[j]);
			else
				rs_lang_text_add(text, "   ", 3);
		}
		rs_lang_text_add(text, "  ", 2);
		for (uint64_t j = i; j < i + 16 && j < n; j++)
			rs_lang_text_add(text, bytes[j] < ' ' || bytes[j] > '~' ? "." : &bytes[j],
					 1);
		rs_lang_text_add(text, "\n", 1);
	}
}
