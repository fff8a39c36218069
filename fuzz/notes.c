/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notes of a program's static probes and assertions: the input is descriptions, each after a
 * byte that gives its owner and two that give its length. An accepted note is complete, and makes
 * an event.
 */
#include "fuzz.h"

#include "replay/probe.h"

static bool none(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	(void)ctx, (void)gpa, (void)buf, (void)bytes;
	return false;
}

static void check_note(const struct rs_note *note, uint32_t n, struct rs_schema *schema)
{
	struct rs_x86_regs regs = { 0 };
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	struct rs_replay_at at = { &regs, 5, memory, 0 };
	uint8_t payload[RS_REPLAY_PAYLOAD_MAX];
	struct rs_replay_probe probe;
	struct rs_error *err;

	MUST(memory && note->pc && note->n_values <= RS_NOTE_VALUES_MAX);
	memory->read = none;
	MUST(memchr(note->expression, '\0', RS_NOTE_TEXT_MAX));
	for (uint32_t i = 0; i < note->n_values; i++) {
		const struct rs_operand *o = &note->values[i];

		MUST(o->bytes == 1 || o->bytes == 2 || o->bytes == 4 || o->bytes == 8);
		MUST(o->base < 16 && o->index < 16 && o->shift <= 8);
		MUST(o->kind != RS_OPERAND_REGISTER || o->base >= 0);
	}
	err = rs_replay_note_declare(schema, n, note, &probe);
	if (!err) {
		uint32_t bytes = rs_replay_note_payload(&probe, &at, payload);

		MUST(bytes >= probe.event->fixed_bytes && bytes <= sizeof(payload));
		MUST(probe.event->n_tails || bytes == probe.event->fixed_bytes);
	}
	fuzz_drop(err);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_notes notes = { 0 };
	struct rs_schema *schema;
	uint8_t desc[1024];

	MUST(!rs_schema_create("guest", &schema));
	while (in.left) {
		const char *owner = fuzz_u8(&in) & 1 ? "ringside" : "stapsdt";
		size_t bytes = fuzz_u16(&in) % sizeof(desc);
		uint8_t *exact = malloc(bytes ? bytes : 1); /* reading beyond it is detected */

		MUST(exact);
		bytes = fuzz_take(&in, desc, bytes);
		memcpy(exact, desc, bytes);
		fuzz_drop(rs_notes_add(&notes, owner, exact, bytes));
		free(exact);
	}
	for (uint32_t i = 0; i < notes.n; i++)
		check_note(&notes.at[i], i, schema);
	rs_notes_deinit(&notes);
	rs_schema_destroy(schema);
	return 0;
}
