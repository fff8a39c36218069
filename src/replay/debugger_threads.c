/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows a debugger the tasks of a stopped guest as threads. */
#include "replay/debugger_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/stack.h"

#define PAGE_BYTES  4096u
#define KERNEL_HALF (UINT64_C(1) << 63)

/* The indices of registers in struct rs_x86_regs. */
enum {
	RBX = 1,
	RBP = 6,
	RSP = 7,
	R12 = 12,
	RIP = 16,
	EFLAGS = 17,
	CS = 18,
	GS = 23,
	FS_BASE = 24,
	GS_BASE = 25,
	K_GS_BASE = 26,
	CR3 = 29,
};
#define BIT(n)	       (UINT64_C(1) << (n))
#define BITS(from, to) ((BIT((to) + 1) - 1) & ~(BIT(from) - 1))

/* The registers that src/insight/stack.h provides: in the kernel, and in user mode. */
#define KNOWN_KERNEL                                                                               \
	(BIT(RBX) | BIT(RBP) | BIT(RSP) | BITS(R12, RIP) | BITS(CS, GS) | BIT(FS_BASE) |           \
	 BIT(K_GS_BASE) | BIT(CR3))
#define KNOWN_USER (BITS(0, GS) | BIT(FS_BASE) | BIT(GS_BASE) | BIT(CR3))

void rs_debugger_threads_init(const struct rs_memory *memory, bool kernel_frames,
			      struct rs_debugger_threads *t)
{
	*t = (struct rs_debugger_threads){ .memory = *memory,
					   .kernel_frames = kernel_frames,
					   .current = RS_DEBUGGER_PROCESSOR };
}

