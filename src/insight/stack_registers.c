/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the registers of tasks that no vCPU runs. */
#include "insight/pages.h"
#include "insight/stack_kernel.h"

#include <inttypes.h>
#include <string.h>

/* arch/x86/include/asm/segment.h, GDT_ENTRY_*. */
#define KERNEL_CS  0x10u
#define KERNEL_DS  0x18u
#define USER_CS_32 0x23u
#define USER_CS	   0x33u
#define USER_DS	   0x2bu

/* Intel SDM volume 1, section 3.4.3. */
#define FLAGS_FIXED    0x2u
#define FLAGS_IF       0x200u
#define FLAGS_VM       0x20000u
#define FLAGS_RESERVED (~UINT64_C(0x3f7fd7))

#define CR4_LA57 (UINT64_C(1) << 12)

/* The size of a task's kernel stack: THREAD_SIZE in arch/x86/include/asm/page_64_types.h. */
#define STACK_BYTES_MIN 8192u
#define STACK_BYTES_MAX 131072u
/* Free bytes at the top of the stack, TOP_OF_KERNEL_STACK_PADDING; since 6.9 also for FRED. */
static const uint32_t paddings[] = { 0, 16 };

#define PAGE_BYTES 4096u
#define CALL	   0xe8
#define CALL_BYTES 5u
#define COPY_MAX   256u

static uint64_t field(const struct rs_linux *kernel, const uint8_t *copy, enum rs_field_id id)
{
	return rs_linux_value(kernel, copy, COPY_MAX, id);
}

static uint32_t user_address_bits(const struct rs_linux *kernel)
{
	return kernel->memory.paging.cr4 & CR4_LA57 ? 56 : 47;
}

/* ---- the stack ------------------------------------------------------------------------------ */

/* Finds the size of task stacks, from that of the first task, for which the linker reserves memory
 * (INIT_TASK_DATA in include/asm-generic/vmlinux.lds.h). */
static struct rs_error *stack_size(const struct rs_linux *kernel, uint64_t *bytes)
{
	static const char *const ends[][2] = { { "__start_init_stack", "__end_init_stack" },
					       { "__start_init_task", "__end_init_task" } };
	struct rs_ksym from, to;

	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!rs_kallsyms_by_name(kernel->symbols, ends[i][0], &from) ||
		    !rs_kallsyms_by_name(kernel->symbols, ends[i][1], &to))
			continue;
		*bytes = to.address - from.address;
		if (*bytes < STACK_BYTES_MIN || *bytes > STACK_BYTES_MAX || *bytes & (*bytes - 1))
			return rs_error_create(RS_DAMAGED, "a kernel stack has %" PRIu64 " bytes",
					       *bytes);
		return NULL;
	}
	return rs_error_create(RS_USAGE, "the kernel's symbols have no __end_init_task");
}

/* Checks that the page tables map the pages that the kernel has allocated for a task's stack. */
static struct rs_error *pages_check(struct rs_linux *kernel, uint64_t task, uint64_t from,
				    uint64_t to)
{
	uint64_t area = 0, address = 0, pages = 0;
	struct rs_error *err = NULL;

	if (kernel->fields.fields[RS_FIELD_TASK_STACK_AREA].found)
		err = rs_linux_read(kernel, task, RS_FIELD_TASK_STACK_AREA, &area);
	if (err || !area) /* the stack is in memory that is always mapped */
		return err;
	err = rs_linux_read(kernel, area, RS_FIELD_KERNEL_AREA_ADDRESS, &address);
	if (!err)
		err = rs_linux_read(kernel, area, RS_FIELD_KERNEL_AREA_PAGES, &pages);
	if (!err && address != from)
		err = rs_error_create(RS_DAMAGED, "its stack belongs to another task");
	for (uint64_t at = from; !err && at < to; at += PAGE_BYTES, pages += 8) {
		uint64_t page = 0, gpa = 0, mapped = 0;

		err = rs_linux_bytes(kernel, pages, &page, sizeof(page));
		if (!err)
			err = rs_linux_page_gpa(kernel, page, &gpa);
		if (!err && (rs_memory_translate(&kernel->memory, at, &mapped) || mapped != gpa))
			err = rs_error_create(
				RS_DAMAGED, "its stack at 0x%" PRIx64 " is mapped to another page",
				at);
	}
	return err;
}

