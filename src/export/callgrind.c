/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callgrind's format (valgrind's manual, "Callgrind Format Specification"), for kcachegrind and
 * callgrind_annotate: for each function the cost of its own lines, and the inclusive cost of each
 * call from a line.
 *
 *	ob=(1) init
 *	fl=(1) guest.c
 *	fn=(2) main
 *	12 1000000 1			self, in line 12: one number for each value of the profile
 *	cfn=(3) run
 *	calls=1 0
 *	14 9000000 9			inclusive, of the calls in line 14
 *
 * A function's inclusive cost is the sum of these, so a path must have each function only once: a
 * recursive call becomes a separate function, as with callgrind's --separate-recs: "f", "f'2",
 * "f'3". A profile lacks the number of calls. The format requires a number, which is 1.
 */
#include "export/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define UNKNOWN	  "???" /* as callgrind writes it */
#define NO_CALLEE UINT32_MAX

struct cost {
	struct cost *next; /* of the same function */
	uint32_t caller, line, callee;
	uint64_t amounts[RS_PROFILE_VALUES_MAX];
};

/* A function, on one level of its recursion. */
struct function {
	const struct rs_profile_frame *frame; /* any of its frames */
	uint32_t id, base, level;
	struct cost *costs, **last;
};

/* A text that has a number in the file, or a function on any level. */
struct numbered {
	const struct rs_profile_frame *frame;
	const char *text;
	uint32_t id;
	bool was_written;
};

struct callgrind {
	const struct rs_profile *profile;
	struct rs_arena arena;
	struct rs_map bases, functions, costs, files, modules;
	struct function **all; /* in the order of their numbers, which begin with 1 */
	uint32_t n_all, room;
	uint32_t *bases_of; /* the base of each frame of the profile */
	uint32_t n_bases;
	struct level {
		uint32_t path, level; /* the last path with the base, and its calls there so far */
	} * levels;
};

/* ---- functions ------------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_base(const void *item, const void *key)
{
	const struct rs_profile_frame *a = ((const struct numbered *)item)->frame, *b = key;

	return same_text(a->function, b->function) && same_text(a->file, b->file) &&
	       same_text(a->module, b->module);
}

/* Finds the frames of the profile that belong to the same function. */
static bool bases_find(struct callgrind *c)
{
	const struct rs_profile *profile = c->profile;

	c->bases_of = calloc(profile->n_frames + 1, sizeof(*c->bases_of));
	for (uint32_t i = 0; c->bases_of && i < profile->n_frames; i++) {
		const struct rs_profile_frame *frame = profile->frames[i];
		uint64_t hash = rs_hash_bytes(frame->function, strlen(frame->function));
		struct numbered *base = rs_map_find(&c->bases, hash, same_base, frame);

		if (!base) {
			if (rs_map_reserve(&c->bases))
				base = rs_arena_alloc(&c->arena, sizeof(*base));
			if (!base)
				return false;
			base->frame = frame;
			base->id = c->n_bases++;
			rs_map_add(&c->bases, hash, base);
		}
		c->bases_of[i] = base->id;
	}
	c->levels = calloc(c->n_bases + 1, sizeof(*c->levels));
	return c->bases_of && c->levels;
}

static bool same_function(const void *item, const void *key)
{
	const struct function *a = item, *b = key;

	return a->base == b->base && a->level == b->level;
}

/* Returns the function of a frame on a level of its recursion, or NULL if there is no memory. */
static struct function *function_of(struct callgrind *c, uint32_t frame, uint32_t level)
{
	const struct function key = { .base = c->bases_of[frame], .level = level };
	uint64_t hash = rs_hash_pair(key.base, level);
	struct function *f = rs_map_find(&c->functions, hash, same_function, &key);

	if (f)
		return f;
	if (rs_map_reserve(&c->functions) && RS_VECTOR_RESERVE(c->all, c->room, c->n_all + 1))
		f = rs_arena_alloc(&c->arena, sizeof(*f));
	if (!f)
		return NULL;
	*f = key;
	f->frame = c->profile->frames[frame];
	f->last = &f->costs;
	c->all[c->n_all++] = f;
	f->id = c->n_all;
	rs_map_add(&c->functions, hash, f);
	return f;
}

