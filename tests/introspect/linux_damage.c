/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damages the memory of a Linux guest's core, and compares what insight reads before and after:
 * each task, area, stack and processor must be unchanged or refused.
 *
 *	introspect_damage CORE TASKS KERNELS SEED
 *
 * Damages TASKS times the memory of tasks and areas, while the kernel is open. Damages KERNELS
 * times the tables that locate the kernel, or any other memory, and opens the kernel again. A value
 * that memory holds only once may change when its bytes are damaged: a task's name, its state, its
 * memory, its registers, its stack, a row of the table of the kernel's frames.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "insight/areas.h"
#include "insight/modules.h"
#include "insight/stack.h"
#include "insight/stack_kernel.h"
#include "introspect/core.h"

#define RAM_BYTES    (UINT64_C(256) << 20)
#define PAGE	     4096u
#define TOUCHED_MAX  (1u << 20)
#define VCPUS_MAX    16u
#define CHANGES_MAX  3u
#define LIMIT_S	     60u /* of one reading */
#define RESULTS_KEPT 512u
#define NO_FOLDER    "/nonexistent" /* debug files of this machine are not read */
#define FRAMES_KEPT  32u
#define STACK_BYTES  16384u /* THREAD_SIZE of Debian's kernels */

struct range {
	uint64_t gpa;
	uint32_t bytes;
};

/* What is read from one task. */
struct result {
	struct rs_linux_task task;
	struct rs_linux_areas areas;
	bool has_areas, has_kernel, has_user;
	struct rs_x86_regs kernel, user; /* registers */
	uint64_t frames[FRAMES_KEPT];	 /* of the kernel */
	uint32_t n_frames;
	bool is_cut; /* the stack says why it has no more frames of the kernel */
};

struct results {
	struct result rows[RESULTS_KEPT];
	uint32_t n;
	bool is_whole;
	bool has_cpu[VCPUS_MAX];
	uint32_t cpu[VCPUS_MAX];
};

static uint8_t *ram;
/* The kinds of reads: of opening, of tasks, of their stacks and programs, of page-table entries. */
enum { OF_OPENING, OF_TASKS, OF_STACKS, OF_ENTRIES, N_KINDS };
static struct range touched[N_KINDS][TOUCHED_MAX];
static uint32_t n_touched[N_KINDS], recording; /* N_KINDS: nothing */
static struct rs_linux_vcpu vcpus[VCPUS_MAX];
static uint32_t n_vcpus;
static uint64_t seed;
static struct results clean, now;
static struct result running[VCPUS_MAX]; /* the task of each processor, in undamaged memory */
static struct range changes[CHANGES_MAX];
static uint8_t saved[CHANGES_MAX][PAGE];
static uint32_t n_changes, refused, whole, part;

static uint64_t any(uint64_t below) /* xorshift64 */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

static bool ram_read(void *ctx, uint64_t gpa, void *buf, size_t bytes)
{
	(void)ctx;
	if (gpa >= RAM_BYTES || bytes > RAM_BYTES - gpa)
		return false;
	memcpy(buf, ram + gpa, bytes);
	if (recording < N_KINDS && n_touched[recording] < TOUCHED_MAX)
		touched[recording][n_touched[recording]++] = (struct range){ gpa, (uint32_t)bytes };
	return true;
}

static void fail(const char *what, const struct rs_linux_task *task)
{
	printf("not ok: %s", what);
	if (task)
		printf(": task %d of %d, parent %d, at 0x%" PRIx64 ", %s", task->pid, task->tgid,
		       task->ppid, task->address, task->comm);
	for (uint32_t i = 0; i < n_changes; i++)
		printf("; %u bytes at 0x%" PRIx64, changes[i].bytes, changes[i].gpa);
	printf("\n");
	exit(1);
}

static bool drop(struct rs_error *err)
{
	if (err && !*rs_error_text(err))
		fail("an error without a text", NULL);
	rs_error_free(err);
	return !err;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void results_free(struct results *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->rows[i].has_areas)
			rs_linux_areas_deinit(&r->rows[i].areas);
	memset(r, 0, sizeof(*r));
}

