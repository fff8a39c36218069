/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts the kernel's trace events by their formats. */
#include "import/ftrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 1024 /* the most names of a field's values */
#define SYMBOL_MAX 96	/* the most bytes shown of a symbol's name */
#define DEPTH_MAX  32	/* nesting of the expressions that are searched */

/* ---- fields of a format ------------------------------------------------------------------- */

static bool is_integer(const struct tep_format_field *field)
{
	return !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
	       field->offset >= 0 &&
	       (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

/* Returns whether a field is an array. An array becomes a text: chars unchanged, other elements as
 * bytes in hexadecimal. */
static bool is_array(const struct tep_format_field *field)
{
	return (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) && field->offset >= 0 &&
	       field->size > 0;
}

/* libtraceevent says that an array of any type with "char" in its name is a string. One of unsigned
 * char has binary data, such as a SCSI command. */
static bool is_char(const struct tep_format_field *field)
{
	return (field->flags & TEP_FIELD_IS_STRING) && field->type && strstr(field->type, "char") &&
	       !strstr(field->type, "unsigned");
}

/* Returns whether a field is shown in hexadecimal, as addresses and flags are. */
static bool is_hex(const struct tep_format_field *field)
{
	return field->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_FLAG);
}

static enum rs_type type_of(const struct tep_format_field *field)
{
	bool is_signed = (field->flags & TEP_FIELD_IS_SIGNED) && !is_hex(field);

	switch (field->size) {
	case 1:
		return is_signed ? RS_TYPE_S8 : RS_TYPE_U8;
	case 2:
		return is_signed ? RS_TYPE_S16 : RS_TYPE_U16;
	case 4:
		return is_signed ? RS_TYPE_S32 : RS_TYPE_U32;
	default:
		return is_signed ? RS_TYPE_S64 : RS_TYPE_U64;
	}
}

struct rs_ftrace_copy rs_ftrace_copy_of(struct tep_event *format, const char *name)
{
	const struct tep_format_field *field = name ? tep_find_any_field(format, name) : NULL;

	if (!field || !is_integer(field))
		return (struct rs_ftrace_copy){ 0 };
	return (struct rs_ftrace_copy){ .from = (uint32_t)field->offset,
					.from_bytes = (uint32_t)field->size,
					.is_signed = field->flags & TEP_FIELD_IS_SIGNED };
}

bool rs_ftrace_get(const struct rs_ftrace_copy *copy, struct tep_handle *tep, const uint8_t *data,
		   uint32_t bytes, uint64_t *value)
{
	uint64_t raw;

	*value = copy->constant;
	if (!copy->from_bytes)
		return true;
	if (copy->from > bytes || copy->from_bytes > bytes - copy->from)
		return false;
	raw = tep_read_number(tep, data + copy->from, (int)copy->from_bytes);
	if (copy->is_signed && copy->from_bytes < sizeof(raw)) {
		uint64_t sign = UINT64_C(1) << (copy->from_bytes * 8 - 1);

		raw = (raw ^ sign) - sign;
	}
	raw >>= copy->shift;
	*value = copy->mask ? raw & copy->mask : raw;
	return true;
}

/*
 * The kernel's event of a stack has an array of 8 in its format, but a record has as many frames as
 * its field `size` says: struct stack_entry and FTRACE_STACK_ENTRIES, Linux's
 * kernel/trace/trace_entries.h and trace.h.
 */
static void plan_stack(struct rs_ftrace_event *event)
{
	struct tep_event *format = event->format;

	if (strcmp(format->system, "ftrace") != 0 || strcmp(format->name, "kernel_stack") != 0)
		return;
	event->stack_frames = rs_ftrace_copy_of(format, "size");
	for (uint32_t i = 0; i < event->n_texts && event->stack_frames.from_bytes; i++) {
		const struct tep_format_field *f = event->texts[i];

		if (!strcmp(f->name, "caller") && !(f->flags & TEP_FIELD_IS_DYNAMIC) &&
		    (f->elementsize == 4 || f->elementsize == 8))
			event->stack = f;
	}
}

void rs_ftrace_plan(struct rs_ftrace_event *event, struct tep_event *format)
{
	struct rs_ftrace_copy *tid = &event->copies[0];

	*event = (struct rs_ftrace_event){ .format = format, .n = 1 };
	*tid = rs_ftrace_copy_of(format, "common_pid");
	tid->to_bytes = sizeof(uint32_t);
	event->fixed_bytes = tid->to_bytes;
	for (struct tep_format_field *f = format->format.fields; f; f = f->next) {
		if (event->n + event->n_texts == RS_FIELDS_MAX) {
			event->left_out++;
		} else if (is_array(f)) {
			event->texts[event->n_texts++] = f;
		} else if (is_integer(f)) {
			struct rs_ftrace_copy *copy = &event->copies[event->n];

			event->integers[event->n++] = f;
			*copy = rs_ftrace_copy_of(format, f->name);
			copy->to = event->fixed_bytes;
			copy->to_bytes = (uint32_t)f->size;
			event->fixed_bytes += copy->to_bytes;
		} else {
			event->left_out++;
		}
	}
	plan_stack(event);
}

struct rs_ftrace_copy *rs_ftrace_plan_buffer(struct rs_ftrace_event *event)
{
	struct rs_ftrace_copy *copy = &event->copies[event->n];

	if (event->n + event->n_texts == RS_FIELDS_MAX)
		return NULL;
	*copy = (struct rs_ftrace_copy){ .to = event->fixed_bytes, .to_bytes = sizeof(uint32_t) };
	event->integers[event->n++] = NULL;
	event->fixed_bytes += copy->to_bytes;
	return copy;
}

/* ---- payloads ----------------------------------------------------------------------------- */

/* Copies the fields into the payload, each in little endian. */
bool rs_ftrace_copy_all(const struct rs_ftrace_copy *copies, uint32_t n, struct tep_handle *tep,
			const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t value;

		if (!rs_ftrace_get(&copies[i], tep, data, bytes, &value))
			return false;
		memcpy(payload + copies[i].to, &value, copies[i].to_bytes);
	}
	return true;
}