/* ---- costs ---------------------------------------------------------------------------------- */

static bool same_cost(const void *item, const void *key)
{
	const struct cost *a = item, *b = key;

	return a->caller == b->caller && a->line == b->line && a->callee == b->callee;
}

static bool cost_add(struct callgrind *c, struct function *f, uint32_t line, uint32_t callee,
		     const uint64_t *amounts)
{
	const struct cost key = { .caller = f->id, .line = line, .callee = callee };
	uint64_t hash = rs_hash_pair((uint64_t)f->id << 32 | line, callee);
	struct cost *cost = rs_map_find(&c->costs, hash, same_cost, &key);

	if (!cost) {
		if (rs_map_reserve(&c->costs))
			cost = rs_arena_alloc(&c->arena, sizeof(*cost));
		if (!cost)
			return false;
		*cost = key;
		*f->last = cost;
		f->last = &cost->next;
		rs_map_add(&c->costs, hash, cost);
	}
	for (uint32_t i = 0; i < c->profile->n_values; i++)
		cost->amounts[i] += amounts[i];
	return true;
}

/* Adds the cost of a path to its innermost function, and to each of its calls. */
static bool path_add(struct callgrind *c, uint32_t number)
{
	const struct rs_profile_path *path = c->profile->paths[number];
	struct function *caller = NULL;
	uint32_t line = 0;

	for (uint32_t i = 0; i < path->n; i++) {
		struct level *level = &c->levels[c->bases_of[path->frames[i]]];
		struct function *f;

		if (level->path != number + 1)
			*level = (struct level){ .path = number + 1 };
		f = function_of(c, path->frames[i], ++level->level);
		if (!f || (caller && !cost_add(c, caller, line, f->id, path->amounts)))
			return false;
		caller = f;
		line = c->profile->frames[path->frames[i]]->line;
	}
	return !caller || cost_add(c, caller, line, NO_CALLEE, path->amounts);
}

/* ---- the text ------------------------------------------------------------------------------- */

static void put_text(struct rs_out *out, const char *text)
{
	for (; *text; text++) {
		rs_out_line(out);
		rs_out_char(out, (uint8_t)*text < ' ' ? '?' : *text);
	}
}

static void put_number(struct rs_out *out, uint32_t id)
{
	rs_out_char(out, '(');
	rs_out_dec(out, id);
	rs_out_char(out, ')');
}

static bool same_numbered(const void *item, const void *key)
{
	return !strcmp(((const struct numbered *)item)->text, key);
}

/* Writes a file or a module: its number, and, the first time, its name. */
static bool put_named(struct callgrind *c, struct rs_out *out, const char *word,
		      struct rs_map *names, const char *text)
{
	uint64_t hash;
	struct numbered *name;

	text = text ? text : UNKNOWN;
	hash = rs_hash_bytes(text, strlen(text));
	name = rs_map_find(names, hash, same_numbered, text);
	if (!name) {
		if (rs_map_reserve(names))
			name = rs_arena_alloc(&c->arena, sizeof(*name));
		if (!name)
			return false;
		name->text = text;
		name->id = (uint32_t)names->used + 1;
		rs_map_add(names, hash, name);
	}
	rs_out_text(out, word);
	put_number(out, name->id);
	if (!name->was_written) {
		rs_out_char(out, ' ');
		put_text(out, text);
		rs_out_line(out);
	}
	name->was_written = true;
	rs_out_char(out, '\n');
	return true;
}

/* Returns the file of a function, or its module if the source is unknown, because
 * callgrind_annotate distinguishes functions of the same name by the file. */
static const char *file_of(const struct rs_profile_frame *frame)
{
	return frame->file ? frame->file : frame->module;
}

