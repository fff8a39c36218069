/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the frames of the kernel on a task's stack. */
#include "insight/stack_kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "insight/bpf.h"
#include "insight/stack_walk.h"

#define WORD   RS_WALK_WORD
#define BP     RS_WALK_BP
#define SP     RS_WALK_SP
#define NOT_ON UINT32_MAX

#define CALL_NEAR	  0xe8
#define CALL_NEAR_BYTES	  5u
#define CALL_INDIRECT	  0xff
#define CALL_INDIRECT_REG 2u /* of its ModRM byte */
#define CALL_BYTES_MAX	  7u

#define RETPOLINE "__x86_indirect_thunk_"

static bool end(struct rs_walk *w, const char *why)
{
	struct rs_linux_stack *stack = w->stack;

	snprintf(stack->kernel_why, sizeof(stack->kernel_why), "%s", why);
	return false;
}

bool rs_walk_end_at(struct rs_walk *w, const char *why)
{
	struct rs_linux_stack *stack = w->stack;

	snprintf(stack->kernel_why, sizeof(stack->kernel_why), "0x%" PRIx64 " %s", w->ip, why);
	return false;
}

/* ---- the stacks ----------------------------------------------------------------------------- */

static void range_add(struct rs_walk *w, uint64_t from, uint64_t bytes)
{
	if (w->n_stacks < RS_WALK_STACKS_MAX && from && bytes && from + bytes > from)
		w->stacks[w->n_stacks++] = (struct rs_walk_range){ from, from + bytes };
}

/* Reads a per-CPU pointer. Returns 0 if the kernel has none or it cannot be read. */
static uint64_t percpu_pointer(struct rs_linux *kernel, const char *name, uint64_t base,
			       enum rs_field_id id)
{
	struct rs_ksym sym;
	uint64_t value = 0;
	struct rs_error *err;

	if (!rs_kallsyms_by_name(kernel->symbols, name, &sym))
		return 0;
	if (id == RS_N_FIELDS)
		err = rs_linux_bytes(kernel, base + sym.address, &value, sizeof(value));
	else
		err = rs_linux_read(kernel, base + sym.address, id, &value);
	rs_error_free(err);
	return err ? 0 : value;
}

/* Adds the stacks of a processor: for interrupts, for exceptions, for the entry from user mode. */
static void cpu_stacks_add(struct rs_walk *w, uint64_t base)
{
	struct rs_linux *kernel = w->kernel;
	uint32_t irq_bytes = kernel->fields.struct_bytes[RS_STRUCT_IRQ_STACK];
	uint32_t entry_bytes = kernel->fields.struct_bytes[RS_STRUCT_ENTRY_STACK];
	uint64_t irq = percpu_pointer(kernel, "hardirq_stack_ptr", base, RS_N_FIELDS);
	uint64_t ist = percpu_pointer(kernel, "cea_exception_stacks", base, RS_N_FIELDS);
	uint64_t entry = percpu_pointer(kernel, "cpu_tss_rw", base, RS_FIELD_TSS_SP0);

	if (!irq)
		irq = percpu_pointer(kernel, "pcpu_hot", base, RS_FIELD_HOT_IRQ_STACK);
	/* Since 5.12, the pointer refers to the uppermost word. */
	if (irq)
		range_add(w, ((irq + WORD) & ~UINT64_C(15)) - irq_bytes, irq_bytes);
	if (entry)
		range_add(w, entry - entry_bytes, entry_bytes);
	for (int id = RS_FIELD_CEA_DF; ist && id <= RS_FIELD_CEA_VC2; id++)
		if (kernel->fields.fields[id].found)
			range_add(w, ist + kernel->fields.fields[id].member.offset,
				  kernel->fields.fields[id].member.bytes);
}

static uint32_t stack_at(const struct rs_walk *w, uint64_t address, uint64_t bytes)
{
	for (uint32_t i = 0; i < w->n_stacks; i++)
		if (address >= w->stacks[i].from && address < w->stacks[i].to &&
		    bytes <= w->stacks[i].to - address)
			return i;
	return NOT_ON;
}