/* Finds an array's bytes in a record: the field itself, or the place to which it refers. */
static bool bytes_of(const struct tep_format_field *field, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, const uint8_t **array, uint32_t *len)
{
	uint32_t at = (uint32_t)field->offset, size = (uint32_t)field->size;

	if (at > bytes || size > bytes - at)
		return false;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) { /* __data_loc: length << 16 | offset */
		uint32_t loc = (uint32_t)tep_read_number(tep, data + at, 4);

		if (size != sizeof(loc))
			return false;
		at = (loc & 0xffff) + (field->flags & TEP_FIELD_IS_RELATIVE ? at + size : 0);
		size = loc >> 16;
		if (at > bytes || size > bytes - at)
			return false;
	}
	*array = data + at;
	*len = size;
	return true;
}

/* Writes the texts of a record, one after the other. Text without room is cut. */
struct text {
	uint8_t *at; /* room for RS_FTRACE_TEXT_MAX bytes */
	uint32_t len;
};

static void text_add(struct text *text, const char *more, size_t len)
{
	if (len > RS_FTRACE_TEXT_MAX - text->len)
		len = RS_FTRACE_TEXT_MAX - text->len;
	memcpy(text->at + text->len, more, len);
	text->len += (uint32_t)len;
}

static void text_add_array(struct text *text, const struct tep_format_field *field,
			   const uint8_t *array, uint32_t len)
{
	static const char digits[] = "0123456789abcdef";

	if (is_char(field)) {
		text_add(text, (const char *)array, strnlen((const char *)array, len));
		return;
	}
	for (uint32_t i = 0; i < len && text->len < RS_FTRACE_TEXT_MAX; i++)
		text_add(text, (const char[]){ digits[array[i] >> 4], digits[array[i] & 15] }, 2);
}

/* Finds the bytes of a stack's addresses in a record. Returns false if the record is shorter than
 * its size says. */
static bool stack_of(const struct rs_ftrace_event *event, struct tep_handle *tep,
		     const uint8_t *data, uint32_t bytes, const uint8_t **array, uint32_t *len)
{
	uint32_t at = (uint32_t)event->stack->offset;
	uint32_t each = (uint32_t)event->stack->elementsize;
	uint64_t frames;

	if (!rs_ftrace_get(&event->stack_frames, tep, data, bytes, &frames) || at > bytes ||
	    frames > (bytes - at) / each)
		return false;
	*array = data + at;
	*len = (uint32_t)frames * each;
	return true;
}

/* Writes a stack as "schedule+0x23 kernel_clone+0x1f", the innermost address first, with the
 * symbols of the format's file. An address without a symbol is a number. Frames without room become
 * " ...". */
