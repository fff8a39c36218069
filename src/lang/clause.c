/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tokens to a tree: a program is declarations and clauses.
 *
 *	inline int LIMIT = 1000;		typedef, enum, int x; self string s; int a[string];
 *	probes, probes / expression / { statement; statement; }
 */
#include "lang/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements --------------------------------------------------------------------------- */

static struct node *statements(struct parser *p);

static struct node *block(struct parser *p)
{
	struct node *first;

	if (!accept(p, OP_LBRACE)) {
		first = parse_expression(p);
		if (!is_op(p, OP_RBRACE))
			expect(p, OP_SEMI, "after a statement");
		return first;
	}
	first = statements(p);
	expect(p, OP_RBRACE, "to close the block");
	return first;
}

static struct node *if_statement(struct parser *p)
{
	struct node *node = parse_node(p, N_IF, next(p).at);

	if (!enter(p))
		return node;
	expect(p, OP_LPAREN, "after if");
	node->a = parse_expression(p);
	expect(p, OP_RPAREN, "after the condition");
	node->b = block(p);
	if (peek(p)->kind == T_NAME && !strcmp(peek(p)->text, "else")) {
		next(p);
		if (peek(p)->kind == T_NAME && !strcmp(peek(p)->text, "if"))
			node->c = if_statement(p);
		else
			node->c = block(p);
	}
	p->depth--;
	return node;
}

static bool at_loop(struct parser *p)
{
	static const char *const words[] = { "for",    "while",	 "do",	  "goto",
					     "switch", "return", "break", "continue" };

	for (size_t i = 0; peek(p)->kind == T_NAME && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(peek(p)->text, words[i]))
			return true;
	}
	return false;
}

/* Up to the closing brace, which stays. */
static struct node *statements(struct parser *p)
{
	struct node *first = NULL, **end = &first;

	while (!p->err && !is_op(p, OP_RBRACE) && peek(p)->kind != T_END) {
		if (accept(p, OP_SEMI))
			continue;
		if (at_loop(p)) {
			FAIL(p, peek(p)->at, "D_SYNTAX",
			     "D has no '%s': a clause must come to its end", peek(p)->text);
			break;
		}
		if (peek(p)->kind == T_NAME && !strcmp(peek(p)->text, "if")) {
			*end = if_statement(p);
		} else {
			*end = parse_expression(p);
			if (!is_op(p, OP_RBRACE))
				expect(p, OP_SEMI, "after a statement");
		}
		if (p->err)
			break;
		end = &(*end)->next;
	}
	return first;
}

/* ---- probe descriptions ------------------------------------------------------------------- */

/* Writes what $1 or $target stands for at out; how many bytes, with the macro behind us. */
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
	node = parse_macro(p, &token);
	if (p->err)
		return 0;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)node->value);
	text = node->kind == N_TEXT ? node->text : digits;
	n = strlen(text);
	if (n > room) {
		FAIL(p, at, "D_PDESC_INVAL", "a probe description of more than %d bytes",
		     RS_WORD_MAX);
		return 0;
	}
	memcpy(out, text, n);
	return n;
}

/* Raw text: it ends at a blank, a comma, or what begins the predicate or the actions. */
static struct pattern *pattern(struct parser *p)
{
	struct pattern *pattern = parse_memory(p, sizeof(*pattern));
	struct lexer *lexer = &p->lexer;
	char text[RS_WORD_MAX + 1];
	uint32_t colons = 0;
	bool quoted = false;
	size_t n = 0;

