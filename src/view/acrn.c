/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints ACRN's events in the format of acrntrace_format.py. */
#include "view/acrn.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/given.h"
#include "base/map.h"
#include "event/view.h"
#include "import/acrn/trace.h"

#define FORMATS_MAX   4096u
#define FILE_MAX      (4u << 20) /* bytes of a formats file */
#define PIECES_MAX    256u	 /* of a line */
#define WIDTH_MAX     255u
#define PRECISION_MAX 60u
#define NUMBER_MAX                                                                                 \
	400u /* bytes of the longest number without width: 1.8e19 as %f, and its tail              \
	      */
#define TEXT_MAX 4096u /* bytes between two conversions */
_Static_assert(TEXT_MAX + 1 + WIDTH_MAX + PRECISION_MAX + NUMBER_MAX < RS_OUT_LINE,
	       "rs_out_line() reserves room for a piece");

/* The value of a %(name). */
enum key { KEY_CPU, KEY_TSC, KEY_EVENT, KEY_D1, KEYS = KEY_D1 + 16 };

/* A conversion of Python's % and the text before it; conversion 0: the line's end. */
struct piece {
	const char *text;
	size_t len;
	uint8_t key;
	char conversion;
	bool left, plus, blank, alt, zero, has_precision;
	uint32_t width, precision;
};

struct format {
	uint64_t id;
	uint32_t n_pieces;
	struct piece pieces[];
};

struct value {
	uint64_t magnitude;
	bool negative;
};

/* A value of a line that the catalogue describes. */
struct shown {
	const struct rs_field *field;
	const char *lead; /* the text before it: " vcpu exit [reason = ", ", rip = " */
	uint32_t lead_bytes;
};

/* The common parts of all lines of an event, computed for the first one. */
struct form {
	const struct rs_event *event;
	struct form *next; /* in its bucket */
	bool plain;	   /* an event of ACRN, not a loss */
	uint16_t n_shown;
	uint32_t tail_bytes;
	const char *tail; /* "]\n", " vcpu enter\n" */
	size_t most;	  /* bytes of the longest line */
	char id[20];	  /* " 0x0000000000000010 " */
	struct shown shown[];
};
#define FORM_PLACES 256u /* by the event's index */
#define CPU_ROOM    16u	 /* bytes of "CPU2147483647" and more */
#define TSC_ROOM    20u
#define HIGH_ROOM   16u			  /* digits of a stamp without its last eight */
#define VALUE_ROOM  ((size_t)RS_WORD_MAX) /* bytes of a value: a name, a number */
#define LINE_ROOM   (CPU_ROOM + sizeof(((struct form *)NULL)->id) + TSC_ROOM)
_Static_assert(LINE_ROOM + (RS_FIELDS_MAX + 1) * (4 * (RS_WORD_MAX + 1)) <= RS_OUT_BYTES,
	       "there is room for any line");

/* A direct-mapped cache of the names of values. */
#define NAMES 64u
struct name {
	const struct rs_enum *values; /* NULL: none yet */
	uint64_t value;
	size_t bytes;
	char text[RS_OUT_PIECE + 8]; /* these are 64 bytes */
};

struct acrn_view {
	struct rs_view_sink base;
	bool by_file;
	char *text;	       /* the formats file */
	struct rs_map formats; /* of the file, by id */
	/* The original stamp of the next record of a stream, from a clock-back event. */
	const struct rs_stream *back_stream;
	uint64_t back_tsc;
	struct rs_acrn_omitted omitted;
	struct rs_arena arena; /* the memory of the forms and formats */
	struct form *forms[FORM_PLACES];
	struct name names[NAMES];
	int cpu; /* of the last line; its text */
	size_t cpu_bytes;
	char cpu_text[CPU_ROOM];
	/* The decimals of the last stamp except its last eight, which are mostly the same in the
	 * next stamp. */
	uint64_t high;
	size_t high_bytes;
	char high_text[HIGH_ROOM];
};

