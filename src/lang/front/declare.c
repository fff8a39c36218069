/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses types: unsigned long, struct x { int a; char b[8]; unsigned c : 3; } *, enum, and
 * declarators. The layout of structs follows the C ABI of x86-64 (System V psABI 3.1.2), bit-fields
 * included. The size of each type is limited here.
 */
#include "lang/front/guest_type.h"
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

bool rs_lang_parse_begins_type(const struct parser *p, const char *word)
{
	struct type type;

	return is_qualifier(word) || is_adjective(word) || !strcmp(word, "enum") ||
	       !strcmp(word, "struct") || !strcmp(word, "union") ||
	       rs_lang_type_named(word, &type) || user_type(p->script, word);
}

/* Returns whether NAME`x is a type, or, if the guest has no such type, whether a cast to it
 * follows. Otherwise it is a variable. */
static bool qualifies_type(struct parser *p)
{
	struct lexer after = p->lexer;
	const char *from = after.from, *name = rs_lang_lex_qualifier(&after, from), *end = name;
	const char *module, *text, *why;
	struct type type;
	bool found = false;

	while (end < after.end && (isalnum((unsigned char)*end) || *end == '_'))
		end++;
	module = rs_arena_text(&p->script->arena, from, (size_t)(name - from) - 1);
	text = rs_arena_text(&p->script->arena, name, (size_t)(end - name));
	if (!module || !text)
		p->err = rs_error_no_memory();
	else
		p->err = rs_lang_guest_typedef(p->script, module, text, &type, &found, &why);
	after.at = end;
	return found || rs_lang_lex_at_stars(&after);
}

/* (NAME *) can only be a cast: to a type of the guest, if D has none of that name. */
bool rs_lang_parse_at_type(struct parser *p)
{
	if (rs_lang_token_peek(p)->kind != T_NAME)
		return false;
	if (rs_lang_parse_at_qualifier(p))
		return qualifies_type(p);
	return rs_lang_parse_begins_type(p, rs_lang_token_peek(p)->text) ||
	       (p->script->config.types && rs_lang_lex_at_stars(&p->lexer));
}

uint64_t rs_lang_parse_bytes(struct parser *p, const struct type *type)
{
	const struct type *inner = type;

	while (inner->kind == TYPE_ARRAY)
		inner = inner->to;
	if (inner->kind == TYPE_RECORD && !p->err)
		p->err = rs_lang_guest_complete(p->script, inner->record);
	if (inner->kind == TYPE_RECORD && !p->err)
		p->err = rs_lang_guest_load(p->script, inner->record);
	return rs_lang_type_bytes(p->script, type);
}

struct token rs_lang_parse_declared_name(struct parser *p)
{
	if (rs_lang_token_peek(p)->kind != T_NAME)
		FAIL_NEXT(p, "D_DECL_IDENT", "expected a name, not '%s'",
			  rs_lang_token_text(rs_lang_token_peek(p)));
	return rs_lang_token_next(p);
}

static void qualifiers(struct parser *p)
{
	while (rs_lang_token_peek(p)->kind == T_NAME && is_qualifier(rs_lang_token_peek(p)->text))
		rs_lang_token_next(p);
}

/* ---- constants ---------------------------------------------------------------------------- */

/* Enumerators and sizes become numbers. The depth of the tree is that which the parser allows. */
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
		node->value = rs_lang_parse_bytes(p, &node->type);
		node->type = TYPE_OF_UINT64;
	}
	resolve(p, node->a);
	resolve(p, node->b);
	resolve(p, node->c);
}