struct rs_error *rs_linux_task_stack(struct rs_linux *kernel, const struct rs_linux_task *task,
				     uint64_t *from, uint64_t *to)
{
	uint64_t bytes = 0;
	struct rs_error *err = stack_size(kernel, &bytes);

	if (!err)
		err = rs_linux_read(kernel, task->address, RS_FIELD_TASK_STACK, from);
	if (err)
		return err;
	if (!*from)
		return rs_error_create(RS_USAGE, "it has ended and has no stack");
	if (*from % bytes)
		return rs_error_create(RS_DAMAGED, "its stack at 0x%" PRIx64 " is not aligned",
				       *from);
	*to = *from + bytes;
	return pages_check(kernel, task->address, *from, *to);
}

/* Finds the stack of a task that no processor runs. */
static struct rs_error *stack_find(struct rs_linux *kernel, const struct rs_linux_task *task,
				   uint64_t *from, uint64_t *to)
{
	uint64_t on_cpu = 0;
	struct rs_error *err = NULL;

	if (kernel->fields.fields[RS_FIELD_TASK_ON_CPU].found)
		err = rs_linux_read(kernel, task->address, RS_FIELD_TASK_ON_CPU, &on_cpu);
	if (!err && on_cpu)
		return rs_error_create(RS_USAGE, "a processor runs it");
	return err ? err : rs_linux_task_stack(kernel, task, from, to);
}

/* Sets the registers that the task and the kernel keep outside the stack. */
static struct rs_error *common_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				    struct rs_x86_regs *regs, uint64_t *user_gs_base)
{
	const struct {
		enum rs_field_id id;
		uint64_t *to;
	} bases[] = { { RS_FIELD_TASK_FS_BASE, &regs->fs_base },
		      { RS_FIELD_TASK_GS_BASE, user_gs_base } };
	const struct {
		enum rs_field_id id;
		uint32_t *to;
	} selectors[] = { { RS_FIELD_TASK_DS, &regs->ds },
			  { RS_FIELD_TASK_ES, &regs->es },
			  { RS_FIELD_TASK_FS, &regs->fs },
			  { RS_FIELD_TASK_GS, &regs->gs } };
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < sizeof(bases) / sizeof(bases[0]) && !err; i++)
		err = rs_linux_read(kernel, task->address, bases[i].id, bases[i].to);
	for (uint32_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]) && !err; i++) {
		uint64_t value = 0;

		err = rs_linux_read(kernel, task->address, selectors[i].id, &value);
		*selectors[i].to = (uint32_t)value;
	}
	regs->cr0 = kernel->memory.paging.cr0;
	regs->cr3 = task->cr3 ? task->cr3 : kernel->memory.paging.cr3;
	regs->cr4 = kernel->memory.paging.cr4;
	regs->efer = kernel->memory.paging.efer;
	return err;
}

/* ---- in the kernel -------------------------------------------------------------------------- */

/* Returns whether an address follows the call of __switch_to_asm, or is the start of a new task. */
static bool returns_from_switch(struct rs_linux *kernel, uint64_t address)
{
	static const char *const forks[] = { "ret_from_fork", "ret_from_fork_asm" };
	uint8_t code[CALL_BYTES];
	struct rs_ksym target;
	int32_t distance;

	for (uint32_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++)
		if (rs_kallsyms_has(kernel->symbols, forks[i], address))
			return true;
	if (!rs_kallsyms_by_name(kernel->symbols, "__switch_to_asm", &target) ||
	    rs_memory_read(&kernel->memory, address - CALL_BYTES, code, sizeof(code), NULL))
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == CALL && address + (uint64_t)(int64_t)distance == target.address;
}