/* ---- reading formats ------------------------------------------------------------------------ */

struct place {
	const char *path;
	unsigned int line;
};

__attribute__((format(printf, 2, 3))) static struct rs_error *bad(const struct place *place,
								  const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return rs_error_create(RS_USAGE, "%s:%u: %s", place->path, place->line, text);
}

static bool key_of(const char *name, size_t len, uint8_t *key)
{
	static const char *const names[] = { "cpu", "tsc", "event" };
	char text[8] = { 0 };
	char *end;
	unsigned long n;

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	for (uint8_t i = 0; i < KEY_D1; i++) {
		if (!strcmp(text, names[i])) {
			*key = i;
			return true;
		}
	}
	n = strtoul(text, &end, 10);
	if (text[0] < '1' || text[0] > '9' || *end || n > KEYS - KEY_D1)
		return false;
	*key = (uint8_t)(KEY_D1 + n - 1);
	return true;
}

static bool number_at(const char **at, uint32_t most, uint32_t *n)
{
	for (*n = 0; isdigit((unsigned char)**at) && *n <= most; (*at)++)
		*n = *n * 10 + (uint32_t)(**at - '0');
	return *n <= most;
}

/* Parses flags, width, precision and conversion, as Python's % does. */
static struct rs_error *piece_tail(const struct place *place, const char **at, struct piece *p)
{
	for (;; (*at)++) {
		if (**at == '-')
			p->left = true;
		else if (**at == '+')
			p->plus = true;
		else if (**at == ' ')
			p->blank = true;
		else if (**at == '#')
			p->alt = true;
		else if (**at == '0')
			p->zero = true;
		else
			break;
	}
	if (!number_at(at, WIDTH_MAX, &p->width))
		return bad(place, "a width above %u", WIDTH_MAX);
	if (**at == '.') {
		(*at)++;
		p->has_precision = true;
		if (!number_at(at, PRECISION_MAX, &p->precision))
			return bad(place, "a precision above %u", PRECISION_MAX);
	}
	if (**at == 'h' || **at == 'l' || **at == 'L')
		(*at)++;
	if (!**at || !strchr("diuoxXeEfFgGcrsa", **at))
		return bad(place, "'%%(...)%.1s' is not a conversion of Python", *at);
	p->conversion = *(*at)++;
	return NULL;
}

static struct rs_error *piece_name(const struct place *place, const char **at, struct piece *p)
{
	const char *end;

	if (**at != '(')
		return bad(place, "a %% without a name: expected %%(cpu)d, %%(1)x, ... or %%%%");
	end = strchr(*at, ')');
	if (!end)
		return bad(place, "a %%( without a )");
	if (!key_of(*at + 1, (size_t)(end - *at - 1), &p->key))
		return bad(place, "there is no %%%.*s: expected cpu, tsc, event, 1 to 16",
			   (int)(end + 1 - *at < 64 ? end + 1 - *at : 64), *at);
	*at = end + 1;
	return NULL;
}

/* Splits a line's text into pieces. */
static struct rs_error *pieces_of(const struct place *place, const char *at, struct piece *pieces,
				  uint32_t *n_pieces)
{
	struct rs_error *err = NULL;

	for (uint32_t n = 0; !err && n < PIECES_MAX; n++) {
		struct piece *p = &pieces[n];

		*p = (struct piece){ .text = at, .len = strcspn(at, "%") };
		at += p->len;
		if (p->len > TEXT_MAX)
			return bad(place, "a text of more than %u bytes", TEXT_MAX);
		if (!*at) {
			*n_pieces = n + 1;
			return NULL;
		}
		at++;
		if (*at == '%') { /* a literal character */
			p->len++;
			at++;
			continue;
		}
		err = piece_name(place, &at, p);
		if (!err)
			err = piece_tail(place, &at, p);
	}
	return err ? err : bad(place, "more than %u conversions", PIECES_MAX);
}

