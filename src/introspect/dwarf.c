/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads DWARF with libdw: the unit, the functions and the line of an address. */
#include "introspect/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vector.h"
#include "introspect/demangle.h"
#include "introspect/functions.h"
#include "introspect/ranges.h"

#define DEPTH_MAX      256u	  /* nesting of entries */
#define RANGES_MAX     (1u << 24) /* ranges of the functions of one file */
#define ENTRIES_A_LOOK 256u	  /* entries between two reads of the clock */
/* CPU time for the units and functions of one file */
#define CPU_NS_MAX (UINT64_C(30) * 1000000000)
#define SCOPES_MAX 16u /* scopes that a name shows */
/* length of a chain of entries that refer to each other */
#define CHAIN_MAX 16u
#define NONE	  UINT32_MAX

/* A function, or an inlined instance of one. */
struct code {
	Dwarf_Off die;
	uint32_t parent; /* the function around it, or NONE */
	bool inlined;
	const char *name; /* NULL until its first lookup */
};

/* A namespace or type that contains functions, and the index of the scope around it. */
struct scope {
	Dwarf_Off die;
	uint32_t parent;
};

/* The scope of a function's entry, which may be its declaration or an instance. */
struct place {
	Dwarf_Off die;
	uint32_t scope;
};

struct unit {
	Dwarf_Off die, end;
	bool read;
	struct scope *scopes;
	struct place *places; /* sorted by entry, the order of the file */
	uint32_t n_scopes, scopes_room, n_places, places_room;
	struct code *codes;
	uint32_t n, room;
	struct rs_ranges ranges; /* of codes */
};

struct rs_dwarf {
	Dwarf *dwarf, *other;
	struct unit *units;
	uint32_t n, room;
	struct rs_ranges ranges; /* of units */
	struct rs_arena names;
	struct rs_map texts;
	uint64_t cpu_ns, n_ranges, n_entries;
	uint64_t began_ns; /* start time of the current walk */
};

/* ---- bounds --------------------------------------------------------------------------------- */

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void walk_begin(struct rs_dwarf *d)
{
	d->began_ns = cpu_now();
}

static void walk_end(struct rs_dwarf *d)
{
	d->cpu_ns += cpu_now() - d->began_ns;
}

/* Counts an entry. Returns false if the file has exceeded its limits. */
static bool may_go_on(struct rs_dwarf *d)
{
	if (++d->n_entries % ENTRIES_A_LOOK == 0) {
		walk_end(d);
		walk_begin(d);
	}
	return d->cpu_ns < CPU_NS_MAX && d->n_ranges < RANGES_MAX;
}

/* ---- ranges --------------------------------------------------------------------------------- */

/* Adds the ranges of an entry. Returns false if there is no memory. Sets *any to whether it has
 * one. */
static bool add_ranges(struct rs_dwarf *d, Dwarf_Die *die, struct rs_ranges *to, uint32_t item,
		       uint32_t rank, bool *any)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	*any = false;
	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0 && may_go_on(d)) {
		/* If the linker discarded a function, its address is 0 or 1. */
		if (lo < 2 || lo >= hi)
			continue;
		if (!rs_ranges_add(to, (struct rs_range){ lo, hi, item, rank }))
			return false;
		d->n_ranges++;
		*any = true;
	}
	return true;
}

/* ---- a unit's functions --------------------------------------------------------------------- */

/* Returns whether an entry with this tag may contain functions. */
static bool has_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

/* Adds an entry, if it is code. Sets *within to the function that contains the entries in it. */
static bool add_code(struct rs_dwarf *d, struct unit *unit, Dwarf_Die *die, uint32_t depth,
		     uint32_t *within)
{
	int tag = dwarf_tag(die);
	uint32_t item = unit->n;
	bool any;

	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return true;
	if (item == NONE || !add_ranges(d, die, &unit->ranges, item, depth, &any))
		return false;
	if (!any)
		return true;
	if (!RS_VECTOR_RESERVE(unit->codes, unit->room, unit->n + 1))
		return false;
	unit->codes[unit->n++] =
		(struct code){ dwarf_dieoffset(die), *within,
			       tag == DW_TAG_inlined_subroutine && *within != NONE, NULL };
	*within = item;
	return true;
}

struct level {
	Dwarf_Die die;
	uint32_t within; /* the function around the entries of this level */
	uint32_t scope;	 /* the namespace or type around them */
};

struct walk {
	struct rs_dwarf *d;
	struct unit *unit;
	uint32_t depth;
	bool scopes; /* the language has scopes */
	struct level levels[DEPTH_MAX];
};

/* Moves to the entry after the end of a level, which a zero byte marks: the next sibling of the
 * level's parent, or of an outer parent. Returns false at the unit's end. */
