/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses a program: declarations and clauses.
 *
 *	inline int LIMIT = 1000;	typedef, struct, enum; int x; self string s; int a[string];
 *	translator to < from x > { member = expression; };
 *	probes, probes / expression / { statement; statement; }
 */
#include "lang/front/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- statements --------------------------------------------------------------------------- */

static struct node *statements(struct parser *p);

static struct node *block(struct parser *p)
{
	struct node *first;

	if (!rs_lang_op_accept(p, OP_LBRACE)) {
		first = rs_lang_parse_expression(p);
		if (!rs_lang_op_is(p, OP_RBRACE))
			rs_lang_op_expect(p, OP_SEMI, "after a statement");
		return first;
	}
	first = statements(p);
	rs_lang_op_expect(p, OP_RBRACE, "to close the block");
	return first;
}

static struct node *if_statement(struct parser *p)
{
	struct node *node = rs_lang_parse_node(p, N_IF, rs_lang_token_next(p).at);

	if (!rs_lang_parse_enter(p))
		return node;
	rs_lang_op_expect(p, OP_LPAREN, "after if");
	node->a = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_RPAREN, "after the condition");
	node->b = block(p);
	if (rs_lang_token_peek(p)->kind == T_NAME && !strcmp(rs_lang_token_peek(p)->text, "else")) {
		rs_lang_token_next(p);
		if (rs_lang_token_peek(p)->kind == T_NAME &&
		    !strcmp(rs_lang_token_peek(p)->text, "if"))
			node->c = if_statement(p);
		else
			node->c = block(p);
	}
	p->depth--;
	return node;
}

/* walk (first, next, max) { ... } */
static struct node *walk_statement(struct parser *p)
{
	struct node *node = rs_lang_parse_node(p, N_WALK, rs_lang_token_next(p).at);

	if (!rs_lang_parse_enter(p))
		return node;
	rs_lang_op_expect(p, OP_LPAREN, "after walk");
	node->a = rs_lang_parse_assignment(p);
	rs_lang_op_expect(p, OP_COMMA, "after the first value of a walk");
	node->b = rs_lang_parse_assignment(p);
	rs_lang_op_expect(p, OP_COMMA, "after the next value of a walk");
	node->at = rs_lang_token_peek(p)->at;
	node->value = (uint64_t)rs_lang_parse_constant(p, "D_WALK_MAX",
						       "the number of a walk's "
						       "steps");
	rs_lang_op_expect(p, OP_RPAREN, "after the number of a walk's steps");
	node->c = block(p);
	p->depth--;
	return node;
}

static bool at_loop(struct parser *p)
{
	static const char *const words[] = { "for",    "while",	 "do",	  "goto",
					     "switch", "return", "break", "continue" };

	for (size_t i = 0;
	     rs_lang_token_peek(p)->kind == T_NAME && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(rs_lang_token_peek(p)->text, words[i]))
			return true;
	}
	return false;
}

/* Reads up to the closing brace, which remains. */
static struct node *statements(struct parser *p)
{
	struct node *first = NULL, **end = &first;

	while (!p->err && !rs_lang_op_is(p, OP_RBRACE) && rs_lang_token_peek(p)->kind != T_END) {
		if (rs_lang_op_accept(p, OP_SEMI))
			continue;
		if (at_loop(p)) {
			FAIL_NEXT(p, "D_SYNTAX",
				  "D has no '%s', and no loops: every clause must terminate",
				  rs_lang_token_peek(p)->text);
			break;
		}
		if (rs_lang_token_peek(p)->kind == T_NAME &&
		    !strcmp(rs_lang_token_peek(p)->text, "if")) {
			*end = if_statement(p);
		} else if (rs_lang_token_peek(p)->kind == T_NAME &&
			   !strcmp(rs_lang_token_peek(p)->text, "walk")) {
			*end = walk_statement(p);
		} else {
			*end = rs_lang_parse_expression(p);
			if (!rs_lang_op_is(p, OP_RBRACE))
				rs_lang_op_expect(p, OP_SEMI, "after a statement");
		}
		if (p->err)
			break;
		end = &(*end)->next;
	}
	return first;
}

