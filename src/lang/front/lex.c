/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits text into tokens, one whenever the parser needs it, because the meaning of a character
 * depends on the context: probe descriptions are raw text, and a / may end a predicate.
 */
#include "lang/front/lex.h"
#include "lang/front/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A longer operator precedes its prefixes. */
static const struct {
	const char *text;
	enum op op;
} operators[] = {
	{ "<<=", OP_SHL_ASSIGN }, { ">>=", OP_SHR_ASSIGN }, { "+=", OP_ADD_ASSIGN },
	{ "-=", OP_SUB_ASSIGN },  { "*=", OP_MUL_ASSIGN },  { "/=", OP_DIV_ASSIGN },
	{ "%=", OP_MOD_ASSIGN },  { "&=", OP_AND_ASSIGN },  { "|=", OP_OR_ASSIGN },
	{ "^=", OP_XOR_ASSIGN },  { "||", OP_LOR },	    { "^^", OP_LXOR },
	{ "&&", OP_LAND },	  { "==", OP_EQ },	    { "!=", OP_NE },
	{ "<=", OP_LE },	  { ">=", OP_GE },	    { "<<", OP_SHL },
	{ ">>", OP_SHR },	  { "++", OP_INC },	    { "--", OP_DEC },
	{ "->", OP_ARROW },	  { "{", OP_LBRACE },	    { "}", OP_RBRACE },
	{ "(", OP_LPAREN },	  { ")", OP_RPAREN },	    { "[", OP_LBRACKET },
	{ "]", OP_RBRACKET },	  { ";", OP_SEMI },	    { ",", OP_COMMA },
	{ ".", OP_DOT },	  { "?", OP_QUESTION },	    { ":", OP_COLON },
	{ "`", OP_TICK },	  { "=", OP_ASSIGN },	    { "|", OP_BOR },
	{ "^", OP_BXOR },	  { "&", OP_BAND },	    { "<", OP_LT },
	{ ">", OP_GT },		  { "+", OP_ADD },	    { "-", OP_SUB },
	{ "*", OP_MUL },	  { "/", OP_DIV },	    { "%", OP_MOD },
	{ "!", OP_NOT },	  { "~", OP_INV },
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

bool rs_lang_operator_word(uint32_t index, struct rs_lang_word *word)
{
	return index < N_OPERATORS && rs_lang_word_set(word, operators[index].text, "", "");
}

const char *rs_lang_op_text(enum op op)
{
	for (size_t i = 0; i < N_OPERATORS; i++) {
		if (operators[i].op == op)
			return operators[i].text;
	}
	return op == OP_EPRED ? "/" : "?";
}

struct place rs_lang_lex_place(const struct lexer *lexer)
{
	return (struct place){ lexer->line, (uint32_t)(lexer->at - lexer->line_start) + 1 };
}

static int peek(const struct lexer *lexer, size_t ahead)
{
	return (size_t)(lexer->end - lexer->at) > ahead ? (unsigned char)lexer->at[ahead] : -1;
}

static void newline(struct lexer *lexer)
{
	lexer->at++;
	lexer->line++;
	lexer->line_start = lexer->at;
}

static bool starts(const struct lexer *lexer, const char *text)
{
	const char *at = lexer->at;

	while (*text && at < lexer->end && *at == *text) {
		at++;
		text++;
	}
	return !*text;
}

/* ---- blanks, comments, # lines ------------------------------------------------------------ */

/* # 12 "file" of the preprocessor: the next line is that line of that file. */
static struct rs_error *line_mark(struct lexer *lexer, const char *text)
{
	char *end;
	unsigned long line = strtoul(text, &end, 10);
	const char *name = strchr(end, '"'), *close = name ? strchr(name + 1, '"') : NULL;

	if (close) {
		lexer->script->file =
			rs_arena_text(&lexer->script->arena, name + 1, (size_t)(close - name - 1));
		if (!lexer->script->file)
			return rs_error_no_memory();
	}
	lexer->line = (uint32_t)line - 1; /* the newline after it is not read yet */
	return NULL;
}

static struct rs_error *pragma(struct lexer *lexer, struct place at, char *text)
{
	static const char blanks[] = " \t\r";
	char *rest = NULL;
	char *word = strtok_r(text, blanks, &rest);

	if (!word || strcmp(word, "D"))
		return NULL; /* for another compiler */
	word = strtok_r(NULL, blanks, &rest);
	if (!word)
		return rs_lang_error(lexer->script, at, "D_PRAGMA_MALFORM",
				     "#pragma D needs a directive, as in #pragma D option quiet");
	if (!strcmp(word, "option")) {
		word = strtok_r(NULL, blanks, &rest);
		if (!word || strtok_r(NULL, blanks, &rest))
			return rs_lang_error(
				lexer->script, at, "D_PRAGMA_MALFORM",
				"expected one option, as in #pragma D option name=value");
		return rs_lang_option_set(lexer->script, at, word, false);
	}
	if (!strcmp(word, "error"))
		return rs_lang_error(lexer->script, at, "D_PRAGERR", "#error: %s",
				     rest ? rest : "");
	if (!strcmp(word, "depends_on") || !strcmp(word, "attributes") || !strcmp(word, "binding"))
		return NULL; /* for the libraries of Solaris; they have no effect here */
	return rs_lang_error(lexer->script, at, "D_PRAGMA_INVAL",
			     "there is no #pragma D %s; use #pragma D option", word);
}

/* Reads a line that begins with #. */
static struct rs_error *control(struct lexer *lexer)
{
	struct place at = rs_lang_lex_place(lexer);
	const char *stop = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
	const char *from = lexer->at + 1;
	size_t len;
	char *text;

	if (!stop)
		stop = lexer->end;
	lexer->at = stop;
	while (from < stop && (*from == ' ' || *from == '\t'))
		from++;
	len = (size_t)(stop - from);
	if (!len || (*from == '!' && at.line == 1) || (len >= 5 && !strncmp(from, "ident", 5)))
		return NULL;
	text = rs_arena_text(&lexer->script->arena, from, len);
	if (!text)
		return rs_error_no_memory();
	if (isdigit((unsigned char)*text))
		return line_mark(lexer, text);
	if (!strncmp(text, "line", 4) && isblank((unsigned char)text[4]))
		return line_mark(lexer, text + 5 + strspn(text + 5, " \t"));
	if (!strncmp(text, "pragma", 6) && (!text[6] || isblank((unsigned char)text[6])))
		return pragma(lexer, at, text + 6);
	if (!strncmp(text, "error", 5))
		return rs_lang_error(lexer->script, at, "D_PRAGERR", "#%s", text);
	return rs_lang_error(lexer->script, at, "D_PRAGCTL_INVAL",
			     "#%.32s needs the C preprocessor: run the program with -C", text);
}

struct rs_error *rs_lang_lex_space(struct lexer *lexer)
{
	struct rs_error *err = NULL;

	while (!err && lexer->at < lexer->end) {
		if (*lexer->at == '\n') {
			newline(lexer);
		} else if (isspace((unsigned char)*lexer->at)) {
			lexer->at++;
		} else if (starts(lexer, "//")) {
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
		} else if (starts(lexer, "/*")) {
			struct place at = rs_lang_lex_place(lexer);

			lexer->at += 2;
			while (lexer->at < lexer->end && !starts(lexer, "*/")) {
				if (*lexer->at == '\n')
					newline(lexer);
				else
					lexer->at++;
			}
			if (lexer->at >= lexer->end)
				return rs_lang_error(lexer->script, at, "D_SYNTAX",
						     "this comment is not terminated");
			lexer->at += 2;
		} else if (*lexer->at == '#' && lexer->at == lexer->line_start) {
			err = control(lexer);
		} else {
			break;
		}
	}
	return err;
}

/* ---- constants ---------------------------------------------------------------------------- */

/* Returns the type of a number by C's rules: the first of these that holds it. */
static struct type number_type(uint64_t value, bool decimal, bool is_unsigned, bool is_long)
{
	if (!is_long && !is_unsigned && value <= INT32_MAX)
		return INT_OF(4, true);
	if (!is_long && (!decimal || is_unsigned) && value <= UINT32_MAX)
		return INT_OF(4, false);
	if (!is_unsigned && value <= INT64_MAX)
		return INT_OF(8, true);
	return INT_OF(8, false);
}

static struct rs_error *number(struct lexer *lexer, struct token *token)
{
	unsigned int base = 10;
	bool is_unsigned = false, is_long = false;
	uint64_t value = 0;

	if (peek(lexer, 0) == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X')) {
		base = 16;
		lexer->at += 2;
		if (!isxdigit(peek(lexer, 0)))
			return rs_lang_error(lexer->script, token->at, "D_INT_DIGIT",
					     "0x must be followed by digits");
	} else if (peek(lexer, 0) == '0') {
		base = 8;
	}
	while (isxdigit(peek(lexer, 0)) && (base == 16 || isdigit(peek(lexer, 0)))) {
		int c = peek(lexer, 0);
		unsigned int digit = (unsigned int)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);

		if (digit >= base)
			return rs_lang_error(lexer->script, token->at, "D_INT_DIGIT",
					     "'%c' is not an octal digit", c);
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return rs_lang_error(lexer->script, token->at, "D_INT_OFLOW",
					     "the number does not fit in 64 bits");
		lexer->at++;
	}
	if (peek(lexer, 0) == '.' || (base != 16 && tolower(peek(lexer, 0)) == 'e'))
		return rs_lang_error(lexer->script, token->at, "D_SYNTAX",
				     "D has no floating-point numbers; scale to an integer");
	for (;; lexer->at++) {
		int c = tolower(peek(lexer, 0));

		if (c == 'u')
			is_unsigned = true;
		else if (c == 'l')
			is_long = true;
		else
			break;
	}
	if (isalnum(peek(lexer, 0)) || peek(lexer, 0) == '_')
		return rs_lang_error(lexer->script, token->at, "D_INT_DIGIT",
				     "'%c' is not part of a number", peek(lexer, 0));
	token->kind = T_INT;
	token->value = value;
	token->type = number_type(value, base == 10, is_unsigned, is_long);
	return NULL;
}

