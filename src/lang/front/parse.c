/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses expressions. The depth of the tree is limited here, because the later stages recurse. */
#include "lang/front/parse.h"
#include "lang/front/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *rs_lang_parse_memory(struct parser *p, size_t bytes)
{
	void *at = p->err ? NULL : rs_arena_alloc(&p->script->arena, bytes);

	if (!at && !p->err)
		p->err = rs_error_no_memory();
	return at;
}

static void macro_used(struct parser *p, unsigned long number)
{
	if (number && number <= 64)
		p->script->front->macros_used |= UINT64_C(1) << (number - 1);
}

/* $1 becomes a name or a string if its argument looks like one; otherwise rs_lang_parse_macro()
 * reads it as a number. */
static void argument_token(struct parser *p)
{
	const struct rs_script_config *config = &p->script->config;
	struct token *token = &p->token;
	char *end;
	unsigned long number = strtoul(token->text, &end, 10);
	const char *text;
	size_t len;

	if (token->value || *end || !number || number > config->n_args)
		return;
	text = config->args[number - 1];
	len = strlen(text);
	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		token->kind = T_TEXT;
		text = rs_arena_text(&p->script->arena, text + 1, len -= 2);
		if (!text)
			p->err = rs_error_no_memory();
	} else if (isalpha((unsigned char)*text) || *text == '_') {
		for (size_t i = 0; i < len; i++) {
			if (!isalnum((unsigned char)text[i]) && text[i] != '_')
				return;
		}
		token->kind = T_NAME;
	} else {
		return;
	}
	macro_used(p, number);
	token->text = text;
	token->len = len;
}

const struct token *rs_lang_token_peek(struct parser *p)
{
	if (!p->err && !p->ahead) {
		p->err = rs_lang_lex_next(&p->lexer, &p->token);
		p->ahead = true;
		if (!p->err && p->token.kind == T_MACRO)
			argument_token(p);
	}
	if (p->err)
		p->token = (struct token){ .kind = T_END, .text = "" };
	return &p->token;
}

bool rs_lang_parse_at_qualifier(struct parser *p)
{
	return p->script->config.types && rs_lang_token_peek(p)->kind == T_NAME &&
	       rs_lang_lex_qualifier(&p->lexer, p->lexer.from);
}

const char *rs_lang_parse_qualifier(struct parser *p)
{
	const char *from, *end, *text;

	if (!rs_lang_parse_at_qualifier(p))
		return NULL;
	from = p->lexer.from;
	end = rs_lang_lex_qualifier(&p->lexer, from);
	text = rs_arena_text(&p->script->arena, from, (size_t)(end - from) - 1);
	if (!text)
		p->err = rs_error_no_memory();
	p->lexer.at = end;
	p->ahead = false;
	return text;
}

struct token rs_lang_token_next(struct parser *p)
{
	struct token token = *rs_lang_token_peek(p);

	p->ahead = false;
	return token;
}

bool rs_lang_op_is(struct parser *p, enum op op)
{
	return rs_lang_token_peek(p)->kind == T_OP && rs_lang_token_peek(p)->op == op;
}

bool rs_lang_op_accept(struct parser *p, enum op op)
{
	if (!rs_lang_op_is(p, op))
		return false;
	rs_lang_token_next(p);
	return true;
}

const char *rs_lang_token_text(const struct token *token)
{
	switch (token->kind) {
	case T_END:
		return "the end of the program";
	case T_OP:
		return rs_lang_op_text(token->op);
	case T_INT:
		return "a number";
	default:
		return token->text;
	}
}

void rs_lang_op_expect(struct parser *p, enum op op, const char *where)
{
	if (!rs_lang_op_accept(p, op))
		FAIL_NEXT(p, "D_SYNTAX", "expected '%s' %s, not '%s'", rs_lang_op_text(op), where,
			  rs_lang_token_text(rs_lang_token_peek(p)));
}

