/* SPDX-License-Identifier: BSD-2-Clause */
/* D's functions that read a stopped machine. */
#include <string.h>

#include "live/tracepoint_text.h"
#include "lang/vm/machine.h"
#include "lang/vm/memory.h"

#define FUNCTION(name)                                                                             \
	bool rs_lang_machine_##name(struct firing *f, const struct value *args, uint32_t n,        \
				    struct value *result)

FUNCTION(copyin)
{
	char *to;

	(void)n;
	result->i = rs_lang_memory_alloca(f, args[1].i);
	to = result->i ? rs_lang_memory_at(f, result->i, args[1].i, true) : NULL;
	return to && rs_lang_machine_read(f, args[0].i, to, args[1].i);
}

FUNCTION(copyinphys)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);
	uint64_t at = args[0].i;
	char *to;

	(void)n;
	result->i = rs_lang_memory_alloca(f, args[1].i);
	to = result->i ? rs_lang_memory_at(f, result->i, args[1].i, true) : NULL;
	if (!to)
		return false;
	if (!machine || !machine->read_phys(machine->ctx, args[0].i, to, args[1].i, &at))
		return rs_lang_machine_fault(f, at);
	return true;
}

static const struct rs_field *field_with(const struct rs_event *event, const char *base, size_t len,
					 const char *suffix)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const char *name = event->fields[i].name;

		if (!strncmp(name, base, len) && !strcmp(name + len, suffix))
			return &event->fields[i];
	}
	return NULL;
}

/* Finds the text that BPF read at an address that is an argument of the event
 * (tracepoint_text.h). Returns false if BPF read nothing there. */
static bool text_of_argument(const struct firing *f, uint64_t address, uint64_t most,
			     struct value *value)
{
	const struct rs_event *event = f->view ? f->view->event : NULL;

	for (uint16_t i = 0; event && i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i], *pointer, *read;
		size_t len = strlen(field->name), end = sizeof(RS_TRACEPOINT_TEXT) - 1;

		if (field->type != RS_TYPE_TEXT || len <= end ||
		    strcmp(field->name + len - end, RS_TRACEPOINT_TEXT) != 0)
			continue;
		pointer = field_with(event, field->name, len - end, "");
		read = field_with(event, field->name, len - end, RS_TRACEPOINT_READ);
		if (!pointer || !read || pointer->type != RS_TYPE_U64 ||
		    read->type != RS_TYPE_S64 ||
		    rs_field_value(pointer, f->view->payload) != address ||
		    (int64_t)rs_field_value(read, f->view->payload) < 0)
			continue;
		value->s = rs_view_text(f->view, field, &len);
		value->len = (uint32_t)(len < most ? len : most);
		return true;
	}
	return false;
}

FUNCTION(copyinstr)
{
	uint64_t most = f->script->options[OPT_STRSIZE] - 1;

	if (n > 1 && args[1].i < most)
		most = args[1].i;
	if (!rs_lang_machine_of(f) && text_of_argument(f, args[0].i, most, result))
		return true;
	return rs_lang_machine_text(f, args[0].i, most, result);
}

FUNCTION(copyinto)
{
	char *to = rs_lang_memory_at(f, args[2].i, args[1].i, true);

	(void)n, (void)result;
	return to && rs_lang_machine_read(f, args[0].i, to, args[1].i);
}

static bool reg_by_name(struct firing *f, const char *name, struct value *result)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);

	if (machine && machine->reg(machine->ctx, name, &result->i))
		return true;
	f->fault = FAULT_ILLOP;
	f->fault_value = 0;
	return false;
}

FUNCTION(reg)
{
	char name[16] = "";

	(void)n;
	if (args[0].len < sizeof(name))
		memcpy(name, args[0].s, args[0].len);
	return reg_by_name(f, name, result);
}

FUNCTION(uregs)
{
	(void)n;
	return reg_by_name(f, rs_lang_machine_register_name(args[0].i), result);
}

/* ---- other encodings ---------------------------------------------------------------------- */

#define SURROGATE_HIGH 0xd800u
#define SURROGATE_LOW  0xdc00u
#define SURROGATES_END 0xe000u
#define BEYOND_16_BITS 0x10000u
#define CODES_END      0x110000u
#define REPLACEMENT    0xfffdu
#define UTF8_MAX       4u /* bytes of a character */

static uint32_t unit_at(const uint8_t *bytes, uint64_t i, uint64_t size)
{
	uint32_t unit = 0;

	memcpy(&unit, bytes + i * size, size);
	return unit;
}

