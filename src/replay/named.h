/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates probes by names in the guest:
 *
 *	guest:kernel:SYM:entry		at a function's first instruction: arg0 ... arg5
 *	guest:kernel:SYM:return		where it is left (introspect/leaves.h)
 *	guest:kernel:SYM:+OFFSET	at the instruction OFFSET bytes after its first
 *	guest:FILE:SYM:...		the same for a program's function; FILE is --binary's name
 *					SYM and FILE may be globs
 *	guest:MODULE:SYM:...		the same for a function of a kernel module, if no program
 *					has that name; the module may be loaded later
 *					(probed_modules.c)
 *	guest:syscall:NAME:entry	at the function of a system call, by its number in the
 *					kernel's table: the call's arguments; NAME may be a glob
 *	guest:syscall:NAME:return	where the kernel leaves a system call, with its result
 *	guest:sched::switch		at a task switch, in the old task
 *
 * Each becomes breakpoints, one for each place and for each function of the name. Except for a
 * program's functions, the kernel must have been found (guest_kernel.h).
 */
#ifndef RS_REPLAY_NAMED_H
#define RS_REPLAY_NAMED_H

#include "replay/probed.h"

struct rs_named {
	struct rs_named *next;
	struct rs_leaves *leaves; /* for a return */
	uint32_t number;	  /* for a system call */
};

/* Returns whether a description is of this form, and about the guest's kernel. */
bool rs_named_of_kernel(const char *description);

/* Returns whether a description is of a function that only a kernel module can have, because no
 * program has the name. Sets `name`, unless it is NULL, to the module's. */
bool rs_named_module(const struct rs_probed *p, const char *description,
		     char name[RS_WORD_MAX + 1]);

/* Returns whether a description may match several functions. */
bool rs_named_is_glob(const char *description);

/* Creates the probe of a description, and its event; for a glob, those of each function that
 * matches and has no such probe yet, and sets *event to one of them. Sets *event to NULL if the
 * description is not of this form. Returns RS_USAGE if it is, but nothing in the guest has that
 * name. */
struct rs_error *rs_named_make(struct rs_probed *p, const char *description,
			       const struct rs_event **event);
void rs_named_destroy(struct rs_named *list); /* NULL is ignored */
/* Removes and frees one of the machine's; NULL is ignored. No probe may use it. */
void rs_named_remove(struct rs_probed *p, struct rs_named *named);

struct rs_linux_module;
/* Adds the places of a module's probe in the loaded module. Returns RS_USAGE if the module has no
 * such place. */
struct rs_error *rs_named_add_module(struct rs_probed *p, struct rs_linux *kernel,
				     struct rs_module_probe *of,
				     const struct rs_linux_module *module);

/* Returns whether the probe fires. The machine must be at its address. */
bool rs_named_hit(struct rs_probed *p, const struct rs_replay_probe *probe);

#endif