bool rs_lang_parse_enter(struct parser *p)
{
	if (++p->depth > LANG_DEPTH_MAX)
		FAIL_NEXT(p, "D_SYNTAX", "the nesting exceeds %d levels", LANG_DEPTH_MAX);
	return !p->err;
}

struct node *rs_lang_parse_node(struct parser *p, enum node_kind kind, struct place at)
{
	struct node *node = rs_lang_parse_memory(p, sizeof(*node));
	static struct node none; /* after an error: the caller ignores its content */

	if (!node) {
		none = (struct node){ .kind = N_INT };
		return &none;
	}
	node->kind = kind;
	node->at = at;
	return node;
}

/* ---- expressions -------------------------------------------------------------------------- */

static struct node *unary(struct parser *p);

/* Reads up to the closing bracket. */
static struct node *arguments(struct parser *p, enum op close)
{
	struct node *first = NULL, **end = &first;
	uint32_t n = 0;

	if (rs_lang_op_accept(p, close))
		return NULL;
	do {
		if (++n > LANG_ARGS_MAX)
			FAIL_NEXT(p, "D_PROTO_LEN", "there are more than %d arguments",
				  LANG_ARGS_MAX);
		*end = rs_lang_parse_assignment(p);
		if (p->err)
			return NULL;
		end = &(*end)->next;
	} while (rs_lang_op_accept(p, OP_COMMA));
	rs_lang_op_expect(p, close, "after the last of the arguments");
	return first;
}

/* The macros of this process: D's name, and its value. */
#define MACROS(ROW)                                                                                \
	ROW(egid, getegid())                                                                       \
	ROW(euid, geteuid())                                                                       \
	ROW(gid, getgid())                                                                         \
	ROW(pgid, getpgrp())                                                                       \
	ROW(pid, getpid())                                                                         \
	ROW(ppid, getppid())                                                                       \
	ROW(sid, getsid(0))                                                                        \
	ROW(uid, getuid())

#define NAME(name, value) #name,
static const char *const macro_names[] = { MACROS(NAME) "target" };
#undef NAME
#define N_MACROS (sizeof(macro_names) / sizeof(macro_names[0]))

bool rs_lang_macro_word(uint32_t index, struct rs_lang_word *word)
{
	return index < N_MACROS && rs_lang_word_set(word, macro_names[index], "", "");
}

static bool macro_of_process(const char *name, uint64_t *value)
{
#define VALUE(name, value) (uint64_t)(value),
	const uint64_t values[] = { MACROS(VALUE) };
#undef VALUE

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (!strcmp(macro_names[i], name)) {
			*value = values[i];
			return true;
		}
	}
	return false;
}

/* $1, $$1, $target, $pid. */
struct node *rs_lang_parse_macro(struct parser *p, const struct token *token)
{
	struct node *node = rs_lang_parse_node(p, N_INT, token->at);
	const char *text = NULL;
	char *end;
	unsigned long number = strtoul(token->text, &end, 10);

	node->type = TYPE_OF_INT64;
	if (!strcmp(token->text, "target") && p->script->options[OPT_TARGET]) {
		node->value = p->script->options[OPT_TARGET];
		return node;
	}
	if (macro_of_process(token->text, &node->value)) {
		node->type = TYPE_OF_INT;
		return node;
	}
	if (end == token->text || *end)
		FAIL(p, token->at, "D_MACRO_UNDEF", "there is no $%s%s", token->text,
		     strcmp(token->text, "target") ? "" : " unless -x target=PID gives it");
	else if (!number)
		text = p->script->config.name;
	else if (number <= p->script->config.n_args)
		text = p->script->config.args[number - 1];
	else if (p->script->options[OPT_DEFAULTARGS])
		text = token->value ? "" : "0";
	else
		FAIL(p, token->at, "D_MACRO_UNDEF",
		     "$%lu is missing: the number of arguments is %u; pass more, or set -x "
		     "defaultargs",
		     number, p->script->config.n_args);
	if (p->err)
		return node;
	macro_used(p, number);
	if (token->value || !number) {
		node->kind = N_TEXT;
		node->text = text;
		node->len = strlen(text);
		return node;
	}
	errno = 0;
	node->value =
		strchr(text, '-') ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	if (!*text || *end)
		FAIL(p, token->at, "D_MACRO_UNDEF",
		     "$%lu is '%s', which is not a number: write $$%lu", number, text, number);
	else if (errno == ERANGE)
		FAIL(p, token->at, "D_INT_OFLOW", "$%lu is '%s', which exceeds 64 bits", number,
		     text);
	if (node->value <= INT32_MAX)
		node->type = TYPE_OF_INT;
	return node;
}

