/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of printf(), and text that grows within a limit. */
#include "lang/vm/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vector.h"

#define WIDTH_MAX  1000 /* of a conversion; larger values are reduced to it */
#define HEX_WIDTH  16	/* of a pointer, in hexadecimal: %?x */
#define NS_PER_SEC INT64_C(1000000000)

/* ---- text --------------------------------------------------------------------------------- */

void rs_lang_text_add(struct text *text, const char *bytes, size_t len)
{
	if (text->full)
		return;
	if (text->len + len > text->most ||
	    !RS_VECTOR_RESERVE(text->at, text->room, text->len + len)) {
		text->full = true;
		return;
	}
	if (len)
		memcpy(text->at + text->len, bytes, len);
	text->len += len;
}

void rs_lang_text_print(struct text *text, const char *format, ...)
{
	char line[WIDTH_MAX + 512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len > 0)
		rs_lang_text_add(text, line,
				 (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

void rs_lang_text_deinit(struct text *text)
{
	free(text->at);
	*text = (struct text){ 0 };
}

/* ---- reading a format --------------------------------------------------------------------- */

static struct conversion *conversion_new(struct rs_script *script, struct format *format,
					 uint32_t *room)
{
	if (!rs_lang_vector_room(script, (void **)&format->conversions, format->n, room,
				 sizeof(*format->conversions)))
		return NULL;
	format->conversions[format->n] = (struct conversion){ .width = -1, .precision = -1 };
	return &format->conversions[format->n++];
}

static const char *number(const char *at, const char *end, int *value)
{
	*value = 0;
	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		*value = *value * 10 + (*at - '0');
		if (*value > WIDTH_MAX)
			*value = WIDTH_MAX;
	}
	return at;
}

static const char *flags(const char *at, const char *end, struct conversion *conversion)
{
	for (; at < end; at++) {
		switch (*at) {
		case '-':
			conversion->minus = true;
			break;
		case '+':
			conversion->plus = true;
			break;
		case ' ':
			conversion->space = true;
			break;
		case '#':
			conversion->alt = true;
			break;
		case '0':
			conversion->zero = true;
			break;
		case '\'':
			conversion->group = true;
			break;
		case '@':
			conversion->aggregate = true;
			break;
		default:
			return at;
		}
	}
	return at;
}

/* Reads a conversion after its %, up to its letter. */
static struct rs_error *conversion_read(struct rs_script *script, struct place place,
					const char **from, const char *end,
					struct conversion *conversion)
{
	const char *at = flags(*from, end, conversion);

	if (at < end && *at == '*') {
		conversion->width_given = true;
		at++;
	} else if (at < end && *at == '?') {
		conversion->width = HEX_WIDTH;
		at++;
	} else if (at < end && *at >= '1' && *at <= '9') {
		at = number(at, end, &conversion->width);
	}
	if (at < end && *at == '.') {
		at++;
		if (at < end && *at == '*') {
			conversion->precision_given = true;
			at++;
		} else {
			at = number(at, end, &conversion->precision);
		}
	}
	while (at < end && strchr("hlLjztw", *at)) /* the type determines the width */
		at++;
	if (at == end)
		return rs_lang_error(script, place, "D_PRINTF_ARG_FMT",
				     "the format ends inside a conversion");
	conversion->letter = *at;
	*from = at + 1;
	if (strchr(CONVERSIONS_OF_TEXT CONVERSIONS_OF_NUMBERS, *at))
		return NULL;
	if (strchr("eEfFgG", *at))
		return rs_lang_error(script, place, "D_PRINTF_ARG_TYPE",
				     "%%%c formats floating-point numbers, which D does not have",
				     *at);
	return rs_lang_error(script, place, "D_PRINTF_ARG_FMT", "there is no conversion %%%c", *at);
}

struct rs_error *rs_lang_format_parse(struct rs_script *script, struct place place,
				      const char *text, size_t len, struct format **out)
{
	struct format *format = rs_arena_alloc(&script->arena, sizeof(*format));
	const char *at = text, *end = text + len, *before = text;
	struct rs_error *err = NULL;
	uint32_t room = 0;

	if (!format)
		return rs_error_no_memory();
	while (!err && (at < end || before < end)) {
		const char *percent = at < end ? memchr(at, '%', (size_t)(end - at)) : NULL;
		struct conversion *conversion = conversion_new(script, format, &room);

		if (!conversion)
			return rs_error_no_memory();
		conversion->before = before;
		conversion->before_len = (size_t)((percent ? percent : end) - before);
		if (!percent)
			break;
		at = percent + 1;
		if (at < end && *at == '%') { /* %%: the second % begins the next text */
			before = at;
			at++;
			continue;
		}
		err = conversion_read(script, place, &at, end, conversion);
		before = at;
	}
	*out = format;
	return err;
}

/* ---- writing values ----------------------------------------------------------------------- */

static void pad(struct text *text, size_t n)
{
	static const char blanks[] = "                                ";

	while (n) {
		size_t some = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;

		rs_lang_text_add(text, blanks, some);
		n -= some;
	}
}

static void padded(struct text *text, const char *bytes, size_t len, int width, bool left)
{
	size_t more = width > 0 && (size_t)width > len ? (size_t)width - len : 0;

	if (!left)
		pad(text, more);
	rs_lang_text_add(text, bytes, len);
	if (left)
		pad(text, more);
}

/* %S, %C: escapes unprintable characters as C does. */
static void escaped(struct text *text, const char *bytes, size_t len, int width, bool left)
{
	static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
	struct text made = { .most = LANG_OUTPUT_MAX };

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];
		const char *at = c ? strchr(from, c) : NULL;

		if (at)
			rs_lang_text_print(&made, "\\%c", to[at - from]);
		else if (c < ' ' || c > '~')
			rs_lang_text_print(&made, "\\%03o", c);
		else
			rs_lang_text_add(&made, (char[]){ (char)c }, 1);
	}
	padded(text, made.at ? made.at : "", made.len, width, left);
	rs_lang_text_deinit(&made);
}