static void areas_get(struct rs_linux *kernel, struct result *row)
{
	static char name[RS_AREA_NAME_MAX];

	if (!row->task.mm)
		return;
	row->has_areas = drop(rs_linux_areas_read(kernel, &row->task, &row->areas));
	for (uint32_t i = 0; row->has_areas && i < row->areas.n; i++)
		if (drop(rs_linux_area_name(kernel, &row->areas, &row->areas.areas[i], name)) &&
		    strnlen(name, sizeof(name)) == sizeof(name))
			fail("a name without an end", &row->task);
}

static void registers_get(struct rs_linux *kernel, struct result *row)
{
	row->has_kernel = drop(rs_linux_task_registers(kernel, &row->task, &row->kernel));
	row->has_user = drop(rs_linux_user_registers(kernel, &row->task, &row->user));
}

static const struct rs_linux_vcpu *vcpu_of(struct rs_linux *kernel, uint64_t task)
{
	uint64_t base, address;
	uint32_t cpu;

	for (uint32_t i = 0; i < n_vcpus; i++)
		if (drop(rs_linux_cpu(kernel, &vcpus[i], &cpu, &base)) &&
		    drop(rs_linux_current(kernel, base, &address)) && address == task)
			return &vcpus[i];
	return NULL;
}

static void stack_get(struct rs_linux *kernel, struct rs_stacks *stacks, struct result *row)
{
	static struct rs_linux_stack stack;
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];

	if (!drop(rs_stacks_read(stacks, &row->task, vcpu_of(kernel, row->task.address), &stack)))
		fail("no memory", &row->task);
	for (uint32_t i = 0; i < stack.n; i++) {
		rs_stacks_lookup(stacks, &stack, i, frames, RS_SYMBOL_FRAMES_MAX);
		if (i < stack.n_kernel && i < FRAMES_KEPT)
			row->frames[row->n_frames++] = stack.frames[i].address;
	}
	row->is_cut = *stack.kernel_why;
}

static void results_get(struct rs_linux *kernel, struct rs_stacks *stacks, struct results *r)
{
	struct rs_linux_tasks tasks = { 0 };
	int64_t realtime_ns, monotonic_ns;
	uint64_t base, address;
	struct rs_linux_task task;

	results_free(r);
	rs_modules_forget(kernel);
	rs_linux_moved(kernel);
	for (uint32_t i = 0; i < n_vcpus; i++) {
		r->has_cpu[i] = drop(rs_linux_cpu(kernel, &vcpus[i], &r->cpu[i], &base));
		if (r->has_cpu[i] && drop(rs_linux_current(kernel, base, &address)))
			drop(rs_linux_task_read(kernel, address, &task));
	}
	drop(rs_linux_time(kernel, &realtime_ns, &monotonic_ns));
	if (drop(rs_linux_tasks_read(kernel, &tasks))) {
		r->is_whole = !tasks.damage;
		for (uint32_t i = 0; i < tasks.n && r->n < RESULTS_KEPT; i++) {
			r->rows[r->n].task = tasks.tasks[i];
			registers_get(kernel, &r->rows[r->n]);
			recording += recording == OF_TASKS;
			stack_get(kernel, stacks, &r->rows[r->n]);
			recording -= recording == OF_STACKS;
			areas_get(kernel, &r->rows[r->n++]);
		}
	}
	rs_linux_tasks_deinit(&tasks);
}

/* Reads what the processors run. One that is in user mode has no frames of the kernel. */
static void running_get(struct rs_linux *kernel, struct rs_stacks *stacks)
{
	uint64_t base, address;
	uint32_t cpu;

	for (uint32_t i = 0; i < n_vcpus; i++) {
		if (!drop(rs_linux_cpu(kernel, &vcpus[i], &cpu, &base)) ||
		    !drop(rs_linux_current(kernel, base, &address)) ||
		    !drop(rs_linux_task_read(kernel, address, &running[i].task)))
			fail("the current task is not known", NULL);
		stack_get(kernel, stacks, &running[i]);
	}
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Returns whether a change is within a struct at a kernel address. */
static bool is_hit(struct rs_linux *kernel, uint64_t gva, uint32_t bytes)
{
	for (uint32_t i = 0; i < n_changes; i++)
		for (uint32_t b = 0; b < changes[i].bytes; b++) {
			uint64_t from, page = gva & ~(uint64_t)(PAGE - 1);

			for (; page < gva + bytes; page += PAGE)
				if (!rs_memory_translate(&kernel->memory, page, &from) &&
				    changes[i].gpa + b >= from && changes[i].gpa + b < from + PAGE)
					return true;
		}
	return false;
}

/*
 * Returns whether a change may explain that area i differs, in a kernel without a maple tree: only
 * the area has its addresses, and only the area before it, or the process's memory, points to it.
 */
static bool area_is_hit(struct rs_linux *kernel, const struct result *was, const struct result *is,
			uint32_t i)
{
	const struct rs_linux_area *areas = was->areas.areas;
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_VMA];

	if (kernel->fields.fields[RS_FIELD_MM_TREE_ROOT].found)
		return false;
	if (is->areas.areas[i].address == areas[i].address)
		return is_hit(kernel, areas[i].address, bytes);
	return i ? is_hit(kernel, areas[i - 1].address, bytes) : is_hit(kernel, was->task.mm, PAGE);
}

