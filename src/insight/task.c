/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the tasks of a guest's Linux kernel. */
#include "insight/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TASK_BYTES_MAX	 65536u
#define STACK_END_MAGIC	 UINT64_C(0x57AC6E9D) /* include/uapi/linux/magic.h */
#define PF_KTHREAD	 0x00200000u	      /* include/linux/sched.h; also the constants below */
#define TASK_IDLE	 0x402u		      /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
#define TASK_REPORT	 0x7fu
#define EXIT_STATES	 0x30u /* EXIT_DEAD | EXIT_ZOMBIE */
#define TASK_RTLOCK_WAIT 0x1000u
#define IDLE_COMM	 "swapper/"
#define KERNEL_HALF	 (UINT64_C(1) << 63)
#define TOP_SLOT	 511u
#define ADDRESS		 UINT64_C(0x000ffffffffff000)
#define PAGE_BYTES	 4096u

struct list {
	uint64_t next, prev;
};

static uint32_t offset_of(const struct rs_linux *kernel, enum rs_field_id id)
{
	return kernel->fields.fields[id].member.offset;
}

/* ---- a task --------------------------------------------------------------------------------- */

/* fs/proc/array.c, task_state_array. */
static char state_of(uint64_t state, uint64_t exit_state)
{
	static const char letters[] = "RSDTtXZP";
	uint64_t all = (state | exit_state) & TASK_REPORT;
	uint32_t n = 0;

	if ((state & ~(uint64_t)0x2000) == TASK_IDLE)
		return 'I';
	if (state & TASK_RTLOCK_WAIT)
		return 'D';
	for (; all; all >>= 1)
		n++;
	return letters[n];
}

/* Checks that the struct pid of a task has its number, and refers to the task. */
static struct rs_error *pid_check(struct rs_linux *kernel, const struct rs_linux_task *task,
				  uint64_t pid)
{
	uint64_t number = 0, link = 0;
	uint64_t numbers = pid + offset_of(kernel, RS_FIELD_PID_NUMBERS);
	struct rs_error *err = rs_linux_read(kernel, numbers, RS_FIELD_UPID_NR, &number);

	if (!err)
		err = rs_linux_bytes(kernel, pid + offset_of(kernel, RS_FIELD_PID_TASKS), &link,
				     sizeof(link));
	if (!err &&
	    ((int32_t)number != task->pid ||
	     (task->pid && link != task->address + offset_of(kernel, RS_FIELD_TASK_PID_LINKS))))
		err = rs_error_create(RS_DAMAGED, "its struct pid belongs to another task");
	return err;
}

/* The kernel frees the stack of a dead task before the task. */
static struct rs_error *stack_check(struct rs_linux *kernel, uint64_t stack, uint64_t exit_state)
{
	struct rs_error *err;
	uint64_t end = 0;

	if (!stack && exit_state & EXIT_STATES)
		return NULL;
	err = rs_linux_bytes(kernel, stack, &end, sizeof(end));
	if (!err && end != STACK_END_MAGIC)
		err = rs_error_create(RS_DAMAGED, "its stack does not end with the magic number");
	return err;
}

/*
 * Finds the page table of an address space, which must map the kernel like any other. The kernel
 * allocates it and the mm_struct in its direct map, where virtual and physical addresses differ by
 * a constant. So damage to a page table of the kernel cannot lead to another process's.
 */
static struct rs_error *root_find(struct rs_linux *kernel, uint64_t mm, uint64_t *cr3)
{
	uint64_t pgd = 0, gpa = 0, mm_gpa = 0, own = 0, kernels = 1;
	struct rs_error *err = rs_linux_read(kernel, mm, RS_FIELD_MM_PGD, &pgd);
	enum rs_fault fault;

	if (err)
		return err;
	fault = rs_memory_translate(&kernel->memory, mm, &mm_gpa);
	if (!fault)
		fault = rs_memory_translate(&kernel->memory, pgd, &gpa);
	if (!fault)
		fault = rs_memory_read_phys(&kernel->memory, gpa + TOP_SLOT * 8, &own, 8);
	if (!fault)
		fault = rs_memory_read_phys(&kernel->memory,
					    (kernel->memory.paging.cr3 & ADDRESS) + TOP_SLOT * 8,
					    &kernels, 8);
	if (fault)
		return rs_error_create(RS_DAMAGED, "its page table at 0x%" PRIx64 ": %s", pgd,
				       rs_fault_text(fault));
	if (pgd - gpa != mm - mm_gpa)
		return rs_error_create(RS_DAMAGED,
				       "its page table at 0x%" PRIx64
				       " is not where the kernel's direct map has it",
				       pgd);
	if (gpa & ~ADDRESS || (own ^ kernels) & ADDRESS)
		return rs_error_create(RS_DAMAGED, "its page table does not map the kernel");
	*cr3 = gpa;
	return NULL;
}