bool rs_walk_load(struct rs_walk *w, uint64_t address, uint64_t *value)
{
	return stack_at(w, address, WORD) != NOT_ON &&
	       !rs_memory_read(&w->kernel->memory, address, value, WORD, NULL);
}

/* ---- a step --------------------------------------------------------------------------------- */

/* Computes the caller's stack pointer, or the address of saved registers. */
static bool base_find(struct rs_walk *w, const struct rs_orc_row *row, uint64_t *sp)
{
	static const uint8_t registers[] = { /* in rs_x86_regs.gpr */
					     [RS_ORC_AX] = 0,
					     [RS_ORC_DX] = 3,
					     [RS_ORC_DI] = 5,
					     [RS_ORC_R10] = 10,
					     [RS_ORC_R13] = 13
	};
	uint64_t offset = (uint64_t)row->sp_offset;

	switch (row->sp_base) {
	case RS_ORC_SP:
		*sp = w->sp + offset;
		return true;
	case RS_ORC_BP:
		*sp = w->bp + offset;
		return true;
	case RS_ORC_AT_BP:
		return rs_walk_load(w, w->bp + offset, sp);
	case RS_ORC_AT_SP:
		if (!rs_walk_load(w, w->sp + (row->offset_first ? offset : 0), sp))
			return false;
		*sp += row->offset_first ? 0 : offset;
		return true;
	case RS_ORC_AX:
	case RS_ORC_DX:
	case RS_ORC_DI:
	case RS_ORC_R10:
	case RS_ORC_R13:
		*sp = w->regs.gpr[registers[row->sp_base]];
		return w->has_regs;
	case RS_ORC_NONE:
	case RS_ORC_PREVIOUS_SP:
	case RS_ORC_UNKNOWN:
		break;
	}
	return false;
}

bool rs_walk_registers(struct rs_walk *w, uint64_t at, bool partial)
{
	uint32_t skipped = partial ? rs_linux_pt_regs_partial(w->kernel) : 0;
	uint64_t gva = partial ? at - skipped : at;
	uint32_t bytes = w->kernel->fields.struct_bytes[RS_STRUCT_REGS];
	struct rs_error *err;

	w->regs_on = stack_at(w, gva + skipped, bytes - skipped);
	if (w->regs_on == NOT_ON)
		return false;
	err = rs_linux_pt_regs_read(w->kernel, gva, partial, &w->regs);
	rs_error_free(err);
	if (err)
		return false;
	w->ip = w->regs.rip;
	w->sp = w->regs.gpr[SP];
	if (!partial)
		w->has_regs = true;
	if (w->has_regs)
		w->bp = w->regs.gpr[BP];
	return true;
}

/* Returns whether the instruction before an address is a call: by its opcode, of each length that
 * it can have. Intel SDM volume 2, CALL: E8 and 4 bytes, or FF /2 with 1 to 6 bytes. */
bool rs_walk_is_behind_call(struct rs_walk *w, uint64_t address)
{
	uint8_t code[CALL_BYTES_MAX];

	if (rs_memory_read(&w->kernel->memory, address - sizeof(code), code, sizeof(code), NULL))
		return false;
	if (code[sizeof(code) - CALL_NEAR_BYTES] == CALL_NEAR)
		return true;
	for (uint32_t bytes = 2; bytes <= sizeof(code); bytes++) {
		const uint8_t *at = code + sizeof(code) - bytes;

		if (at[0] == CALL_INDIRECT && (at[1] >> 3 & 7) == CALL_INDIRECT_REG)
			return true;
	}
	return false;
}

static bool bp_find(struct rs_walk *w, const struct rs_orc_row *row, uint64_t sp)
{
	switch (row->bp_base) {
	case RS_ORC_NONE:
		return true;
	case RS_ORC_PREVIOUS_SP:
		return rs_walk_load(w, sp + (uint64_t)row->bp_offset, &w->bp);
	case RS_ORC_BP:
		return rs_walk_load(w, w->bp + (uint64_t)row->bp_offset, &w->bp);
	default:
		return false;
	}
}

/* Ends the walk in code that has no caller. The outermost frame of a task is just below its saved
 * registers. In the first and last instructions of a system call, a part of them is not there. If
 * the kernel leaves free bytes above them, the part can be as long as all of them elsewhere. */
