/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the parts of the parser: expressions (parse.c), types (declare.c), declarations and
 * clauses (clause.c). The parser keeps the first error and returns the end for every further token,
 * so callers need not check for errors.
 */
#ifndef RS_LANG_FRONT_PARSE_H
#define RS_LANG_FRONT_PARSE_H

#include "lang/front/tree.h"

struct parser {
	struct lexer lexer;
	struct rs_script *script;
	struct token token; /* the next token, if `ahead` */
	bool ahead;
	struct rs_error *err;
	uint32_t depth;
	bool copyinstr; /* copyinstr() is called in this clause, or in a declaration before it */
	bool keys; /* after rs_lang_parse_declarator(): [ is read, and the types of keys follow */
};

#define XDT "xdt_" /* variables of xdt begin with it */

/* Keeps the first error. If computing the position or the message reads a bad token, the error of
 * that token is the first. */
#define FAIL(p, at, ...)                                                                           \
	do {                                                                                       \
		const struct place fail_at = (at);                                                 \
		struct rs_error *fail_err;                                                         \
                                                                                                   \
		if ((p)->err)                                                                      \
			break;                                                                     \
		fail_err = rs_lang_error((p)->script, fail_at, __VA_ARGS__);                       \
		(p)->err = rs_error_first((p)->err, fail_err);                                     \
	} while (0)

/* As above, at the next token. */
#define FAIL_NEXT(p, ...) FAIL(p, rs_lang_token_peek(p)->at, __VA_ARGS__)

/* Returns zeroed memory, or NULL after an error. */
void *rs_lang_parse_memory(struct parser *p, size_t bytes);
struct node *rs_lang_parse_node(struct parser *p, enum node_kind kind, struct place at);

/* Reads NAME`, which qualifies a type or a variable of the guest, if it is next, and returns
 * whether it was. */
bool rs_lang_parse_at_qualifier(struct parser *p);
const char *rs_lang_parse_qualifier(struct parser *p); /* NULL: there is none */

const struct token *rs_lang_token_peek(struct parser *p);
struct token rs_lang_token_next(struct parser *p);
bool rs_lang_op_is(struct parser *p, enum op op);
bool rs_lang_op_accept(struct parser *p, enum op op);
void rs_lang_op_expect(struct parser *p, enum op op, const char *where);
bool rs_lang_parse_enter(struct parser *p); /* enters a level; returns false if it is too deep */
const char *rs_lang_token_text(const struct token *token);

/* Types (declare.c): unsigned long, struct x *, and their declarators. */
/* Returns the size of a type, after completing it from the guest if necessary, or 0 if it has no
 * size. */
uint64_t rs_lang_parse_bytes(struct parser *p, const struct type *type);
bool rs_lang_parse_begins_type(const struct parser *p, const char *word);
bool rs_lang_parse_at_type(struct parser *p);
struct type rs_lang_parse_type(struct parser *p); /* without a name */
struct type rs_lang_parse_type_specifier(struct parser *p);
/* Parses a declarator: *name[4]. Leaves the keys of an associative array to the caller. */
struct type rs_lang_parse_declarator(struct parser *p, struct type type, struct token *name);
int64_t rs_lang_parse_constant(struct parser *p, const char *tag, const char *what);
struct token rs_lang_parse_declared_name(struct parser *p);
struct node *rs_lang_parse_macro(struct parser *p, const struct token *token);
struct node *rs_lang_parse_expression(struct parser *p);
struct node *rs_lang_parse_assignment(struct parser *p); /* without commas */
struct node *rs_lang_parse_conditional(struct parser *p);

#endif