static void text_add_stack(struct text *text, const struct tep_format_field *field,
			   struct tep_handle *tep, const uint8_t *array, uint32_t len)
{
	const uint32_t each = (uint32_t)field->elementsize;
	static const char more[] = " ...";
	char frame[128];

	for (uint32_t at = 0; at + each <= len; at += each) {
		uint64_t pc = tep_read_number(tep, array + at, (int)each);
		const char *name = tep_find_function(tep, pc);
		int n;

		if (name)
			n = snprintf(frame, sizeof(frame), "%s%.*s+0x%llx", at ? " " : "",
				     SYMBOL_MAX, name,
				     (unsigned long long)(pc - tep_find_function_address(tep, pc)));
		else
			n = snprintf(frame, sizeof(frame), "%s0x%llx", at ? " " : "",
				     (unsigned long long)pc);
		if (text->len + (uint32_t)n + sizeof(more) > RS_FTRACE_TEXT_MAX) {
			text_add(text, more, sizeof(more) - 1);
			return;
		}
		text_add(text, frame, (size_t)n);
	}
}

uint32_t rs_ftrace_payload(const struct rs_ftrace_event *event, struct tep_handle *tep,
			   const uint8_t *data, uint32_t bytes, uint8_t *payload)
{
	uint8_t *lengths = payload + event->fixed_bytes;
	struct text text = { .at = lengths + event->n_texts * sizeof(uint16_t) };

	if (!rs_ftrace_copy_all(event->copies, event->n, tep, data, bytes, payload))
		return 0;
	for (uint32_t i = 0; i < event->n_texts; i++) {
		const struct tep_format_field *field = event->texts[i];
		const uint8_t *array;
		uint32_t len, before = text.len;
		uint16_t own;

		if (field == event->stack ? !stack_of(event, tep, data, bytes, &array, &len)
					  : !bytes_of(field, tep, data, bytes, &array, &len))
			return 0;
		if (field == event->stack)
			text_add_stack(&text, field, tep, array, len);
		else
			text_add_array(&text, field, array, len);
		own = (uint16_t)(text.len - before);
		memcpy(lengths + i * sizeof(own), &own, sizeof(own));
	}
	return (uint32_t)(text.at - payload) + text.len;
}

/* ---- names of values ---------------------------------------------------------------------- */

/* Returns whether an argument of the format's text is this field, with or without a cast. */
static bool is_field(const struct tep_print_arg *arg, const char *name)
{
	for (int depth = 0; arg && arg->type == TEP_PRINT_TYPE && depth < DEPTH_MAX; depth++)
		arg = arg->typecast.item;
	return arg && arg->type == TEP_PRINT_FIELD && arg->field.name &&
	       !strcmp(arg->field.name, name);
}

/* Returns the symbols that __print_symbolic() lists for a field, also within an expression. */
static const struct tep_print_flag_sym *symbols_in(const struct tep_print_arg *arg,
						   const char *name, int depth)
{
	const struct tep_print_flag_sym *found = NULL;

	if (!arg || depth == DEPTH_MAX)
		return NULL;
	switch (arg->type) {
	case TEP_PRINT_SYMBOL:
		return is_field(arg->symbol.field, name) ? arg->symbol.symbols : NULL;
	case TEP_PRINT_TYPE:
		return symbols_in(arg->typecast.item, name, depth + 1);
	case TEP_PRINT_OP:
		found = symbols_in(arg->op.left, name, depth + 1);
		return found ? found : symbols_in(arg->op.right, name, depth + 1);
	default:
		return NULL;
	}
}

static const struct tep_print_flag_sym *symbols_of(const struct tep_event *format, const char *name)
{
	const struct tep_print_flag_sym *found = NULL;

	for (const struct tep_print_arg *arg = format->print_fmt.args; arg && !found;
	     arg = arg->next)
		found = symbols_in(arg, name, 0);
	return found;
}