static struct node *sizeof_node(struct parser *p, struct place at)
{
	struct node *node = rs_lang_parse_node(p, N_SIZEOF, at);

	if (!rs_lang_op_accept(p, OP_LPAREN)) {
		node->a = unary(p);
		return node;
	}
	if (rs_lang_parse_at_type(p))
		node->type = rs_lang_parse_type(p);
	else
		node->a = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_RPAREN, "after sizeof");
	return node;
}

/* .member and [2], after the first member. */
static void offsetof_path(struct parser *p, struct node *node)
{
	struct node **end = &node->args;
	uint32_t n = 0;

	while (!p->err && (rs_lang_op_is(p, OP_DOT) || rs_lang_op_is(p, OP_LBRACKET))) {
		bool member = rs_lang_op_is(p, OP_DOT);
		struct place at = rs_lang_token_next(p).at;
		struct node *step = rs_lang_parse_node(p, member ? N_MEMBER : N_INT, at);

		if (++n > LANG_DEPTH_MAX)
			FAIL(p, at, "D_SYNTAX", "the path exceeds %d members", LANG_DEPTH_MAX);
		if (member && rs_lang_token_peek(p)->kind != T_NAME)
			FAIL_NEXT(p, "D_SYNTAX", "expected a member's name");
		if (member) {
			step->text = rs_lang_token_next(p).text;
		} else {
			step->value = (uint64_t)rs_lang_parse_constant(p, "D_ARR_BADREF",
								       "an index of offsetof");
			rs_lang_op_expect(p, OP_RBRACKET, "after the index");
		}
		*end = step;
		end = &step->next;
	}
}

/* offsetof (struct x, member) */
static struct node *offsetof_node(struct parser *p, struct place at)
{
	struct node *node = rs_lang_parse_node(p, N_OFFSETOF, at);

	rs_lang_op_expect(p, OP_LPAREN, "after offsetof");
	node->type = rs_lang_parse_type(p);
	rs_lang_op_expect(p, OP_COMMA, "after the type");
	if (rs_lang_token_peek(p)->kind != T_NAME)
		FAIL_NEXT(p, "D_SYNTAX", "expected a member's name");
	node->text = rs_lang_token_next(p).text;
	offsetof_path(p, node);
	rs_lang_op_expect(p, OP_RPAREN, "after the member");
	return node;
}

/* xlate <type> (a) */
static struct node *xlate_node(struct parser *p, struct place at)
{
	struct node *node = rs_lang_parse_node(p, N_XLATE, at);

	rs_lang_op_expect(p, OP_LT, "after xlate");
	node->type = rs_lang_parse_type(p);
	rs_lang_op_expect(p, OP_GT, "after the type");
	rs_lang_op_expect(p, OP_LPAREN, "before the input");
	node->a = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_RPAREN, "after the input");
	return node;
}

/* x, f(1), self->x, this->x */
static struct node *name(struct parser *p, const struct token *token)
{
	bool scoped = !strcmp(token->text, "self") || !strcmp(token->text, "this");
	struct node *node;