/* ---- probe descriptions ------------------------------------------------------------------- */

/* Writes the value of $1 or $target to out, and returns its length. The lexer is after the
 * macro. */
static size_t pattern_macro(struct parser *p, struct place at, char *out, size_t room)
{
	char word[16] = "";
	size_t n = 0;
	struct token token = { .kind = T_MACRO, .at = at, .text = word };
	struct node *node;
	char digits[24];
	const char *text;

	p->lexer.at++;
	if (p->lexer.at < p->lexer.end && *p->lexer.at == '$')
		p->lexer.at++;
	while (p->lexer.at < p->lexer.end && isalnum((unsigned char)*p->lexer.at) &&
	       n < sizeof(word) - 1)
		word[n++] = *p->lexer.at++;
	token.value = 1;
	if (!strcmp(word, "target"))
		token.value = 0;
	node = rs_lang_parse_macro(p, &token);
	if (p->err)
		return 0;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)node->value);
	text = node->kind == N_TEXT ? node->text : digits;
	n = strlen(text);
	if (n > room) {
		FAIL(p, at, "D_PDESC_INVAL", "the probe description exceeds %d bytes", RS_WORD_MAX);
		return 0;
	}
	memcpy(out, text, n);
	return n;
}

/* Reads raw text up to a blank, a comma, or the start of the predicate or the actions. */
static struct pattern *pattern(struct parser *p)
{
	struct pattern *pattern = rs_lang_parse_memory(p, sizeof(*pattern));
	struct lexer *lexer = &p->lexer;
	char text[RS_WORD_MAX + 1];
	uint32_t colons = 0;
	bool quoted = false;
	size_t n = 0;

	if (!pattern)
		return NULL;
	pattern->at = rs_lang_lex_place(lexer);
	while (!p->err && lexer->at < lexer->end &&
	       (quoted ? *lexer->at != '\n' : !strchr(" \t\r\n\v\f,/{};", *lexer->at))) {
		char c = *lexer->at;

		if (n >= sizeof(text) - 1) {
			FAIL(p, pattern->at, "D_PDESC_INVAL",
			     "the probe description exceeds %d bytes", RS_WORD_MAX);
			return NULL;
		}
		if (c == '$' && !quoted) {
			n += pattern_macro(p, pattern->at, text + n, sizeof(text) - 1 - n);
			continue;
		}
		lexer->at++;
		if (c == '"')
			quoted = !quoted;
		else
			text[n++] = c;
		colons += c == ':' && !quoted;
	}
	if (!n)
		FAIL(p, pattern->at, "D_SYNTAX",
		     "expected a probe description or a declaration, not '%.1s'",
		     lexer->at < lexer->end ? lexer->at : "");
	if (colons > 3)
		FAIL(p, pattern->at, "D_PDESC_INVAL",
		     "a probe description has at most four fields: PROVIDER:CLASS:FUNCTION:NAME");
	if (p->err)
		return NULL;
	pattern->text = rs_arena_text(&p->script->arena, text, n);
	if (!pattern->text)
		p->err = rs_error_no_memory();
	return pattern;
}

static void space(struct parser *p)
{
	if (!p->err)
		p->err = rs_lang_lex_space(&p->lexer);
}

static bool raw_is(struct parser *p, char c)
{
	return !p->err && p->lexer.at < p->lexer.end && *p->lexer.at == c;
}