/* Reads the character after a backslash. */
static unsigned char escape(struct lexer *lexer)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	int c = peek(lexer, 0);
	const char *at = c > 0 ? strchr(from, c) : NULL;
	unsigned int value = 0;

	if (c == 'x' && isxdigit(peek(lexer, 1))) {
		lexer->at++;
		for (int i = 0; i < 2 && isxdigit(c = peek(lexer, 0)); i++, lexer->at++)
			value = value * 16 +
				(unsigned int)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
		return (unsigned char)value;
	}
	if (c >= '0' && c <= '7') {
		for (int i = 0; i < 3 && (c = peek(lexer, 0)) >= '0' && c <= '7'; i++, lexer->at++)
			value = value * 8 + (unsigned int)(c - '0');
		return (unsigned char)value;
	}
	lexer->at++;
	return at ? (unsigned char)to[at - from] : (unsigned char)c;
}

/* Reads the characters between quotes. */
static struct rs_error *quoted(struct lexer *lexer, struct token *token, char quote, char *bytes,
			       size_t room, size_t *len)
{
	const char *nl = quote == '"' ? "D_STR_NL" : "D_CHR_NL";

	lexer->at++;
	for (*len = 0; peek(lexer, 0) != quote; (*len)++) {
		if (peek(lexer, 0) < 0 || peek(lexer, 0) == '\n')
			return rs_lang_error(lexer->script, token->at, nl,
					     "the closing %c is missing on this line", quote);
		if (*len == room)
			return rs_lang_error(lexer->script, token->at,
					     quote == '"' ? "D_SYNTAX" : "D_CHR_OFLOW",
					     "more than %zu characters between the quotes", room);
		if (peek(lexer, 0) == '\\' && peek(lexer, 1) >= 0 && peek(lexer, 1) != '\n') {
			lexer->at++;
			bytes[*len] = (char)escape(lexer);
		} else {
			bytes[*len] = *lexer->at++;
		}
	}
	lexer->at++;
	return NULL;
}