/* Reads the number of a task's process from three places, which must agree: the task, its leader,
 * and the leader's struct pid. */
static struct rs_error *process_number(struct rs_linux *kernel, uint64_t task, int32_t *number)
{
	uint64_t tgid = 0, leader = 0, its = 0, pid = 0, nr = 0;
	struct rs_error *err = rs_linux_read(kernel, task, RS_FIELD_TASK_TGID, &tgid);

	if (!err)
		err = rs_linux_read(kernel, task, RS_FIELD_TASK_LEADER, &leader);
	if (!err)
		err = rs_linux_read(kernel, leader, RS_FIELD_TASK_PID, &its);
	if (!err)
		err = rs_linux_read(kernel, leader, RS_FIELD_TASK_THREAD_PID, &pid);
	if (!err)
		err = rs_linux_read(kernel, pid + offset_of(kernel, RS_FIELD_PID_NUMBERS),
				    RS_FIELD_UPID_NR, &nr);
	if (!err && (its != tgid || nr != tgid))
		err = rs_error_create(RS_DAMAGED,
				      "the process of the task at 0x%" PRIx64
				      " has the numbers %" PRIu64 ", %" PRIu64 " and %" PRIu64,
				      task, tgid, its, nr);
	if (!err)
		*number = (int32_t)tgid;
	return err;
}

/* Sets the members that other structures provide: the numbers of its process and its parent, the
 * page table. */
static struct rs_error *relatives_read(struct rs_linux *kernel, uint64_t parent,
				       struct rs_linux_task *task)
{
	int32_t tgid = 0;
	struct rs_error *err = process_number(kernel, task->address, &tgid);

	if (!err)
		err = process_number(kernel, parent, &task->ppid);
	if (!err && tgid != task->tgid)
		err = rs_error_create(RS_DAMAGED, "its process changed");
	if (!err && task->mm)
		err = root_find(kernel, task->mm, &task->cr3);
	return err;
}

bool rs_linux_task_set_name(struct rs_linux_task *task, const void *comm)
{
	if (!memchr(comm, '\0', sizeof(task->comm)))
		return false;
	memcpy(task->comm, comm, sizeof(task->comm));
	rs_utf8_mend(task->comm, strlen(task->comm));
	return true;
}

bool rs_linux_task_has_name(const struct rs_linux_task *task, const void *comm)
{
	struct rs_linux_task other;

	return rs_linux_task_set_name(&other, comm) && !strcmp(task->comm, other.comm);
}

static struct rs_error *task_parse(struct rs_linux *kernel, const uint8_t *copy, size_t bytes,
				   struct rs_linux_task *task)
{
	const struct rs_btf_member *comm = &kernel->fields.fields[RS_FIELD_TASK_COMM].member;
	enum rs_field_id state = kernel->fields.fields[RS_FIELD_TASK_STATE].found
					 ? RS_FIELD_TASK_STATE
					 : RS_FIELD_TASK_STATE_OLD;
	uint64_t exit_state = rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_EXIT_STATE);
	struct rs_error *err;

	if (comm->bytes != sizeof(task->comm) || comm->offset + sizeof(task->comm) > bytes)
		return rs_error_create(RS_USAGE, "task_struct.comm has %u bytes", comm->bytes);
	if (!rs_linux_task_set_name(task, copy + comm->offset))
		return rs_error_create(RS_DAMAGED, "its name does not end");
	task->pid = (int32_t)rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_PID);
	task->tgid = (int32_t)rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_TGID);
	task->mm = rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_MM);
	task->is_kernel =
		rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_FLAGS) & PF_KTHREAD || !task->pid;
	task->state = state_of(rs_linux_value(kernel, copy, bytes, state), exit_state);
	if (task->pid < 0 || task->tgid < 0 || (task->mm && !(task->mm & KERNEL_HALF)))
		return rs_error_create(RS_DAMAGED, "its numbers or its memory are invalid");
	if (!task->pid && strncmp(task->comm, IDLE_COMM, strlen(IDLE_COMM)) != 0)
		return rs_error_create(RS_DAMAGED, "it has number 0 but is no idle task");
	err = stack_check(kernel, rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_STACK),
			  exit_state);
	if (!err)
		err = pid_check(kernel, task,
				rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_THREAD_PID));
	if (!err)
		err = relatives_read(
			kernel, rs_linux_value(kernel, copy, bytes, RS_FIELD_TASK_PARENT), task);
	return err;
}