int64_t rs_lang_parse_constant(struct parser *p, const char *tag, const char *what)
{
	struct node *node = rs_lang_parse_conditional(p);

	if (p->err)
		return 0;
	resolve(p, node);
	if (!rs_lang_fold(node) || node->kind != N_INT) {
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

	rs_lang_op_expect(p, OP_LBRACE, "after enum");
	while (!p->err && !rs_lang_op_is(p, OP_RBRACE)) {
		struct token token = rs_lang_parse_declared_name(p);
		struct enum_name *name = rs_lang_parse_memory(p, sizeof(*name));

		if (!name)
			return;
		if (rs_lang_op_accept(p, OP_ASSIGN))
			value = rs_lang_parse_constant(p, "D_DECL_ENCONST",
						       "an enumerator's value");
		if (value > INT32_MAX || value < INT32_MIN)
			FAIL(p, token.at, "D_DECL_ENOFLOW", "%s does not fit an int", token.text);
		*name = (struct enum_name){ token.text, value++, p->script->front->enum_names };
		p->script->front->enum_names = name;
		if (!rs_lang_op_accept(p, OP_COMMA))
			break;
	}
	rs_lang_op_expect(p, OP_RBRACE, "after the enumerators");
}

/* ---- struct, union ------------------------------------------------------------------------ */

static uint64_t up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

/* The position of the next member: in bits from the start of the record. */
static void place_bits(struct member *member, uint64_t *bits)
{
	uint32_t unit = member->type.bytes * 8u;

	if (*bits / unit != (*bits + member->bits - 1) / unit) /* it stays within its unit */
		*bits = up(*bits, unit);
	member->offset = (uint32_t)(*bits / unit * member->type.bytes);
	member->at = (uint8_t)(*bits % unit);
	*bits += member->bits;
}

static void member_place(struct parser *p, struct record *record, struct member *member,
			 struct place at, uint64_t *bits)
{
	uint64_t bytes = rs_lang_parse_bytes(p, &member->type), end;
	uint32_t align = rs_lang_type_align(&member->type);

	if (!bytes) {
		FAIL(p, at, member->type.kind == TYPE_VOID ? "D_DECL_VOIDOBJ" : "D_DECL_INCOMPLETE",
		     "member '%s' has an incomplete type", member->name);
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
		FAIL(p, at, "D_DECL_ARRBIG", "the struct exceeds %u bytes", LANG_OBJECT_MAX);
		return;
	}
	if (record->bytes < end)
		record->bytes = (uint32_t)end;
	if (record->align < align)
		record->align = align;
}

/* : 3. An unnamed bit-field of 0 bits ends the current unit. */
static bool bit_field(struct parser *p, struct member *member, struct place at, uint64_t *bits)
{
	int64_t n = rs_lang_parse_constant(p, "D_DECL_BFCONST", "a bit-field's size");

	if (p->err)
		return false;
	if (member->type.kind != TYPE_INT)
		FAIL(p, at, "D_DECL_BFTYPE", "a bit-field must have an integer type");
	else if (n < 0 || n > member->type.bytes * 8 || (!n && *member->name))
		FAIL(p, at, "D_DECL_BFSIZE", "the bit-field has %lld bits, its type %u",
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
	struct member *member = rs_lang_parse_memory(p, sizeof(*member));
	struct token token = { .at = rs_lang_token_peek(p)->at, .text = "" };

	if (!member)
		return;
	member->type =
		rs_lang_op_is(p, OP_COLON) ? type : rs_lang_parse_declarator(p, type, &token);
	member->name = token.text;
	if (rs_lang_op_accept(p, OP_COLON) && !bit_field(p, member, token.at, bits))
		return;
	if (p->err)
		return;
	if (*token.text && rs_lang_member_find(record, token.text))
		FAIL(p, token.at, "D_DECL_MNAME", "member '%s' is declared twice", token.text);
	member_place(p, record, member, token.at, bits);
	**end = member;
	*end = &member->next;
}

static void members(struct parser *p, struct record *record)
{
	struct member **end = &record->members;
	uint64_t bits = 0;

	record->align = 1;
	while (!p->err && !rs_lang_op_is(p, OP_RBRACE)) {
		struct place at = rs_lang_token_peek(p)->at;
		struct type type = rs_lang_parse_type_specifier(p);

		if (rs_lang_op_is(p, OP_SEMI))
			FAIL(p, at, "D_DECL_USELESS", "the member has no name");
		do
			member_read(p, record, type, &end, &bits);
		while (rs_lang_op_accept(p, OP_COMMA));
		rs_lang_op_expect(p, OP_SEMI, "after a member");
	}
	rs_lang_op_expect(p, OP_RBRACE, "after the members");
	record->bytes = (uint32_t)up(record->bytes, record->align);
	record->complete = true;
}

static bool same_module(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* struct tag, struct { ... }, struct tag { ... }, after the word struct. */
static struct type record_type(struct parser *p, bool is_union)
{
	struct type type = { .kind = TYPE_RECORD };
	const char *module = rs_lang_parse_qualifier(p);
	struct record *record = NULL;
	struct token tag = { .at = rs_lang_token_peek(p)->at, .text = "" };

	if (rs_lang_token_peek(p)->kind == T_NAME)
		tag = rs_lang_token_next(p);
	else if (!rs_lang_op_is(p, OP_LBRACE))
		FAIL(p, tag.at, "D_SYNTAX", "expected a tag or { after struct or union");
	if (*tag.text) {
		record = p->script->front->records;
		while (record && (strcmp(record->tag, tag.text) != 0 ||
				  !same_module(record->module, module)))
			record = record->next;
	}
	if (!record && (record = rs_lang_parse_memory(p, sizeof(*record)))) {
		*record = (struct record){ .tag = tag.text,
					   .module = module,
					   .is_union = is_union,
					   .align = 1,
					   .next = p->script->front->records };
		p->script->front->records = record;
	}
	if (p->err)
		return TYPE_OF_INT;
	if (record->is_union != is_union)
		FAIL(p, tag.at, "D_DECL_TYPERED", "'%s' is declared as a %s elsewhere", tag.text,
		     is_union ? "struct" : "union");
	type.record = record;
	if (!rs_lang_op_is(p, OP_LBRACE))
		return type;
	if (module)
		FAIL(p, tag.at, "D_DECL_TYPERED", "a struct of %s cannot be declared", module);
	if (record->complete || record->busy)
		FAIL(p, tag.at, "D_DECL_TYPERED", "'%s' is already declared", tag.text);
	record->busy = true;
	if (rs_lang_parse_enter(p)) {
		rs_lang_token_next(p);
		members(p, record);
	}
	p->depth--;
	return type;
}

/* ---- types -------------------------------------------------------------------------------- */

/* unsigned long int */
static struct type adjectives(struct parser *p)
{
	struct place at = rs_lang_token_peek(p)->at;
	struct type type = TYPE_OF_INT;
	char words[64] = "";

	while (rs_lang_token_peek(p)->kind == T_NAME && is_adjective(rs_lang_token_peek(p)->text)) {
		size_t len = strlen(words);

		if (len + rs_lang_token_peek(p)->len + 2 > sizeof(words)) {
			FAIL(p, at, "D_DECL_COMBO", "'%s ...' is not a type", words);
			return type;
		}
		snprintf(words + len, sizeof(words) - len, "%s%s", len ? " " : "",
			 rs_lang_token_peek(p)->text);
		rs_lang_token_next(p);
	}
	if (!rs_lang_type_named(words, &type))
		FAIL(p, at, "D_DECL_COMBO", "'%s' is not a type", words);
	return type;
}

/* PyObject, kernel`u64: a name of a type of the guest. */
static struct type guest_type(struct parser *p, const char *module, const struct token *name)
{
	struct type type = TYPE_OF_INT;
	const char *why = NULL;
	bool found = true;

	if (!p->err)
		p->err = rs_lang_guest_typedef(p->script, module, name->text, &type, &found, &why);
	if (!found)
		FAIL(p, name->at, "D_DECL_IDENT", "'%s' is not a type%s%s", name->text,
		     why && *why ? ": " : "", why ? why : "");
	return type;
}

static struct type qualified(struct parser *p)
{
	const char *module = rs_lang_parse_qualifier(p);
	struct token name = rs_lang_parse_declared_name(p);
	struct type type = guest_type(p, module, &name);

	qualifiers(p);
	return type;
}

/* unsigned long, uint8_t, struct x, enum x, a typedef's name. */
struct type rs_lang_parse_type_specifier(struct parser *p)
{
	struct place at;
	const struct type_name *named;
	struct type type = TYPE_OF_INT;
	struct token token;

	qualifiers(p);
	at = rs_lang_token_peek(p)->at;
	if (rs_lang_token_peek(p)->kind != T_NAME) {
		FAIL(p, at, "D_SYNTAX", "expected a type, not '%s'",
		     rs_lang_token_text(rs_lang_token_peek(p)));
		return type;
	}
	if (rs_lang_parse_at_qualifier(p))
		return qualified(p);
	if (is_adjective(rs_lang_token_peek(p)->text)) {
		type = adjectives(p);
		qualifiers(p);
		return type;
	}
	token = rs_lang_token_next(p);
	if (!strcmp(token.text, "struct") || !strcmp(token.text, "union")) {
		type = record_type(p, token.text[0] == 'u');
	} else if (!strcmp(token.text, "enum")) { /* all are int, whatever their tag */
		rs_lang_parse_qualifier(p);
		if (rs_lang_token_peek(p)->kind == T_NAME)
			rs_lang_token_next(p);
		if (rs_lang_op_is(p, OP_LBRACE))
			enumerators(p);
	} else if ((named = user_type(p->script, token.text))) {
		type = named->type;
	} else if (!rs_lang_type_named(token.text, &type)) {
		type = guest_type(p, NULL, &token);
	}
	qualifiers(p);
	return type;
}

static struct type pointers(struct parser *p, struct type type)
{
	uint32_t stars = 0;

	while (rs_lang_op_accept(p, OP_MUL)) {
		struct type *to = rs_lang_parse_memory(p, sizeof(*to));

		if (++stars > LANG_KEYS_MAX)
			FAIL_NEXT(p, "D_SYNTAX", "there are more than %d stars", LANG_KEYS_MAX);
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
	struct type *to = rs_lang_parse_memory(p, sizeof(*to));
	uint64_t bytes = rs_lang_parse_bytes(p, &type);

	if (!to)
		return type;
	if (!bytes)
		FAIL(p, at, type.kind == TYPE_VOID ? "D_DECL_VOIDOBJ" : "D_DECL_INCOMPLETE",
		     "the elements of an array must have a complete type");
	else if (n < 1)
		FAIL(p, at, "D_DECL_ARRSUB", "an array cannot have %lld elements", (long long)n);
	else if ((uint64_t)n > LANG_OBJECT_MAX / bytes)
		FAIL(p, at, "D_DECL_ARRBIG", "the array exceeds %u bytes", LANG_OBJECT_MAX);
	*to = type;
	return (struct type){ .kind = TYPE_ARRAY, .n = p->err ? 1 : (uint32_t)n, .to = to };
}

/* [4][2], from the innermost out. */
static struct type dimensions(struct parser *p, struct type type)
{
	struct place at = rs_lang_token_peek(p)->at;
	int64_t n;

	if (!rs_lang_parse_enter(p)) {
		p->depth--;
		return type;
	}
	if (rs_lang_op_is(p, OP_RBRACKET))
		FAIL(p, at, "D_DECL_ARRNULL", "the number of elements is missing");
	n = rs_lang_parse_constant(p, "D_DECL_ARRSUB", "an array's size");
	rs_lang_op_expect(p, OP_RBRACKET, "after an array's size");
	if (rs_lang_op_accept(p, OP_LBRACKET))
		type = dimensions(p, type);
	p->depth--;
	return array_of(p, type, n, at);
}

struct type rs_lang_parse_declarator(struct parser *p, struct type type, struct token *name)
{
	type = pointers(p, type);
	if (rs_lang_op_is(p, OP_LPAREN))
		FAIL_NEXT(p, "D_DECL_FUNCTYPE", "D has no pointers to functions or arrays");
	*name = rs_lang_parse_declared_name(p);
	if (rs_lang_op_is(p, OP_LPAREN))
		FAIL_NEXT(p, "D_DECL_FUNCTYPE", "D programs cannot declare functions");
	if (!rs_lang_op_is(p, OP_LBRACKET))
		return type;
	rs_lang_token_next(p);
	if (rs_lang_parse_at_type(p)) { /* an associative array: its caller reads the keys */
		p->keys = true;
		return type;
	}
	return dimensions(p, type);
}

struct type rs_lang_parse_type(struct parser *p)
{
	struct type type = pointers(p, rs_lang_parse_type_specifier(p));

	return rs_lang_op_accept(p, OP_LBRACKET) ? dimensions(p, type) : type;
}
