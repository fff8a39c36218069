/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the addresses of variables of a stopped guest. Variables of a program belong to a process:
 * they are found only if the running task has the program in its memory, which is verified by the
 * program's build-id or pages at each stop.
 */
#include <stdlib.h>

#include "insight/areas.h"
#include "insight/pages.h"
#include "replay/probed.h"

#define PAGE_BYTES 4096u

static const char no_program[] = "the running task does not have this program in its memory";

/* ---- the kernel ----------------------------------------------------------------------------- */

static const char *kernel_variable(struct rs_probed *p, const struct rs_cvariable *variable,
				   uint64_t *address)
{
	const struct rs_linux_vcpu vcpu = { .regs = p->regs };
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	struct rs_error *err;
	uint64_t base = 0;
	uint32_t cpu;

	if (!kernel)
		return "the guest's kernel is not in memory";
	if (variable->is_percpu) {
		err = rs_linux_cpu(kernel, &vcpu, &cpu, &base);
		if (err) {
			rs_error_free(err);
			return "the processor's per-CPU area is unknown";
		}
	}
	*address = variable->address + base;
	return NULL;
}

/* ---- a program ------------------------------------------------------------------------------ */

static bool memory_read(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	return rs_memory_read(ctx, gva, buf, bytes, NULL) == RS_FAULT_NONE;
}

static bool is_mapped(struct rs_probed *p, const struct rs_program *program, uint64_t base)
{
	return rs_program_is_mapped(program, base, memory_read, &p->memory);
}

/* Returns whether an area is the first of the program's file, and the program's base then. */
static bool begins(struct rs_linux *kernel, const struct rs_linux_area *area,
		   const struct rs_program *program, uint64_t *base)
{
	struct rs_linux_file file;
	uint8_t *copy = NULL;
	uint64_t bytes = 0;
	struct rs_error *err;
	bool is;

	if (!area->file || area->offset)
		return false;
	err = rs_linux_file_read(kernel, area->file, &file);
	if (!err) {
		bytes = file.bytes < PAGE_BYTES ? file.bytes : PAGE_BYTES;
		err = rs_linux_file_copy(kernel, &file, bytes, &copy);
	}
	is = !err && rs_program_is_file(program, copy, bytes, area->start, base);
	rs_error_free(err);
	free(copy);
	return is;
}

/* Searches the areas of a task for the program. Returns whether it was found. */
static bool search(struct rs_probed *p, const struct rs_linux_task *task,
		   const struct rs_program *program, uint64_t *base)
{
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	struct rs_linux_areas areas = { 0 };
	struct rs_error *err = kernel ? rs_linux_areas_read(kernel, task, &areas) : NULL;
	bool found = false;

	for (uint32_t i = 0; i < areas.n && !err && !found; i++)
		found = begins(kernel, &areas.areas[i], program, base) &&
			is_mapped(p, program, *base);
	rs_error_free(err);
	rs_linux_areas_deinit(&areas);
	return found;
}

/* Returns whether the processor has the task's page table, or one of the two that it has with
 * PTI. It has another one in the middle of a switch. */
static bool has_table_of(struct rs_probed *p, const struct rs_linux_task *task)
{
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);

	return kernel && rs_linux_is_root(kernel, p->regs.cr3, task->cr3);
}

static struct rs_probed_program *probed_of(struct rs_probed *p, const struct rs_program *program)
{
	for (uint32_t i = 0; i < p->n_programs; i++)
		if (p->programs[i].of == program)
			return &p->programs[i];
	return NULL;
}

static const char *program_variable(struct rs_probed *p, const struct rs_program *program,
				    const struct rs_cvariable *variable, uint64_t *address)
{
	const struct rs_linux_task *task = rs_guest_kernel_task(&p->guest);
	struct rs_probed_program *probed = probed_of(p, program);
	uint64_t base;

	if (task && !task->mm)
		return "the running task is the kernel's, and has no program";
	if (task && !has_table_of(p, task))
		return "the processor is switching to another task";
	for (uint32_t i = 0; i < program->n_bases; i++) {
		if (!is_mapped(p, program, program->bases[i]))
			continue;
		*address = program->bases[i] + variable->address;
		return NULL;
	}
	if (!program->moves || program->given || !task || !probed)
		return no_program;
	base = probed->found;
	if (!base || !is_mapped(p, program, base)) {
		if (!search(p, task, program, &base))
			return no_program;
		probed->found = base;
	}
	*address = base + variable->address;
	return NULL;
}

const char *rs_probed_variable(struct rs_probed *p, const struct rs_program *program,
			       const struct rs_cvariable *variable, uint64_t *address)
{
	return program ? program_variable(p, program, variable, address)
		       : kernel_variable(p, variable, address);
}
