/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Linux kernel of a guest at the stops of its machine: which task runs there. The kernel is
 * looked for once, before the program's probes are made, since probes and types have its names; its
 * tables (symbols, layouts) stay, and are those of each later stop.
 *
 * A task is read once for each stop at which it is asked for. It is checked against other
 * structures (insight/task.h) when it is another one than at the last such stop, or has another
 * number; the name is read each time.
 */
#ifndef RS_REPLAY_GUEST_KERNEL_H
#define RS_REPLAY_GUEST_KERNEL_H

#include "insight/task.h"

struct rs_guest_kernel {
	struct rs_linux *kernel; /* NULL: it was not looked for, or not found */
	struct rs_error *why;	 /* why it was not found */
	/* Of the present stop. */
	const struct rs_memory *memory;
	const struct rs_x86_regs *regs;
	bool asked, known, mapped;
	struct rs_linux_task task; /* the last one that was believed */
};

void rs_guest_kernel_deinit(struct rs_guest_kernel *guest); /* also a zeroed one */

/* Looks for the kernel in a stopped machine. Returns whether it is found; if not, ->why says why
 * not. */
bool rs_guest_kernel_look(struct rs_guest_kernel *guest, const struct rs_memory *memory,
			  const struct rs_x86_regs *regs);

/* Goes on to another stop. Both outlive the stop. */
void rs_guest_kernel_stopped(struct rs_guest_kernel *guest, const struct rs_memory *memory,
			     const struct rs_x86_regs *regs);

/* Returns the kernel, to read at the present stop; NULL if it is not known or not yet mapped. */
struct rs_linux *rs_guest_kernel_here(struct rs_guest_kernel *guest);

/* Returns whether the processor's own area names the task at this address as the one that runs. Of
 * a task that has ended, this is all that can be checked: its number is another's already. */
bool rs_guest_kernel_runs(struct rs_guest_kernel *guest, uint64_t task);

/* Returns the task that runs at the present stop; NULL if it is not known, as before the kernel has
 * set up the processor, and between the processor's entry into the kernel and the kernel's own. */
const struct rs_linux_task *rs_guest_kernel_task(struct rs_guest_kernel *guest);

#endif