static bool leave_level(struct walk *w, const Dwarf_Die *end)
{
	const struct level *last = &w->levels[w->depth];
	const uint8_t *at = end->addr;
	Dwarf_Off offset = dwarf_dieoffset((Dwarf_Die *)&last->die) +
			   (Dwarf_Off)(at - (const uint8_t *)last->die.addr);

	while (w->depth && offset < w->unit->end && !*at) {
		w->depth--;
		offset++;
		at++;
	}
	return w->depth && offset < w->unit->end &&
	       dwarf_offdie(w->d->dwarf, offset, &w->levels[w->depth].die);
}

/*
 * Moves to the next entry: the first child if `into` is set, else the next sibling, else the next
 * sibling of a parent. Each entry has a higher offset in the file than the last, so no part of the
 * file is read twice. Returns false at the end.
 */
static bool next_entry(struct walk *w, bool into)
{
	struct level *level = &w->levels[w->depth];
	Dwarf_Off last = dwarf_dieoffset(&level->die);
	Dwarf_Die next = { 0 };

	if (into && w->depth + 1 < DEPTH_MAX && !dwarf_child(&level->die, &next)) {
		level = &w->levels[++w->depth];
		level->die = next;
	} else if (!w->depth) {
		return false;
	} else if (!dwarf_siblingof(&level->die, &next)) {
		level->die = next;
	} else if (!next.addr || !leave_level(w, &next)) {
		return false;
	}
	return dwarf_dieoffset(&w->levels[w->depth].die) > last;
}

/* Records the scope of a function's entry, or adds the scope that the entry itself forms. Sets
 * *scope to the scope of the entries inside. Returns false if there is no memory. */
static bool add_scope(struct walk *w, Dwarf_Die *die, uint32_t *scope)
{
	struct unit *unit = w->unit;

	switch (w->scopes ? dwarf_tag(die) : 0) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		if (!RS_VECTOR_RESERVE(unit->scopes, unit->scopes_room, unit->n_scopes + 1))
			return false;
		unit->scopes[unit->n_scopes] = (struct scope){ dwarf_dieoffset(die), *scope };
		*scope = unit->n_scopes++;
		return true;
	case DW_TAG_subprogram:
		if (*scope == NONE)
			return true;
		if (!RS_VECTOR_RESERVE(unit->places, unit->places_room, unit->n_places + 1))
			return false;
		unit->places[unit->n_places++] = (struct place){ dwarf_dieoffset(die), *scope };
		return true;
	default:
		return true;
	}
}

static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return false;
	default:
		return true;
	}
}

/* Walks a unit's entries. Returns false if there is no memory. */
static bool read_codes(struct rs_dwarf *d, struct unit *unit)
{
	struct walk *w = calloc(1, sizeof(*w));
	uint32_t within = NONE, scope = NONE;
	bool good = w != NULL, into = true;

	if (!w || !dwarf_offdie(d->dwarf, unit->die, &w->levels[0].die))
		goto out;
	w->d = d;
	w->unit = unit;
	w->scopes = has_scopes(&w->levels[0].die);
	while (good) {
		uint32_t depth = w->depth;
		struct level *level;

		if (!next_entry(w, into) || !may_go_on(d))
			break;
		level = &w->levels[w->depth];
		if (w->depth > depth) { /* descend into the last entry */
			level->within = within;
			level->scope = scope;
		}
		within = level->within;
		scope = level->scope;
		into = has_functions(dwarf_tag(&level->die));
		if (into)
			good = add_code(d, unit, &level->die, w->depth, &within) &&
			       add_scope(w, &level->die, &scope);
	}
out:
	free(w);
	return good;
}

static bool read_unit(struct rs_dwarf *d, struct unit *unit)
{
	bool good;

	if (unit->read)
		return true;
	unit->read = true;
	walk_begin(d);
	good = read_codes(d, unit) && rs_ranges_flatten(&unit->ranges);
	walk_end(d);
	return good;
}

/* ---- the units ------------------------------------------------------------------------------ */

/* Returns whether a unit has code in this file. Rejects skeleton units, since libdw would open the
 * files that they name. Only compile units have code. */
static bool is_whole(Dwarf_Die *die)
{
	Dwarf_Half version;
	uint8_t type;

	return dwarf_tag(die) == DW_TAG_compile_unit &&
	       !dwarf_cu_info(die->cu, &version, &type, NULL, NULL, NULL, NULL, NULL) &&
	       type == DW_UT_compile;
}

