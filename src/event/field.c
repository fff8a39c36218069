/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields and probes: sizes, names of types, values in payloads, DTrace's matching. */
#include <ringside/schema.h>

#include <fnmatch.h>
#include <string.h>

static const struct {
	uint8_t bytes;
	const char *dec, *hex;
} types[] = {
	[RS_TYPE_U8] = { 1, "u8", "x8" },	[RS_TYPE_U16] = { 2, "u16", "x16" },
	[RS_TYPE_U32] = { 4, "u32", "x32" },	[RS_TYPE_U64] = { 8, "u64", "x64" },
	[RS_TYPE_S8] = { 1, "s8", "s8" },	[RS_TYPE_S16] = { 2, "s16", "s16" },
	[RS_TYPE_S32] = { 4, "s32", "s32" },	[RS_TYPE_S64] = { 8, "s64", "s64" },
	[RS_TYPE_TEXT] = { 2, "text", "text" }, [RS_TYPE_STACK] = { 2, "stack", "stack" },
};

uint32_t rs_type_bytes(enum rs_type type)
{
	return types[type].bytes;
}

const char *rs_field_type_text(const struct rs_field *field)
{
	if (field->show == RS_SHOW_NAME)
		return "name";
	return field->show == RS_SHOW_HEX ? types[field->type].hex : types[field->type].dec;
}

/* Sizes are constants here, so that each case is one load. */
#define READ(type)                                                                                 \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		memcpy(&value, at, sizeof(value));                                                 \
		return (uint64_t)value;                                                            \
	}

uint64_t rs_field_value(const struct rs_field *field, const uint8_t *payload)
{
	const uint8_t *at = payload + field->offset;

	switch (field->type) {
	case RS_TYPE_U8:
		READ(uint8_t)
	case RS_TYPE_TEXT: /* its length */
	case RS_TYPE_STACK:
	case RS_TYPE_U16:
		READ(uint16_t)
	case RS_TYPE_U32:
		READ(uint32_t)
	case RS_TYPE_U64:
		READ(uint64_t)
	case RS_TYPE_S8:
		READ(int8_t)
	case RS_TYPE_S16:
		READ(int16_t)
	case RS_TYPE_S32:
		READ(int32_t)
	case RS_TYPE_S64:
		READ(int64_t)
	}
	return 0;
}
#undef READ

const char *rs_enum_name(const struct rs_enum *values, uint64_t value)
{
	for (; values && values->name; values++) {
		if (values->value == value)
			return values->name;
	}
	return NULL;
}

bool rs_probe_match(const char *glob, const struct rs_event *event)
{
	const char *parts[] = { event->provider, event->class_name, event->function, event->name };
	char copy[256];
	char *at = copy;
	size_t colons = 0;

	if (strlen(glob) >= sizeof(copy))
		return false;
	strcpy(copy, glob);
	for (const char *c = glob; *c; c++)
		colons += *c == ':';
	if (colons > 3)
		return false;
	/* With fewer fields, the leftmost are missing, as in D. */
	for (size_t i = 3 - colons; i < 4; i++) {
		char *end = strchrnul(at, ':');
		bool last = !*end;

		*end = '\0';
		if (*at && fnmatch(at, parts[i], 0))
			return false;
		at = last ? end : end + 1;
	}
	return true;
}