static struct rs_error *layout_check(const struct rs_linux *kernel)
{
	static const enum rs_field_id needed[] = {
		RS_FIELD_TASK_TASKS,  RS_FIELD_TASK_COMM,	RS_FIELD_TASK_PID,
		RS_FIELD_TASK_TGID,   RS_FIELD_TASK_MM,		RS_FIELD_TASK_LEADER,
		RS_FIELD_TASK_PARENT, RS_FIELD_TASK_SIGNAL,	RS_FIELD_TASK_NODE,
		RS_FIELD_TASK_STACK,  RS_FIELD_TASK_THREAD_PID, RS_FIELD_TASK_PID_LINKS,
		RS_FIELD_TASK_FLAGS,  RS_FIELD_TASK_EXIT_STATE, RS_FIELD_SIGNAL_THREADS,
		RS_FIELD_PID_NUMBERS, RS_FIELD_PID_TASKS,	RS_FIELD_UPID_NR,
		RS_FIELD_MM_PGD
	};
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_TASK];
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));

	if (!err && !kernel->fields.fields[RS_FIELD_TASK_STATE].found &&
	    !kernel->fields.fields[RS_FIELD_TASK_STATE_OLD].found)
		err = rs_error_create(RS_USAGE, "this kernel has no task_struct.__state");
	if (!err && (!bytes || bytes > TASK_BYTES_MAX))
		err = rs_error_create(RS_USAGE, "this kernel's task_struct has %u bytes", bytes);
	return err;
}

/* Checks that the pages of a task follow each other in RAM, as in the kernel's linear map and
 * image. With a damaged page table, a part could be that of another task. */
static struct rs_error *pages_check(struct rs_linux *kernel, uint64_t gva, uint32_t bytes)
{
	uint64_t first = 0, gpa = 0;
	enum rs_fault fault = rs_memory_translate(&kernel->memory, gva, &first);

	for (uint64_t at = (gva | (PAGE_BYTES - 1)) + 1; !fault && at < gva + bytes;
	     at += PAGE_BYTES) {
		fault = rs_memory_translate(&kernel->memory, at, &gpa);
		if (!fault && gpa - first != at - gva)
			return rs_error_create(RS_DAMAGED,
					       "its pages do not follow each other in RAM");
	}
	return fault ? rs_error_create(RS_DAMAGED, "%s", rs_fault_text(fault)) : NULL;
}

struct rs_error *rs_linux_task_read(struct rs_linux *kernel, uint64_t gva,
				    struct rs_linux_task *out)
{
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_TASK];
	struct rs_linux_task task = { .address = gva };
	struct rs_error *err = layout_check(kernel);
	uint8_t *copy;

	if (err)
		return err;
	copy = malloc(bytes);
	if (!copy)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, gva, copy, bytes);
	if (!err)
		err = pages_check(kernel, gva, bytes);
	if (!err)
		err = task_parse(kernel, copy, bytes, &task);
	free(copy);
	if (!err)
		*out = task;
	return err ? rs_error_wrap(err, "the task at 0x%" PRIx64, gva) : NULL;
}