static void clause(struct parser *p)
{
	struct clause *clause = rs_lang_parse_memory(p, sizeof(*clause));
	bool declared = p->copyinstr; /* an inline variable may also call it */
	struct clause **place;
	struct pattern **end;

	if (!clause)
		return;
	clause->at = rs_lang_lex_place(&p->lexer);
	end = &clause->patterns;
	do {
		if (raw_is(p, ','))
			p->lexer.at++;
		space(p);
		*end = p->err ? NULL : pattern(p);
		if (p->err)
			return;
		end = &(*end)->next;
		space(p);
	} while (raw_is(p, ','));
	if (raw_is(p, '/')) {
		p->lexer.at++;
		p->lexer.predicate = true;
		clause->predicate = rs_lang_parse_expression(p);
		rs_lang_op_expect(p, OP_EPRED, "at the end of the predicate");
		p->lexer.predicate = false;
		space(p);
	}
	if (raw_is(p, '{')) {
		p->lexer.at++;
		clause->has_body = true;
		clause->body = statements(p);
		rs_lang_op_expect(p, OP_RBRACE, "at the end of the clause");
	} else if (raw_is(p, ';')) {
		p->lexer.at++;
	} else if (p->lexer.at < p->lexer.end || clause->predicate) {
		FAIL(p, rs_lang_lex_place(&p->lexer), "D_SYNTAX", "expected { and actions here");
	}
	if (p->err)
		return;
	clause->has_copyinstr = p->copyinstr;
	p->copyinstr = declared;
	clause->index = p->script->n_clauses++;
	if (p->script->n_clauses > LANG_CLAUSES_MAX)
		FAIL(p, clause->at, "D_SYNTAX", "the program exceeds %d clauses", LANG_CLAUSES_MAX);
	*p->script->clauses_end = clause;
	p->script->clauses_end = &clause->next;
	place = VECTOR_ADD(p->script, &p->script->clause_at);
	if (place)
		*place = clause;
	else
		p->err = rs_error_no_memory();
}

/* ---- declarations ------------------------------------------------------------------------- */

static struct variable *variable_new(struct parser *p, const struct token *token, enum scope scope,
				     struct type type)
{
	struct variable *variable;

	for (variable = p->script->variables; variable; variable = variable->next) {
		if (variable->scope == scope && !strcmp(variable->name, token->text))
			FAIL(p, token->at, "D_DECL_IDRED", "'%s' is already declared", token->text);
	}
	variable = rs_lang_parse_memory(p, sizeof(*variable));
	if (!variable)
		return NULL;
	variable->name = token->text;
	variable->scope = scope;
	variable->type = type;
	variable->next = p->script->variables;
	p->script->variables = variable;
	return variable;
}

/* [int, string]: the types of an associative array's keys. */
static void key_types(struct parser *p, struct variable *variable)
{
	variable->is_array = true;
	if (variable->scope == SCOPE_THIS)
		FAIL_NEXT(p, "D_DECL_LOCASSC",
			  "this->%s[]: associative arrays are global or self-> variables",
			  variable->name);
	do {
		struct place at = rs_lang_token_peek(p)->at;
		struct type type;

		if (variable->n_keys == LANG_KEYS_MAX) {
			FAIL(p, at, "D_PROTO_LEN", "there are more than %d keys", LANG_KEYS_MAX);
			return;
		}
		type = rs_lang_parse_type(p);
		if (type.kind == TYPE_POINTER)
			type = TYPE_OF_UINT64;
		if (!p->err && type.kind != TYPE_INT && type.kind != TYPE_STRING)
			FAIL(p, at, "D_KEY_TYPE", "a key must be a number or a string");
		variable->keys[variable->n_keys++] = type;
	} while (rs_lang_op_accept(p, OP_COMMA));
	rs_lang_op_expect(p, OP_RBRACKET, "after the keys' types");
}

static void declare_variable(struct parser *p, enum scope scope, struct type base)
{
	struct variable *variable;
	struct token token;
	struct type type;

	p->keys = false;
	type = rs_lang_parse_declarator(p, base, &token);
	if (p->err)
		return;
	if (type.kind == TYPE_VOID)
		FAIL(p, token.at, "D_DECL_VOIDOBJ", "a variable cannot be void");
	else if (!rs_lang_parse_bytes(p, &type))
		FAIL(p, token.at, "D_DECL_INCOMPLETE", "'%s' has an incomplete type", token.text);
	else if (rs_lang_type_bytes(p->script, &type) > LANG_OBJECT_MAX)
		FAIL(p, token.at, "D_DECL_ARRBIG", "'%s' exceeds %u bytes", token.text,
		     LANG_OBJECT_MAX);
	variable = p->err ? NULL : variable_new(p, &token, scope, type);
	if (variable && p->keys)
		key_types(p, variable);
}

