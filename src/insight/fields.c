/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the members of kernel structures that insight reads. */
#include "insight/fields.h"

#include <stdio.h>
#include <string.h>

#define FIELD_NAMES(id, type, path) [RS_FIELD_##id] = { type, path },
static const struct {
	const char *type, *path;
} names[RS_N_FIELDS] = { RS_FIELDS(FIELD_NAMES) };

#define STRUCT_NAMES(id, name) [RS_STRUCT_##id] = name,
static const char *const structs[RS_N_STRUCTS] = { RS_STRUCTS(STRUCT_NAMES) };

void rs_fields_find(const struct rs_btf *btf, struct rs_fields *fields)
{
	uint32_t id = 0;

	memset(fields, 0, sizeof(*fields));
	for (uint32_t i = 0; i < RS_N_FIELDS; i++) {
		if (!i || strcmp(names[i].type, names[i - 1].type) != 0)
			id = rs_btf_struct(btf, names[i].type);
		fields->fields[i].found =
			id && rs_btf_member(btf, id, names[i].path, &fields->fields[i].member);
	}
	for (uint32_t i = 0; i < RS_N_STRUCTS; i++)
		fields->struct_bytes[i] = rs_btf_struct_bytes(btf, rs_btf_struct(btf, structs[i]));
}

const char *rs_field_name(enum rs_field_id id)
{
	static _Thread_local char text[96];

	snprintf(text, sizeof(text), "%s.%s", names[id].type, names[id].path);
	return text;
}
