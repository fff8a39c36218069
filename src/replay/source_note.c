/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates a program's static probes and assertions as events of a replay. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "replay/probe.h"
#include <ringside/record.h>

#define NAME_BYTES 48u

/* ---- events ------------------------------------------------------------------------------- */

/* Makes a text valid as a field of a probe's name: without separators and glob characters. */
static void clean(const char *from, size_t len, char to[RS_NOTE_TEXT_MAX])
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		to[i] = isalnum(c) || (c && strchr("._+-", c)) ? (char)c : '_';
	}
	to[len] = '\0';
}

/* Returns whether a word is valid as an argument's name, and is not reserved. */
static bool is_name(const char *word, size_t len)
{
	static const char *const ours[] = { "pc", "icount", "expression" };

	if (!len || len >= NAME_BYTES || isdigit((unsigned char)*word))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)word[i]) && word[i] != '_')
			return false;
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strlen(ours[i]) == len && !strncasecmp(word, ours[i], len))
			return false;
	}
	return true;
}

/* Writes the i-th value's name: the i-th of "bytes, room", or argN. */
static void value_name(const struct rs_note *note, uint32_t i, char name[NAME_BYTES])
{
	const char *at = note->names;
	size_t len;

	for (uint32_t k = 0; at && k < i; k++) {
		at = strchr(at, ',');
		if (at)
			at++;
	}
	at = at ? at + strspn(at, " ") : "";
	len = strcspn(at, ", ");
	if (is_name(at, len))
		snprintf(name, NAME_BYTES, "%.*s", (int)len, at);
	else
		snprintf(name, NAME_BYTES, "arg%u", i);
}

static enum rs_type type_of(const struct rs_operand *operand)
{
	static const enum rs_type types[2][9] = {
		{ [1] = RS_TYPE_U8, [2] = RS_TYPE_U16, [4] = RS_TYPE_U32, [8] = RS_TYPE_U64 },
		{ [1] = RS_TYPE_S8, [2] = RS_TYPE_S16, [4] = RS_TYPE_S32, [8] = RS_TYPE_S64 },
	};

	return types[operand->is_signed][operand->bytes];
}

/* Names an event: usdt:PROVIDER:NAME or assert:FILE:LINE. */
static void name_event(const struct rs_note *note, struct rs_event *event,
		       char function[RS_NOTE_TEXT_MAX], char name[RS_NOTE_TEXT_MAX])
{
	const char *slash = strrchr(note->name, '/'), *file = slash ? slash + 1 : note->name;
	const char *colon = strrchr(file, ':');

	event->function = function;
	event->name = name;
	if (rs_note_is_assert(note) && colon) {
		event->class_name = "assert";
		event->help = "an assertion that does not hold";
		clean(file, (size_t)(colon - file), function);
		clean(colon + 1, strlen(colon + 1), name);
		return;
	}
	event->class_name = "usdt";
	event->help = "a static probe";
	clean(note->provider, strlen(note->provider), function);
	clean(note->name, strlen(note->name), name);
}

static uint16_t name_values(const struct rs_note *note, char names[][NAME_BYTES],
			    struct rs_field *fields)
{
	uint16_t n = 0;

	for (; n < note->n_values; n++) {
		value_name(note, n, names[n]);
		for (uint16_t k = 0; k < n; k++) {
			if (!strcasecmp(names[k], names[n])) /* a duplicate */
				snprintf(names[n], NAME_BYTES, "arg%u", n);
		}
		fields[n] = (struct rs_field){ .name = names[n],
					       .unit = "",
					       .type = type_of(&note->values[n]) };
	}
	return n;
}

struct rs_error *rs_replay_note_declare(struct rs_schema *schema, uint32_t n,
					const struct rs_note *note, struct rs_replay_probe *probe)
{
	char function[RS_NOTE_TEXT_MAX], name[RS_NOTE_TEXT_MAX];
	char names[RS_NOTE_VALUES_MAX][NAME_BYTES];
	struct rs_field fields[RS_NOTE_VALUES_MAX + 3] = { 0 };
	struct rs_event event = { .id = RS_ID(RS_IDS_USER, n + 1), .fields = fields };
	struct rs_error *err;
	uint16_t at = name_values(note, names, fields);

	name_event(note, &event, function, name);
	fields[at++] = (struct rs_field){
		.name = "pc", .unit = "", .type = RS_TYPE_U64, .show = RS_SHOW_HEX
	};
	fields[at++] = (struct rs_field){ .name = "icount", .unit = "", .type = RS_TYPE_U64 };
	if (rs_note_is_assert(note))
		fields[at++] =
			(struct rs_field){ .name = "expression", .unit = "", .type = RS_TYPE_TEXT };
	event.n_fields = at;
	*probe = (struct rs_replay_probe){ .kind = rs_note_is_assert(note) ? RS_REPLAY_ASSERT
									   : RS_REPLAY_USDT,
					   .address = note->pc,
					   .bytes = 1,
					   .point = RS_GDB_EXEC,
					   .note = note };
	err = rs_schema_add(schema, &event);
	probe->event = err ? NULL : rs_schema_find(schema, event.id);
	return err;
}

/* ---- payloads ----------------------------------------------------------------------------- */

static uint64_t value_of(const struct rs_operand *o, uint64_t base, struct rs_replay_at *at)
{
	uint64_t address = o->disp + (o->moves ? base : 0), value = 0;

	if (o->kind == RS_OPERAND_CONST)
		return address;
	if (o->kind == RS_OPERAND_REGISTER)
		return at->regs->gpr[o->base] >> o->shift;
	if (o->base >= 0)
		address += at->regs->gpr[o->base];
	if (o->index >= 0)
		address += at->regs->gpr[o->index] * o->scale;
	if (rs_memory_read(at->memory, address, &value, o->bytes, NULL)) {
		at->unread++;
		return 0;
	}
	return value;
}

uint32_t rs_replay_note_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				uint8_t payload[RS_REPLAY_PAYLOAD_MAX])
{
	const struct rs_note *note = probe->note;
	uint16_t len = (uint16_t)strlen(note->expression);
	uint8_t *to = payload;

	for (uint32_t i = 0; i < note->n_values; i++) {
		uint64_t value = value_of(&note->values[i], probe->base, at);

		/* little endian: its low bytes come first */
		memcpy(to, &value, note->values[i].bytes);
		to += note->values[i].bytes;
	}
	memcpy(to, &probe->address, sizeof(probe->address));
	memcpy(to + 8, &at->icount, sizeof(at->icount));
	to += 16;
	if (probe->kind == RS_REPLAY_ASSERT) {
		memcpy(to, &len, sizeof(len));
		memcpy(to + 2, note->expression, len);
		to += 2 + len;
	}
	return (uint32_t)(to - payload);
}
