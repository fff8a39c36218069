/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of a replayed machine for a debugger. Each task of the guest's Linux kernel
 * (src/insight/) is a thread. Their numbers are
 *
 *	N				a task, by its thread number (tid) in Linux
 *	RS_DEBUGGER_IDLE + N		the idle task of processor N, whose number in Linux is 0
 *	RS_DEBUGGER_PROCESSOR + N	processor N, from 0: its task is unknown, because there is
 *				no Linux kernel (yet), or because its data is
 *				inconsistent
 *
 * The task that the processor runs is the one that the kernel's per-CPU area names, also between
 * the instructions of a context switch. The other tasks are listed only if a debugger requests
 * them.
 *
 * The guest's memory is not trusted; src/insight/ checks and bounds what it reads. Only one thread
 * may call.
 */
#ifndef RS_REPLAY_DEBUGGER_THREADS_H
#define RS_REPLAY_DEBUGGER_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/guest_kernel.h"

#define RS_DEBUGGER_IDLE      INT64_C(1000000000)
#define RS_DEBUGGER_PROCESSOR INT64_C(2000000000)

struct rs_debugger_thread {
	int64_t id;
	char name[32];	/* printable */
	char extra[64]; /* "pid 12, tid 13, state S" */
};

struct rs_debugger_threads {
	struct rs_memory memory; /* RAM of the machine */
	bool kernel_frames;	 /* waiting tasks have their registers in the kernel */
	struct rs_guest_kernel guest;
	/* State of the present stop. */
	struct rs_x86_regs regs;  /* registers of the processor */
	int64_t current;	  /* the thread that the processor runs */
	bool listed, has_current; /* that thread is one of the tasks */
	struct rs_linux_tasks tasks;
};

/* Initializes *threads for a machine's memory. */
void rs_debugger_threads_init(const struct rs_memory *memory, bool kernel_frames,
			      struct rs_debugger_threads *threads);
void rs_debugger_threads_deinit(struct rs_debugger_threads *threads);

/* Moves to another stop, with these registers of the processor. If no kernel is known, searches for
 * one only if `search` is true, since a search takes as long as a thousand stops. */
void rs_debugger_threads_stopped(struct rs_debugger_threads *threads,
				 const struct rs_x86_regs *regs, bool search);

/* Returns why the task of the processor is unknown, or NULL if it is known. */
const char *rs_debugger_threads_why(const struct rs_debugger_threads *threads);

/* Describes the i-th thread. Returns false past the last. */
bool rs_debugger_threads_at(struct rs_debugger_threads *threads, uint32_t i,
			    struct rs_debugger_thread *thread);
/* Describes a thread by its number. Returns false if it does not exist. */
bool rs_debugger_threads_find(struct rs_debugger_threads *threads, int64_t id,
			      struct rs_debugger_thread *thread);

/* Reads the registers of a thread that no processor runs. Bit i of *known is set if the register i,
 * in the order of struct rs_x86_regs, is known, which may be none. */
void rs_debugger_threads_registers(struct rs_debugger_threads *threads, int64_t id,
				   struct rs_x86_regs *regs, uint64_t *known);

/* Reads memory by the page table of a thread. Returns the number of bytes before the first that
 * cannot be read. */
size_t rs_debugger_threads_read(struct rs_debugger_threads *threads, int64_t id, uint64_t gva,
				void *buf, size_t bytes);

#endif
