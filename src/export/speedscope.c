/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes speedscope's file format (https://www.speedscope.app/file-format-schema.json): each frame
 * once, and a sampled profile for each value, whose samples are the paths and whose weights are the
 * values.
 */
#include "export/profile.h"

#include "base/json.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Returns speedscope's name of a unit. */
static const char *unit_of(const char *unit)
{
	if (!strcmp(unit, "bytes") || !strcmp(unit, "nanoseconds"))
		return unit;
	return "none";
}

static void put_frames(struct rs_json *json, const struct rs_profile *profile)
{
	rs_json_open(rs_json_key(json, "shared"), '{');
	rs_json_open(rs_json_key(json, "frames"), '[');
	for (uint32_t i = 0; i < profile->n_frames; i++) {
		const struct rs_profile_frame *frame = profile->frames[i];

		rs_json_open(json, '{');
		rs_json_text(rs_json_key(json, "name"), frame->function);
		if (frame->file)
			rs_json_text(rs_json_key(json, "file"), frame->file);
		if (frame->line)
			rs_json_unsigned(rs_json_key(json, "line"), frame->line);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void put_profile(struct rs_json *json, const struct rs_profile *profile, uint32_t value)
{
	uint64_t total = 0;

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "type"), "sampled");
	rs_json_text(rs_json_key(json, "name"), profile->values[value].name);
	rs_json_text(rs_json_key(json, "unit"), unit_of(profile->values[value].unit));
	rs_json_open(rs_json_key(json, "samples"), '[');
	for (uint32_t i = 0; i < profile->n_paths; i++) {
		const struct rs_profile_path *path = profile->paths[i];

		if (!path->amounts[value])
			continue;
		rs_json_open(json, '[');
		for (uint32_t j = 0; j < path->n; j++)
			rs_json_unsigned(json, path->frames[j]);
		rs_json_close(json, ']');
	}
	rs_json_close(json, ']');
	rs_json_open(rs_json_key(json, "weights"), '[');
	for (uint32_t i = 0; i < profile->n_paths; i++) {
		uint64_t amount = profile->paths[i]->amounts[value];

		if (amount)
			rs_json_unsigned(json, amount);
		total += amount;
	}
	rs_json_close(json, ']');
	rs_json_unsigned(rs_json_key(json, "startValue"), 0);
	rs_json_unsigned(rs_json_key(json, "endValue"), total);
	rs_json_close(json, '}');
}

struct rs_error *rs_profile_write_speedscope(const struct rs_profile *profile,
					     const struct rs_profile_what *what, struct rs_out *out)
{
	struct rs_json json = { .out = out };

	rs_json_open(&json, '{');
	rs_json_text(rs_json_key(&json, "$schema"), SCHEMA);
	rs_json_text(rs_json_key(&json, "name"), what->title);
	rs_json_text(rs_json_key(&json, "exporter"), "ringside");
	rs_json_unsigned(rs_json_key(&json, "activeProfileIndex"), what->value);
	put_frames(&json, profile);
	rs_json_open(rs_json_key(&json, "profiles"), '[');
	for (uint32_t i = 0; i < profile->n_values; i++)
		put_profile(&json, profile, i);
	rs_json_close(&json, ']');
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
	return NULL;
}
