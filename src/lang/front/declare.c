/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tokens to types: unsigned long, struct x { int a; char b[8]; unsigned c : 3; } *, enum, and what
 * stands around a name that is declared. Members lie as the C ABI of x86-64 has them (System V
 * psABI 3.1.2), bit-fields too. Each type's size is bounded here.
 */
#include "lang/front/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- words -------------------------------------------------------------------------------- */

static bool is_adjective(const char *word)
{
	return !strcmp(word, "unsigned") || !strcmp(word, "signed") || !strcmp(word, "long") ||
	       !strcmp(word, "short") || !strcmp(word, "int") || !strcmp(word, "char");
}

static bool is_qualifier(const char *word)
{
	return !strcmp(word, "const") || !strcmp(word, "volatile") || !strcmp(word, "userland");
}

static const struct type_name *user_type(const struct rs_script *script, const char *name)
{
	const struct type_name *type = script->front->type_names;

	while (type && strcmp(type->name, name))
		type = type->next;
	return type;
}

bool begins_type(const struct parser *p, const char *word)
{
	struct type type;

	return is_qualifier(word) || is_adjective(word) || !strcmp(word, "enum") ||
	       !strcmp(word, "struct") || !strcmp(word, "union") || type_named(word, &type) ||
	       user_type(p->script, word);
}

bool at_type(struct parser *p)
{
	return peek(p)->kind == T_NAME && begins_type(p, peek(p)->text);
}

struct token declared_name(struct parser *p)
{
	if (peek(p)->kind != T_NAME)
		FAIL(p, peek(p)->at, "D_DECL_IDENT", "expected a name, not '%s'",
		     token_text(peek(p)));
	return next(p);
}

static void qualifiers(struct parser *p)
{
	while (peek(p)->kind == T_NAME && is_qualifier(peek(p)->text))
		next(p);
}

/* ---- constants ---------------------------------------------------------------------------- */

/* Enumerators and sizes become numbers; the tree is no deeper than the parser allows. */
static void resolve(struct parser *p, struct node *node)
{
	const struct enum_name *name = p->script->front->enum_names;

	if (!node)
		return;
	if (node->kind == N_NAME) {
		while (name && strcmp(name->name, node->text))
			name = name->next;
		if (!name)
			return;
		node->kind = N_INT;
		node->value = (uint64_t)name->value;
		node->type = TYPE_OF_INT;
	} else if (node->kind == N_SIZEOF && !node->a) {
		node->kind = N_INT;
		node->value = type_bytes(p->script, &node->type);
		node->type = TYPE_OF_UINT64;
	}
	resolve(p, node->a);
	resolve(p, node->b);
	resolve(p, node->c);
}

int64_t parse_constant(struct parser *p, const char *tag, const char *what)
{
	struct node *node = parse_conditional(p);

	if (p->err)
		return 0;
	resolve(p, node);
	if (!fold(node) || node->kind != N_INT) {
		FAIL(p, node->at, tag, "%s must be a constant", what);
		return 0;
	}
	return (int64_t)node->value;
}

/* ---- enum --------------------------------------------------------------------------------- */

/* { A, B = 5 } */
static void enumerators(struct parser *p)
{
	int64_t value = 0;

	expect(p, OP_LBRACE, "after enum");
	while (!p->err && !is_op(p, OP_RBRACE)) {
		struct token token = declared_name(p);
		struct enum_name *name = parse_memory(p, sizeof(*name));

		if (!name)
			return;
		if (take_op(p, OP_ASSIGN))
			value = parse_constant(p, "D_DECL_ENCONST", "an enumerator's value");
		if (value > INT32_MAX || value < INT32_MIN)
			FAIL(p, token.at, "D_DECL_ENOFLOW", "%s does not fit an int", token.text);
		*name = (struct enum_name){ token.text, value++, p->script->front->enum_names };
		p->script->front->enum_names = name;
		if (!take_op(p, OP_COMMA))
			break;
	}
	expect(p, OP_RBRACE, "after the enumerators");
}

/* ---- struct, union ------------------------------------------------------------------------ */

static uint64_t up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

/* Where the next member lies: in bits from the record's beginning. */
static void place_bits(struct member *member, uint64_t *bits)
{
	uint32_t unit = member->type.bytes * 8u;

	if (*bits / unit != (*bits + member->bits - 1) / unit) /* it may not cross its unit's end */
		*bits = up(*bits, unit);
	member->offset = (uint32_t)(*bits / unit * member->type.bytes);
	member->at = (uint8_t)(*bits % unit);
	*bits += member->bits;
}

static void member_place(struct parser *p, struct record *record, struct member *member,
			 struct place at, uint64_t *bits)
{
	uint32_t align = type_align(&member->type);
	uint64_t bytes = type_bytes(p->script, &member->type), end;