static bool end_without_caller(struct rs_walk *w)
{
	uint64_t used = w->stacks[0].to - w->sp;
	bool is_top = rs_linux_pt_regs_is_top(w->kernel, w->stacks[0].to, w->sp);

	if (!w->on && w->is_exact &&
	    (used < w->kernel->fields.struct_bytes[RS_STRUCT_REGS] ||
	     (is_top && !w->task->is_kernel)))
		return rs_walk_end_at(w, "enters or leaves the kernel");
	if (w->on || !is_top)
		return rs_walk_end_at(w, "is in code that has no frame");
	return false;
}

/* Returns whether an address is the beginning of a function, so that no call precedes it. */
static bool is_beginning(struct rs_linux *kernel, uint64_t address)
{
	const char *module;
	struct rs_ksym sym;
	uint64_t size;

	return rs_linux_symbol(kernel, address, &sym, &size, &module) && sym.address == address;
}

/* Returns whether the address is in a retpoline, a function that jumps to the address in a register
 * by a return (arch/x86/lib/retpoline.S). Sets *sym and *size to the function. */
static bool is_retpoline(const struct rs_linux *kernel, uint64_t address, struct rs_ksym *sym,
			 uint64_t *size)
{
	return rs_kallsyms_by_address(kernel->symbols, address, sym, size) &&
	       !strncmp(sym->name, RETPOLINE, strlen(RETPOLINE));
}

/* Steps from a retpoline, whose frame the tables do not describe: they mark it as code without a
 * caller, and at its return they give its target as the caller. Above the caller's address on the
 * stack is at most one other: first that of a call within the retpoline, then the target. */
static bool retpoline_step(struct rs_walk *w, const struct rs_ksym *sym, uint64_t size)
{
	for (uint32_t i = 0; i < 2 && rs_walk_load(w, w->sp, &w->ip); i++) {
		w->sp += WORD;
		if (w->ip - sym->address < size || is_beginning(w->kernel, w->ip) ||
		    !rs_walk_is_behind_call(w, w->ip))
			continue;
		w->is_exact = w->has_regs = false;
		return true;
	}
	return rs_walk_end_at(w, "is in a retpoline without a caller");
}

/* Steps to the caller, or to the interrupted code. Returns false at the outermost frame, or if the
 * step fails. */
static bool step(struct rs_walk *w)
{
	const uint64_t at = w->is_exact ? w->ip : w->ip - 1;
	struct rs_orc_row row;
	struct rs_ksym sym;
	uint64_t sp = 0, size;

	w->origin = RS_FRAME_ORC;
	if (w->is_exact && is_retpoline(w->kernel, w->ip, &sym, &size))
		return retpoline_step(w, &sym, size);
	if (!rs_orc_find(w->orc, at, &row)) {
		if (!rs_bpf_symbol(w->kernel, at, &sym, &size))
			return rs_walk_end_at(w, "is in no code that the kernel has a table of");
		w->origin = RS_FRAME_LINK;
		return rs_walk_bpf_step(w);
	}
	if (row.type == RS_ORC_END)
		return end_without_caller(w);
	if (row.type == RS_ORC_UNDEFINED)
		return rs_walk_end_at(w, "is in code whose frame the kernel does not describe");
	if (!base_find(w, &row, &sp))
		return rs_walk_end_at(w, "is in code whose frame cannot be found");
	switch (row.type) {
	case RS_ORC_CALL:
		if (!rs_walk_load(w, sp - WORD, &w->ip) || !bp_find(w, &row, sp))
			return rs_walk_end_at(w, "has a caller whose frame is on no stack");
		if (row.of_module && !rs_walk_is_behind_call(w, w->ip))
			return rs_walk_end_at(w, "is the next address, but behind no call");
		w->sp = sp;
		w->has_regs = false;
		break;
	case RS_ORC_REGISTERS:
	case RS_ORC_PARTIAL:
		if (!rs_walk_registers(w, sp, row.type == RS_ORC_PARTIAL) || !bp_find(w, &row, sp))
			return rs_walk_end_at(w, "has no saved registers of the interrupted code");
		break;
	default:
		return rs_walk_end_at(w, "is in code whose frame has an unknown type");
	}
	w->is_exact = row.interrupted;
	return true;
}