static struct rs_error *frame_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				   struct rs_x86_regs *regs)
{
	static const enum rs_field_id needed[] = { RS_FIELD_TASK_SP,   RS_FIELD_FRAME_R15,
						   RS_FIELD_FRAME_R14, RS_FIELD_FRAME_R13,
						   RS_FIELD_FRAME_R12, RS_FIELD_FRAME_BX,
						   RS_FIELD_FRAME_BP,  RS_FIELD_FRAME_RETURN };
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_FRAME];
	uint64_t from = 0, to = 0, sp = 0;
	uint8_t copy[COPY_MAX] = { 0 };
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));

	if (!err && bytes > sizeof(copy))
		err = rs_error_create(RS_USAGE, "this kernel's inactive_task_frame has %u bytes",
				      bytes);
	if (!err)
		err = stack_find(kernel, task, &from, &to);
	if (!err)
		err = rs_linux_read(kernel, task->address, RS_FIELD_TASK_SP, &sp);
	if (!err && (sp < from || sp > to - bytes || sp % 8))
		err = rs_error_create(RS_DAMAGED,
				      "its stack pointer 0x%" PRIx64 " is not in its stack", sp);
	if (!err)
		err = rs_linux_bytes(kernel, sp, copy, bytes);
	if (err)
		return err;
	regs->rip = field(kernel, copy, RS_FIELD_FRAME_RETURN);
	if (!returns_from_switch(kernel, regs->rip))
		return rs_error_create(RS_DAMAGED, "its stack has no frame of __switch_to_asm");
	regs->gpr[1] = field(kernel, copy, RS_FIELD_FRAME_BX);
	regs->gpr[6] = field(kernel, copy, RS_FIELD_FRAME_BP);
	regs->gpr[7] = sp + bytes;
	regs->gpr[12] = field(kernel, copy, RS_FIELD_FRAME_R12);
	regs->gpr[13] = field(kernel, copy, RS_FIELD_FRAME_R13);
	regs->gpr[14] = field(kernel, copy, RS_FIELD_FRAME_R14);
	regs->gpr[15] = field(kernel, copy, RS_FIELD_FRAME_R15);
	return NULL;
}

struct rs_error *rs_linux_task_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *out)
{
	struct rs_x86_regs regs = { .cs = KERNEL_CS, .ss = KERNEL_DS, .eflags = FLAGS_FIXED };
	struct rs_error *err = frame_read(kernel, task, &regs);

	if (!err)
		err = common_read(kernel, task, &regs, &regs.k_gs_base);
	if (err)
		return rs_error_wrap(err, "the registers of task %d", task->pid);
	*out = regs;
	return NULL;
}

/* ---- in user mode --------------------------------------------------------------------------- */

static struct rs_error *pt_regs_layout_check(const struct rs_linux *kernel)
{
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_REGS];
	struct rs_error *err = NULL;

	for (int id = RS_FIELD_REGS_AX; id <= RS_FIELD_REGS_SS && !err; id++)
		err = rs_linux_need(kernel, &(enum rs_field_id){ (enum rs_field_id)id }, 1);
	if (!err && bytes > COPY_MAX)
		err = rs_error_create(RS_USAGE, "this kernel's pt_regs has %u bytes", bytes);
	return err;
}

/* Returns whether a copy of a struct pt_regs has valid segments and flags. */
static bool is_valid(const struct rs_linux *kernel, const uint8_t *copy)
{
	uint64_t cs = field(kernel, copy, RS_FIELD_REGS_CS) & 0xffff;
	uint64_t ss = field(kernel, copy, RS_FIELD_REGS_SS) & 0xffff;
	uint64_t flags = field(kernel, copy, RS_FIELD_REGS_FLAGS);
	uint64_t ip = field(kernel, copy, RS_FIELD_REGS_IP);

	if (!(flags & FLAGS_FIXED) || flags & (FLAGS_VM | FLAGS_RESERVED))
		return false;
	if (cs == KERNEL_CS)
		return ss == KERNEL_DS || !ss;
	return (cs == USER_CS || cs == USER_CS_32) && ss == USER_DS && flags & FLAGS_IF &&
	       !(ip >> user_address_bits(kernel));
}

static bool is_user(const struct rs_linux *kernel, const uint8_t *copy)
{
	return is_valid(kernel, copy) && field(kernel, copy, RS_FIELD_REGS_CS) & 3;
}

static void pt_regs_parse(const struct rs_linux *kernel, const uint8_t *copy, bool partial,
			  struct rs_x86_regs *regs)
{
	static const enum rs_field_id order[] = {
		RS_FIELD_REGS_AX,  RS_FIELD_REGS_BX,  RS_FIELD_REGS_CX,	 RS_FIELD_REGS_DX,
		RS_FIELD_REGS_SI,  RS_FIELD_REGS_DI,  RS_FIELD_REGS_BP,	 RS_FIELD_REGS_SP,
		RS_FIELD_REGS_R8,  RS_FIELD_REGS_R9,  RS_FIELD_REGS_R10, RS_FIELD_REGS_R11,
		RS_FIELD_REGS_R12, RS_FIELD_REGS_R13, RS_FIELD_REGS_R14, RS_FIELD_REGS_R15
	};