struct rs_error *rs_linux_task_memory(const struct rs_linux *kernel,
				      const struct rs_linux_task *task, struct rs_memory *memory)
{
	struct rs_paging paging = kernel->memory.paging;

	if (!task->cr3)
		return rs_error_create(RS_USAGE, "task %d (%s) has no memory of its own", task->pid,
				       task->comm);
	paging.cr3 = task->cr3;
	*memory = kernel->memory;
	rs_memory_stopped(memory, &paging);
	return NULL;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static struct rs_error *add(struct rs_linux *kernel, struct rs_linux_tasks *tasks, uint64_t gva)
{
	struct rs_linux_task *more;
	struct rs_error *err;

	if (tasks->n == RS_TASKS_MAX)
		return rs_error_create(RS_DAMAGED, "there are more than %u tasks", RS_TASKS_MAX);
	if (!(tasks->n & (tasks->n - 1))) { /* doubles at each power of two */
		more = reallocarray(tasks->tasks, tasks->n ? 2 * (size_t)tasks->n : 1,
				    sizeof(*more));
		if (!more)
			return rs_error_no_memory();
		tasks->tasks = more;
	}
	err = rs_linux_task_read(kernel, gva, &tasks->tasks[tasks->n]);
	if (!err && tasks->n && !tasks->tasks[tasks->n].pid)
		err = rs_error_create(RS_DAMAGED, "a task after the first has number 0");
	return err;
}

/* Moves to the next element. Its predecessor must be the current one. */
static struct rs_error *next(struct rs_linux *kernel, struct list *at, uint64_t *element)
{
	uint64_t from = *element;
	struct rs_error *err;

	*element = at->next;
	err = rs_linux_bytes(kernel, *element, at, sizeof(*at));
	if (!err && at->prev != from)
		err = rs_error_create(RS_DAMAGED,
				      "the list is broken between 0x%" PRIx64 " and 0x%" PRIx64,
				      from, *element);
	return err;
}

/* Adds the threads of the process whose leader was added last, except the leader. */
static struct rs_error *threads_add(struct rs_linux *kernel, struct rs_linux_tasks *tasks)
{
	struct rs_linux_task leader = tasks->tasks[tasks->n - 1];
	uint64_t signal = 0, element, head;
	struct list at;
	struct rs_error *err = rs_linux_read(kernel, leader.address, RS_FIELD_TASK_SIGNAL, &signal);

	head = element = signal + offset_of(kernel, RS_FIELD_SIGNAL_THREADS);
	if (!err)
		err = rs_linux_bytes(kernel, head, &at, sizeof(at));
	for (uint32_t steps = 0; !err; steps++) {
		uint64_t task, its_signal = 0;

		if (steps > RS_TASKS_MAX) { /* memory that changes meanwhile can form a cycle */
			err = rs_error_create(RS_DAMAGED, "the list does not end");
			break;
		}
		err = next(kernel, &at, &element);
		if (err || element == head)
			break;
		task = element - offset_of(kernel, RS_FIELD_TASK_NODE);
		if (task == leader.address)
			continue;
		err = add(kernel, tasks, task);
		if (!err)
			err = rs_linux_read(kernel, task, RS_FIELD_TASK_SIGNAL, &its_signal);
		if (!err && (its_signal != signal || tasks->tasks[tasks->n].tgid != leader.tgid))
			err = rs_error_create(RS_DAMAGED, "task %d is not one of its threads",
					      tasks->tasks[tasks->n].pid);
		if (!err)
			tasks->n++;
	}
	return rs_error_wrap(err, "threads of process %d", leader.tgid);
}

struct rs_error *rs_linux_tasks_read(struct rs_linux *kernel, struct rs_linux_tasks *out)
{
	uint32_t offset = offset_of(kernel, RS_FIELD_TASK_TASKS);
	struct rs_linux_tasks tasks = { 0 };
	struct rs_error *err = layout_check(kernel);
	struct rs_ksym init;
	uint64_t element, head;
	struct list at;

	if (err)
		return err;
	if (!rs_kallsyms_by_name(kernel->symbols, "init_task", &init))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no init_task");
	head = element = init.address + offset;
	err = rs_linux_bytes(kernel, head, &at, sizeof(at));
	while (!err) {
		err = add(kernel, &tasks, element - offset);
		if (err)
			break;
		tasks.n++;
		err = threads_add(kernel, &tasks);
		if (!err)
			err = next(kernel, &at, &element);
		if (element == head)
			break;
	}
	if (err && (!tasks.n || rs_error_code(err) == RS_NO_MEMORY)) {
		rs_linux_tasks_deinit(&tasks);
		return err;
	}
	tasks.damage = err;
	*out = tasks;
	return NULL;
}

void rs_linux_tasks_deinit(struct rs_linux_tasks *tasks)
{
	free(tasks->tasks);
	rs_error_free(tasks->damage);
	*tasks = (struct rs_linux_tasks){ 0 };
}