static struct rs_error *text(struct lexer *lexer, struct token *token)
{
	char bytes[LANG_TOKEN_MAX];
	struct rs_error *err = quoted(lexer, token, '"', bytes, sizeof(bytes), &token->len);

	if (err)
		return err;
	token->kind = T_TEXT;
	token->text = rs_arena_text(&lexer->script->arena, bytes, token->len);
	return token->text ? NULL : rs_error_no_memory();
}

static struct rs_error *character(struct lexer *lexer, struct token *token)
{
	char bytes[8];
	struct rs_error *err = quoted(lexer, token, '\'', bytes, sizeof(bytes), &token->len);

	if (err)
		return err;
	if (!token->len)
		return rs_lang_error(lexer->script, token->at, "D_CHR_NULL",
				     "there is no character between the quotes");
	token->kind = T_INT;
	token->type = INT_OF(token->len > 4 ? 8 : 4, true);
	for (size_t i = 0; i < token->len; i++)
		token->value = token->value << 8 | (unsigned char)bytes[i];
	if (token->len == 1)
		token->value = (uint64_t)(int64_t)(signed char)bytes[0];
	return NULL;
}

/* ---- names and operators ------------------------------------------------------------------ */

static struct rs_error *word(struct lexer *lexer, struct token *token, enum token_kind kind)
{
	const char *from = lexer->at;