/* Returns the character at unit *i, and advances *i. */
static uint32_t character_at(const uint8_t *bytes, uint64_t n, uint64_t size, uint64_t *i)
{
	uint32_t high = unit_at(bytes, (*i)++, size), low;

	if (size == 2 && high >= SURROGATE_HIGH && high < SURROGATE_LOW && *i < n) {
		low = unit_at(bytes, *i, size);
		if (low >= SURROGATE_LOW && low < SURROGATES_END) {
			++*i;
			return BEYOND_16_BITS + ((high - SURROGATE_HIGH) << 10) +
			       (low - SURROGATE_LOW);
		}
	}
	return high >= CODES_END || (high >= SURROGATE_HIGH && high < SURROGATES_END) ? REPLACEMENT
										      : high;
}

static size_t utf8_put(char *to, uint32_t c)
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < BEYOND_16_BITS ? 3 : UTF8_MAX;

	for (size_t i = n; --i; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(lead[n] | c); /* of one byte, c itself */
	return n;
}

FUNCTION(copyinutf)
{
	const uint64_t most = f->script->options[OPT_STRSIZE] - 1, size = args[2].i;
	uint64_t units = args[1].i < most ? args[1].i : most;
	const uint8_t *bytes;
	size_t len = 0;
	char *text;

	(void)n;
	if (size != 1 && size != 2 && size != 4) {
		f->fault = FAULT_ILLOP;
		return false;
	}
	bytes = (const uint8_t *)rs_lang_machine_copy(f, args[0].i, units * size);
	text = bytes ? scratch(f, most + UTF8_MAX) : NULL;
	if (!text)
		return false;
	for (uint64_t i = 0; i < units;) {
		size_t add = utf8_put(text + len, character_at(bytes, units, size, &i));

		if (len + add > most || !text[len])
			break;
		len += add;
	}
	*result = (struct value){ .s = text, .len = (uint32_t)len };
	return true;
}

/* ---- frames of a stack -------------------------------------------------------------------- */

/* Returns a copy that ends with a NUL, or NULL with the fault set. */
static const char *text_with_nul(struct firing *f, const struct value *value)
{
	char *copy = scratch(f, (size_t)value->len + 1);

	if (!copy)
		return NULL;
	if (value->len)
		memcpy(copy, value->s, value->len);
	copy[value->len] = '\0';
	return copy;
}

/* Returns the functions of the event's frame, or NULL with the fault set if the event is not a
 * frame. */
static const struct rs_machine_frame *frame_of(struct firing *f)
{
	const struct rs_machine *machine = rs_lang_machine_of(f);

	if (machine && machine->frame)
		return machine->frame;
	f->fault = FAULT_ILLOP;
	f->fault_value = 0;
	return NULL;
}

static bool no_value(struct firing *f, const char *why)
{
	rs_lang_machine_refuse(f, why);
	f->fault = FAULT_ILLOP;
	f->fault_value = 0;
	return false;
}

/* Reads a variable. Sets *why to the reason for a missing value, or to NULL. Returns false with the
 * fault set. */
static bool variable(struct firing *f, const struct value *args, uint32_t n, uint64_t *value,
		     const char **why)
{
	const struct rs_machine_frame *frame = frame_of(f);
	const char *name = frame ? text_with_nul(f, &args[0]) : NULL;
	const char *function = name && n > 1 ? text_with_nul(f, &args[1]) : NULL;

	if (!name || (n > 1 && !function))
		return false;
	*why = frame->variable(rs_lang_machine_of(f)->ctx, name, function, value);
	return true;
}

FUNCTION(framevar)
{
	const char *why;

	return variable(f, args, n, &result->i, &why) && (!why || no_value(f, why));
}

FUNCTION(hasframevar)
{
	const char *why;
	uint64_t value;

	if (!variable(f, args, n, &value, &why))
		return false;
	result->i = !why;
	return true;
}

FUNCTION(symbol)
{
	const struct rs_machine_frame *frame = frame_of(f);
	const char *name = frame ? text_with_nul(f, &args[0]) : NULL;

	(void)n;
	if (!name)
		return false;
	return frame->symbol(rs_lang_machine_of(f)->ctx, name, &result->i) ||
	       no_value(f, "the program has no such symbol");
}

FUNCTION(frame)
{
	const struct rs_machine_frame *frame = frame_of(f);
	const char *function = frame ? text_with_nul(f, &args[0]) : NULL;
	const char *file = function ? text_with_nul(f, &args[1]) : NULL;
	const int64_t line = (int64_t)args[2].i;

	(void)n, (void)result;
	if (!file)
		return false;
	frame->put(rs_lang_machine_of(f)->ctx, function, file,
		   line > 0 && line <= INT32_MAX ? (uint32_t)line : 0);
	return true;
}

FUNCTION(noframe)
{
	const struct rs_machine_frame *frame = frame_of(f);
	const char *why = frame ? text_with_nul(f, &args[0]) : NULL;

	(void)n, (void)result;
	if (why)
		frame->refuse(rs_lang_machine_of(f)->ctx, why);
	return why;
}