	if (!pattern)
		return NULL;
	pattern->at = lex_place(lexer);
	while (!p->err && lexer->at < lexer->end &&
	       (quoted ? *lexer->at != '\n' : !strchr(" \t\r\n\v\f,/{};", *lexer->at))) {
		char c = *lexer->at;

		if (n >= sizeof(text) - 1) {
			FAIL(p, pattern->at, "D_PDESC_INVAL",
			     "a probe description of more than %d bytes", RS_WORD_MAX);
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
		     "more than four fields: PROVIDER:CLASS:FUNCTION:NAME");
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
		p->err = lex_space(&p->lexer);
}

static bool raw_is(struct parser *p, char c)
{
	return !p->err && p->lexer.at < p->lexer.end && *p->lexer.at == c;
}

static void clause(struct parser *p)
{
	struct clause *clause = parse_memory(p, sizeof(*clause));
	struct clause **place;
	struct pattern **end;

	if (!clause)
		return;
	clause->at = lex_place(&p->lexer);
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
		clause->predicate = parse_expression(p);
		expect(p, OP_EPRED, "at the end of the predicate");
		p->lexer.predicate = false;
		space(p);
	}
	if (raw_is(p, '{')) {
		p->lexer.at++;
		clause->has_body = true;
		clause->body = statements(p);
		expect(p, OP_RBRACE, "at the end of the clause");
	} else if (raw_is(p, ';')) {
		p->lexer.at++;
	} else if (p->lexer.at < p->lexer.end || clause->predicate) {
		FAIL(p, lex_place(&p->lexer), "D_SYNTAX", "expected { and actions here");
	}
	if (p->err)
		return;
	clause->index = p->script->n_clauses++;
	if (p->script->n_clauses > LANG_CLAUSES_MAX)
		FAIL(p, clause->at, "D_SYNTAX", "more than %d clauses", LANG_CLAUSES_MAX);
	*p->script->clauses_end = clause;
	p->script->clauses_end = &clause->next;
	place = VECTOR_ADD(p->script, &p->script->clause_at);
	if (place)
		*place = clause;
	else
		p->err = rs_error_no_memory();
}

/* ---- declarations ------------------------------------------------------------------------- */

static struct token declared_name(struct parser *p)
{
	if (peek(p)->kind != T_NAME)
		FAIL(p, peek(p)->at, "D_DECL_IDENT", "expected a name, not '%s'",
		     token_text(peek(p)));
	return next(p);
}

static struct variable *variable_new(struct parser *p, const struct token *token, enum scope scope,
				     struct type type)
{
	struct variable *variable;

	for (variable = p->script->variables; variable; variable = variable->next) {
		if (variable->scope == scope && !strcmp(variable->name, token->text))
			FAIL(p, token->at, "D_DECL_IDRED", "'%s' is declared already", token->text);
	}
	variable = parse_memory(p, sizeof(*variable));
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
		FAIL(p, peek(p)->at, "D_DECL_LOCASSC", "this->%s[]: arrays are global or self->",
		     variable->name);
	do {
		if (variable->n_keys == LANG_KEYS_MAX) {
			FAIL(p, peek(p)->at, "D_PROTO_LEN", "more than %d keys", LANG_KEYS_MAX);
			return;
		}
		if (peek(p)->kind == T_INT) {
			FAIL(p, peek(p)->at, "D_DECL_ARRSUB",
			     "arrays of a fixed size are not in this compiler: name the keys' "
			     "types, as in [int]");
			return;
		}
		variable->keys[variable->n_keys++] = type_read(p);
	} while (accept(p, OP_COMMA));
	expect(p, OP_RBRACKET, "after the keys' types");
}

static void variable_declaration(struct parser *p)
{
	enum scope scope = SCOPE_GLOBAL;
	struct variable *variable;
	struct token token;
	struct type type;

	if (!strcmp(peek(p)->text, "self"))
		scope = SCOPE_SELF;
	else if (!strcmp(peek(p)->text, "this"))
		scope = SCOPE_THIS;
	if (scope != SCOPE_GLOBAL)
		next(p);
	type = type_read(p);
	do {
		token = declared_name(p);
		if (type.kind == TYPE_VOID)
			FAIL(p, token.at, "D_DECL_VOIDOBJ", "a variable can't be void");
		variable = p->err ? NULL : variable_new(p, &token, scope, type);
		if (variable && accept(p, OP_LBRACKET))
			key_types(p, variable);
	} while (!p->err && accept(p, OP_COMMA));
	expect(p, OP_SEMI, "after a declaration");
}