	if (!strcmp(token->text, "sizeof"))
		return sizeof_node(p, token->at);
	if (!strcmp(token->text, "offsetof"))
		return offsetof_node(p, token->at);
	if (!strcmp(token->text, "xlate"))
		return xlate_node(p, token->at);
	if (scoped) {
		rs_lang_op_expect(p, OP_ARROW, "after self or this");
		node = rs_lang_parse_node(p, N_SCOPED, token->at);
		node->scope = token->text[0] == 's' ? SCOPE_SELF : SCOPE_THIS;
		if (rs_lang_token_peek(p)->kind != T_NAME)
			FAIL_NEXT(p, "D_SYNTAX", "expected a name after %s->", token->text);
		node->text = rs_lang_token_next(p).text;
		return node;
	}
	if (!rs_lang_op_accept(p, OP_LPAREN)) {
		node = rs_lang_parse_node(p, N_NAME, token->at);
		node->text = token->text;
		return node;
	}
	node = rs_lang_parse_node(p, N_CALL, token->at);
	node->text = token->text;
	p->copyinstr |= !strcmp(node->text, "copyinstr");
	node->args = arguments(p, OP_RPAREN);
	return node;
}

/* kernel`x, FILE`x: a variable of the guest, after the qualifier. */
static struct node *guest_variable(struct parser *p, const char *module, struct place at)
{
	struct node *node = rs_lang_parse_node(p, N_GUEST, at);
	size_t len = strlen(module);
	struct token name;
	char *text;

	if (rs_lang_token_peek(p)->kind != T_NAME)
		FAIL_NEXT(p, "D_SYNTAX", "expected a name after `");
	name = rs_lang_token_next(p);
	text = rs_lang_parse_memory(p, len + 1 + name.len + 1);
	if (!text)
		return node;
	memcpy(text, module, len);
	text[len] = '`';
	memcpy(text + len + 1, name.text, name.len);
	node->text = text;
	node->len = len;
	return node;
}

/* `x: a variable of the kernel, without a qualifier. */
static struct node *kernel_variable(struct parser *p, struct place at)
{
	const struct token *name = rs_lang_token_peek(p);
	struct node *node;

	if (name->kind != T_NAME)
		FAIL_NEXT(p, "D_SYNTAX", "expected a name after `");
	else if (p->script->config.types && strncmp(name->text, XDT, strlen(XDT)) != 0)
		return guest_variable(p, "kernel", at);
	node = rs_lang_parse_node(p, N_KERNEL, at);
	node->text = rs_lang_token_next(p).text;
	return node;
}

static struct node *primary(struct parser *p)
{
	const struct place at = rs_lang_token_peek(p)->at;
	const char *module = rs_lang_parse_qualifier(p);
	struct token token;
	struct node *node;

	if (module)
		return guest_variable(p, module, at);
	token = rs_lang_token_next(p);
	switch (token.kind) {
	case T_INT:
		node = rs_lang_parse_node(p, N_INT, token.at);
		node->value = token.value;
		node->type = token.type;
		return node;
	case T_TEXT:
		node = rs_lang_parse_node(p, N_TEXT, token.at);
		node->text = token.text;
		node->len = token.len;
		return node;
	case T_NAME:
		return name(p, &token);
	case T_MACRO:
		return rs_lang_parse_macro(p, &token);
	case T_AGG:
		node = rs_lang_parse_node(p, N_AGG, token.at);
		node->text = token.text;
		if (rs_lang_op_accept(p, OP_LBRACKET))
			node->args = arguments(p, OP_RBRACKET);
		return node;
	case T_OP:
		if (token.op == OP_TICK)
			return kernel_variable(p, token.at);
		break;
	case T_END:
		break;
	}
	FAIL(p, token.at, "D_SYNTAX", "expected an expression, not '%s'",
	     rs_lang_token_text(&token));
	return rs_lang_parse_node(p, N_INT, token.at);
}

/* A chain of operators is as deep as it is long, and the later stages recurse. */
static bool add_link(struct parser *p, uint32_t *links)
{
	if (++*links > LANG_DEPTH_MAX)
		FAIL_NEXT(p, "D_SYNTAX", "the expression exceeds %d parts", LANG_DEPTH_MAX);
	return !p->err;
}