static bool add_unit(struct rs_dwarf *d, Dwarf_Off offset, Dwarf_Off end)
{
	Dwarf_Die die;
	bool any;

	if (!dwarf_offdie(d->dwarf, offset, &die) || !is_whole(&die))
		return true;
	if (d->n == NONE || !RS_VECTOR_RESERVE(d->units, d->room, d->n + 1) ||
	    !add_ranges(d, &die, &d->ranges, d->n, 0, &any))
		return false;
	if (any)
		d->units[d->n++] = (struct unit){ .die = offset, .end = end };
	return true;
}

static bool read_units(struct rs_dwarf *d)
{
	Dwarf_Off at = 0, next = 0;
	size_t head;
	bool good = true;

	walk_begin(d);
	while (good && !dwarf_nextcu(d->dwarf, at, &next, &head, NULL, NULL, NULL) && next > at &&
	       may_go_on(d)) {
		good = add_unit(d, at + head, next);
		at = next;
	}
	good = good && rs_ranges_flatten(&d->ranges);
	walk_end(d);
	return good;
}

/* Attaches the file with the texts and types that several debug files share. Otherwise libdw would
 * open any file at the path in .gnu_debugaltlink. Returns false if the file is needed but
 * missing. */
static bool attach_other(struct rs_dwarf *d, const struct rs_elf_file *other)
{
	const char *path;
	const void *id;

	if (dwelf_dwarf_gnu_debugaltlink(d->dwarf, &path, &id) <= 0)
		return true;
	d->other = other ? dwarf_begin_elf(other->elf, DWARF_C_READ, NULL) : NULL;
	if (!d->other || dwelf_dwarf_gnu_debugaltlink(d->other, &path, &id) > 0)
		return false;
	dwarf_setalt(d->dwarf, d->other);
	return true;
}

struct rs_error *rs_dwarf_open(const struct rs_elf_file *file, const struct rs_elf_file *other,
			       struct rs_dwarf **dwarf)
{
	struct rs_dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return rs_error_no_memory();
	d->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!d->dwarf || !attach_other(d, other)) {
		rs_dwarf_close(d);
		*dwarf = NULL;
		return NULL;
	}
	if (!read_units(d)) {
		rs_dwarf_close(d);
		return rs_error_no_memory();
	}
	*dwarf = d;
	return NULL;
}

void rs_dwarf_close(struct rs_dwarf *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n; i++) {
		free(d->units[i].codes);
		free(d->units[i].scopes);
		free(d->units[i].places);
		rs_ranges_deinit(&d->units[i].ranges);
	}
	free(d->units);
	rs_ranges_deinit(&d->ranges);
	rs_map_deinit(&d->texts);
	rs_arena_deinit(&d->names);
	dwarf_end(d->dwarf);
	dwarf_end(d->other);
	free(d);
}

/* ---- lookup --------------------------------------------------------------------------------- */

struct text {
	const char *from, *clean;
};

static bool same_text(const void *item, const void *key)
{
	return ((const struct text *)item)->from == key;
}

/* Returns a copy of the text without control characters. Each different text has one copy, which
 * does not move. Returns NULL if there is no memory. */
static const char *text_of(struct rs_dwarf *d, const char *from)
{
	uint64_t hash = rs_hash_pair((uintptr_t)from, 0);
	struct text *text = from ? rs_map_find(&d->texts, hash, same_text, from) : NULL;
	char *clean;

	if (text || !from)
		return text ? text->clean : NULL;
	text = rs_arena_alloc(&d->names, sizeof(*text));
	clean = rs_arena_text(&d->names, from, strlen(from));
	if (!text || !clean || !rs_map_reserve(&d->texts))
		return NULL;
	rs_utf8_mend(clean, strlen(clean));
	*text = (struct text){ from, clean };
	rs_map_add(&d->texts, hash, text);
	return clean;
}

/* Follows an entry's chain of origins and declarations to its last entry. */
static void go_to_origin(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die next;

	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		if ((!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(die, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &next))
			return;
		*die = next;
	}
}

/* Appends "namespace::" to a text of n bytes. Returns its new length. */
static size_t append_scope(struct rs_dwarf *d, const struct scope *scope, char *text, size_t n,
			   size_t size)
{
	Dwarf_Die die;
	const char *name;
	int more;

	if (!dwarf_offdie(d->dwarf, scope->die, &die))
		return n;
	name = dwarf_diename(&die);
	if (!name)
		name = dwarf_tag(&die) == DW_TAG_namespace ? "(anonymous namespace)"
							   : "(anonymous)";
	more = snprintf(text + n, size - n, "%s::", name);
	return more < 0 || (size_t)more >= size - n ? n : n + (size_t)more;
}

static int by_entry(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return (one->die > other->die) - (one->die < other->die);
}

