/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations of events and names from a guest: the input is lines, each an event's declaration,
 * or, after an '=', a name. Accepted ones must be consistent in the schema.
 */
#include "fuzz.h"

#define LINES_MAX 64u

static void check_event(const struct rs_schema *schema, const struct rs_event *event)
{
	static const uint8_t zeros[RS_RECORD_PAYLOAD_MAX];
	uint32_t end = 0;

	MUST(rs_schema_find(schema, event->id) == event);
	MUST(event->n_fields <= RS_FIELDS_MAX);
	MUST(event->fixed_bytes <= RS_RECORD_PAYLOAD_MAX);
	MUST(strlen(event->probe) >= strlen(event->provider) + strlen(event->name) + 3);
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];
		uint32_t bytes = rs_type_bytes(field->type);

		MUST(field->name[0] && rs_field_type_text(field)[0]);
		MUST(field->offset >= end && field->offset + bytes <= event->fixed_bytes);
		MUST(rs_type_is_tail(field->type) == (i + event->n_tails >= event->n_fields));
		MUST(rs_field_value(field, zeros) == 0);
		end = field->offset + bytes;
	}
	MUST(rs_probe_match(":::", event) && rs_probe_match("", event));
}

static void one_line(struct rs_schema *schema, uint32_t number, const char *line, size_t len)
{
	uint64_t id = RS_ID(RS_IDS_USER, number);
	struct rs_error *err;

	if (len && line[0] == '=') {
		err = rs_schema_set_name(schema, number, line + 1, len - 1);
		MUST(err || rs_schema_name(schema, number));
	} else {
		err = rs_schema_declare(schema, id, line, len);
		MUST(err || rs_schema_find(schema, id));
		if (!err) /* the same declaration again adds nothing */
			MUST(!rs_schema_declare(schema, id, line, len));
	}
	fuzz_drop(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct rs_schema *schema;
	struct rs_error *err = rs_schema_create("fuzz", &schema);

	if (err) {
		fuzz_drop(err);
		return 0;
	}
	for (uint32_t number = 1; number <= LINES_MAX && at < end; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		char *exact = malloc(len ? len : 1);

		if (!exact)
			break;
		memcpy(exact, at, len); /* no readable byte after it */
		one_line(schema, number, exact, len);
		free(exact);
		at += len + 1;
	}
	for (uint32_t i = 0; i < rs_schema_count(schema); i++)
		check_event(schema, rs_schema_event(schema, i));
	for (uint32_t i = 0; i < rs_schema_name_count(schema); i++) {
		uint32_t id;
		const char *name = rs_schema_name_at(schema, i, &id);

		MUST(name && rs_schema_name(schema, id) == name);
	}
	rs_schema_destroy(schema);
	return 0;
}
