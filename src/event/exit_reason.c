/* SPDX-License-Identifier: BSD-2-Clause */
/* Exit reasons: isa.def as tables, which are searched by bisection. */
#include "event/exit_reason.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "event/catalogue.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct reason {
	uint32_t code;
	const char *name, *kernel;
};

#define RS_EXIT(number, name, kernel) { number, #name, kernel },
#define RS_ISA_EXITS(name)	      static const struct reason name[] = {
#define RS_ISA_EXITS_END                                                                           \
	}                                                                                          \
	;
#include <ringside/event/isa.def>
#undef RS_ISA_EXITS
#undef RS_ISA_EXITS_END
#undef RS_EXIT

static const struct {
	const struct reason *reasons;
	size_t n;
	uint32_t mask;
	uint8_t base;
} tables[RS_ISA_COUNT] = {
#define RS_ISA(name, NAME, number, mask, base, module)                                             \
	[RS_ISA_##NAME] = { name, COUNT(name), mask, base },
#include <ringside/event/isa.def>
};

/* KVM_EXIT_* reasons come from the catalogue: they are few, and rarely looked up. */
static const struct rs_enum *user_reasons(void)
{
	return rs_catalogue_values("kvm_exit_reason");
}

const char *rs_isa_name(uint32_t isa)
{
	const char *name = rs_enum_name(rs_catalogue_values("isa"), isa);

	return name ? name : "-";
}

uint32_t rs_isa_find(const char *name)
{
	for (const struct rs_enum *e = rs_catalogue_values("isa"); e->name; e++) {
		if (!strcmp(e->name, name))
			return (uint32_t)e->value;
	}
	return RS_ISA_UNKNOWN;
}

const char *rs_exit_name(uint32_t isa, uint32_t code)
{
	size_t low = 0, high;

	if (isa == RS_ISA_USER)
		return rs_enum_name(user_reasons(), code);
	if (isa >= RS_ISA_COUNT)
		return NULL;
	code &= tables[isa].mask;
	high = tables[isa].n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct reason *r = &tables[isa].reasons[middle];

		if (r->code == code)
			return r->name;
		if (r->code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *rs_exit_text(uint32_t isa, uint32_t code, char text[RS_EXIT_TEXT_MAX])
{
	const char *name = rs_exit_name(isa, code);
	bool vmx_failed = isa == RS_ISA_VMX && code & RS_EXIT_VMX_FAILED;
	const char *behind = vmx_failed ? " (failed entry)" : "";

	/* KVM_RUN failed: mostly EINTR, when a signal interrupts the vCPU. */
	if (!name && isa == RS_ISA_USER && (int32_t)code < 0)
		name = strerrorname_np((int)(0u - code));
	if (name)
		snprintf(text, RS_EXIT_TEXT_MAX, "%s%s", name, behind);
	else if (isa < RS_ISA_COUNT && tables[isa].base)
		snprintf(text, RS_EXIT_TEXT_MAX, tables[isa].base == 16 ? "0x%x%s" : "%u%s",
			 code & tables[isa].mask, behind);
	else
		snprintf(text, RS_EXIT_TEXT_MAX, "%u", code);
	return text;
}

bool rs_exit_find(uint32_t isa, const char *name, uint32_t *code)
{
	static const char *const prefixes[] = { "EXIT_REASON_", "KVM_EXIT_" };

	if (isa >= RS_ISA_COUNT)
		return false;
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncasecmp(name, prefixes[i], len))
			name += len;
	}
	for (size_t i = 0; i < tables[isa].n; i++) {
		const struct reason *r = &tables[isa].reasons[i];

		if (!strcasecmp(r->name, name) || (*name && !strcasecmp(r->kernel, name))) {
			*code = r->code;
			return true;
		}
	}
	for (const struct rs_enum *e = user_reasons(); isa == RS_ISA_USER && e->name; e++) {
		if (!strcasecmp(e->name, name)) {
			*code = (uint32_t)e->value;
			return true;
		}
	}
	return false;
}

bool rs_exit_row(size_t i, struct rs_exit_row *row)
{
	for (uint32_t isa = 0; isa < RS_ISA_COUNT; isa++) {
		if (i < tables[isa].n) {
			const struct reason *r = &tables[isa].reasons[i];

			*row = (struct rs_exit_row){ isa, r->code, r->name, r->kernel };
			return true;
		}
		i -= tables[isa].n;
	}
	return false;
}