/* Parses a number as Python writes it: 10, 0x10, 0o10, 0b10. */
static bool id_of(const char *text, uint64_t *id)
{
	int base = 10;
	char *end;

	if (text[0] == '0' && text[1]) {
		int kind = tolower((unsigned char)text[1]);

		base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
		text += 2;
	}
	if (!base || !isxdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*id = strtoull(text, &end, base);
	return !*end && !errno;
}

static bool same_id(const void *item, const void *id)
{
	return ((const struct format *)item)->id == *(const uint64_t *)id;
}

static struct format *format_of(const struct acrn_view *v, uint64_t id)
{
	return rs_map_find(&v->formats, rs_hash_pair(id, 0), same_id, &id);
}

/* As re.match("(\S+)\s+(\S.*)"); the last line of an id counts. */
static struct rs_error *line_add(struct acrn_view *v, const struct place *place, char *line)
{
	static struct piece pieces[PIECES_MAX];
	size_t word = strcspn(line, " \t\v\f"), gap = strspn(line + word, " \t\v\f");
	struct format *format, *earlier;
	struct rs_error *err;
	uint32_t n = 0;
	uint64_t id;

	if (!word || !gap || !line[word + gap])
		return bad(place, "expected an id, blanks, and a text");
	line[word] = '\0';
	if (!id_of(line, &id))
		return bad(place, "'%.32s' is not the number of an event", line);
	err = pieces_of(place, line + word + gap, pieces, &n);
	if (err)
		return err;
	format = rs_arena_alloc(&v->arena, sizeof(*format) + n * sizeof(format->pieces[0]));
	if (!format || !rs_map_reserve(&v->formats))
		return rs_error_no_memory();
	*format = (struct format){ .id = id, .n_pieces = n };
	memcpy(format->pieces, pieces, n * sizeof(pieces[0]));
	earlier = format_of(v, id);
	if (earlier)
		rs_map_remove(&v->formats, rs_hash_pair(id, 0), earlier);
	rs_map_add(&v->formats, rs_hash_pair(id, 0), format);
	return NULL;
}

static struct rs_error *file_read(const char *path, char **text)
{
	FILE *file = NULL;
	struct rs_error *err = rs_given_file(path, RS_GIVEN_FILE_OR_PIPE, &file);
	size_t n;

	if (err)
		return err;
	*text = malloc(FILE_MAX + 1);
	n = *text ? fread(*text, 1, FILE_MAX + 1, file) : 0;
	fclose(file);
	if (!*text)
		return rs_error_no_memory();
	if (n > FILE_MAX || memchr(*text, '\0', n))
		return rs_error_create(RS_USAGE, "%s: not a text file, or longer than %u bytes",
				       path, FILE_MAX);
	(*text)[n] = '\0';
	return NULL;
}

static struct rs_error *formats_read(struct acrn_view *v, const char *path)
{
	struct place place = { path, 0 };
	struct rs_error *err = file_read(path, &v->text);
	char *line = v->text, *next;

	for (; !err && line && *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line[len] ? line + len + 1 : NULL;
		line[len] = '\0';
		if (len && line[len - 1] == '\r') /* as in Python's text files */
			line[--len] = '\0';
		if (++place.line > FORMATS_MAX)
			err = bad(&place, "more than %u lines", FORMATS_MAX);
		else if (len && line[0] != '#')
			err = line_add(v, &place, line);
	}
	return err;
}

/* ---- Python's % ----------------------------------------------------------------------------- */

static void pad(struct rs_out *out, char with, size_t n)
{
	while (n--)
		rs_out_char(out, with);
}

static void put_padded(struct rs_out *out, const struct piece *p, const char *text, size_t len)
{
	size_t fill = p->width > len ? p->width - len : 0;

	pad(out, ' ', p->left ? 0 : fill);
	rs_out_bytes(out, text, len);
	pad(out, ' ', p->left ? fill : 0);
}

/* Writes sign, prefix, zeros of the width, zeros of the precision, and digits. */
static void put_number(struct rs_out *out, const struct piece *p, struct value value)
{
	static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
	bool hex = p->conversion == 'x' || p->conversion == 'X', octal = p->conversion == 'o';
	uint32_t bits = hex ? 4 : octal ? 3 : 0; /* of a digit; 0: decimal */
	const char *digits = p->conversion == 'X' ? upper : lower;
	char text[24], head[4];
	size_t n = sizeof(text), n_head = 0, len, zeros, fill;

	do { /* dividing by a constant is fast */
		text[--n] =
			digits[bits ? value.magnitude & ((1u << bits) - 1) : value.magnitude % 10];
		value.magnitude = bits ? value.magnitude >> bits : value.magnitude / 10;
	} while (value.magnitude);
	if (value.negative || p->plus || p->blank)
		head[n_head++] = value.negative ? '-' : p->plus ? '+' : ' ';
	if (p->alt && bits) {
		head[n_head++] = '0';
		head[n_head++] = octal ? 'o' : p->conversion;
	}
	len = sizeof(text) - n;
	zeros = p->has_precision && p->precision > len ? p->precision - len : 0;
	len += n_head + zeros;
	fill = p->width > len ? p->width - len : 0;
	pad(out, ' ', p->left || p->zero ? 0 : fill);
	rs_out_bytes(out, head, n_head);
	pad(out, '0', zeros + (p->zero && !p->left ? fill : 0));
	rs_out_bytes(out, text + n, sizeof(text) - n);
	pad(out, ' ', p->left ? fill : 0);
}

/* Writes %s, %r or %a of a number: its digits, cut at the precision. */
static void put_as_text(struct rs_out *out, const struct piece *p, struct value value)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%s%llu", value.negative ? "-" : "",
			   (unsigned long long)value.magnitude);
	size_t n = p->has_precision && p->precision < (size_t)len ? p->precision : (size_t)len;

	put_padded(out, p, text, n);
}