static struct node *postfix(struct parser *p, struct node *node)
{
	struct node *outer;
	uint32_t links = 0;

	while (add_link(p, &links)) {
		struct place at = node->at; /* x[1] has the position of x */

		if (rs_lang_op_accept(p, OP_LBRACKET)) {
			outer = rs_lang_parse_node(p, N_INDEX, at);
			outer->args = arguments(p, OP_RBRACKET);
		} else if (rs_lang_op_is(p, OP_DOT) || rs_lang_op_is(p, OP_ARROW)) {
			enum op op = rs_lang_token_next(p).op;

			outer = rs_lang_parse_node(p, N_MEMBER, at);
			outer->op = op;
			if (rs_lang_token_peek(p)->kind != T_NAME)
				FAIL_NEXT(p, "D_SYNTAX", "expected a name after '.'");
			outer->text = rs_lang_token_next(p).text;
		} else if (rs_lang_op_is(p, OP_INC) || rs_lang_op_is(p, OP_DEC)) {
			outer = rs_lang_parse_node(p, N_POST, at);
			outer->op = rs_lang_token_next(p).op == OP_INC ? OP_ADD : OP_SUB;
		} else {
			return node;
		}
		outer->a = node;
		node = outer;
	}
	return node;
}

/* (int)a, after the opening bracket. */
static struct node *cast(struct parser *p, struct place at)
{
	struct node *node = rs_lang_parse_node(p, N_CAST, at);

	node->type = rs_lang_parse_type(p);
	rs_lang_op_expect(p, OP_RPAREN, "after the type");
	node->a = unary(p);
	return node;
}

static struct node *unary_inner(struct parser *p)
{
	struct place at = rs_lang_token_peek(p)->at;
	struct node *node;

	if (rs_lang_token_peek(p)->kind == T_NAME &&
	    !strcmp(rs_lang_token_peek(p)->text, "sizeof")) {
		rs_lang_token_next(p);
		return sizeof_node(p, at);
	}
	if (rs_lang_token_peek(p)->kind != T_OP)
		return postfix(p, primary(p));
	switch (rs_lang_token_peek(p)->op) {
	case OP_LPAREN:
		rs_lang_token_next(p);
		if (rs_lang_parse_at_type(p))
			return cast(p, at);
		node = rs_lang_parse_expression(p);
		rs_lang_op_expect(p, OP_RPAREN, "to close the bracket");
		return postfix(p, node);
	case OP_ADD:
	case OP_SUB:
	case OP_NOT:
	case OP_INV:
		node = rs_lang_parse_node(p, N_UNARY, at);
		node->op = rs_lang_token_next(p).op;
		node->a = unary(p);
		return node;
	case OP_INC:
	case OP_DEC: /* ++a is a += 1 */
		node = rs_lang_parse_node(p, N_ASSIGN, at);
		node->op = rs_lang_token_next(p).op == OP_INC ? OP_ADD : OP_SUB;
		node->a = unary(p);
		node->b = rs_lang_parse_node(p, N_INT, at);
		node->b->value = 1;
		node->b->type = TYPE_OF_INT;
		return node;
	case OP_MUL:
	case OP_BAND:
		node = rs_lang_parse_node(
			p, rs_lang_token_next(p).op == OP_MUL ? N_DEREF : N_ADDRESS, at);
		node->a = unary(p);
		return node;
	default:
		return postfix(p, primary(p));
	}
}

static struct node *unary(struct parser *p)
{
	struct node *node;

	if (!rs_lang_parse_enter(p))
		return rs_lang_parse_node(p, N_INT, rs_lang_token_peek(p)->at);
	node = unary_inner(p);
	p->depth--;
	return node;
}