/*
 * %Y: 2026 Nov 21 11:05:09; %T, as in a mail: Sat, 21 Nov 2026 11:05:09 GMT. A trace has neither a
 * time zone nor a language, so both are fixed.
 */
static void date(struct text *text, const char *form, uint64_t ns, int width, bool left)
{
	time_t seconds = (time_t)(ns / (uint64_t)NS_PER_SEC);
	char line[64];
	struct tm tm;

	if (ns == (uint64_t)RS_UNKNOWN) {
		padded(text, "unknown", strlen("unknown"), width, left);
		return;
	}
	gmtime_r(&seconds, &tm);
	padded(text, line, strftime(line, sizeof(line), form, &tm), width, left);
}

static void integer(struct text *text, const struct conversion *conversion, struct type type,
		    uint64_t value, int width, int precision)
{
	char spec[16], line[WIDTH_MAX + 64], letter = conversion->letter;
	bool address = strchr("paA", letter);
	size_t n = 0;
	int len;

	if (address) /* %a, %A: an address without its symbol, because a format has no symbols */
		letter = 'x';
	if (letter == 'i')
		letter = 'd';
	if (letter == 'd' && !type.is_signed)
		letter = 'u';
	if (letter != 'd') /* in the width of its type */
		value = rs_lang_type_cut(INT_OF(type.bytes ? type.bytes : 8, false), value);
	spec[n++] = '%';
	if (conversion->minus)
		spec[n++] = '-';
	if (conversion->plus)
		spec[n++] = '+';
	if (conversion->space)
		spec[n++] = ' ';
	if (conversion->alt || address)
		spec[n++] = '#';
	if (conversion->zero)
		spec[n++] = '0';
	memcpy(spec + n, "*.*ll", 5);
	spec[n + 5] = letter;
	spec[n + 6] = '\0';
	len = snprintf(line, sizeof(line), spec, width < 0 ? 0 : width, precision,
		       (unsigned long long)value);
	if (len > 0)
		rs_lang_text_add(text, line,
				 (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

static int bounded(int64_t value)
{
	if (value > WIDTH_MAX)
		return WIDTH_MAX;
	return value < -WIDTH_MAX ? -WIDTH_MAX : (int)value;
}

void rs_lang_format_value(struct text *text, const struct conversion *conversion, struct type type,
			  const struct value *value, int width, int precision)
{
	bool left = conversion->minus;
	size_t len;

	switch (conversion->letter) {
	case 's':
	case 'S':
	case 'k':
		len = value->len;
		if (precision >= 0 && (size_t)precision < len)
			len = (size_t)precision;
		if (conversion->letter == 'S')
			escaped(text, value->s, len, width, left);
		else
			padded(text, value->s, len, width, left);
		break;
	case 'c':
		padded(text, (char[]){ (char)value->i }, 1, width, left);
		break;
	case 'C':
		escaped(text, (char[]){ (char)value->i }, 1, width, left);
		break;
	case 'Y':
		date(text, "%Y %b %e %T", value->i, width, left);
		break;
	case 'T':
		date(text, "%a, %d %b %Y %T GMT", value->i, width, left);
		break;
	default:
		integer(text, conversion, type, value->i, width, precision);
		break;
	}
}

void rs_lang_format_values(struct text *text, const struct format *format, const struct type *types,
			   const struct value *values)
{
	uint32_t arg = 0;

	for (uint32_t i = 0; i < format->n; i++) {
		struct conversion conversion = format->conversions[i];
		int width = conversion.width, precision = conversion.precision;

		rs_lang_text_add(text, conversion.before, conversion.before_len);
		if (!conversion.letter)
			continue;
		if (conversion.width_given) {
			width = bounded((int64_t)values[arg++].i);
			conversion.minus |= width < 0;
			width = width < 0 ? -width : width;
		}
		if (conversion.precision_given)
			precision = bounded((int64_t)values[arg++].i);
		rs_lang_format_value(text, &conversion, types[arg], &values[arg], width, precision);
		arg++;
	}
}

void rs_lang_format_trace(struct text *text, struct type type, const struct value *value,
			  bool quiet)
{
	static const int widths[] = { [1] = 3, [2] = 5, [4] = 8, [8] = 16 };

	if (type.kind == TYPE_STRING && quiet)
		rs_lang_text_add(text, value->s, value->len);
	else if (type.kind == TYPE_STRING) {
		pad(text, 2);
		padded(text, value->s, value->len, 33, true);
	} else if (quiet)
		rs_lang_text_print(text, "%lld", (long long)value->i);
	else
		rs_lang_text_print(text, " %*lld", widths[type.bytes], (long long)value->i);
}