/* int x; self string s; this struct x y; int a[string]; struct x { ... }; */
static void variable_declaration(struct parser *p)
{
	enum scope scope = SCOPE_GLOBAL;
	bool tagged;
	struct type type;

	if (!strcmp(rs_lang_token_peek(p)->text, "self"))
		scope = SCOPE_SELF;
	else if (!strcmp(rs_lang_token_peek(p)->text, "this"))
		scope = SCOPE_THIS;
	if (scope != SCOPE_GLOBAL)
		rs_lang_token_next(p);
	tagged = rs_lang_token_peek(p)->kind == T_NAME &&
		 (!strcmp(rs_lang_token_peek(p)->text, "struct") ||
		  !strcmp(rs_lang_token_peek(p)->text, "union") ||
		  !strcmp(rs_lang_token_peek(p)->text, "enum"));
	type = rs_lang_parse_type_specifier(p);
	if (rs_lang_op_accept(p, OP_SEMI)) {
		if (!tagged)
			FAIL_NEXT(p, "D_DECL_USELESS", "the declaration declares nothing");
		return;
	}
	do
		declare_variable(p, scope, type);
	while (!p->err && rs_lang_op_accept(p, OP_COMMA));
	rs_lang_op_expect(p, OP_SEMI, "after a declaration");
}

static void inline_declaration(struct parser *p)
{
	struct variable *variable;
	struct token token;
	struct type type;

	rs_lang_token_next(p);
	type = rs_lang_parse_declarator(p, rs_lang_parse_type_specifier(p), &token);
	rs_lang_op_expect(p, OP_ASSIGN, "after an inline's name");
	variable = p->err ? NULL : variable_new(p, &token, SCOPE_GLOBAL, type);
	if (!variable)
		return;
	variable->inlined = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_SEMI, "after a declaration");
}

static void typedef_declaration(struct parser *p)
{
	struct type_name *name;
	struct token token;
	struct type type;

	rs_lang_token_next(p);
	type = rs_lang_parse_type_specifier(p);
	p->keys = false;
	type = rs_lang_parse_declarator(p, type, &token);
	if (p->keys)
		FAIL(p, token.at, "D_DECL_DYNOBJ", "an associative array is not a type");
	if (!p->err && rs_lang_parse_begins_type(p, token.text))
		FAIL(p, token.at, "D_DECL_TYPERED", "the type '%s' is already declared",
		     token.text);
	name = rs_lang_parse_memory(p, sizeof(*name));
	if (!name)
		return;
	*name = (struct type_name){ token.text, type, p->script->front->type_names };
	p->script->front->type_names = name;
	rs_lang_op_expect(p, OP_SEMI, "after a declaration");
}

/* member = expression; */
static void translation(struct parser *p, struct translator *translator, struct translation ***end)
{
	struct token name = rs_lang_parse_declared_name(p);
	struct translation *translation = rs_lang_parse_memory(p, sizeof(*translation));
	uint32_t n = 0;

	if (!translation)
		return;
	translation->member = rs_lang_member_find(translator->to, name.text);
	if (!translation->member)
		FAIL(p, name.at, "D_XLATE_MEMB", "'%s' has no member '%s'", translator->to->tag,
		     name.text);
	for (const struct translation *t = translator->translations; t; t = t->next) {
		if (++n == LANG_DEPTH_MAX)
			FAIL(p, name.at, "D_SYNTAX", "there are more than %d members",
			     LANG_DEPTH_MAX);
		if (t->member == translation->member)
			FAIL(p, name.at, "D_XLATE_MEMB", "'%s' is translated twice", name.text);
	}
	rs_lang_op_expect(p, OP_ASSIGN, "after a member's name");
	translation->value = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_SEMI, "after a member's translation");
	**end = translation;
	*end = &translation->next;
}

