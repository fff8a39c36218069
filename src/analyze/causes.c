/* SPDX-License-Identifier: BSD-2-Clause */
/* What exits were about, by name: causes.def, and the bits of a page fault's error code. */
#include "analyze/exits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum table { TABLE_port, TABLE_address, TABLE_msr, TABLE_leaf, TABLE_hypercall, TABLE_vector };

static const struct {
	enum table table;
	uint64_t first, last;
	const char *name;
} names[] = {
#define RS_CAUSE(table, first, last, name) { TABLE_##table, first, last, name },
#include <ringside/event/causes.def>
#undef RS_CAUSE
};

static const struct {
	const char *name;
	enum table table;
	bool decimal;
} kinds[RS_CAUSE_KINDS] = {
	[RS_CAUSE_NONE] = { "-", 0, true },
	[RS_CAUSE_PIO_READ] = { "pio read", TABLE_port, false },
	[RS_CAUSE_PIO_WRITE] = { "pio write", TABLE_port, false },
	[RS_CAUSE_MMIO_READ] = { "mmio read", TABLE_address, false },
	[RS_CAUSE_MMIO_WRITE] = { "mmio write", TABLE_address, false },
	[RS_CAUSE_MSR_READ] = { "msr read", TABLE_msr, false },
	[RS_CAUSE_MSR_WRITE] = { "msr write", TABLE_msr, false },
	[RS_CAUSE_CPUID] = { "cpuid", TABLE_leaf, false },
	[RS_CAUSE_HYPERCALL] = { "hypercall", TABLE_hypercall, true },
	[RS_CAUSE_INTERRUPT] = { "interrupt", TABLE_vector, false },
	[RS_CAUSE_PAGE_FAULT] = { "page fault", 0, false },
};

/* The error code's bits: SDM volume 3, 4.7. */
static const struct {
	const char *set, *clear;
} fault_bits[] = {
	{ "present", "not present" }, { "write", "read" },   { "user", "" },
	{ "reserved bit", "" },	      { "instruction", "" }, { "protection key", "" },
};

const char *rs_cause_kind_name(uint32_t kind)
{
	return kind < RS_CAUSE_KINDS ? kinds[kind].name : "-";
}

/* The narrowest range that has the key. */
static const char *name_of(enum table table, uint64_t key)
{
	const char *name = NULL;
	uint64_t width = UINT64_MAX;

	for (size_t i = 0; i < COUNT(names); i++) {
		if (names[i].table != table || key < names[i].first || key > names[i].last ||
		    names[i].last - names[i].first >= width)
			continue;
		name = names[i].name;
		width = names[i].last - names[i].first;
	}
	return name;
}

static void fault_text(uint64_t bits, char text[RS_CAUSE_TEXT_MAX])
{
	size_t used = (size_t)snprintf(text, RS_CAUSE_TEXT_MAX, "0x%" PRIx64 " (", bits);
	const char *comma = "";

	for (size_t i = 0; i < COUNT(fault_bits); i++) {
		const char *word = bits >> i & 1 ? fault_bits[i].set : fault_bits[i].clear;

		if (!*word)
			continue;
		used += (size_t)snprintf(text + used, RS_CAUSE_TEXT_MAX - used, "%s%s", comma,
					 word);
		if (used >= RS_CAUSE_TEXT_MAX)
			return;
		comma = " ";
	}
	snprintf(text + used, RS_CAUSE_TEXT_MAX - used, ")");
}

const char *rs_cause_text(uint32_t kind, uint64_t key, char text[RS_CAUSE_TEXT_MAX])
{
	const char *name;
	size_t used;

	if (kind == RS_CAUSE_PAGE_FAULT) {
		fault_text(key, text);
		return text;
	}
	if (kind == RS_CAUSE_NONE || kind >= RS_CAUSE_KINDS)
		name = NULL;
	else
		name = name_of(kinds[kind].table, key);
	used = (size_t)snprintf(
		text, RS_CAUSE_TEXT_MAX,
		kind < RS_CAUSE_KINDS && kinds[kind].decimal ? "%" PRIu64 : "0x%" PRIx64, key);
	if (name)
		snprintf(text + used, RS_CAUSE_TEXT_MAX - used, " (%s)", name);
	return text;
}