/* Writes a function with its name, which may follow its number each time. */
static bool put_function(struct callgrind *c, struct rs_out *out, const struct function *f,
			 bool is_called)
{
	rs_out_line(out);
	if (!put_named(c, out, is_called ? "cob=" : "ob=", &c->modules, f->frame->module) ||
	    !put_named(c, out, is_called ? "cfi=" : "fl=", &c->files, file_of(f->frame)))
		return false;
	rs_out_text(out, is_called ? "cfn=" : "fn=");
	put_number(out, f->id);
	rs_out_char(out, ' ');
	put_text(out, f->frame->function);
	rs_out_line(out);
	if (f->level > 1) {
		rs_out_char(out, '\'');
		rs_out_dec(out, f->level);
	}
	rs_out_char(out, '\n');
	return true;
}

/* Writes amounts, the chosen value first. */
static void put_amounts(const struct callgrind *c, struct rs_out *out, uint32_t first,
			const uint64_t *amounts)
{
	rs_out_dec(out, amounts[first]);
	for (uint32_t i = 0; i < c->profile->n_values; i++) {
		if (i == first)
			continue;
		rs_out_char(out, ' ');
		rs_out_dec(out, amounts[i]);
	}
	rs_out_char(out, '\n');
}

static bool put_costs(struct callgrind *c, struct rs_out *out, const struct function *f,
		      uint32_t first)
{
	if (!put_function(c, out, f, false))
		return false;
	for (const struct cost *cost = f->costs; cost; cost = cost->next) {
		if (cost->callee != NO_CALLEE) {
			if (!put_function(c, out, c->all[cost->callee - 1], true))
				return false;
			rs_out_text(out, "calls=1 0\n");
		}
		rs_out_line(out);
		rs_out_dec(out, cost->line);
		rs_out_char(out, ' ');
		put_amounts(c, out, first, cost->amounts);
	}
	rs_out_char(out, '\n');
	return true;
}

static void put_head(const struct callgrind *c, const struct rs_profile_what *what,
		     struct rs_out *out)
{
	const struct rs_profile *profile = c->profile;

	rs_out_text(out, "# callgrind format\nversion: 1\ncreator: ringside\ncmd: ");
	put_text(out, what->title);
	rs_out_line(out);
	rs_out_text(out, "\npositions: line\nevents: ");
	rs_out_text(out, profile->values[what->value].name);
	for (uint32_t i = 0; i < profile->n_values; i++) {
		if (i == what->value)
			continue;
		rs_out_char(out, ' ');
		rs_out_text(out, profile->values[i].name);
	}
	rs_out_text(out, "\n\n");
}

static void put_totals(const struct callgrind *c, struct rs_out *out, uint32_t first)
{
	uint64_t totals[RS_PROFILE_VALUES_MAX] = { 0 };

	for (uint32_t i = 0; i < c->profile->n_paths; i++)
		for (uint32_t k = 0; k < c->profile->n_values; k++)
			totals[k] += c->profile->paths[i]->amounts[k];
	rs_out_line(out);
	rs_out_text(out, "totals: ");
	put_amounts(c, out, first, totals);
}

static void callgrind_deinit(struct callgrind *c)
{
	rs_map_deinit(&c->bases);
	rs_map_deinit(&c->functions);
	rs_map_deinit(&c->costs);
	rs_map_deinit(&c->files);
	rs_map_deinit(&c->modules);
	rs_arena_deinit(&c->arena);
	free(c->bases_of);
	free(c->levels);
	free(c->all);
}

struct rs_error *rs_profile_write_callgrind(const struct rs_profile *profile,
					    const struct rs_profile_what *what, struct rs_out *out)
{
	struct callgrind c = { .profile = profile };
	bool good = bases_find(&c);

	for (uint32_t i = 0; good && i < profile->n_paths; i++)
		good = path_add(&c, i);
	put_head(&c, what, out);
	for (uint32_t i = 0; good && i < c.n_all; i++)
		good = put_costs(&c, out, c.all[i], what->value);
	put_totals(&c, out, what->value);
	callgrind_deinit(&c);
	return good ? NULL : rs_error_no_memory();
}