static void areas_compare(struct rs_linux *kernel, const struct result *was,
			  const struct result *is)
{
	if (is->areas.n != was->areas.n)
		fail("another number of areas", &is->task);
	for (uint32_t i = 0; i < is->areas.n; i++)
		if ((is->areas.areas[i].start != was->areas.areas[i].start ||
		     is->areas.areas[i].end != was->areas.areas[i].end) &&
		    !area_is_hit(kernel, was, is, i))
			fail("another area", &is->task);
}

/* The same for the table of a module, whose addresses are stored once, too. */
static bool module_orc_is_hit(struct rs_linux *kernel)
{
	const struct rs_modules *modules = NULL;

	rs_linux_moved(kernel);
	if (!drop(rs_modules_read(kernel, &modules)))
		fail("no memory", NULL);
	for (uint32_t i = 0; i < modules->n; i++) {
		const struct rs_linux_module_facts *facts = &modules->modules[i].facts;
		uint32_t n = (uint32_t)facts->n_orc_rows;

		if (is_hit(kernel, facts->orc_ips, n * 4) ||
		    is_hit(kernel, facts->orc_rows, n * kernel->fields.struct_bytes[RS_STRUCT_ORC]))
			return true;
	}
	return false;
}

/* Returns whether a change is between two symbols of the kernel. */
static bool section_is_hit(struct rs_linux *kernel, const char *from_name, const char *to_name)
{
	struct rs_ksym from, to;

	return rs_kallsyms_by_name(kernel->symbols, from_name, &from) &&
	       rs_kallsyms_by_name(kernel->symbols, to_name, &to) &&
	       is_hit(kernel, from.address, (uint32_t)(to.address - from.address));
}

/* Returns whether a change is in the table of the kernel's frames, whose rows and addresses are
 * stored once. */
static bool orc_is_hit(struct rs_linux *kernel)
{
	return module_orc_is_hit(kernel) ||
	       section_is_hit(kernel, "__start_orc_unwind", "__stop_orc_unwind") ||
	       section_is_hit(kernel, "__start_orc_unwind_ip", "__stop_orc_unwind_ip");
}

/* Reads the page-table entries that map an address of the kernel into touched[OF_ENTRIES]. Returns
 * whether it is mapped. */
static bool entries_get(struct rs_linux *kernel, uint64_t gva)
{
	enum rs_fault fault;
	uint64_t gpa;

	rs_linux_moved(kernel); /* so that the entries are read again */
	n_touched[OF_ENTRIES] = 0;
	recording = OF_ENTRIES;
	fault = rs_memory_translate(&kernel->memory, gva, &gpa);
	recording = N_KINDS;
	return !fault && n_touched[OF_ENTRIES];
}

/* Returns whether a change is on a stack that has the task's frames: the task's own or, if a
 * processor runs it, the stack in use, which may be that of interrupts. */
static bool stack_is_hit(struct rs_linux *kernel, const struct rs_linux_task *task)
{
	const struct rs_linux_vcpu *vcpu = vcpu_of(kernel, task->address);
	uint64_t from, to;

	if (drop(rs_linux_task_stack(kernel, task, &from, &to)) &&
	    is_hit(kernel, from, (uint32_t)(to - from)))
		return true;
	return vcpu &&
	       is_hit(kernel, vcpu->regs.gpr[7] & ~(uint64_t)(STACK_BYTES - 1), STACK_BYTES);
}

/* Returns whether the frames are the same, or the same up to a point that the stack names. */
static bool is_same_frames(const struct result *was, const struct result *is)
{
	return is->n_frames <= was->n_frames && (is->n_frames == was->n_frames || is->is_cut) &&
	       !memcmp(is->frames, was->frames, is->n_frames * sizeof(*is->frames));
}

