/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations of events as programs and guests write them (the syntax is in schema.h). The text
 * comes from a guest's memory: it is bounded, not NUL-terminated, and hostile.
 */
#include <ringside/schema.h>

#include <stdio.h>
#include <string.h>

#define DECLARATION_MAX 4096
#define WORD_MAX	64

struct parser {
	const char *text;
	size_t len, at;
};

static struct rs_error *wrong(const struct parser *p, const char *expected)
{
	return rs_error_create(RS_DAMAGED, "event declaration, column %zu: expected %s", p->at + 1,
			       expected);
}

static bool consume(struct parser *p, char c)
{
	if (p->at >= p->len || p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

static void skip_blanks(struct parser *p)
{
	while (p->at < p->len && p->text[p->at] == ' ')
		p->at++;
}

static bool is_word_char(char c, const char *more)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (c && strchr(more, c));
}

/* Reads a word of letters, digits, '_' and the characters in `more`. It may be empty. */
static struct rs_error *word(struct parser *p, const char *more, char out[WORD_MAX])
{
	size_t n = 0;

	while (p->at < p->len && is_word_char(p->text[p->at], more)) {
		if (n + 1 == WORD_MAX)
			return wrong(p, "a shorter word");
		out[n++] = p->text[p->at++];
	}
	out[n] = '\0';
	return NULL;
}

static const struct {
	const char *word;
	enum rs_type type;
	enum rs_show show;
} type_words[] = {
	{ "u8", RS_TYPE_U8, RS_SHOW_DEC },	 { "u16", RS_TYPE_U16, RS_SHOW_DEC },
	{ "u32", RS_TYPE_U32, RS_SHOW_DEC },	 { "u64", RS_TYPE_U64, RS_SHOW_DEC },
	{ "s8", RS_TYPE_S8, RS_SHOW_DEC },	 { "s16", RS_TYPE_S16, RS_SHOW_DEC },
	{ "s32", RS_TYPE_S32, RS_SHOW_DEC },	 { "s64", RS_TYPE_S64, RS_SHOW_DEC },
	{ "x8", RS_TYPE_U8, RS_SHOW_HEX },	 { "x16", RS_TYPE_U16, RS_SHOW_HEX },
	{ "x32", RS_TYPE_U32, RS_SHOW_HEX },	 { "x64", RS_TYPE_U64, RS_SHOW_HEX },
	{ "name", RS_TYPE_U32, RS_SHOW_NAME },	 { "text", RS_TYPE_TEXT, RS_SHOW_DEC },
	{ "stack", RS_TYPE_STACK, RS_SHOW_HEX },
};

/* One field's words, kept until the schema has copied them. */
struct field_words {
	char name[WORD_MAX], unit[WORD_MAX];
};

static struct rs_error *field(struct parser *p, struct rs_field *out, struct field_words *words)
{
	char type[WORD_MAX];
	struct rs_error *err;
	size_t i;

	skip_blanks(p);
	err = word(p, "", type);
	if (err)
		return err;
	for (i = 0; i < sizeof(type_words) / sizeof(type_words[0]); i++) {
		if (!strcmp(type, type_words[i].word))
			break;
	}
	if (i == sizeof(type_words) / sizeof(type_words[0]))
		return wrong(p, "a type before here: u8 to u64, s8 to s64, x8 to x64, name, text, "
				"stack");
	skip_blanks(p);
	err = word(p, "", words->name);
	if (err)
		return err;
	if (!words->name[0] || (words->name[0] >= '0' && words->name[0] <= '9'))
		return wrong(p, "a field's name before here");
	words->unit[0] = '\0';
	if (consume(p, ':')) {
		err = word(p, "/%", words->unit);
		if (err)
			return err;
	}
	skip_blanks(p);
	*out = (struct rs_field){ .name = words->name,
				  .unit = words->unit,
				  .type = type_words[i].type,
				  .show = type_words[i].show };
	return NULL;
}

static struct rs_error *fields(struct parser *p, struct rs_field *out, struct field_words *words,
			       uint16_t *n)
{
	if (!consume(p, '('))
		return wrong(p, "'('");
	skip_blanks(p);
	if (consume(p, ')'))
		return NULL;
	do {
		struct rs_error *err;

		if (*n == RS_FIELDS_MAX)
			return wrong(p, "no more fields");
		err = field(p, &out[*n], &words[*n]);
		if (err)
			return err;
		(*n)++;
	} while (consume(p, ','));
	return consume(p, ')') ? NULL : wrong(p, "',' or ')'");
}

struct rs_error *rs_schema_declare(struct rs_schema *schema, uint64_t id, const char *text,
				   size_t len)
{
	struct parser p = { text, len, 0 };
	char class_name[WORD_MAX], function[WORD_MAX], name[WORD_MAX];
	struct rs_field field_list[RS_FIELDS_MAX];
	struct field_words words[RS_FIELDS_MAX];
	struct rs_event event = { .id = id,
				  .class_name = class_name,
				  .function = function,
				  .name = name,
				  .fields = field_list };
	struct rs_error *err;

	if (len > DECLARATION_MAX)
		return rs_error_create(RS_DAMAGED, "event declaration of %zu bytes: more than %d",
				       len, DECLARATION_MAX);
	err = word(&p, ".-", class_name);
	if (!err && !consume(&p, ':'))
		err = wrong(&p, "':' after the class");
	if (!err)
		err = word(&p, ".-", function);
	if (!err && !consume(&p, ':'))
		err = wrong(&p, "':' after the function, which may be empty");
	if (!err)
		err = word(&p, ".-", name);
	if (!err && !name[0])
		err = wrong(&p, "the event's name");
	if (!err)
		err = fields(&p, field_list, words, &event.n_fields);
	if (!err && p.at != p.len)
		err = wrong(&p, "nothing more");
	return err ? err : rs_schema_add(schema, &event);
}
