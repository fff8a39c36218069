/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an event's arguments as JSON. */
#include "event/view_json.h"

#include "event/view.h"

/* Writes a value's name, or its number in its place: both are strings. */
static void write_name(struct rs_json *json, const char *name, const char *before, uint64_t value)
{
	if (name) {
		rs_json_text(json, name);
		return;
	}
	rs_json_raw(json, "\"");
	rs_out_text(json->out, before);
	rs_out_dec(json->out, value);
	rs_out_char(json->out, '"');
}

static void write_stack(struct rs_json *json, const struct rs_view *view,
			const struct rs_field *field)
{
	uint32_t n;
	const uint8_t *at = rs_view_stack(view, field, &n);
	uint64_t address;

	rs_json_open(json, '[');
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&address, at + i * sizeof(address), sizeof(address));
		rs_json_hex(json, address);
	}
	rs_json_close(json, ']');
}

static void write_arg(struct rs_json *json, const struct rs_view *view,
		      const struct rs_field *field, bool raw_tsc)
{
	const char *bytes;
	uint64_t value;
	size_t len;

	if (field->type == RS_TYPE_STACK) {
		write_stack(json, view, field);
		return;
	}
	if (field->type == RS_TYPE_TEXT) {
		bytes = rs_view_text(view, field, &len);
		rs_json_bytes(json, bytes, len);
		return;
	}
	value = rs_view_value(field, view->payload);
	switch (field->show) {
	case RS_SHOW_HEX:
		rs_json_hex(json, value);
		return;
	case RS_SHOW_NAME:
		write_name(json, rs_schema_name(view->stream->schema, (uint32_t)value), "#", value);
		return;
	case RS_SHOW_ENUM:
		write_name(json, rs_enum_name(field->values, value), "", value);
		return;
	case RS_SHOW_TSC:
		if (raw_tsc)
			rs_json_unsigned(json, value);
		else
			rs_json_signed(json, rs_clock_ns(view->stream->clock, value));
		return;
	case RS_SHOW_DEC:
		if (field->type >= RS_TYPE_S8)
			rs_json_signed(json, (int64_t)value);
		else
			rs_json_unsigned(json, value);
		return;
	}
}

void rs_view_json_args(struct rs_json *json, const struct rs_view *view, bool raw_tsc)
{
	rs_json_open(json, '{');
	for (uint16_t i = 0; i < view->event->n_fields; i++) {
		const struct rs_field *field = &view->event->fields[i];

		write_arg(rs_json_key(json, field->name), view, field, raw_tsc);
	}
	rs_json_close(json, '}');
}
