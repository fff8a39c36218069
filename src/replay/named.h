/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes by the names of the guest:
 *
 *	guest:kernel:SYM:entry		at a function's first instruction: arg0 ... arg5
 *	guest:kernel:SYM:return		where it is left (introspect/leaves.h)
 *	guest:kernel:SYM:+OFFSET	at the instruction so many bytes behind its first
 *	guest:FILE:SYM:...		the same, of a program's function; FILE is --binary's name
 *	guest:syscall:NAME:entry	at the function of a system call, by its number in the
 *					kernel's table: the call's arguments
 *	guest:syscall:NAME:return	where the kernel leaves a system call, with its result
 *	guest:sched::switch		where the kernel changes tasks, in the old one
 *
 * Each becomes breakpoints: one for each place, and for each function of the name. The kernel must
 * have been found (guest_kernel.h) but for a program's functions.
 */
#ifndef RS_REPLAY_NAMED_H
#define RS_REPLAY_NAMED_H

#include "replay/probed.h"

struct rs_named {
	struct rs_named *next;
	struct rs_leaves *leaves; /* of a return */
	uint32_t number;	  /* of a system call */
};

/* Returns whether a description is of this form, and of the guest's kernel. */
bool rs_named_of_kernel(const char *description);

/* Makes the probe of a description, and its event. Sets *event to NULL if the description is not of
 * this form. Returns RS_USAGE if it is, and nothing in the guest has that name. */
struct rs_error *rs_named_make(struct rs_probed *p, const char *description,
			       const struct rs_event **event);
void rs_named_destroy(struct rs_named *list); /* NULL is ignored */

/* Returns whether the probe fires, at whose address the machine is. */
bool rs_named_hit(struct rs_probed *p, const struct rs_replay_probe *probe);

#endif