/* Returns whether a processor's stack pointer is on the stack of its task, and not on that of
 * interrupts. */
static bool is_on_own_stack(struct rs_linux *kernel, uint32_t i)
{
	const uint64_t sp = vcpus[i].regs.gpr[7];
	uint64_t from, to;

	return drop(rs_linux_task_stack(kernel, &running[i].task, &from, &to)) && sp >= from &&
	       sp < to;
}

/* Returns whether a change is in the pointer to the current task of a processor in the kernel, and
 * the frames are the first ones of that processor: what it executes and, in an interrupt, what is
 * on the stack of interrupts. The next ones are on none of the wrong task's stacks, which the stack
 * gives as the reason. */
static bool is_of_wrong_current(struct rs_linux *kernel, const struct result *is)
{
	uint64_t base, gva;
	uint32_t cpu;

	for (uint32_t i = 0; i < n_vcpus && is->is_cut && is->n_frames; i++)
		if (is_same_frames(&running[i], is) &&
		    (is->n_frames == 1 || !is_on_own_stack(kernel, i)) &&
		    drop(rs_linux_cpu(kernel, &vcpus[i], &cpu, &base)) &&
		    drop(rs_linux_current_at(kernel, base, &gva)) && is_hit(kernel, gva, 8))
			return true;
	return false;
}

/* Returns whether the control registers are those of a processor. Which one depends on the page
 * table that led to the kernel. */
static bool has_control_of_vcpu(const struct rs_x86_regs *regs)
{
	for (uint32_t i = 0; i < n_vcpus; i++)
		if (regs->cr0 == vcpus[i].regs.cr0 && regs->cr4 == vcpus[i].regs.cr4)
			return true;
	return false;
}

static void registers_compare(struct rs_linux *kernel, const struct result *was,
			      const struct result *is)
{
	struct rs_x86_regs user = is->user;
	const char *other = NULL;

	user.cr3 = was->user.cr3; /* compared with the task's registers */
	if (has_control_of_vcpu(&user)) {
		user.cr0 = was->user.cr0;
		user.cr4 = was->user.cr4;
	}
	if (is->has_kernel &&
	    (!was->has_kernel || is->kernel.rip != was->kernel.rip ||
	     memcmp(is->kernel.gpr, was->kernel.gpr, sizeof(is->kernel.gpr)) != 0))
		other = "other registers";
	else if (!is_same_frames(was, is) && !orc_is_hit(kernel) &&
		 !is_of_wrong_current(kernel, is))
		other = "other frames";
	else if (is->has_user && (!was->has_user || memcmp(&user, &was->user, sizeof(user)) != 0))
		other = "other registers of the user's";
	if (other && !stack_is_hit(kernel, &was->task))
		fail(other, &is->task);
}

static void row_compare(struct rs_linux *kernel, const struct result *is)
{
	const struct result *was = NULL;
	bool own;

	for (uint32_t i = 0; i < clean.n && !was; i++)
		if (clean.rows[i].task.address == is->task.address)
			was = &clean.rows[i];
	if (!was)
		fail("an invalid task", &is->task);
	own = is_hit(kernel, was->task.address, 9 * 1024 + 512);
	if (is->task.pid != was->task.pid || is->task.tgid != was->task.tgid)
		fail("another number", &is->task);
	if (is->task.ppid != was->task.ppid && !own)
		fail("another parent", &is->task);
	if (is->task.mm != was->task.mm && !own)
		fail("another memory", &is->task);
	if (is->task.mm == was->task.mm && is->task.cr3 != was->task.cr3 &&
	    !is_hit(kernel, was->task.mm, PAGE))
		fail("another page table", &is->task);
	if (!own)
		registers_compare(kernel, was, is);
	if (is->task.mm == was->task.mm && is->has_areas && was->has_areas)
		areas_compare(kernel, was, is);
}

static void compare(struct rs_linux *kernel)
{
	for (uint32_t i = 0; i < n_vcpus; i++)
		if (now.has_cpu[i] && now.cpu[i] != clean.cpu[i])
			fail("another processor", NULL);
	for (uint32_t i = 0; i < now.n; i++)
		row_compare(kernel, &now.rows[i]);
	if (now.is_whole && now.n != clean.n)
		fail("a count of tasks that claims to be complete", NULL);
	whole += now.is_whole;
	part += !now.is_whole && now.n;
	refused += !now.n;
}