	if (!bytes) {
		FAIL(p, at, member->type.kind == TYPE_VOID ? "D_DECL_VOIDOBJ" : "D_DECL_INCOMPLETE",
		     "member '%s' is of a type that is not known whole", member->name);
		return;
	}
	if (record->is_union)
		*bits = 0;
	if (member->bits) {
		place_bits(member, bits);
	} else {
		*bits = up(*bits, align * UINT64_C(8));
		member->offset = (uint32_t)(*bits / 8);
		*bits += bytes * 8;
	}
	end = up(*bits, 8) / 8;
	if (end > LANG_OBJECT_MAX) {
		FAIL(p, at, "D_DECL_ARRBIG", "a struct of more than %u bytes", LANG_OBJECT_MAX);
		return;
	}
	if (record->bytes < end)
		record->bytes = (uint32_t)end;
	if (record->align < align)
		record->align = align;
}

/* : 3; without a name and of 0 bits, what follows begins a new unit. */
static bool bit_field(struct parser *p, struct member *member, struct place at, uint64_t *bits)
{
	int64_t n = parse_constant(p, "D_DECL_BFCONST", "a bit-field's size");

	if (p->err)
		return false;
	if (member->type.kind != TYPE_INT)
		FAIL(p, at, "D_DECL_BFTYPE", "a bit-field must be of an integer type");
	else if (n < 0 || n > member->type.bytes * 8 || (!n && *member->name))
		FAIL(p, at, "D_DECL_BFSIZE", "a bit-field of %lld bits in a type of %u",
		     (long long)n, member->type.bytes * 8u);
	if (p->err)
		return false;
	member->bits = (uint8_t)n;
	if (n)
		return true;
	*bits = up(*bits, member->type.bytes * UINT64_C(8));
	return false;
}

static void member_read(struct parser *p, struct record *record, struct type type,
			struct member ***end, uint64_t *bits)
{
	struct member *member = parse_memory(p, sizeof(*member));
	struct token token = { .at = peek(p)->at, .text = "" };

	if (!member)
		return;
	member->type = is_op(p, OP_COLON) ? type : declarator(p, type, &token);
	member->name = token.text;
	if (take_op(p, OP_COLON) && !bit_field(p, member, token.at, bits))
		return;
	if (p->err)
		return;
	if (*token.text && member_find(record, token.text))
		FAIL(p, token.at, "D_DECL_MNAME", "there are two members '%s'", token.text);
	member_place(p, record, member, token.at, bits);
	**end = member;
	*end = &member->next;
}

static void members(struct parser *p, struct record *record)
{
	struct member **end = &record->members;
	uint64_t bits = 0;

	record->align = 1;
	while (!p->err && !is_op(p, OP_RBRACE)) {
		struct place at = peek(p)->at;
		struct type type = type_specifier(p);

		if (is_op(p, OP_SEMI))
			FAIL(p, at, "D_DECL_USELESS", "a member without a name");
		do
			member_read(p, record, type, &end, &bits);
		while (take_op(p, OP_COMMA));
		expect(p, OP_SEMI, "after a member");
	}
	expect(p, OP_RBRACE, "after the members");
	record->bytes = (uint32_t)up(record->bytes, record->align);
	record->complete = true;
}

/* struct tag, struct { ... }, struct tag { ... }; the word before it is behind us. */
static struct type record_type(struct parser *p, bool is_union)
{
	struct type type = { .kind = TYPE_RECORD };
	struct record *record = NULL;
	struct token tag = { .at = peek(p)->at, .text = "" };

	if (peek(p)->kind == T_NAME)
		tag = next(p);
	else if (!is_op(p, OP_LBRACE))
		FAIL(p, tag.at, "D_SYNTAX", "expected a tag or { after struct or union");
	if (*tag.text) {
		record = p->script->front->records;
		while (record && strcmp(record->tag, tag.text))
			record = record->next;
	}
	if (!record && (record = parse_memory(p, sizeof(*record)))) {
		*record = (struct record){ .tag = tag.text,
					   .is_union = is_union,
					   .align = 1,
					   .next = p->script->front->records };
		p->script->front->records = record;
	}
	if (p->err)
		return TYPE_OF_INT;
	if (record->is_union != is_union)
		FAIL(p, tag.at, "D_DECL_TYPERED", "'%s' is a %s elsewhere", tag.text,
		     is_union ? "struct" : "union");
	type.record = record;
	if (!is_op(p, OP_LBRACE))
		return type;
	if (record->complete || record->busy)
		FAIL(p, tag.at, "D_DECL_TYPERED", "'%s' is there already", tag.text);
	record->busy = true;
	if (enter(p)) {
		next(p);
		members(p, record);
	}
	p->depth--;
	return type;
}

/* ---- types -------------------------------------------------------------------------------- */

/* unsigned long int */
static struct type adjectives(struct parser *p)
{
	struct place at = peek(p)->at;
	struct type type = TYPE_OF_INT;
	char words[64] = "";