/* Writes "namespace::type::" for a function's entry in this unit. Returns the text's length. */
static size_t scope_of(struct rs_dwarf *d, const struct unit *unit, Dwarf_Die *die, char *text,
		       size_t size)
{
	struct place key = { .die = dwarf_dieoffset(die) };
	const struct place *place = unit->n_places ? bsearch(&key, unit->places, unit->n_places,
							     sizeof(*unit->places), by_entry)
						   : NULL;
	uint32_t chain[SCOPES_MAX], depth = 0;
	size_t n = 0;

	for (uint32_t at = place ? place->scope : NONE; at != NONE && depth < SCOPES_MAX;
	     at = unit->scopes[at].parent)
		chain[depth++] = at;
	while (depth)
		n = append_scope(d, &unit->scopes[chain[--depth]], text, n, size);
	return n;
}

/* Returns the function's name: the demangled linkage name or, if there is none, its name after
 * those of its scopes. */
static const char *name_of(struct rs_dwarf *d, const struct unit *unit, struct code *code,
			   Dwarf_Die *die)
{
	static const unsigned int linkers[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name };
	char text[RS_FUNCTION_NAME_MAX];
	Dwarf_Attribute attribute;
	Dwarf_Die origin = *die;
	const char *name;
	size_t n;

	if (code->name)
		return code->name;
	for (size_t i = 0; i < 2; i++) {
		name = dwarf_formstring(dwarf_attr_integrate(die, linkers[i], &attribute));
		if (name && *name)
			return code->name = rs_function_name(&d->names, name);
	}
	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
	if (!name || !*name)
		return NULL;
	go_to_origin(&origin);
	n = scope_of(d, unit, &origin, text, sizeof(text));
	snprintf(text + n, sizeof(text) - n, "%s", name);
	return code->name = rs_function_name(&d->names, text);
}

/* Stores the file and line of the call that was inlined at `die`. */
static void call_of(struct rs_dwarf *d, Dwarf_Die *unit, Dwarf_Die *die, struct rs_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t n = 0;

	frame->file = NULL;
	frame->line = 0;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line))
		frame->line = (uint32_t)line;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) &&
	    !dwarf_getsrcfiles(unit, &files, &n) && file < n)
		frame->file = text_of(d, dwarf_filesrc(files, file, NULL, NULL));
}

/* Returns the beginning of the function's range that contains the address. */
static uint64_t begin_of(Dwarf_Die *die, uint64_t address)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (lo <= address && address < hi)
			return lo;
	}
	return address;
}

static void line_of(struct rs_dwarf *d, Dwarf_Die *unit, uint64_t address, struct rs_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;

	*frame = (struct rs_frame){ 0 };
	if (!line)
		return;
	frame->file = text_of(d, dwarf_linesrc(line, NULL, NULL));
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
}

uint32_t rs_dwarf_lookup(struct rs_dwarf *d, uint64_t address, struct rs_frame *frames,
			 uint32_t max)
{
	const struct rs_range *range = rs_ranges_find(&d->ranges, address);
	struct unit *unit = range ? &d->units[range->item] : NULL;
	uint32_t n = 0, item;
	Dwarf_Die unit_die, die;

	if (!unit || !max || !dwarf_offdie(d->dwarf, unit->die, &unit_die))
		return 0;
	line_of(d, &unit_die, address, &frames[0]);
	range = read_unit(d, unit) ? rs_ranges_find(&unit->ranges, address) : NULL;
	if (!range)
		return frames[0].line ? 1 : 0;
	for (item = range->item; item != NONE; item = unit->codes[item].parent) {
		struct code *code = &unit->codes[item];

		if (!dwarf_offdie(d->dwarf, code->die, &die))
			break;
		frames[n].function = name_of(d, unit, code, &die);
		frames[n].inlined = code->inlined;
		frames[n].offset = code->inlined ? 0 : address - begin_of(&die, address);
		if (++n == max || !code->inlined)
			break;
		frames[n] = (struct rs_frame){ 0 };
		call_of(d, &unit_die, &die, &frames[n]);
	}
	return n;
}

uint32_t rs_dwarf_functions(struct rs_dwarf *d, uint64_t address, uint64_t *offsets, uint32_t max)
{
	const struct rs_range *range = rs_ranges_find(&d->ranges, address);
	struct unit *unit = range ? &d->units[range->item] : NULL;
	uint32_t n = 0, item;

	range = unit && read_unit(d, unit) ? rs_ranges_find(&unit->ranges, address) : NULL;
	for (item = range ? range->item : NONE; item != NONE && n < max;
	     item = unit->codes[item].parent) {
		offsets[n++] = unit->codes[item].die;
		if (!unit->codes[item].inlined)
			break;
	}
	return n;
}

Dwarf *rs_dwarf_of(struct rs_dwarf *d)
{
	return d->dwarf;
}