/* ---- damage --------------------------------------------------------------------------------- */

static struct range choose(uint32_t kind)
{
	const struct range *r;
	uint64_t at;

	if (kind == N_KINDS || !n_touched[kind])
		return (struct range){ any(RAM_BYTES - PAGE), 1 };
	r = &touched[kind][any(n_touched[kind])];
	at = any(r->bytes);
	return (struct range){ r->gpa + at, 1 };
}

static void change(uint32_t kind)
{
	struct range at = choose(kind), other = choose(kind);
	uint64_t word = any(UINT64_MAX), how = any(8);
	uint8_t bytes[PAGE];

	memset(bytes, 0, sizeof(bytes));
	if (how < 2) {
		bytes[0] = ram[at.gpa] ^ (uint8_t)(1u << any(8)); /* a bit */
	} else if (how < 6) { /* a word: random, zero, all ones, or the word of another place */
		at.bytes = 8;
		at.gpa &= ~UINT64_C(7);
		memcpy(&word, how == 5 ? ram + (other.gpa & ~UINT64_C(7)) : (uint8_t *)&word, 8);
		word = how == 3 ? 0 : how == 4 ? UINT64_MAX : word;
		memcpy(bytes, &word, 8);
	} else { /* a page: zeros, or another */
		at.bytes = PAGE;
		at.gpa &= ~(uint64_t)(PAGE - 1);
		if (how == 7)
			memcpy(bytes, ram + (other.gpa & ~(uint64_t)(PAGE - 1)), PAGE);
	}
	memcpy(saved[n_changes], ram + at.gpa, at.bytes);
	memcpy(ram + at.gpa, bytes, at.bytes);
	changes[n_changes++] = at;
}

static void undo(void)
{
	for (uint32_t i = n_changes; i--;)
		memcpy(ram + changes[i].gpa, saved[i], changes[i].bytes);
}

static void damage_tasks(struct rs_linux *kernel, struct rs_stacks *stacks)
{
	n_changes = 0;
	for (uint64_t n = 1 + any(CHANGES_MAX); n; n--)
		change(any(4) ? OF_TASKS : OF_STACKS);
	results_get(kernel, stacks, &now);
	undo(); /* the changed places are looked up in undamaged memory */
	compare(kernel);
}

/* Returns the place of the lowest page-table entry that maps an address of the kernel, or 0. */
static uint64_t entry_of(struct rs_linux *kernel, uint64_t gva)
{
	return entries_get(kernel, gva) ? touched[OF_ENTRIES][n_touched[OF_ENTRIES] - 1].gpa : 0;
}

/* Returns the place of the page-table entry of the kernel that maps a task's page table, or 0. */
static uint64_t entry_of_root(struct rs_linux *kernel, const struct rs_linux_task *task)
{
	uint64_t pgd;

	if (!task->mm || !drop(rs_linux_read(kernel, task->mm, RS_FIELD_MM_PGD, &pgd)))
		return 0;
	return entry_of(kernel, pgd);
}

/* Returns the place of the page-table entry that maps the page with a waiting task's registers, in
 * which its frames begin, or 0. */
static uint64_t entry_of_stack(struct rs_linux *kernel, const struct rs_linux_task *task)
{
	struct rs_x86_regs regs;

	return drop(rs_linux_task_registers(kernel, task, &regs)) ? entry_of(kernel, regs.gpr[7])
								  : 0;
}

/* Replaces a word, and compares what is read. */
static void replace(struct rs_linux *kernel, struct rs_stacks *stacks, uint64_t gpa,
		    const void *word)
{
	n_changes = 1;
	changes[0] = (struct range){ gpa, 8 };
	memcpy(saved[0], ram + gpa, 8);
	memcpy(ram + gpa, word, 8);
	results_get(kernel, stacks, &now);
	undo();
	compare(kernel);
}

/* Damages the entries that entry_of_row() names: each leads to what that of another task maps. */
static void damage_entries(struct rs_linux *kernel, struct rs_stacks *stacks, const char *what,
			   uint64_t (*entry_of_row)(struct rs_linux *,
						    const struct rs_linux_task *))
{
	uint64_t entry, other = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < clean.n; i++, other = entry ? entry : other) {
		entry = entry_of_row(kernel, &clean.rows[i].task);
		if (!entry || !other || !memcmp(ram + entry, ram + other, 8))
			continue;
		replace(kernel, stacks, entry, ram + other);
		n++;
	}
	printf("%u %s through damaged entries\n", n, what);
}