	for (uint32_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (!partial || order[i] == RS_FIELD_REGS_SP)
			regs->gpr[i] = field(kernel, copy, order[i]);
	regs->rip = field(kernel, copy, RS_FIELD_REGS_IP);
	regs->cs = (uint16_t)field(kernel, copy, RS_FIELD_REGS_CS);
	regs->ss = (uint16_t)field(kernel, copy, RS_FIELD_REGS_SS);
	regs->eflags = (uint32_t)field(kernel, copy, RS_FIELD_REGS_FLAGS);
}

uint32_t rs_linux_pt_regs_partial(const struct rs_linux *kernel)
{
	return kernel->fields.fields[RS_FIELD_REGS_IP].member.offset;
}

struct rs_error *rs_linux_pt_regs_read(struct rs_linux *kernel, uint64_t gva, bool partial,
				       struct rs_x86_regs *regs)
{
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_REGS];
	uint32_t from = partial ? rs_linux_pt_regs_partial(kernel) : 0;
	uint8_t copy[COPY_MAX] = { 0 };
	struct rs_error *err = pt_regs_layout_check(kernel);

	if (!err)
		err = rs_linux_bytes(kernel, gva + from, copy + from, bytes - from);
	if (!err && !is_valid(kernel, copy))
		err = rs_error_create(RS_DAMAGED, "there are no saved registers at 0x%" PRIx64,
				      gva);
	if (!err)
		pt_regs_parse(kernel, copy, partial, regs);
	return err;
}

bool rs_linux_pt_regs_is_top(const struct rs_linux *kernel, uint64_t to, uint64_t gva)
{
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_REGS];

	for (uint32_t i = 0; i < sizeof(paddings) / sizeof(paddings[0]); i++)
		if (gva == to - paddings[i] - bytes)
			return true;
	return false;
}

static struct rs_error *user_read(struct rs_linux *kernel, const struct rs_linux_task *task,
				  bool runs, struct rs_x86_regs *regs)
{
	uint32_t bytes = kernel->fields.struct_bytes[RS_STRUCT_REGS];
	uint64_t from = 0, to = 0;
	struct rs_error *err = pt_regs_layout_check(kernel);

	if (!err)
		err = runs ? rs_linux_task_stack(kernel, task, &from, &to)
			   : stack_find(kernel, task, &from, &to);
	for (uint32_t i = 0; !err && i < sizeof(paddings) / sizeof(paddings[0]); i++) {
		uint8_t copy[COPY_MAX] = { 0 };

		err = rs_linux_bytes(kernel, to - paddings[i] - bytes, copy, bytes);
		if (!err && is_user(kernel, copy)) {
			pt_regs_parse(kernel, copy, false, regs);
			return NULL;
		}
	}
	return err ? err
		   : rs_error_create(RS_DAMAGED, "the top of its stack has no registers of user "
						 "mode");
}

static struct rs_error *user_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
				       bool runs, struct rs_x86_regs *out)
{
	struct rs_x86_regs regs = { 0 };
	struct rs_error *err = NULL;

	if (task->is_kernel)
		err = rs_error_create(RS_USAGE, "it is a kernel thread, and never in user mode");
	if (!err)
		err = user_read(kernel, task, runs, &regs);
	/* copy_thread() in arch/x86/kernel/process.c: a thread of io_uring or vhost. */
	if (!err && !regs.rip)
		err = rs_error_create(RS_USAGE, "it was created to run only in the kernel");
	if (!err)
		err = common_read(kernel, task, &regs, &regs.gs_base);
	if (err)
		return rs_error_wrap(err, "the user's registers of task %d", task->pid);
	*out = regs;
	return NULL;
}

struct rs_error *rs_linux_user_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *out)
{
	return user_registers(kernel, task, false, out);
}

struct rs_error *rs_linux_entry_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					  struct rs_x86_regs *out)
{
	return user_registers(kernel, task, true, out);
}
