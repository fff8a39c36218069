/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes pprof's format: a Profile (profile.proto), encoded and compressed by gzip. A sample has
 * all of the profile's values. Each frame is a function, and a location with one line.
 */
#include "export/profile.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/profile.pb-c.h"

#define GZIP_WINDOW_BITS (15 + 16) /* makes zlib write gzip's header */

typedef Rs__Pprof__Profile profile_message;
typedef Rs__Pprof__ValueType value_message;
typedef Rs__Pprof__Sample sample_message;
typedef Rs__Pprof__Location location_message;
typedef Rs__Pprof__Line line_message;
typedef Rs__Pprof__Function function_message;

/* The message and its parts, in an arena. */
struct pprof {
	profile_message message;
	struct rs_arena arena;
	struct rs_map texts; /* of struct text */
	size_t texts_room;
};

struct text {
	const char *text;
	int64_t index;
};

static bool same_text(const void *item, const void *key)
{
	return !strcmp(((const struct text *)item)->text, key);
}

/* Returns the index of a text in the string table, or -1 if there is no memory. */
static int64_t text_index(struct pprof *p, const char *text)
{
	uint64_t hash = rs_hash_bytes(text, strlen(text));
	struct text *have = rs_map_find(&p->texts, hash, same_text, text);
	profile_message *message = &p->message;

	if (have)
		return have->index;
	if (message->n_string_table == p->texts_room || !rs_map_reserve(&p->texts))
		return -1;
	have = rs_arena_alloc(&p->arena, sizeof(*have));
	if (!have)
		return -1;
	*have = (struct text){ text, (int64_t)message->n_string_table };
	message->string_table[message->n_string_table++] = (char *)(uintptr_t)text;
	rs_map_add(&p->texts, hash, have);
	return have->index;
}

static bool value_type(struct pprof *p, const struct rs_profile_value *value, value_message *type)
{
	rs__pprof__value_type__init(type);
	type->type = text_index(p, value->name);
	type->unit = text_index(p, value->unit);
	return type->type >= 0 && type->unit >= 0;
}

/* Creates a function and a location for each frame. Ids count from 1. */
static bool frames_make(struct pprof *p, const struct rs_profile *profile)
{
	profile_message *message = &p->message;

	for (uint32_t i = 0; i < profile->n_frames; i++) {
		const struct rs_profile_frame *frame = profile->frames[i];
		struct {
			function_message function;
			location_message location;
			line_message line, *lines[1];
		} *made = rs_arena_alloc(&p->arena, sizeof(*made));

		if (!made)
			return false;
		rs__pprof__function__init(&made->function);
		made->function.id = i + 1;
		made->function.name = text_index(p, frame->function);
		made->function.system_name = made->function.name;
		made->function.filename = text_index(p, frame->file ? frame->file : "");
		rs__pprof__line__init(&made->line);
		made->line.function_id = i + 1;
		made->line.line = frame->line;
		made->lines[0] = &made->line;
		rs__pprof__location__init(&made->location);
		made->location.id = i + 1;
		made->location.address = frame->address;
		made->location.n_line = 1;
		made->location.line = made->lines;
		message->function[message->n_function++] = &made->function;
		message->location[message->n_location++] = &made->location;
		if (made->function.name < 0 || made->function.filename < 0)
			return false;
	}
	return true;
}

static bool samples_make(struct pprof *p, const struct rs_profile *profile)
{
	profile_message *message = &p->message;

	for (uint32_t i = 0; i < profile->n_paths; i++) {
		const struct rs_profile_path *path = profile->paths[i];
		sample_message *sample = rs_arena_alloc(&p->arena, sizeof(*sample));
		uint64_t *ids = rs_arena_alloc(&p->arena, (path->n + 1) * sizeof(*ids));

		if (!sample || !ids)
			return false;
		rs__pprof__sample__init(sample);
		for (uint32_t j = 0; j < path->n; j++)
			ids[j] = path->frames[path->n - 1 - j] + 1u;
		sample->n_location_id = path->n;
		sample->location_id = ids;
		sample->n_value = profile->n_values;
		sample->value = (int64_t *)path->amounts;
		message->sample[message->n_sample++] = sample;
	}
	return true;
}

/* Allocates the message's lists, and fills in the profile's message. */
static bool message_make(struct pprof *p, const struct rs_profile *profile, uint32_t value)
{
	profile_message *message = &p->message;
	size_t pointer = sizeof(void *);
	value_message *types;

	rs__pprof__profile__init(message);
	/* The empty text, two texts for each value, and at most two for each frame. */
	p->texts_room = 1 + 2u * profile->n_values + 2u * profile->n_frames;
	message->string_table = rs_arena_alloc(&p->arena, p->texts_room * pointer);
	message->function = rs_arena_alloc(&p->arena, (profile->n_frames + 1u) * pointer);
	message->location = rs_arena_alloc(&p->arena, (profile->n_frames + 1u) * pointer);
	message->sample = rs_arena_alloc(&p->arena, (profile->n_paths + 1u) * pointer);
	message->sample_type = rs_arena_alloc(&p->arena, profile->n_values * pointer);
	types = rs_arena_alloc(&p->arena, profile->n_values * sizeof(*types));
	if (!message->string_table || !message->function || !message->location ||
	    !message->sample || !message->sample_type || !types || text_index(p, ""))
		return false;
	for (uint32_t i = 0; i < profile->n_values; i++) {
		if (!value_type(p, &profile->values[i], &types[i]))
			return false;
		message->sample_type[message->n_sample_type++] = &types[i];
	}
	message->duration_nanos = profile->duration_ns;
	message->default_sample_type = types[value].type;
	return frames_make(p, profile) && samples_make(p, profile);
}

/* Compresses bytes to the output. */
static struct rs_error *compress_to(struct rs_out *out, uint8_t *bytes, size_t n)
{
	z_stream z = { .next_in = bytes };
	uint8_t piece[16384];
	int status = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return rs_error_no_memory();
	while (status == Z_OK) {
		if (!z.avail_in && n) {
			z.avail_in = n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uInt)n;
			n -= z.avail_in;
		}
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		status = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
		rs_out_long(out, (const char *)piece, sizeof(piece) - z.avail_out);
	}
	deflateEnd(&z);
	return status == Z_STREAM_END
		       ? NULL
		       : rs_error_create(RS_FAILED, "zlib cannot compress: %d", status);
}

struct rs_error *rs_profile_write_pprof(const struct rs_profile *profile,
					const struct rs_profile_what *what, struct rs_out *out)
{
	struct pprof p = { 0 };
	struct rs_error *err = NULL;
	uint8_t *bytes = NULL;
	size_t n = 0;

	if (message_make(&p, profile, what->value)) {
		n = rs__pprof__profile__get_packed_size(&p.message);
		bytes = malloc(n + 1);
	}
	if (bytes) {
		rs__pprof__profile__pack(&p.message, bytes);
		err = compress_to(out, bytes, n);
	} else {
		err = rs_error_no_memory();
	}
	free(bytes);
	rs_map_deinit(&p.texts);
	rs_arena_deinit(&p.arena);
	return err;
}