/* translator to < from input > { member = expression; ... }; */
static void translator_declaration(struct parser *p)
{
	struct translator *translator = rs_lang_parse_memory(p, sizeof(*translator));
	struct translation **end = translator ? &translator->translations : NULL;
	struct token token;
	struct place at = rs_lang_token_next(p).at;
	struct type to;

	if (!translator)
		return;
	to = rs_lang_parse_type(p);
	if (!p->err && (to.kind != TYPE_RECORD || !to.record->complete))
		FAIL(p, at, "D_XLATE_SOU", "a translator must produce a struct or a union");
	rs_lang_op_expect(p, OP_LT, "after the output type");
	translator->from = rs_lang_parse_declarator(p, rs_lang_parse_type_specifier(p), &token);
	translator->input = token.text;
	rs_lang_op_expect(p, OP_GT, "after the name of the input");
	rs_lang_op_expect(p, OP_LBRACE, "before the members");
	translator->to = to.record;
	for (const struct translator *t = p->script->front->translators; t && !p->err;
	     t = t->next) {
		if (t->to == to.record && rs_lang_type_same(&t->from, &translator->from))
			FAIL(p, at, "D_XLATE_REDECL", "this translator is already declared");
	}
	while (!p->err && !rs_lang_op_is(p, OP_RBRACE))
		translation(p, translator, &end);
	rs_lang_op_expect(p, OP_RBRACE, "after the members");
	rs_lang_op_expect(p, OP_SEMI, "after a translator");
	translator->next = p->script->front->translators;
	p->script->front->translators = translator;
}

/* Returns the word at the lexer without consuming it; "" if there is none. */
static void raw_word(const struct parser *p, char *word, size_t room)
{
	const char *at = p->lexer.at;
	size_t n = 0;

	while (at < p->lexer.end && (isalnum((unsigned char)*at) || *at == '_') && n < room - 1)
		word[n++] = *at++;
	while (at < p->lexer.end && isblank((unsigned char)*at))
		at++;
	/* The name of a probe may look like a type: the text after it decides. */
	if (at < p->lexer.end && !isalpha((unsigned char)*at) && *at != '_' && *at != '{' &&
	    *at != '*' && !isspace((unsigned char)*at))
		n = 0;
	word[n] = '\0';
}

static void declaration_or_clause(struct parser *p)
{
	char word[64];
	struct token token = { .text = word };

	raw_word(p, word, sizeof(word));
	token.at = rs_lang_lex_place(&p->lexer);
	if (!strcmp(word, "inline"))
		inline_declaration(p);
	else if (!strcmp(word, "typedef"))
		typedef_declaration(p);
	else if (!strcmp(word, "translator"))
		translator_declaration(p);
	else if (!strcmp(word, "provider"))
		FAIL(p, token.at, "D_DECL_BADCLASS",
		     "programs cannot declare providers; 'ringside list' shows the existing ones");
	else if (!strcmp(word, "extern") || !strcmp(word, "static") || !strcmp(word, "auto") ||
		 !strcmp(word, "register"))
		FAIL(p, token.at, "D_DECL_BADCLASS", "D has no '%s'", word);
	else if (*word && (!strcmp(word, "self") || !strcmp(word, "this") ||
			   rs_lang_parse_begins_type(p, word)))
		variable_declaration(p);
	else
		clause(p);
}

struct rs_error *rs_lang_parse_program(struct rs_script *script)
{
	struct parser p = { .script = script };

	p.lexer = (struct lexer){ .script = script,
				  .at = script->config.text,
				  .end = script->config.text + script->config.len,
				  .line_start = script->config.text,
				  .line = 1 };
	script->file = script->config.name;
	for (;;) {
		space(&p);
		if (p.err || p.lexer.at >= p.lexer.end)
			break;
		declaration_or_clause(&p);
		if (!p.err && p.ahead) /* cannot happen: the last token is read */
			p.ahead = false;
	}
	if (!p.err && !script->n_clauses)
		FAIL(&p, rs_lang_lex_place(&p.lexer), "D_EMPTY",
		     "there is no clause: write probes and { actions }");
	return p.err;
}