	while (peek(p)->kind == T_NAME && is_adjective(peek(p)->text)) {
		size_t len = strlen(words);

		if (len + peek(p)->len + 2 > sizeof(words)) {
			FAIL(p, at, "D_DECL_COMBO", "'%s ...' is no type", words);
			return type;
		}
		snprintf(words + len, sizeof(words) - len, "%s%s", len ? " " : "", peek(p)->text);
		next(p);
	}
	if (!type_named(words, &type))
		FAIL(p, at, "D_DECL_COMBO", "'%s' is no type", words);
	return type;
}

/* unsigned long, uint8_t, struct x, enum x, a typedef's name. */
struct type type_specifier(struct parser *p)
{
	struct place at;
	const struct type_name *named;
	struct type type = TYPE_OF_INT;
	struct token token;

	qualifiers(p);
	at = peek(p)->at;
	if (peek(p)->kind != T_NAME) {
		FAIL(p, at, "D_SYNTAX", "expected a type, not '%s'", token_text(peek(p)));
		return type;
	}
	if (is_adjective(peek(p)->text)) {
		type = adjectives(p);
		qualifiers(p);
		return type;
	}
	token = next(p);
	if (!strcmp(token.text, "struct") || !strcmp(token.text, "union")) {
		type = record_type(p, token.text[0] == 'u');
	} else if (!strcmp(token.text, "enum")) { /* all are int, whatever their tag */
		if (peek(p)->kind == T_NAME)
			next(p);
		if (is_op(p, OP_LBRACE))
			enumerators(p);
	} else if ((named = user_type(p->script, token.text))) {
		type = named->type;
	} else if (!type_named(token.text, &type)) {
		FAIL(p, at, "D_DECL_IDENT", "'%s' is no type", token.text);
	}
	qualifiers(p);
	return type;
}

static struct type pointers(struct parser *p, struct type type)
{
	uint32_t stars = 0;

	while (take_op(p, OP_MUL)) {
		struct type *to = parse_memory(p, sizeof(*to));

		if (++stars > LANG_KEYS_MAX)
			FAIL(p, peek(p)->at, "D_SYNTAX", "more than %d stars", LANG_KEYS_MAX);
		if (!to)
			break;
		*to = type;
		type = (struct type){ .kind = TYPE_POINTER, .bytes = 8, .to = to };
		qualifiers(p);
	}
	return type;
}

static struct type array_of(struct parser *p, struct type type, int64_t n, struct place at)
{
	struct type *to = parse_memory(p, sizeof(*to));
	uint64_t bytes = type_bytes(p->script, &type);

	if (!to)
		return type;
	if (!bytes)
		FAIL(p, at, type.kind == TYPE_VOID ? "D_DECL_VOIDOBJ" : "D_DECL_INCOMPLETE",
		     "an array of a type that is not known whole");
	else if (n < 1)
		FAIL(p, at, "D_DECL_ARRSUB", "an array of %lld elements", (long long)n);
	else if ((uint64_t)n > LANG_OBJECT_MAX / bytes)
		FAIL(p, at, "D_DECL_ARRBIG", "an array of more than %u bytes", LANG_OBJECT_MAX);
	*to = type;
	return (struct type){ .kind = TYPE_ARRAY, .n = p->err ? 1 : (uint32_t)n, .to = to };
}

/* [4][2], from the inside out. */
static struct type dimensions(struct parser *p, struct type type)
{
	struct place at = peek(p)->at;
	int64_t n;

	if (!enter(p)) {
		p->depth--;
		return type;
	}
	if (is_op(p, OP_RBRACKET))
		FAIL(p, at, "D_DECL_ARRNULL", "an array of how many elements?");
	n = parse_constant(p, "D_DECL_ARRSUB", "an array's size");
	expect(p, OP_RBRACKET, "after an array's size");
	if (take_op(p, OP_LBRACKET))
		type = dimensions(p, type);
	p->depth--;
	return array_of(p, type, n, at);
}

struct type declarator(struct parser *p, struct type type, struct token *name)
{
	type = pointers(p, type);
	if (is_op(p, OP_LPAREN))
		FAIL(p, peek(p)->at, "D_DECL_FUNCTYPE", "D has no pointers to functions or arrays");
	*name = declared_name(p);
	if (is_op(p, OP_LPAREN))
		FAIL(p, peek(p)->at, "D_DECL_FUNCTYPE", "D has no functions of its own");
	if (!is_op(p, OP_LBRACKET))
		return type;
	next(p);
	if (at_type(p)) { /* an associative array: its caller reads the keys */
		p->keys = true;
		return type;
	}
	return dimensions(p, type);
}

struct type type_read(struct parser *p)
{
	struct type type = pointers(p, type_specifier(p));

	return take_op(p, OP_LBRACKET) ? dimensions(p, type) : type;
}
