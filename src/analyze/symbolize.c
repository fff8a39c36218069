/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the binaries of a trace, and looks addresses up in them. */
#include "analyze/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "introspect/binary.h"
#include "introspect/symbols.h"

#define ROLE_PROGRAM "program"
#define TEXT_MAX     512
#define REMARKS_MAX  8

struct rs_symbolizer {
	const struct rs_input *input;
	struct rs_symbols *guest, *program;
	char *remarks[REMARKS_MAX];
	uint32_t n_remarks;
	bool has_unknown; /* an address was not in any of the binaries */
};

/* Returns what identifies a binary of the trace: its build-id, else its hash, or NULL if it has
 * neither. */
static const char *identity(const struct rs_trace_binary *binary)
{
	return binary->build_id ? binary->build_id : binary->hash;
}

/* Returns what identifies the only binary of a guest that the trace names, or NULL if it names none
 * or several. A hash by an algorithm that this build lacks identifies nothing. */
static const char *guest_identity(const struct rs_input *input)
{
	const struct rs_trace_binary *found = NULL, *binary;
	const struct rs_input *part = rs_input_part(input, 0);

	if (part && part->foreign && part->foreign->binary_hash[0])
		return !strcmp(rs_binary_hash_name(), "blake3") ? part->foreign->binary_hash : NULL;
	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++) {
		for (uint32_t j = 0; part->trace && (binary = rs_trace_binary(part->trace, j));
		     j++) {
			if (!strcmp(binary->role, ROLE_PROGRAM))
				continue;
			if (found)
				return NULL;
			found = binary;
		}
	}
	return found ? identity(found) : NULL;
}

/* Adds a binary by its path, or PATH@0xLOAD. */
static struct rs_error *given_add(struct rs_symbolizer *s, const char *text, const char *expected)
{
	const char *at = strrchr(text, '@');
	char *end, path[TEXT_MAX];
	uint64_t load = 0;

	if (at) {
		load = strtoull(at + 1, &end, 16);
		if (!at[1] || *end)
			return rs_error_create(RS_USAGE, "%s: expected FILE or FILE@0xADDRESS",
					       text);
	}
	snprintf(path, sizeof(path), "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
	return rs_symbols_add(s->guest, path, expected, load);
}

/* Adds the binaries that a trace names. A binary that cannot be used becomes a remark. */
static struct rs_error *named_add(struct rs_symbolizer *s, const struct rs_trace *trace,
				  const struct rs_symbolizer_options *options)
{
	const struct rs_trace_binary *binary;

	for (uint32_t i = 0; (binary = rs_trace_binary(trace, i)); i++) {
		bool is_program = !strcmp(binary->role, ROLE_PROGRAM);
		struct rs_error *err = NULL;

		if (!identity(binary))
			err = rs_error_create(
				RS_USAGE,
				"%s has neither a build-id nor a hash in the trace, so "
				"it is not known to be the same file",
				binary->path);
		else if (is_program || !options->n_binaries)
			err = rs_symbols_add(is_program ? s->program : s->guest, binary->path,
					     identity(binary), binary->load);
		if (err && rs_error_code(err) == RS_NO_MEMORY)
			return err;
		if (err) {
			if (s->n_remarks < REMARKS_MAX)
				s->remarks[s->n_remarks++] = strdup(rs_error_text(err));
			rs_error_free(err);
		}
	}
	return NULL;
}

struct rs_error *rs_symbolizer_create(const struct rs_input *input,
				      const struct rs_symbolizer_options *options,
				      struct rs_symbolizer **symbolizer)
{
	struct rs_symbolizer *s = calloc(1, sizeof(*s));
	const char *guest = guest_identity(input);
	const struct rs_input *part;
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->input = input;
	err = rs_symbols_create(options->symfs, &s->guest);
	if (!err)
		err = rs_symbols_create(options->symfs, &s->program);
	for (uint32_t i = 0; !err && i < options->n_binaries; i++)
		err = given_add(s, options->binaries[i], options->n_binaries == 1 ? guest : NULL);
	for (uint32_t i = 0; !err && (part = rs_input_part(input, i)); i++) {
		if (part->trace)
			err = named_add(s, part->trace, options);
	}
	if (err)
		rs_symbolizer_destroy(s);
	else
		*symbolizer = s;
	return err;
}

void rs_symbolizer_destroy(struct rs_symbolizer *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_remarks; i++)
		free(s->remarks[i]);
	rs_symbols_destroy(s->guest);
	rs_symbols_destroy(s->program);
	free(s);
}

/* Returns whether a producer is a program of the host: its streams are of threads. */
static bool is_program(const struct rs_symbolizer *s, const struct rs_schema *schema)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = rs_input_stream(s->input, i)); i++) {
		if (stream->schema == schema && stream->tid >= 0)
			return true;
	}
	return false;
}

static uint32_t resolve(void *ctx, const struct rs_schema *schema, const uint64_t *addresses,
			uint32_t i, struct rs_profile_frame *frames, uint32_t max)
{
	struct rs_symbolizer *s = ctx;
	struct rs_frame at[RS_PROFILE_INLINED_MAX];
	uint32_t n = rs_symbols_lookup_stack(
		is_program(s, schema) ? s->program : s->guest, addresses, i, at,
		max < RS_PROFILE_INLINED_MAX ? max : RS_PROFILE_INLINED_MAX);

	if (!n || !at[0].function) {
		s->has_unknown = true;
		return 0;
	}
	for (uint32_t j = 0; j < n; j++)
		frames[j] = (struct rs_profile_frame){
			.function = at[j].function ? at[j].function : "?",
			.file = at[j].file,
			.module = at[j].module,
			.line = at[j].line,
			.inlined = at[j].inlined,
		};
	return n;
}

void rs_symbolizer_remarks(const struct rs_symbolizer *s,
			   void (*report)(void *ctx, const char *text), void *ctx)
{
	for (uint32_t i = 0; s->has_unknown && i < s->n_remarks; i++) {
		if (s->remarks[i])
			report(ctx, s->remarks[i]);
	}
}

struct rs_profile_resolver rs_symbolizer_resolver(struct rs_symbolizer *symbolizer)
{
	return (struct rs_profile_resolver){ .ctx = symbolizer, .resolve = resolve };
}
