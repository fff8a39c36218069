/* SPDX-License-Identifier: BSD-2-Clause */
/* Classes of Xen's events, by name (public/trace.h). */
#ifndef RS_XEN_CLASSES_H
#define RS_XEN_CLASSES_H

#include <stdint.h>
#include <ringside/error.h>

#define RS_XEN_CLASSES_ALL 0x0ffff000u

struct rs_xen_class {
	const char *name, *help;
	uint32_t mask;
};

/* Returns a class by its index, or NULL past the last. */
const struct rs_xen_class *rs_xen_class(uint32_t index);

/*
 * Parses a list such as "sched,hvm" or "0x8f000" into an event mask. A name in the list adds
 * changes of runstate, which show the vCPU to which events belong. Returns RS_USAGE if a class is
 * unknown, or a mask matches no event.
 */
struct rs_error *rs_xen_classes_parse(const char *list, uint32_t *mask);

#endif
