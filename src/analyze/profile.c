/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects call paths and their values. */
#include "analyze/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define NO_STACK "[no stack]"

void rs_profile_init(struct rs_profile *profile, const struct rs_profile_value *values,
		     uint32_t n_values)
{
	*profile = (struct rs_profile){ .values = values, .n_values = n_values };
}

void rs_profile_deinit(struct rs_profile *profile)
{
	rs_map_deinit(&profile->frame_map);
	rs_map_deinit(&profile->path_map);
	rs_arena_deinit(&profile->arena);
	free(profile->frames);
	free(profile->paths);
}

/* ---- frames --------------------------------------------------------------------------------- */

/* A frame and its index, for the map. */
struct indexed_frame {
	struct rs_profile_frame frame;
	uint32_t index;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_frame(const void *item, const void *key)
{
	const struct rs_profile_frame *a = item, *b = key;

	return a->address == b->address && a->line == b->line && a->inlined == b->inlined &&
	       a->by_fp == b->by_fp && same_text(a->function, b->function) &&
	       same_text(a->file, b->file) && same_text(a->module, b->module);
}

/* Copies a string. NULL stays NULL. Returns false if there is no memory. */
static bool text_copy(struct rs_profile *profile, const char **text)
{
	if (*text)
		*text = rs_arena_text(&profile->arena, *text, strlen(*text));
	else
		return true;
	return *text != NULL;
}

struct rs_error *rs_profile_frame(struct rs_profile *profile, const struct rs_profile_frame *frame,
				  uint32_t *index)
{
	uint64_t hash = rs_hash_pair(rs_hash_bytes(frame->function, strlen(frame->function)),
				     frame->address ^ (uint64_t)frame->line << 32);
	struct indexed_frame *found = rs_map_find(&profile->frame_map, hash, same_frame, frame);

	if (!found) {
		if (rs_map_reserve(&profile->frame_map) &&
		    RS_VECTOR_RESERVE(profile->frames, profile->frames_room, profile->n_frames + 1))
			found = rs_arena_alloc(&profile->arena, sizeof(*found));
		if (!found)
			return rs_error_no_memory();
		found->frame = *frame;
		found->index = profile->n_frames;
		if (!text_copy(profile, &found->frame.function) ||
		    !text_copy(profile, &found->frame.file) ||
		    !text_copy(profile, &found->frame.module))
			return rs_error_no_memory();
		profile->frames[profile->n_frames++] = &found->frame;
		rs_map_add(&profile->frame_map, hash, found);
	}
	*index = found->index;
	return NULL;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static bool same_path(const void *item, const void *key)
{
	const struct rs_profile_path *a = item, *b = key;

	return a->n == b->n && !memcmp(a->frames, b->frames, a->n * sizeof(*a->frames));
}

struct rs_error *rs_profile_add(struct rs_profile *profile, const uint32_t *frames, uint32_t n,
				const uint64_t *amounts)
{
	const struct rs_profile_path key = { .frames = frames, .n = n };
	uint64_t hash = rs_hash_bytes(frames, n * sizeof(*frames));
	struct rs_profile_path *path = rs_map_find(&profile->path_map, hash, same_path, &key);
	uint32_t *copy;

	if (!path) {
		if (rs_map_reserve(&profile->path_map) &&
		    RS_VECTOR_RESERVE(profile->paths, profile->paths_room, profile->n_paths + 1))
			path = rs_arena_alloc(&profile->arena,
					      sizeof(*path) + profile->n_values * sizeof(uint64_t) +
						      n * sizeof(*frames));
		if (!path)
			return rs_error_no_memory();
		path->amounts = (uint64_t *)(path + 1);
		copy = (uint32_t *)(path->amounts + profile->n_values);
		memcpy(copy, frames, n * sizeof(*frames));
		path->frames = copy;
		path->n = n;
		profile->paths[profile->n_paths++] = path;
		rs_map_add(&profile->path_map, hash, path);
	}
	for (uint32_t i = 0; i < profile->n_values; i++)
		path->amounts[i] += amounts[i];
	return NULL;
}

/* Functions that record a stack (ringside/memory.h, guest.h, trace.h) are left out of the stack,
 * although the compiler inlines them into its innermost function. */
static bool is_recording(const struct rs_profile_frame *frame)
{
	static const char *const prefixes[] = { "rs_here", "rs_memory_", "rs_stack_", "rs_guest_",
						"rs_trace_" };

	for (size_t i = 0; frame->inlined && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(frame->function, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* Adds the frames of one address before those at *at, innermost first. */
static struct rs_error *address_add(struct rs_profile *profile,
				    const struct rs_profile_resolver *resolver,
				    const struct rs_schema *schema, const uint64_t *addresses,
				    uint32_t which, bool by_fp, uint32_t *frames, uint32_t *n)
{
	struct rs_profile_frame at[RS_PROFILE_INLINED_MAX];
	struct rs_error *err = NULL;
	uint32_t n_at = 0, first = 0;
	char number[24];

	if (resolver && resolver->resolve)
		n_at = resolver->resolve(resolver->ctx, schema, addresses, which, at,
					 RS_PROFILE_INLINED_MAX);
	if (!n_at) {
		snprintf(number, sizeof(number), "0x%" PRIx64, addresses[which]);
		at[n_at++] = (struct rs_profile_frame){ .function = number };
	}
	while (!which && first + 1 < n_at && is_recording(&at[first]))
		first++;
	for (uint32_t i = first; !err && i < n_at && *n < RS_PROFILE_DEPTH_MAX; i++) {
		at[i].address = addresses[which];
		at[i].by_fp = by_fp;
		err = rs_profile_frame(profile, &at[i], &frames[*n]);
		if (!err)
			(*n)++;
	}
	return err;
}

struct rs_error *rs_profile_stack(struct rs_profile *profile,
				  const struct rs_profile_resolver *resolver,
				  const struct rs_schema *schema, const uint64_t *addresses,
				  uint32_t n, uint64_t by_fp, uint32_t *frames, uint32_t *n_frames)
{
	struct rs_error *err = NULL;

	*n_frames = 0;
	for (uint32_t i = 0; !err && i < n; i++)
		err = address_add(profile, resolver, schema, addresses, i, i < 64 && by_fp >> i & 1,
				  frames, n_frames);
	if (!err && !n) {
		err = rs_profile_frame(profile, &(struct rs_profile_frame){ .function = NO_STACK },
				       &frames[0]);
		*n_frames = 1;
	}
	for (uint32_t i = 0; !err && i < *n_frames / 2; i++) {
		uint32_t frame = frames[i];

		frames[i] = frames[*n_frames - 1 - i];
		frames[*n_frames - 1 - i] = frame;
	}
	return err;
}

static int most_first(const void *left, const void *right, void *ctx)
{
	const struct rs_profile_path *a = *(struct rs_profile_path *const *)left;
	const struct rs_profile_path *b = *(struct rs_profile_path *const *)right;
	uint32_t value = *(const uint32_t *)ctx;

	if (a->amounts[value] != b->amounts[value])
		return a->amounts[value] > b->amounts[value] ? -1 : 1;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return memcmp(a->frames, b->frames, a->n * sizeof(*a->frames));
}

struct rs_error *rs_profile_put(struct rs_profile *profile, const struct rs_profile_frame *frame,
				const char *cut, struct rs_profile_path_made *path)
{
	struct rs_error *err = NULL;

	if (path->n == RS_PROFILE_DEPTH_MAX) {
		/* After the task, and the frame for those that were left out. */
		uint32_t *outer = &path->frames[2];

		if (!path->is_cut)
			err = rs_profile_frame(profile,
					       &(struct rs_profile_frame){ .function = cut },
					       &path->frames[1]);
		if (err)
			return err;
		path->is_cut = true;
		memmove(outer, outer + 1, (--path->n - 2) * sizeof(*outer));
	}
	err = rs_profile_frame(profile, frame, &path->frames[path->n]);
	path->n += !err;
	return err;
}

void rs_profile_sort(struct rs_profile *profile, uint32_t value)
{
	if (profile->n_paths)
		qsort_r(profile->paths, profile->n_paths, sizeof(struct rs_profile_path *),
			most_first, &value);
}
