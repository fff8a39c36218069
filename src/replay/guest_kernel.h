/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Linux kernel of a guest at the stops of its machine, and the task that runs. The kernel is
 * searched for once, before the program's probes are created, since probes and types use its names.
 * Its tables (symbols, layouts) remain valid at each later stop.
 *
 * A task is read at most once for each stop. It is checked against other structures
 * (insight/task.h) if it differs from the task of the last such stop, or has another number. Its
 * name is read each time.
 */
#ifndef RS_REPLAY_GUEST_KERNEL_H
#define RS_REPLAY_GUEST_KERNEL_H

#include "insight/task.h"

struct rs_guest_kernel {
	struct rs_linux *kernel; /* NULL: no search, or not found */
	struct rs_error *why;	 /* why it was not found */
	/* State of the present stop. */
	const struct rs_memory *memory;
	const struct rs_x86_regs *regs;
	bool is_read, known, mapped;
	struct rs_linux_task task; /* the last task that was accepted */
};

void rs_guest_kernel_deinit(struct rs_guest_kernel *guest); /* accepts all zero */

/* Searches for the kernel in a stopped machine. Returns whether it was found; if not, sets
 * ->why. */
bool rs_guest_kernel_find(struct rs_guest_kernel *guest, const struct rs_memory *memory,
			  const struct rs_x86_regs *regs);

/* Moves to another stop. Both arguments must outlive the stop. */
void rs_guest_kernel_stopped(struct rs_guest_kernel *guest, const struct rs_memory *memory,
			     const struct rs_x86_regs *regs);

/* Returns the kernel, for reads at the present stop; NULL if it is unknown or not mapped yet. */
struct rs_linux *rs_guest_kernel_here(struct rs_guest_kernel *guest);

/* Returns whether the processor's per-CPU area names the task at this address as the one that runs.
 * Nothing else can be checked after a task has ended, since its number may belong to another
 * task. */
bool rs_guest_kernel_runs(struct rs_guest_kernel *guest, uint64_t task);

/* Returns the task that runs at the present stop, or NULL if it is unknown: before the kernel has
 * set up the processor, and in the kernel's first instructions after an entry. */
const struct rs_linux_task *rs_guest_kernel_task(struct rs_guest_kernel *guest);

#endif