/* Returns the precedence of a binary operator, or 0 if it is not one. */
static int binding(enum op op)
{
	switch (op) {
	case OP_LOR:
		return 1;
	case OP_LXOR:
		return 2;
	case OP_LAND:
		return 3;
	case OP_BOR:
		return 4;
	case OP_BXOR:
		return 5;
	case OP_BAND:
		return 6;
	case OP_EQ:
	case OP_NE:
		return 7;
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
		return 8;
	case OP_SHL:
	case OP_SHR:
		return 9;
	case OP_ADD:
	case OP_SUB:
		return 10;
	case OP_MUL:
	case OP_DIV:
	case OP_MOD:
		return 11;
	default:
		return 0;
	}
}

static struct node *binary(struct parser *p, int least)
{
	struct node *left = unary(p), *node;
	uint32_t links = 0;
	int bound;

	while (rs_lang_token_peek(p)->kind == T_OP &&
	       (bound = binding(rs_lang_token_peek(p)->op)) >= least && bound &&
	       add_link(p, &links)) {
		node = rs_lang_parse_node(p, N_BINARY, rs_lang_token_peek(p)->at);
		node->op = rs_lang_token_next(p).op;
		node->a = left;
		node->b = binary(p, bound + 1);
		left = node;
	}
	return left;
}

struct node *rs_lang_parse_conditional(struct parser *p)
{
	struct node *test = binary(p, 1), *node;

	if (!rs_lang_op_is(p, OP_QUESTION))
		return test;
	node = rs_lang_parse_node(p, N_COND, rs_lang_token_next(p).at);
	node->a = test;
	node->b = rs_lang_parse_expression(p);
	rs_lang_op_expect(p, OP_COLON, "between the two results of '?'");
	node->c = rs_lang_parse_enter(p) ? rs_lang_parse_conditional(p) : test;
	p->depth--;
	return node;
}

/* Sets the operator of a compound assignment such as +=, or OP_NONE for =. Returns false if it
 * is not an assignment. */
static bool assigns(enum op op, enum op *inner)
{
	static const enum op table[][2] = {
		{ OP_ASSIGN, OP_NONE },	    { OP_ADD_ASSIGN, OP_ADD }, { OP_SUB_ASSIGN, OP_SUB },
		{ OP_MUL_ASSIGN, OP_MUL },  { OP_DIV_ASSIGN, OP_DIV }, { OP_MOD_ASSIGN, OP_MOD },
		{ OP_AND_ASSIGN, OP_BAND }, { OP_OR_ASSIGN, OP_BOR },  { OP_XOR_ASSIGN, OP_BXOR },
		{ OP_SHL_ASSIGN, OP_SHL },  { OP_SHR_ASSIGN, OP_SHR },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i][0] == op) {
			*inner = table[i][1];
			return true;
		}
	}
	return false;
}

struct node *rs_lang_parse_assignment(struct parser *p)
{
	struct node *left, *node;
	enum op inner;

	if (!rs_lang_parse_enter(p))
		return rs_lang_parse_node(p, N_INT, rs_lang_token_peek(p)->at);
	left = rs_lang_parse_conditional(p);
	if (rs_lang_token_peek(p)->kind == T_OP && assigns(rs_lang_token_peek(p)->op, &inner)) {
		node = rs_lang_parse_node(p, left->kind == N_AGG ? N_AGGREGATE : N_ASSIGN,
					  rs_lang_token_next(p).at);
		node->op = inner;
		node->a = left;
		node->b = rs_lang_parse_assignment(p);
		if (node->kind == N_AGGREGATE) {
			if (inner != OP_NONE)
				FAIL(p, node->at, "D_OP_WRITE",
				     "an aggregation is assigned with =");
			node->at = left->at;
		}
		left = node;
	}
	p->depth--;
	return left;
}

struct node *rs_lang_parse_expression(struct parser *p)
{
	struct node *left = rs_lang_parse_assignment(p), *node;
	uint32_t links = 0;

	while (rs_lang_op_is(p, OP_COMMA) && add_link(p, &links)) {
		node = rs_lang_parse_node(p, N_COMMA, rs_lang_token_next(p).at);
		node->a = left;
		node->b = rs_lang_parse_assignment(p);
		left = node;
	}
	return left;
}