	while (isalnum(peek(lexer, 0)) || peek(lexer, 0) == '_')
		lexer->at++;
	token->kind = kind;
	token->len = (size_t)(lexer->at - from);
	if (token->len > LANG_TOKEN_MAX)
		return rs_lang_error(lexer->script, token->at, "D_ID_OFLOW",
				     "the name exceeds %d characters", LANG_TOKEN_MAX);
	token->text = rs_arena_text(&lexer->script->arena, from, token->len);
	return token->text ? NULL : rs_error_no_memory();
}

/* Returns whether this / ends the predicate, so that the actions follow. */
static bool ends_predicate(const struct lexer *lexer)
{
	struct lexer ahead = *lexer;

	ahead.at++;
	while (ahead.at < ahead.end) {
		if (isspace((unsigned char)*ahead.at)) {
			ahead.at++;
		} else if (starts(&ahead, "/*")) {
			const char *close =
				memmem(ahead.at, (size_t)(ahead.end - ahead.at), "*/", 2);

			ahead.at = close ? close + 2 : ahead.end;
		} else if (starts(&ahead, "//")) {
			const char *close = memchr(ahead.at, '\n', (size_t)(ahead.end - ahead.at));

			ahead.at = close ? close : ahead.end;
		} else {
			break;
		}
	}
	return ahead.at == ahead.end || *ahead.at == '{' || *ahead.at == ';';
}

const char *rs_lang_lex_qualifier(const struct lexer *lexer, const char *from)
{
	const char *at = from;

	while (at < lexer->end &&
	       (isalnum((unsigned char)*at) || (*at && strchr("_.+-", *at))))
		at++;
	if (at == from || at == lexer->end || *at != '`' ||
	    (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) /* cpu-`xdt_curpcpu is another */
		return NULL;
	return at + 1;
}

bool rs_lang_lex_at_stars(const struct lexer *lexer)
{
	const char *at = lexer->at;
	bool any = false;

	for (; at < lexer->end && (*at == '*' || isspace((unsigned char)*at)); at++)
		any |= *at == '*';
	return any && at < lexer->end && *at == ')';
}

static struct rs_error *operator(struct lexer *lexer, struct token *token)
{
	for (size_t i = 0; i < N_OPERATORS; i++) {
		if (!starts(lexer, operators[i].text))
			continue;
		token->kind = T_OP;
		token->op = operators[i].op;
		if (token->op == OP_DIV && lexer->predicate && ends_predicate(lexer))
			token->op = OP_EPRED;
		lexer->at += strlen(operators[i].text);
		return NULL;
	}
	if (isprint((unsigned char)*lexer->at))
		return rs_lang_error(lexer->script, token->at, "D_SYNTAX",
				     "unexpected character '%c'", *lexer->at);
	return rs_lang_error(lexer->script, token->at, "D_SYNTAX", "unexpected byte 0x%02x",
			     (unsigned char)*lexer->at);
}

struct rs_error *rs_lang_lex_next(struct lexer *lexer, struct token *token)
{
	struct rs_error *err = rs_lang_lex_space(lexer);
	int c = peek(lexer, 0);

	*token = (struct token){ .kind = T_END, .at = rs_lang_lex_place(lexer), .text = "" };
	lexer->from = lexer->at;
	if (err || c < 0)
		return err;
	if (isdigit(c))
		return number(lexer, token);
	if (isalpha(c) || c == '_')
		return word(lexer, token, T_NAME);
	if (c == '"')
		return text(lexer, token);
	if (c == '\'')
		return character(lexer, token);
	if (c == '@') {
		lexer->at++;
		return word(lexer, token, T_AGG);
	}
	if (c == '$') {
		lexer->at++;
		token->value = peek(lexer, 0) == '$';
		lexer->at += token->value;
		return word(lexer, token, T_MACRO);
	}
	return operator(lexer, token);
}
