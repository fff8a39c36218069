/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tasks of a Linux kernel. A task is believed if its stack ends with the kernel's magic number,
 * its struct pid has its number and leads back to it, its leader has its process's number, and its
 * page table maps the kernel as all do. The list of processes and those of threads are followed
 * while each element's predecessor is the one that was come from.
 *
 * A task's name is the kernel's word alone: nothing else in memory repeats it.
 */
#ifndef RS_INSIGHT_TASK_H
#define RS_INSIGHT_TASK_H

#include "insight/linux.h"

#define RS_TASK_COMM_BYTES 16u /* TASK_COMM_LEN */
#define RS_TASKS_MAX	   (1u << 18)

struct rs_linux_task {
	uint64_t address; /* of its task_struct */
	uint64_t mm;	  /* of its mm_struct; 0: it has no memory of its own */
	uint64_t cr3;	  /* its page table, guest-physical; 0: it has none */
	int32_t pid;	  /* of the thread, which Linux's tools name tid */
	int32_t tgid;	  /* of the process */
	int32_t ppid;
	char state; /* as in /proc/PID/stat */
	bool is_kernel;
	char comm[RS_TASK_COMM_BYTES];
};

/* Reads and checks the task at an address. Returns RS_DAMAGED, with the reason, if it is none. */
struct rs_error *rs_linux_task_read(struct rs_linux *kernel, uint64_t gva,
				    struct rs_linux_task *task);

struct rs_linux_tasks {
	struct rs_linux_task *tasks; /* each process, followed by its threads */
	uint32_t n;
	struct rs_error *damage; /* why there may be more than these; NULL: these are all */
};

/* Reads all tasks but the idle tasks of the processors behind the first. Returns an error if there
 * is none that is believed. */
struct rs_error *rs_linux_tasks_read(struct rs_linux *kernel, struct rs_linux_tasks *tasks);
void rs_linux_tasks_deinit(struct rs_linux_tasks *tasks);

/* Points *memory at a task's own memory. Returns RS_USAGE if the task has none. */
struct rs_error *rs_linux_task_memory(const struct rs_linux *kernel,
				      const struct rs_linux_task *task, struct rs_memory *memory);

#endif