/* Writes a character by its number, in UTF-8. A number that stops Python becomes '?'. */
static void put_character(struct rs_out *out, const struct piece *p, struct value value)
{
	uint32_t c = value.negative || value.magnitude > 0x10ffff ||
				     (value.magnitude >= 0xd800 && value.magnitude <= 0xdfff)
			     ? '?'
			     : (uint32_t)value.magnitude;
	char text[4];
	size_t n = 0, fill = p->width > 1 ? p->width - 1 : 0;

	if (c < 0x80) {
		text[n++] = (char)c;
	} else {
		if (c >= 0x10000)
			text[n++] = (char)(0xf0 | c >> 18);
		if (c >= 0x800)
			text[n++] = (char)((c >= 0x10000 ? 0x80 : 0xe0) |
					   (c >> 12 & (c >= 0x10000 ? 0x3f : 0xf)));
		text[n] =
			(char)((c >= 0x800 ? 0x80 : 0xc0) | (c >> 6 & (c >= 0x800 ? 0x3f : 0x1f)));
		n++;
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	pad(out, ' ', p->left ? 0 : fill);
	rs_out_bytes(out, text, n);
	pad(out, ' ', p->left ? fill : 0);
}

static void put_real(struct rs_out *out, const struct piece *p, struct value value)
{
	char format[32], text[WIDTH_MAX + PRECISION_MAX + NUMBER_MAX];
	double real = value.negative ? -(double)value.magnitude : (double)value.magnitude;
	int len;

	snprintf(format, sizeof(format), "%%%s%s%s%s%s*.*%c", p->left ? "-" : "",
		 p->plus ? "+" : "", p->blank ? " " : "", p->alt ? "#" : "", p->zero ? "0" : "",
		 p->conversion);
	len = snprintf(text, sizeof(text), format, (int)p->width,
		       p->has_precision ? (int)p->precision : 6, real);
	rs_out_bytes(out, text, (size_t)len);
}

static void put(struct rs_out *out, const struct piece *p, struct value value)
{
	switch (p->conversion) {
	case 'c':
		put_character(out, p, value);
		break;
	case 'r':
	case 's':
	case 'a':
		put_as_text(out, p, value);
		break;
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		put_number(out, p, value);
		break;
	default:
		put_real(out, p, value);
		break;
	}
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Returns data item n (from 0) of a record, by its n_data. */
static struct value data_of(const uint8_t payload[16], uint32_t n_data, uint32_t n)
{
	uint64_t whole = 0;
	int8_t byte;

	switch (n_data) {
	case 2:
		if (n < 2)
			memcpy(&whole, payload + n * 8, 8);
		break;
	case 4:
		if (n < 4)
			memcpy(&whole, payload + n * 4, 4);
		break;
	case 8:
		whole = payload[n];
		break;
	default:
		byte = (int8_t)payload[n];
		return (struct value){ (uint64_t)(byte < 0 ? -(int)byte : byte), byte < 0 };
	}
	return (struct value){ whole, false };
}

static void line_by_file(struct acrn_view *v, const struct rs_view *view,
			 const struct format *format, uint64_t tsc)
{
	struct rs_out *out = &v->base.out;
	uint32_t n_data = rs_acrn_n_data(view->event);
	uint8_t payload[16] = { 0 };

	memcpy(payload, view->payload, view->payload_bytes < 16 ? view->payload_bytes : 16);
	for (uint32_t i = 0; i < format->n_pieces; i++) {
		const struct piece *p = &format->pieces[i];
		struct value value = { 0 };

		rs_out_line(out);
		rs_out_bytes(out, p->text, p->len);
		if (!p->conversion)
			continue;
		if (p->key == KEY_CPU)
			value.magnitude = (uint64_t)(view->cpu < 0 ? 0xff : view->cpu & 0xff);
		else if (p->key == KEY_TSC)
			value.magnitude = tsc;
		else if (p->key == KEY_EVENT)
			value.magnitude = view->event->id;
		else
			value = data_of(payload, n_data, p->key - (uint32_t)KEY_D1);
		put(out, p, value);
	}
	rs_out_char(out, '\n');
}

/* ---- lines by the catalogue ------------------------------------------------------------------ */

static struct form *form_make(struct acrn_view *v, const struct rs_event *event)
{
	size_t n = event->n_fields, bytes = strlen(event->class_name) + strlen(event->name) + 8;
	struct form *form;
	char *text;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(event->fields[i].name) + 8;
	form = rs_arena_alloc(&v->arena,
			      sizeof(*form) + n * sizeof(form->shown[0]) + bytes + RS_OUT_PIECE);
	if (!form)
		return NULL;
	form->event = event;
	form->plain = RS_ID_PROVIDER(event->id) == RS_IDS_ACRN && event->kind != RS_KIND_LOSS;
	form->n_shown = event->n_fields;
	form->most = LINE_ROOM + bytes + n * VALUE_ROOM;
	snprintf(form->id, sizeof(form->id), " 0x%016llx", (unsigned long long)event->id);
	form->id[sizeof(form->id) - 1] = ' ';
	text = (char *)&form->shown[n];
	form->tail = text;
	text += sprintf(text, " %s %s", event->class_name, event->name);
	for (size_t i = 0; i < n; i++) {
		struct shown *shown = &form->shown[i];

		shown->field = &event->fields[i];
		shown->lead = form->tail;
		text += sprintf(text, "%s%s = ", i ? ", " : " [", shown->field->name);
		shown->lead_bytes = (uint32_t)(text - shown->lead);
		form->tail = text;
	}
	text += sprintf(text, n ? "]\n" : "\n");
	form->tail_bytes = (uint32_t)(text - form->tail);
	return form;
}

/* Returns NULL if out of memory, which becomes the error of the output. */
static __attribute__((noinline)) const struct form *form_new(struct acrn_view *v,
							     const struct rs_event *event)
{
	struct form **place = &v->forms[event->index % FORM_PLACES];
	struct form *form = form_make(v, event);

	if (!form) {
		v->base.out.error = v->base.out.error ? v->base.out.error : ENOMEM;
		return NULL;
	}
	form->next = *place;
	return *place = form;
}

static inline const struct form *form_of(struct acrn_view *v, const struct rs_event *event)
{
	const struct form *form = v->forms[event->index % FORM_PLACES];

	while (form && form->event != event)
		form = form->next;
	return form ? form : form_new(v, event);
}

static __attribute__((noinline)) void cpu_now(struct acrn_view *v, int cpu)
{
	memcpy(v->cpu_text, "CPU-", 4);
	v->cpu = cpu;
	v->cpu_bytes = 4;
	if (cpu >= 0) /* in a directory, consecutive lines may be of different CPUs */
		v->cpu_bytes = (size_t)(rs_at_dec(v->cpu_text + 3, (uint64_t)cpu) - v->cpu_text);
}

static inline char *put_cpu(struct acrn_view *v, char *at, int cpu)
{
	if (cpu != v->cpu)
		cpu_now(v, cpu);
	memcpy(at, v->cpu_text, sizeof(v->cpu_text));
	return at + v->cpu_bytes;
}

static __attribute__((noinline)) void high_now(struct acrn_view *v, uint64_t high)
{
	v->high = high;
	v->high_bytes = (size_t)(rs_at_dec(v->high_text, high) - v->high_text);
}

static inline char *put_stamp(struct acrn_view *v, char *at, uint64_t tsc)
{
	uint64_t high = tsc / RS_OUT_E8;

	if (high != v->high) {
		if (!high)
			return rs_at_dec(at, tsc);
		high_now(v, high);
	}
	memcpy(at, v->high_text, sizeof(v->high_text));
	return rs_at_eight(at + v->high_bytes, (uint32_t)(tsc - high * RS_OUT_E8));
}

/* Writes a value that is not in the cache: its name, or its number if it has no name. */
static __attribute__((noinline)) char *put_unknown(char *at, const struct rs_enum *values,
						   uint64_t value, struct name *known)
{
	const char *text = rs_enum_name(values, value);
	size_t bytes = text ? strlen(text) : 0;

	if (!text)
		return rs_at_dec(at, value);
	memcpy(at, text, bytes);
	if (bytes <= RS_OUT_PIECE) {
		*known = (struct name){ .values = values, .value = value, .bytes = bytes };
		memcpy(known->text, text, bytes);
	}
	return at + bytes;
}

static inline char *put_name(struct acrn_view *v, char *at, const struct rs_enum *values,
			     uint64_t value)
{
	/* The names of threads differ in the third of their four letters. */
	struct name *known = &v->names[(value ^ value >> 16) % NAMES];

	/* values is NULL if a trace describes an enumeration without values */
	if (known->values != values || known->value != value || !values)
		return put_unknown(at, values, value, known);
	return rs_at_piece(at, known->text, known->bytes);
}

static inline __attribute__((always_inline)) char *
put_value(struct acrn_view *v, char *at, const struct rs_field *f, const uint8_t *payload)
{
	uint64_t value = rs_view_value(f, payload);

	switch (f->show) {
	case RS_SHOW_HEX:
		memcpy(at, "0x", 2);
		return rs_at_hex_eight(at + 2, value);
	case RS_SHOW_ENUM:
		return put_name(v, at, f->values, value);
	default:
		return rs_at_dec(at, value);
	}
}

/* "CPU0 0x0000000000000010 123 vcpu exit [reason = CPUID, rip = 0x00001000]" */
static inline __attribute__((always_inline)) void line_by_catalogue(struct acrn_view *v,
								    const struct form *form,
								    const struct rs_view *view,
								    uint64_t tsc)
{
	const struct shown *shown = form->shown, *end = shown + form->n_shown;
	char *at = rs_out_at(&v->base.out, form->most);

	at = put_cpu(v, at, view->cpu);
	memcpy(at, form->id, sizeof(form->id));
	at = put_stamp(v, at + sizeof(form->id), tsc);
	for (; shown < end; shown++) {
		at = rs_at_piece(at, shown->lead, shown->lead_bytes);
		at = put_value(v, at, shown->field, view->payload);
	}
	rs_out_upto(&v->base.out, rs_at_piece(at, form->tail, form->tail_bytes));
}

static void line_of(struct acrn_view *v, const struct rs_view *view, uint64_t tsc)
{
	const struct form *form = form_of(v, view->event);

	if (form)
		line_by_catalogue(v, form, view, tsc);
}

/* ---- events ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) void event(struct acrn_view *v, const struct rs_view *view)
{
	uint64_t tsc = view->tsc;
	const struct format *format;

	if (view->event->id == RS_ID_CLOCK_BACK) {
		v->back_stream = view->stream;
		v->back_tsc = rs_field_value(&view->event->fields[0], view->payload);
		return;
	}
	/* A log that is merged with the trace has separate losses. */
	if (view->event->kind == RS_KIND_LOSS && !strcmp(view->event->provider, "acrn")) {
		line_of(v, view, tsc);
		return;
	}
	if (RS_ID_PROVIDER(view->event->id) != RS_IDS_ACRN) {
		v->omitted.lines += view->event->id == RS_ID_LOG;
		return;
	}
	if (v->back_stream == view->stream) {
		tsc = v->back_tsc;
		v->back_stream = NULL;
	}
	if (!v->by_file) {
		line_of(v, view, tsc);
		return;
	}
	format = format_of(v, view->event->id);
	if (format)
		line_by_file(v, view, format, tsc);
	else if (!v->omitted.records++)
		v->omitted.id = view->event->id;
}

struct rs_acrn_omitted rs_acrn_sink_omitted(const struct rs_sink *sink)
{
	return ((const struct acrn_view *)sink)->omitted;
}

static void acrn_free(struct acrn_view *v)
{
	rs_map_deinit(&v->formats);
	free(v->text);
	v->text = NULL;
	rs_arena_deinit(&v->arena);
	memset(v->forms, 0, sizeof(v->forms));
}

static struct rs_error *acrn_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct acrn_view *v = (struct acrn_view *)sink;

	n = rs_view_sink_allow(&v->base, n);
	for (size_t i = 0; i < n; i++) {
		const struct form *form = v->by_file ? NULL : form_of(v, views[i].event);

		if (form && form->plain && v->back_stream != views[i].stream)
			line_by_catalogue(v, form, &views[i], views[i].tsc);
		else
			event(v, &views[i]);
	}
	if (!v->base.out.error)
		return NULL;
	acrn_free(v); /* end() is not called after an error */
	return rs_out_flush(&v->base.out);
}

static struct rs_error *acrn_end(struct rs_sink *sink)
{
	struct acrn_view *v = (struct acrn_view *)sink;

	acrn_free(v);
	return rs_out_flush(&v->base.out);
}

static const struct rs_sink_ops acrn_ops = {
	.name = "acrn",
	.events = acrn_events,
	.end = acrn_end,
};

struct rs_error *rs_acrn_sink_create(const struct rs_view_options *options, const char *formats,
				     struct rs_sink **out)
{
	struct rs_sink *sink = NULL;
	struct rs_error *err =
		rs_view_sink_create(sizeof(struct acrn_view), &acrn_ops, options, &sink);
	struct acrn_view *v = (struct acrn_view *)sink;

	if (err)
		return err;
	v->by_file = formats != NULL;
	v->high = UINT64_MAX; /* not a stamp */
	cpu_now(v, RS_UNKNOWN);
	if (formats)
		err = formats_read(v, formats);
	if (err) {
		rs_error_free(acrn_end(sink));
		rs_view_sink_destroy(sink);
	} else {
		*out = sink;
	}
	return err;
}
