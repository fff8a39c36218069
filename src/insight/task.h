/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the tasks of a Linux kernel. A task is accepted if its stack ends with the kernel's magic
 * number, its struct pid has its number and refers to it, its leader has its process's number, and
 * its page table maps the kernel. The list of processes and the lists of threads are followed while
 * each element refers back to its predecessor.
 *
 * A task's name cannot be checked, since memory has no second copy of it.
 */
#ifndef RS_INSIGHT_TASK_H
#define RS_INSIGHT_TASK_H

#include "insight/linux.h"

#define RS_TASK_COMM_BYTES 16u /* TASK_COMM_LEN */
#define RS_TASKS_MAX	   (1u << 18)

struct rs_linux_task {
	uint64_t address; /* address of its task_struct */
	uint64_t mm;	  /* address of its mm_struct; 0: it has no own memory */
	uint64_t cr3;	  /* its page table, guest-physical; 0: none */
	int32_t pid;	  /* number of the thread, which Linux's tools call tid */
	int32_t tgid;	  /* number of the process */
	int32_t ppid;
	char state; /* as in /proc/PID/stat */
	bool is_kernel;
	char comm[RS_TASK_COMM_BYTES]; /* printable UTF-8: '?' stands for each other byte */
};

/* Sets the name from task_struct.comm, RS_TASK_COMM_BYTES bytes, which any process may set. Returns
 * false, and sets nothing, if it does not end. */
bool rs_linux_task_set_name(struct rs_linux_task *task, const void *comm);
/* Returns whether rs_linux_task_set_name() makes the task's name of task_struct.comm. */
bool rs_linux_task_has_name(const struct rs_linux_task *task, const void *comm);

/* Reads and checks the task at an address. Returns RS_DAMAGED, with the reason, if it is not a
 * task. */
struct rs_error *rs_linux_task_read(struct rs_linux *kernel, uint64_t gva,
				    struct rs_linux_task *task);

struct rs_linux_tasks {
	struct rs_linux_task *tasks; /* each process, followed by its threads */
	uint32_t n;
	struct rs_error *damage; /* why there may be more tasks; NULL: these are all */
};

/* Reads all tasks, except the idle tasks of all processors but the first. Returns an error if there
 * is no valid task. */
struct rs_error *rs_linux_tasks_read(struct rs_linux *kernel, struct rs_linux_tasks *tasks);
void rs_linux_tasks_deinit(struct rs_linux_tasks *tasks);

/* Points *memory at a task's address space. Returns RS_USAGE if the task has none. */
struct rs_error *rs_linux_task_memory(const struct rs_linux *kernel,
				      const struct rs_linux_task *task, struct rs_memory *memory);

#endif
