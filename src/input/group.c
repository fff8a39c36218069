/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges several inputs into one, on the timeline of the input that begins first.
 *
 *	input -> shift --\
 *	input -> shift ---> merge
 */
#include "source/align.h"
#include "input/open.h"
#include "source/shift.h"

#include <stdlib.h>

static void clocks_of(const struct rs_input *input, struct rs_align_clocks *clocks)
{
	const struct rs_stream *stream;

	*clocks = (struct rs_align_clocks){ .wall_ns = input->clock->wall_ns };
	rs_align_clocks_add(clocks, input->clock);
	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++)
		rs_align_clocks_add(clocks, stream->clock);
}

/* ---- alignment ------------------------------------------------------------------------------ */

typedef bool align_by(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		      struct rs_alignment *alignment);

/* Aligns a part that is not yet aligned to one that is. Returns false if there is no such pair. */
static bool align_one(struct rs_input *group, const struct rs_align_clocks *clocks, align_by *by)
{
	for (uint32_t i = 0; i < group->n_parts * group->n_parts; i++) {
		const struct rs_input *to = &group->parts[i / group->n_parts];
		struct rs_input *part = &group->parts[i % group->n_parts];
		struct rs_alignment found;

		if (!to->aligned || part->aligned ||
		    !by(&clocks[to - group->parts], &clocks[part - group->parts], &found))
			continue;
		part->aligned = true;
		part->later_ns = to->later_ns + found.later_ns;
		part->beside = to;
		rs_align_text(&found, part->alignment);
		return true;
	}
	return false;
}

static struct rs_error *not_aligned(const struct rs_input *group,
				    const struct rs_align_clocks *clocks, const char *const *paths)
{
	char first[RS_ALIGN_TEXT], other[RS_ALIGN_TEXT];
	uint32_t i = 0;

	while (group->parts[i].aligned)
		i++;
	rs_align_clocks_text(&clocks[0], first);
	rs_align_clocks_text(&clocks[i], other);
	return rs_error_create(RS_USAGE,
			       "%s and %s cannot be put on one timeline: they share no clock of "
			       "one boot. The first has %s; the second %s. If a frequency is "
			       "unknown, give it with --freq",
			       paths[0], paths[i], first, other);
}

/* Sets each part's later_ns relative to the part that begins first, and *first to that part. */
static struct rs_error *align(struct rs_input *group, const char *const *paths, uint32_t *first)
{
	struct rs_align_clocks clocks[RS_INPUTS_MAX];
	struct rs_error *err = NULL;
	uint32_t left = group->n_parts - 1;
	int64_t least;

	*first = 0;
	for (uint32_t i = 0; i < group->n_parts; i++)
		clocks_of(&group->parts[i], &clocks[i]);
	group->parts[0].aligned = true;
	while (left && (align_one(group, clocks, rs_align_by_clock) ||
			align_one(group, clocks, rs_align_by_wall)))
		left--;
	if (left)
		err = not_aligned(group, clocks, paths);
	for (uint32_t i = 1; !err && i < group->n_parts; i++) {
		if (group->parts[i].later_ns < group->parts[*first].later_ns)
			*first = i;
	}
	least = group->parts[*first].later_ns;
	for (uint32_t i = 0; i < group->n_parts; i++)
		group->parts[i].later_ns -= least;
	return err;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Merges the sources of all parts. The merge owns them. */
static struct rs_error *merge(struct rs_input *group)
{
	struct rs_source *sources[RS_INPUTS_MAX];
	struct rs_error *err = NULL;
	uint32_t n = 0;

	while (!err && n < group->n_parts) {
		struct rs_input *part = &group->parts[n];

		err = rs_shift_create(part->source, part->later_ns, &sources[n]);
		if (err)
			break;
		part->source = NULL;
		n++;
	}
	if (!err)
		err = rs_merge_create(sources, n, &group->source);
	while (err && n)
		rs_source_destroy(sources[--n]);
	return err;
}

/* Opens each input. Options apply to files that lack a clock's frequency; at least one of several
 * inputs must be such a file. */
static struct rs_error *open_each(const char *const *paths, uint32_t n, const char *format,
				  const struct rs_foreign_options *options, struct rs_input *group)
{
	struct rs_error *no_use = NULL, *err = NULL;
	bool used = false;

	for (; !err && group->n_parts < n; group->n_parts += !err) {
		struct rs_input *part = &group->parts[group->n_parts];

		err = rs_open_with(paths[group->n_parts], format, options, part);
		used |= !err;
		if (!err || rs_error_code(err) != RS_USAGE)
			continue;
		rs_error_free(no_use);
		no_use = err;
		err = rs_open_with(paths[group->n_parts], format, NULL, part);
	}
	if (err || used) {
		rs_error_free(no_use);
		return err;
	}
	return no_use;
}

/* Sets the clock to that of the part that begins first. If that part lacks the time of day, uses
 * that of another part. */
static struct rs_error *clock_make(struct rs_input *group, uint32_t first)
{
	struct rs_clock *clock = malloc(sizeof(*clock));

	if (!clock)
		return rs_error_no_memory();
	*clock = *group->parts[first].clock;
	for (uint32_t i = 0; !clock->wall_ns && i < group->n_parts; i++) {
		const struct rs_input *part = &group->parts[i];

		if (part->clock->wall_ns)
			clock->wall_ns = part->clock->wall_ns - part->later_ns;
	}
	group->clock = group->parts_clock = clock;
	return NULL;
}

struct rs_error *rs_open_several(const char *const *paths, uint32_t n, const char *format,
				 const struct rs_foreign_options *options, struct rs_input *input)
{
	struct rs_input group = { 0 };
	struct rs_error *err;
	uint32_t first = 0;

	if (n == 1)
		return rs_open_with(paths[0], format, options, input);
	if (n > RS_INPUTS_MAX)
		return rs_error_create(RS_USAGE, "%u traces given; at most %u are allowed", n,
				       RS_INPUTS_MAX);
	group.parts = calloc(n, sizeof(*group.parts));
	if (!group.parts)
		return rs_error_no_memory();
	err = open_each(paths, n, format, options, &group);
	if (!err)
		err = align(&group, paths, &first);
	if (!err)
		err = clock_make(&group, first);
	if (!err)
		err = merge(&group);
	if (err)
		rs_input_close(&group);
	else
		*input = group;
	return err;
}

const struct rs_input *rs_input_part(const struct rs_input *input, uint32_t index)
{
	if (!input->n_parts)
		return index ? NULL : input;
	return index < input->n_parts ? &input->parts[index] : NULL;
}

bool rs_input_closed(const struct rs_input *input, int64_t *at_ns)
{
	const struct rs_input *part;
	int64_t last = INT64_MIN, one;

	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++) {
		if (!part->trace || !rs_trace_closed(part->trace, &one))
			return false;
		one += part->later_ns;
		last = one > last ? one : last;
	}
	*at_ns = last;
	return true;
}