/* Checks that the walk went up the stack, or to a stack that was not visited. */
static bool progress_check(struct rs_walk *w, uint64_t last_sp)
{
	uint32_t on = stack_at(w, w->sp, 0);

	if (on == NOT_ON && w->sp != w->stacks[0].to)
		return end(w, "the stack pointer is on no stack");
	if (on == NOT_ON || on == w->on)
		return w->sp > last_sp ? true
				       : end(w, "the caller's frame is not above it on the stack");
	if (w->visited >> on & 1)
		return end(w, "the caller's frame is on a stack that was left");
	w->on = on;
	w->visited |= 1u << on;
	return true;
}

static void put(struct rs_walk *w)
{
	w->stack->frames[w->stack->n_kernel++] =
		(struct rs_linux_frame){ w->ip, w->origin, w->is_exact };
}

/* Walks the frames. Returns whether the last one is of user mode. */
static bool frames_find(struct rs_walk *w)
{
	while (w->stack->n_kernel < RS_LINUX_FRAMES_MAX) {
		uint64_t last_sp = w->sp;

		if (!(w->orc ? step(w) : rs_walk_pointer_step(w)))
			return false;
		if (w->is_exact && w->regs.cs & 3)
			return true;
		if (!rs_linux_is_code(w->kernel, &w->code, w->is_exact ? w->ip : w->ip - 1))
			return rs_walk_end_at(w, "is the next address, but in no code of the "
						 "kernel or of a module");
		if (!progress_check(w, last_sp))
			return false;
		put(w);
	}
	return end(w, "the stack has more frames");
}

bool rs_linux_is_in_task(struct rs_linux *kernel, const struct rs_linux_task *task,
			 const struct rs_x86_regs *regs)
{
	return !task->is_kernel &&
	       (!task->cr3 || !regs->cr3 || rs_linux_is_root(kernel, regs->cr3, task->cr3));
}

void rs_linux_kernel_frames(struct rs_linux *kernel, const struct rs_orc *orc,
			    const struct rs_linux_task *task, const struct rs_linux_vcpu *vcpu,
			    const struct rs_x86_regs *from, struct rs_linux_stack *stack,
			    struct rs_x86_regs *user)
{
	struct rs_walk w = { .kernel = kernel,
			     .orc = orc,
			     .task = task,
			     .stack = stack,
			     .ip = from->rip,
			     .sp = from->gpr[SP],
			     .bp = from->gpr[BP],
			     .is_exact = vcpu || is_beginning(kernel, from->rip),
			     .has_regs = vcpu != NULL,
			     .regs = *from };
	uint64_t begin = 0, top = 0, base;
	struct rs_error *err = rs_linux_code_find(kernel, &w.code);
	uint32_t cpu;

	user->rip = 0;
	w.origin = RS_FRAME_REGISTERS;
	put(&w);
	w.origin = RS_FRAME_LINK; /* step() sets the origin if there are tables */
	if (!err)
		err = rs_linux_task_stack(kernel, task, &begin, &top);
	if (err) {
		end(&w, rs_error_text(err));
		rs_error_free(err);
		return;
	}
	range_add(&w, begin, top - begin);
	if (vcpu) {
		err = rs_linux_cpu(kernel, vcpu, &cpu, &base);
		if (!err)
			cpu_stacks_add(&w, base);
		rs_error_free(err);
	}
	w.on = stack_at(&w, w.sp, 0);
	if (w.on == NOT_ON) {
		end(&w, "the stack pointer is on no stack of the task or its processor");
		return;
	}
	w.visited = 1u << w.on;
	if (!frames_find(&w))
		return;
	if (w.regs_on && vcpu && !rs_linux_is_in_task(kernel, task, &vcpu->regs)) {
		end(&w, "its processor was in the user mode of another task");
		return;
	}
	if (!w.has_regs) {
		snprintf(stack->user_why, sizeof(stack->user_why),
			 "only the processor's part of the saved registers is known");
		return;
	}
	*user = w.regs;
}
