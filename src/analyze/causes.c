/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the causes of exits: causes.def, and the bits of a fault's error code. */
#include "analyze/exits.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define TABLES(ROW)                                                                                \
	ROW(port)                                                                                  \
	ROW(address)                                                                               \
	ROW(msr)                                                                                   \
	ROW(leaf)                                                                                  \
	ROW(hypercall)                                                                             \
	ROW(vector)                                                                                \
	ROW(sysreg)                                                                                \
	ROW(wfx)

#define TABLE(name) TABLE_##name,
enum table { TABLES(TABLE) };
#undef TABLE

/* Equals rs_cause_sysreg() without its masks, as a constant expression for tables. */
#define SYSREG(op0, op1, crn, crm, op2)                                                            \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

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
	bool decimal; /* except an SMCCC function's number */
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
	[RS_CAUSE_SYSREG_READ] = { "sysreg read", TABLE_sysreg, false },
	[RS_CAUSE_SYSREG_WRITE] = { "sysreg write", TABLE_sysreg, false },
	[RS_CAUSE_WFX] = { "wfx", TABLE_wfx, true },
	[RS_CAUSE_GUEST_FAULT] = { "guest fault", 0, false },
};

#define SMCCC_FAST 0x80000000u /* Arm's SMC calling convention (DEN0028), 2.5: bit 31 */

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

bool rs_cause_name_at(size_t i, struct rs_cause_name *name)
{
#define NAME(name) #name,
	static const char *const tables[] = { TABLES(NAME) };
#undef NAME

	if (i >= COUNT(names))
		return false;
	*name = (struct rs_cause_name){ tables[names[i].table], names[i].name, names[i].first,
					names[i].last };
	return true;
}

/* Returns the name of the narrowest range that contains the key. */
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

/* Describes an abort from an arm64 guest by the parts of ESR_EL2 in the key. */
static void guest_fault_text(uint64_t esr, char text[RS_CAUSE_TEXT_MAX])
{
	static const char *const status[] = { "address size", "translation", "access flag",
					      "permission" };
	uint64_t ec = esr >> 26, code = esr >> 2 & 0xf;
	const char *access = esr >> 6 & 1 ? "write" : "read";

	if (ec == 0x20) /* an instruction abort from a lower level; 0x24 is a data abort */
		access = "fetch";
	snprintf(text, RS_CAUSE_TEXT_MAX, "0x%" PRIx64 " (%s, %s%s)", esr, access,
		 code < COUNT(status) ? status[code] : "other",
		 esr >> 7 & 1 ? ", in a table walk" : "");
}

/* Writes a number in its manual's notation. Returns the text's length. */
static size_t number_text(uint32_t kind, uint64_t key, char text[RS_CAUSE_TEXT_MAX])
{
	bool decimal = kind < RS_CAUSE_KINDS && kinds[kind].decimal && key < SMCCC_FAST;
	bool sysreg = kind == RS_CAUSE_SYSREG_READ || kind == RS_CAUSE_SYSREG_WRITE;

	if (sysreg && key <= SYSREG(3, 7, 15, 15, 7))
		return (size_t)snprintf(text, RS_CAUSE_TEXT_MAX, "S%u_%u_C%u_C%u_%u",
					(unsigned int)(key >> 14), (unsigned int)(key >> 11 & 7),
					(unsigned int)(key >> 7 & 15),
					(unsigned int)(key >> 3 & 15), (unsigned int)(key & 7));
	return (size_t)snprintf(text, RS_CAUSE_TEXT_MAX, decimal ? "%" PRIu64 : "0x%" PRIx64, key);
}

const char *rs_cause_text(uint32_t kind, uint64_t key, char text[RS_CAUSE_TEXT_MAX])
{
	const char *name;
	size_t used;

	if (kind == RS_CAUSE_PAGE_FAULT) {
		fault_text(key, text);
		return text;
	}
	if (kind == RS_CAUSE_GUEST_FAULT) {
		guest_fault_text(key, text);
		return text;
	}
	if (kind == RS_CAUSE_NONE || kind >= RS_CAUSE_KINDS)
		name = NULL;
	else
		name = name_of(kinds[kind].table, key);
	used = number_text(kind, key, text);
	if (name)
		snprintf(text + used, RS_CAUSE_TEXT_MAX - used, " (%s)", name);
	return text;
}