/* Replaces the task that each processor runs by each other task. */
static void damage_current(struct rs_linux *kernel, struct rs_stacks *stacks)
{
	uint64_t base, gva, gpa;
	uint32_t cpu;

	for (uint32_t i = 0; i < n_vcpus; i++) {
		if (!drop(rs_linux_cpu(kernel, &vcpus[i], &cpu, &base)) ||
		    !drop(rs_linux_current_at(kernel, base, &gva)) ||
		    rs_memory_translate(&kernel->memory, gva, &gpa))
			fail("the current task is not known", NULL);
		for (uint32_t row = 0; row < clean.n; row++)
			replace(kernel, stacks, gpa, &clean.rows[row].task.address);
	}
}

static void damage_kernel(const struct rs_memory *memory, struct rs_linux *whole_kernel)
{
	struct rs_linux *kernel = NULL;
	struct rs_stacks *stacks = NULL;

	n_changes = 0;
	for (uint64_t n = 1 + any(CHANGES_MAX); n; n--)
		change(any(4) ? OF_OPENING : N_KINDS);
	if (drop(rs_linux_open(memory, vcpus, n_vcpus, &kernel))) {
		if (kernel->text != whole_kernel->text ||
		    rs_kallsyms_count(kernel->symbols) != rs_kallsyms_count(whole_kernel->symbols))
			fail("another kernel", NULL);
		if (!drop(rs_stacks_create(kernel, NO_FOLDER, &stacks)))
			fail("no memory", NULL);
		results_get(kernel, stacks, &now);
		undo();
		compare(whole_kernel);
		rs_stacks_destroy(stacks);
		rs_linux_close(kernel);
	} else {
		undo();
		refused++;
	}
}

int main(int argc, char **argv)
{
	static struct rs_memory of_core, memory = { .read = ram_read };
	uint64_t tasks, kernels;
	struct rs_stacks *stacks;
	struct rs_linux *kernel;
	struct rs_core *core;

	if (argc != 5 || !drop(rs_core_open(argv[1], &core)))
		return 2;
	tasks = strtoull(argv[2], NULL, 0);
	kernels = strtoull(argv[3], NULL, 0);
	seed = strtoull(argv[4], NULL, 0) * 2654435761u + 1;
	mallopt(M_MMAP_THRESHOLD, 1 << 30); /* an image is 64 MiB and is not freed each time */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	rs_core_memory(core, &of_core);
	ram = calloc(1, RAM_BYTES);
	for (uint64_t gpa = 0; ram && gpa < RAM_BYTES; gpa += PAGE)
		rs_memory_read_phys(&of_core, gpa, ram + gpa, PAGE);
	while (n_vcpus < VCPUS_MAX && rs_core_registers(core, n_vcpus, &vcpus[n_vcpus].regs))
		n_vcpus++;
	if (!ram || !drop(rs_linux_open(&memory, vcpus, n_vcpus, &kernel)))
		return 2;
	recording = OF_TASKS;
	if (!drop(rs_stacks_create(kernel, NO_FOLDER, &stacks)))
		return 2;
	results_get(kernel, stacks, &clean);
	recording = N_KINDS;
	running_get(kernel, stacks);
	if (!clean.is_whole || clean.n < 10)
		fail("the whole core is not read", NULL);
	/* The kernel's direct map leads from the page table of each task to that of another. */
	damage_entries(kernel, stacks, "page tables", entry_of_root);
	damage_entries(kernel, stacks, "stacks", entry_of_stack);
	damage_current(kernel, stacks);
	for (; tasks; tasks--) {
		alarm(LIMIT_S);
		damage_tasks(kernel, stacks);
	}
	for (; kernels; kernels--) {
		alarm(LIMIT_S);
		damage_kernel(&memory, kernel);
	}
	printf("refused %u, in part %u, whole %u\n", refused, part, whole);
	results_free(&now);
	results_free(&clean);
	rs_stacks_destroy(stacks);
	rs_linux_close(kernel);
	rs_core_close(core);
	free(ram);
	return 0;
}
