/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of D, and the lexer that makes them. */
#ifndef RS_LANG_FRONT_LEX_H
#define RS_LANG_FRONT_LEX_H

#include "lang/vm/program.h"

enum token_kind {
	T_END,
	T_NAME,	 /* text */
	T_INT,	 /* value, type */
	T_TEXT,	 /* text, len */
	T_AGG,	 /* @name; text is the name, "" for @ alone */
	T_MACRO, /* $name, $$name: text is the name, value is 1 for $$ */
	T_OP,	 /* value is enum op */
};

/* Operators and punctuation, longest first in the lexer's table. */
enum op {
	OP_NONE,
	OP_LBRACE,
	OP_RBRACE,
	OP_LPAREN,
	OP_RPAREN,
	OP_LBRACKET,
	OP_RBRACKET,
	OP_SEMI,
	OP_COMMA,
	OP_DOT,
	OP_ARROW,
	OP_QUESTION,
	OP_COLON,
	OP_TICK,
	OP_EPRED, /* the / that ends a predicate */
	OP_ASSIGN,
	OP_ADD_ASSIGN,
	OP_SUB_ASSIGN,
	OP_MUL_ASSIGN,
	OP_DIV_ASSIGN,
	OP_MOD_ASSIGN,
	OP_AND_ASSIGN,
	OP_OR_ASSIGN,
	OP_XOR_ASSIGN,
	OP_SHL_ASSIGN,
	OP_SHR_ASSIGN,
	OP_LOR,
	OP_LXOR,
	OP_LAND,
	OP_BOR,
	OP_BXOR,
	OP_BAND,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_NOT,
	OP_INV,
	OP_INC,
	OP_DEC,
};

struct token {
	enum token_kind kind;
	struct place at;
	enum op op;
	uint64_t value;
	struct type type;
	const char *text; /* NUL-terminated, in the arena */
	size_t len;
};

struct lexer {
	struct rs_script *script;
	const char *at, *end, *line_start;
	uint32_t line;
	bool predicate;	  /* a / before a { ends it */
	const char *file; /* from the line marks of the preprocessor */
	const char *from; /* start of the last token */
};

struct rs_error *rs_lang_lex_next(struct lexer *lexer, struct token *token);
/* Returns the end of a NAME` that begins at `from`, or NULL if there is none. The name is that of a
 * file, as python3.11. */
const char *rs_lang_lex_qualifier(const struct lexer *lexer, const char *from);
/* Returns whether stars and a closing bracket follow, as in a cast to a pointer. */
bool rs_lang_lex_at_stars(const struct lexer *lexer);
struct rs_error *rs_lang_lex_space(struct lexer *lexer); /* blanks, comments, # lines */
struct place rs_lang_lex_place(const struct lexer *lexer);
const char *rs_lang_op_text(enum op op);

#endif