void rs_debugger_threads_deinit(struct rs_debugger_threads *t)
{
	rs_linux_tasks_deinit(&t->tasks);
	rs_guest_kernel_deinit(&t->guest);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* The name of a processor's idle task ends with its number, "swapper/2". */
static int64_t id_of(const struct rs_linux_task *task)
{
	const char *slash = strchr(task->comm, '/');

	if (task->pid)
		return task->pid;
	return RS_DEBUGGER_IDLE + (slash ? (int64_t)(strtoul(slash + 1, NULL, 10) % 10000) : 0);
}

void rs_debugger_threads_stopped(struct rs_debugger_threads *t, const struct rs_x86_regs *regs,
				 bool search)
{
	const struct rs_linux_task *task;

	rs_linux_tasks_deinit(&t->tasks);
	t->listed = false;
	t->regs = *regs;
	rs_memory_at(&t->memory, &t->regs);
	rs_guest_kernel_stopped(&t->guest, &t->memory, &t->regs);
	if (search && !rs_guest_kernel_here(&t->guest)) {
		rs_guest_kernel_deinit(&t->guest);
		rs_guest_kernel_find(&t->guest, &t->memory, &t->regs);
		rs_guest_kernel_stopped(&t->guest, &t->memory, &t->regs);
	}
	task = rs_guest_kernel_task(&t->guest);
	t->current = task ? id_of(task) : RS_DEBUGGER_PROCESSOR;
}

const char *rs_debugger_threads_why(const struct rs_debugger_threads *t)
{
	if (t->current < RS_DEBUGGER_PROCESSOR)
		return NULL;
	if (!t->guest.kernel)
		return t->guest.why ? rs_error_text(t->guest.why) : "no Linux kernel was found";
	return t->guest.mapped ? "the kernel has no task for this processor"
			       : "the Linux kernel that was found is not mapped at this point";
}

/* Lists the tasks of this stop. Of a damaged list, lists the tasks before the damage. */
static void list(struct rs_debugger_threads *t)
{
	struct rs_linux *kernel = rs_guest_kernel_here(&t->guest);

	if (t->listed)
		return;
	if (kernel)
		rs_error_free(rs_linux_tasks_read(kernel, &t->tasks));
	t->listed = true;
	t->has_current = false;
	for (uint32_t i = 0; i < t->tasks.n; i++)
		t->has_current |= id_of(&t->tasks.tasks[i]) == t->current;
}

/* Returns the task of a thread, or NULL if there is none or the thread is the processor. */
static const struct rs_linux_task *task_of(struct rs_debugger_threads *t, int64_t id)
{
	if (id >= RS_DEBUGGER_PROCESSOR)
		return NULL;
	if (id == t->current)
		return rs_guest_kernel_task(&t->guest);
	list(t);
	for (uint32_t i = 0; i < t->tasks.n; i++)
		if (id_of(&t->tasks.tasks[i]) == id)
			return &t->tasks.tasks[i];
	return NULL;
}

/* ---- descriptions --------------------------------------------------------------------------- */

static void describe(const struct rs_debugger_threads *t, const struct rs_linux_task *task,
		     struct rs_debugger_thread *thread)
{
	*thread = (struct rs_debugger_thread){ .id = task ? id_of(task) : RS_DEBUGGER_PROCESSOR };
	if (!task) {
		snprintf(thread->name, sizeof(thread->name), "CPU %" PRId64,
			 thread->id - RS_DEBUGGER_PROCESSOR);
		snprintf(thread->extra, sizeof(thread->extra), "its task is unknown");
		return;
	}
	snprintf(thread->name, sizeof(thread->name), "%s", task->comm);
	snprintf(thread->extra, sizeof(thread->extra), "pid %d, tid %d, state %c%s", task->tgid,
		 task->pid, task->state, thread->id == t->current ? ", on the processor" : "");
}

bool rs_debugger_threads_at(struct rs_debugger_threads *t, uint32_t i,
			    struct rs_debugger_thread *thread)
{
	list(t);
	if (i > t->tasks.n || (i == t->tasks.n && t->has_current))
		return false;
	describe(t, i < t->tasks.n ? &t->tasks.tasks[i] : task_of(t, t->current), thread);
	return true;
}

bool rs_debugger_threads_find(struct rs_debugger_threads *t, int64_t id,
			      struct rs_debugger_thread *thread)
{
	const struct rs_linux_task *task = task_of(t, id);

	if (!task && id != t->current)
		return false;
	describe(t, task, thread);
	return true;
}

/* ---- registers and memory ------------------------------------------------------------------- */

void rs_debugger_threads_registers(struct rs_debugger_threads *t, int64_t id,
				   struct rs_x86_regs *regs, uint64_t *known)
{
	const struct rs_linux_task *task = task_of(t, id);
	struct rs_linux *kernel = rs_guest_kernel_here(&t->guest);
	struct rs_error *err = NULL;

	*regs = (struct rs_x86_regs){ 0 };
	*known = 0;
	if (!task || !kernel || id == t->current)
		return;
	if (!t->kernel_frames && !task->is_kernel) {
		err = rs_linux_user_registers(kernel, task, regs);
		*known = err ? 0 : KNOWN_USER;
		rs_error_free(err);
	}
	if (*known)
		return;
	err = rs_linux_task_registers(kernel, task, regs);
	*known = err ? 0 : KNOWN_KERNEL;
	rs_error_free(err);
}

/* Reads up to the first page that cannot be read. */
static size_t read_part(struct rs_memory *memory, uint64_t gva, uint8_t *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		size_t part = PAGE_BYTES - (gva + done) % PAGE_BYTES;

		if (part > bytes - done)
			part = bytes - done;
		if (rs_memory_read(memory, gva + done, to + done, part, NULL))
			break;
		done += part;
	}
	return done;
}

size_t rs_debugger_threads_read(struct rs_debugger_threads *t, int64_t id, uint64_t gva, void *buf,
				size_t bytes)
{
	const struct rs_linux_task *task = task_of(t, id);
	struct rs_linux *kernel = rs_guest_kernel_here(&t->guest);
	struct rs_memory memory;
	struct rs_error *err;

	if (!task || !kernel)
		return 0;
	/* A task without own memory uses any page table: their kernel halves are equal. */
	if (!task->cr3)
		return gva & KERNEL_HALF ? read_part(&kernel->memory, gva, buf, bytes) : 0;
	err = rs_linux_task_memory(kernel, task, &memory);
	if (err) {
		rs_error_free(err);
		return 0;
	}
	return read_part(&memory, gva, buf, bytes);
}
