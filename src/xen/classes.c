/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of Xen's event classes. */
#include "xen/classes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 0x00021000u /* TRC_SCHED_MIN: changes of runstate */

static const struct rs_xen_class classes[] = {
	{ "all", "everything", RS_XEN_CLASSES_ALL },
	{ "gen", "the trace's own events", 0x0001f000 },
	{ "sched", "the scheduler", 0x0002f000 },
	{ "sched-min", "changes of runstate", 0x00021000 },
	{ "sched-class", "events of a specific scheduler", 0x00022000 },
	{ "sched-verbose", "switches, wakes, blocks", 0x00028000 },
	{ "dom0op", "domains created and destroyed", 0x0004f000 },
	{ "hvm", "HVM and PVH guests", 0x0008f000 },
	{ "hvm-entryexit", "exits and entries of HVM and PVH guests", 0x00081000 },
	{ "hvm-handler", "causes of exits", 0x00082000 },
	{ "hvm-emul", "emulated devices", 0x00084000 },
	{ "mem", "memory: grants, populate on demand", 0x0010f000 },
	{ "pv", "PV guests", 0x0020f000 },
	{ "pv-entry", "hypercalls and faults of PV guests", 0x00201000 },
	{ "pv-subcall", "calls within a multicall", 0x00202000 },
	{ "shadow", "shadow page tables", 0x0040f000 },
	{ "hw", "the machine", 0x0080f000 },
	{ "hw-pm", "idle states and frequencies", 0x00801000 },
	{ "hw-irq", "interrupts of devices", 0x00802000 },
	{ "guest", "events traced by guests", 0x0800f000 },
};
#define N_CLASSES (sizeof(classes) / sizeof(classes[0]))

const struct rs_xen_class *rs_xen_class(uint32_t index)
{
	return index < N_CLASSES ? &classes[index] : NULL;
}

static bool number_read(const char *word, uint32_t *mask)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(word, &end, 0);
	if (end == word || *end || errno || *word < '0' || *word > '9' || value > UINT32_MAX)
		return false;
	*mask |= (uint32_t)value;
	return true;
}

static bool name_read(const char *word, uint32_t *mask)
{
	for (size_t i = 0; i < N_CLASSES; i++) {
		if (!strcmp(word, classes[i].name)) {
			*mask |= classes[i].mask | CONTEXT;
			return true;
		}
	}
	return false;
}

struct rs_error *rs_xen_classes_parse(const char *list, uint32_t *out)
{
	char *copy = strdup(list), *rest = NULL;
	struct rs_error *err = NULL;
	uint32_t mask = 0;

	if (!copy)
		return rs_error_no_memory();
	for (char *word = strtok_r(copy, ",", &rest); !err && word;
	     word = strtok_r(NULL, ",", &rest)) {
		if (!number_read(word, &mask) && !name_read(word, &mask))
			err = rs_error_create(RS_USAGE,
					      "'%s': expected a mask, or a class: gen, sched, "
					      "dom0op, hvm, mem, pv, shadow, hw, guest, all",
					      word);
	}
	/* The bits of the classes, and of the subclasses below them. */
	if (!err && (mask & ~RS_XEN_CLASSES_ALL || !(mask >> 16) || !(mask >> 12 & 0xf)))
		err = rs_error_create(RS_USAGE, "'%s': the mask 0x%x matches no event", list, mask);
	free(copy);
	if (!err)
		*out = mask;
	return err;
}