static void inline_declaration(struct parser *p)
{
	struct variable *variable;
	struct token token;
	struct type type;

	next(p);
	type = type_read(p);
	token = declared_name(p);
	expect(p, OP_ASSIGN, "after an inline's name");
	variable = p->err ? NULL : variable_new(p, &token, SCOPE_GLOBAL, type);
	if (!variable)
		return;
	variable->inlined = parse_expression(p);
	expect(p, OP_SEMI, "after a declaration");
}

static void typedef_declaration(struct parser *p)
{
	struct type_name *name;
	struct token token;
	struct type type;

	next(p);
	type = type_read(p);
	token = declared_name(p);
	if (!p->err && begins_type(p, token.text))
		FAIL(p, token.at, "D_DECL_TYPERED", "the type '%s' is there already", token.text);
	name = parse_memory(p, sizeof(*name));
	if (!name)
		return;
	*name = (struct type_name){ token.text, type, p->script->type_names };
	p->script->type_names = name;
	expect(p, OP_SEMI, "after a declaration");
}

/* enum x { A, B = 5 }; */
static void enum_declaration(struct parser *p)
{
	int64_t value = 0;

	next(p);
	if (peek(p)->kind == T_NAME)
		next(p);
	expect(p, OP_LBRACE, "after enum");
	while (!p->err && !is_op(p, OP_RBRACE)) {
		struct token token = declared_name(p);
		struct enum_name *name = parse_memory(p, sizeof(*name));

		if (!name)
			return;
		if (accept(p, OP_ASSIGN)) {
			struct node *given = parse_conditional(p);

			if (!p->err && (!fold(given) || given->kind != N_INT))
				FAIL(p, given->at, "D_DECL_ENCONST",
				     "an enumerator's value must be a constant");
			value = (int64_t)given->value;
		}
		if (value > INT32_MAX || value < INT32_MIN)
			FAIL(p, token.at, "D_DECL_ENOFLOW", "%s does not fit an int", token.text);
		*name = (struct enum_name){ token.text, value++, p->script->enum_names };
		p->script->enum_names = name;
		if (!accept(p, OP_COMMA))
			break;
	}
	expect(p, OP_RBRACE, "after the enumerators");
	expect(p, OP_SEMI, "after a declaration");
}

/* The word at the lexer, which stays; "" where there is none. */
static void raw_word(const struct parser *p, char *word, size_t room)
{
	const char *at = p->lexer.at;
	size_t n = 0;

	while (at < p->lexer.end && (isalnum((unsigned char)*at) || *at == '_') && n < room - 1)
		word[n++] = *at++;
	while (at < p->lexer.end && isblank((unsigned char)*at))
		at++;
	/* A probe's name may look like a type: what is behind it tells. */
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
	token.at = lex_place(&p->lexer);
	if (!strcmp(word, "inline"))
		inline_declaration(p);
	else if (!strcmp(word, "typedef"))
		typedef_declaration(p);
	else if (!strcmp(word, "enum"))
		enum_declaration(p);
	else if (!strcmp(word, "translator") || !strcmp(word, "provider") ||
		 !strcmp(word, "struct") || !strcmp(word, "union"))
		no_structs(p, &token);
	else if (!strcmp(word, "extern") || !strcmp(word, "static") || !strcmp(word, "auto") ||
		 !strcmp(word, "register"))
		FAIL(p, token.at, "D_DECL_BADCLASS", "D has no '%s'", word);
	else if (*word && (!strcmp(word, "self") || !strcmp(word, "this") || begins_type(p, word)))
		variable_declaration(p);
	else
		clause(p);
}

struct rs_error *parse_program(struct rs_script *script)
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
		if (!p.err && p.ahead) /* never: each ends with a token that is behind us */
			p.ahead = false;
	}
	if (!p.err && !script->n_clauses)
		FAIL(&p, lex_place(&p.lexer), "D_EMPTY",
		     "there is no clause: write probes and { actions }");
	return p.err;
}
