/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of binaries, and lookups of addresses in it. */
#include "introspect/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "introspect/module.h"

struct rs_symbols {
	char *symfs;
	struct rs_module **modules; /* sorted by address */
	uint32_t n, room;
};

struct rs_error *rs_symbols_create(const char *symfs, struct rs_symbols **set)
{
	struct rs_symbols *s = calloc(1, sizeof(*s));

	if (s && symfs)
		s->symfs = strdup(symfs);
	if (!s || (symfs && !s->symfs)) {
		rs_symbols_destroy(s);
		return rs_error_no_memory();
	}
	*set = s;
	return NULL;
}

void rs_symbols_destroy(struct rs_symbols *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->n; i++)
		rs_module_destroy(set->modules[i]);
	free(set->modules);
	free(set->symfs);
	free(set);
}

/* Returns the index of the first binary that begins after the address. */
static uint32_t first_after(const struct rs_symbols *set, uint64_t address)
{
	return (uint32_t)RS_SEARCH(i, set->n, set->modules[i]->lo <= address);
}

/* Adds a binary to the set, which then owns it. Frees the binary on an error. */
static struct rs_error *add(struct rs_symbols *set, const char *path, struct rs_module *module)
{
	const struct rs_module *other = NULL;
	struct rs_error *err = NULL;
	uint32_t at;

	at = first_after(set, module->lo);
	if (at && set->modules[at - 1]->hi > module->lo)
		other = set->modules[at - 1];
	else if (at < set->n && set->modules[at]->lo < module->hi)
		other = set->modules[at];
	if (other)
		err = rs_error_create(RS_USAGE, "%s at 0x%" PRIx64 " overlaps %s at 0x%" PRIx64,
				      path, module->lo, other->name, other->lo);
	else if (!RS_VECTOR_RESERVE(set->modules, set->room, set->n + 1))
		err = rs_error_no_memory();
	if (err) {
		rs_module_destroy(module);
		return err;
	}
	memmove(&set->modules[at + 1], &set->modules[at], (set->n - at) * sizeof(*set->modules));
	set->modules[at] = module;
	set->n++;
	return NULL;
}

struct rs_error *rs_symbols_add(struct rs_symbols *set, const char *path, const char *expected,
				uint64_t load)
{
	struct rs_module *module = NULL;
	struct rs_error *err = rs_module_create(set->symfs, path, expected, load, &module);

	return err ? err : add(set, path, module);
}

struct rs_error *rs_symbols_add_bytes(struct rs_symbols *set, const char *path, const void *bytes,
				      uint64_t size, uint64_t load)
{
	struct rs_module *module = NULL;
	struct rs_error *err = rs_module_create_bytes(set->symfs, path, bytes, size, load, &module);

	return err ? err : add(set, path, module);
}

struct rs_module *rs_symbols_module(struct rs_symbols *set, uint64_t address)
{
	uint32_t at = set ? first_after(set, address) : 0;

	return at && address < set->modules[at - 1]->hi ? set->modules[at - 1] : NULL;
}

uint32_t rs_symbols_count(const struct rs_symbols *set)
{
	return set ? set->n : 0;
}

uint32_t rs_symbols_lookup(struct rs_symbols *set, uint64_t address, struct rs_frame *frames,
			   uint32_t max)
{
	struct rs_module *m = rs_symbols_module(set, address);
	uint64_t at = m ? address - m->load : 0, begin = 0;
	uint32_t n = 0;

	if (!m || !max)
		return 0;
	if (m->dwarf)
		n = rs_dwarf_lookup(m->dwarf, at, frames, max);
	if (!n) {
		frames[0] = (struct rs_frame){ .offset = at };
		n = 1;
	}
	/* If DWARF has no function there, the symbol table may have one. */
	if (!frames[n - 1].function && !frames[n - 1].inlined &&
	    rs_functions_find(&m->functions, at, &frames[n - 1].function, &begin))
		frames[n - 1].offset = at - begin;
	else if (!frames[n - 1].function && !frames[n - 1].inlined)
		frames[n - 1].offset = at;
	for (uint32_t i = 0; i < n; i++)
		frames[i].module = m->name;
	return n;
}

/* Returns whether CFI marks the code before an address as a signal handler's frame. */
static bool is_handler(struct rs_symbols *set, uint64_t address)
{
	struct rs_module *m = rs_symbols_module(set, address - 1);
	struct rs_cfi_row row;

	return m && rs_module_cfi(m, address - 1, &row) == RS_CFI_FOUND && row.interrupted;
}

uint32_t rs_symbols_lookup_stack(struct rs_symbols *set, const uint64_t *stack, uint32_t i,
				 struct rs_frame *frames, uint32_t max)
{
	/* A handler's frame returns to its first instruction, which no call precedes. */
	bool exact = !i || is_handler(set, stack[i - 1]) || is_handler(set, stack[i]);
	uint32_t n = rs_symbols_lookup(set, stack[i] - (exact ? 0 : 1), frames, max);

	if (n && !exact && !frames[n - 1].inlined)
		frames[n - 1].offset++; /* an offset to the return address itself */
	return n;
}

struct rs_error *rs_symbols_read(const char *path, struct rs_symbols **set)
{
	struct rs_symbols *s = NULL;
	struct rs_error *err = rs_symbols_create(NULL, &s);

	if (!err)
		err = rs_symbols_add(s, path, NULL, 0);
	if (err)
		rs_symbols_destroy(s);
	else
		*set = s;
	return err;
}

bool rs_symbols_text(struct rs_symbols *set, uint64_t address, char text[RS_SYMBOL_TEXT_MAX])
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX], *outer;
	uint32_t n = rs_symbols_lookup(set, address, frames, RS_SYMBOL_FRAMES_MAX);

	outer = n ? &frames[n - 1] : NULL; /* the function in the symbol table */
	if (!outer || !outer->function)
		return false;
	if (outer->offset)
		snprintf(text, RS_SYMBOL_TEXT_MAX, "%.100s+0x%" PRIx64, outer->function,
			 outer->offset);
	else
		snprintf(text, RS_SYMBOL_TEXT_MAX, "%s", outer->function);
	return true;
}