/* Parses "3", "0x3" and "-3". Returns false for anything else that the kernel may write there. */
static bool number_of(const char *text, uint64_t *value)
{
	char *end;

	if (!text || !text[0])
		return false;
	errno = 0;
	*value = text[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	return !errno && !*end;
}

static bool has_value(const struct rs_enum *values, uint32_t n, const struct rs_enum *value)
{
	for (uint32_t i = 0; i < n; i++) {
		if (values[i].value == value->value || !strcmp(values[i].name, value->name))
			return true;
	}
	return false;
}

/* Returns the value that a field of this size and sign would have. */
static uint64_t value_in(const struct tep_format_field *field, uint64_t value)
{
	uint32_t unused = 64 - (uint32_t)field->size * 8;

	if (type_of(field) >= RS_TYPE_S8)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	return value << unused >> unused;
}

/* Returns a field's enumeration, which the caller frees, or NULL if the field has none that can be
 * parsed. */
static struct rs_enum *values_of(const struct tep_event *format,
				 const struct tep_format_field *field)
{
	const struct tep_print_flag_sym *symbol = symbols_of(format, field->name);
	struct rs_enum *values = symbol ? calloc(VALUES_MAX + 1, sizeof(*values)) : NULL;
	uint32_t n = 0;

	for (; values && symbol && n < VALUES_MAX; symbol = symbol->next) {
		struct rs_enum value = { .name = symbol->str };

		if (!value.name || !value.name[0] || strlen(value.name) > RS_WORD_MAX ||
		    !number_of(symbol->value, &value.value)) {
			n = 0;
			break;
		}
		value.value = value_in(field, value.value);
		if (!has_value(values, n, &value))
			values[n++] = value;
	}
	if (values && !n) {
		free(values);
		return NULL;
	}
	if (values)
		values[n] = (struct rs_enum){ .name = NULL };
	return values;
}

/* ---- declarations ------------------------------------------------------------------------- */

/* Returns a field's name. If the event has a field "tid", that field gets another name. */
static const char *name_of(const struct tep_format_field *field)
{
	return strcmp(field->name, "tid") ? field->name : "tid_";
}

/* Returns the name of the buffer's field, which differs if the event has a field "buffer". */
static const char *buffer_name(struct tep_event *format)
{
	return tep_find_field(format, "buffer") ? "buffer_" : "buffer";
}

uint32_t rs_ftrace_declare(const struct rs_ftrace_event *event, char *text, uint32_t room)
{
	size_t used;
	FILE *out = fmemopen(text, room, "w");

	if (!out)
		return 0;
	setvbuf(out, NULL, _IONBF, 0);
	fprintf(out, "%s::%s(u32 tid", event->format->system, event->format->name);
	for (uint32_t i = 1; i < event->n; i++) {
		const struct tep_format_field *f = event->integers[i];
		char letter;

		if (!f) {
			fprintf(out, ", name %s", buffer_name(event->format));
			continue;
		}
		letter = f->flags & TEP_FIELD_IS_SIGNED ? 's' : 'u';

		fprintf(out, ", %c%d %s", is_hex(f) ? 'x' : letter, f->size * 8, name_of(f));
	}
	for (uint32_t i = 0; i < event->n_texts; i++)
		fprintf(out, ", text %s", name_of(event->texts[i]));
	fputc(')', out);
	used = (size_t)ftell(out);
	fclose(out);
	return (uint32_t)(used < room ? used : room);
}

struct rs_error *rs_ftrace_add(const struct rs_ftrace_event *event, struct rs_schema *schema,
			       uint64_t id)
{
	struct rs_field fields[RS_FIELDS_MAX] = { { .name = "tid", .type = RS_TYPE_U32 } };
	struct rs_enum *values[RS_FIELDS_MAX] = { NULL };
	struct rs_event ours = { .id = id,
				 .class_name = event->format->system,
				 .function = "",
				 .name = event->format->name,
				 .help = "",
				 .fields = fields,
				 .n_fields = (uint16_t)event->n };
	struct rs_error *err;

	for (uint32_t i = 1; i < event->n; i++) {
		const struct tep_format_field *f = event->integers[i];

		values[i] = values_of(event->format, f);
		fields[i] = (struct rs_field){ .name = name_of(f),
					       .type = type_of(f),
					       .show = values[i]   ? RS_SHOW_ENUM
						       : is_hex(f) ? RS_SHOW_HEX
								   : RS_SHOW_DEC,
					       .values = values[i],
					       .values_name = values[i] ? name_of(f) : NULL };
	}
	for (uint32_t i = 0; i < event->n_texts; i++)
		fields[ours.n_fields++] =
			(struct rs_field){ .name = name_of(event->texts[i]), .type = RS_TYPE_TEXT };
	err = rs_schema_add(schema, &ours);
	for (uint32_t i = 0; i < event->n; i++)
		free(values[i]);
	return err;
}
