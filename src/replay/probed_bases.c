/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds where a guest has programs and libraries whose addresses its kernel chooses:
 *
 *	start_thread()		of arch/x86/kernel/process_64.c is called when execve() has mapped a
 *				program, and its loader, and has executed none of it
 *	vma_set_page_prot()	of mm/mmap.c is called with each new area, when the process has it;
 *				the loader maps the beginning of a library first
 *
 * The program is an area of the beginning of a file whose first page, in the page cache, is the
 * file's. Each hit is verified as at any base.
 */
#include <stdlib.h>

#include "insight/areas.h"
#include "insight/pages.h"
#include "replay/probed.h"

#define PAGE_BYTES 4096u
#define RDI	   5 /* of gpr[], the register of the first argument */

static const char *const changes[RS_CHANGES] = {
	[RS_CHANGE_PROGRAM] = "start_thread",
	[RS_CHANGE_MAP] = "vma_set_page_prot",
	[RS_CHANGE_LOAD] = RS_CHANGE_LOAD_NAME,
	[RS_CHANGE_UNLOAD] = "free_module",
};

/* Returns whether a program's bases are found as the guest runs. Libraries have no other base. */
static bool moves(const struct rs_probed_program *program, bool randomizes)
{
	const struct rs_program *of = program->of;

	return of->moves && !of->given && !of->kernel && program->wanted &&
	       (randomizes || !of->n_bases);
}

static bool is_followed(const struct rs_probed *p, enum rs_probed_change change, bool randomizes)
{
	if (change == RS_CHANGE_LOAD || change == RS_CHANGE_UNLOAD) {
		for (const struct rs_module_probe *of = p->module_probes; of; of = of->next)
			if (of->wanted)
				return true;
		return false;
	}
	for (uint32_t i = 0; i < p->n_programs; i++)
		if (moves(&p->programs[i], randomizes) &&
		    (change == RS_CHANGE_PROGRAM || !p->programs[i].of->n_bases))
			return true;
	return false;
}

bool rs_probed_moves(const struct rs_probed *p, bool randomizes)
{
	for (int i = 0; i < RS_CHANGES; i++)
		if (is_followed(p, (enum rs_probed_change)i, randomizes))
			return true;
	return false;
}

void rs_probed_follow(struct rs_probed *p, bool randomizes)
{
	struct rs_ksym sym;

	p->randomizes = randomizes;
	for (int i = 0; p->guest.kernel && i < RS_CHANGES; i++)
		if (is_followed(p, (enum rs_probed_change)i, randomizes) &&
		    rs_kallsyms_by_name(p->guest.kernel->symbols, changes[i], &sym) && !sym.percpu)
			p->changes[i] = sym.address;
}

static bool has_base(const struct rs_probed *p, uint32_t program, uint64_t base)
{
	for (uint32_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].of_program && p->probes[i].program == program &&
		    p->probes[i].base == base && !p->probes[i].is_nowhere)
			return true;
	return false;
}

/* Adds a program's probes at another base: copies of those at its first one, or of those without a
 * base. Counts the base if there is no room for its probes. */
static struct rs_error *base_add(struct rs_probed *p, uint32_t program, uint64_t base)
{
	const struct rs_program *of = p->programs[program].of;
	const uint64_t first = of->n_bases ? of->bases[0] : 0;
	const uint32_t n = p->n_probes;
	struct rs_error *err = NULL;

	p->programs[program].begun += !of->n_bases; /* a library does not start */
	for (uint32_t i = 0; !err && i < n; i++) {
		struct rs_replay_probe probe = p->probes[i];

		if (!probe.of_program || probe.program != program || probe.base != first ||
		    probe.is_nowhere != !of->n_bases)
			continue;
		if (p->n_probes == RS_PROBES_MAX) {
			p->programs[program].unplaced++;
			return NULL;
		}
		probe.address += base - first;
		probe.base = base;
		probe.is_nowhere = probe.is_set = false;
		probe.of_program = false; /* so that rs_probed_add() adds it once */
		err = rs_probed_add(p, &probe);
		if (!err)
			p->probes[p->n_probes - 1].of_program = true;
	}
	return err;
}

/* Adds the bases of the programs that an area begins. */
static struct rs_error *area_search(struct rs_probed *p, struct rs_linux *kernel,
				    const struct rs_linux_area *area)
{
	struct rs_linux_file file;
	uint8_t *copy = NULL;
	uint64_t bytes = 0, base;
	struct rs_error *err;

	if (!area->file || area->offset)
		return NULL;
	err = rs_linux_file_read(kernel, area->file, &file);
	if (!err) {
		bytes = file.bytes < PAGE_BYTES ? file.bytes : PAGE_BYTES;
		err = rs_linux_file_copy(kernel, &file, bytes, &copy);
	}
	if (err) {
		rs_error_free(err);
		return NULL;
	}
	for (uint32_t i = 0; i < p->n_programs && !err; i++)
		if (moves(&p->programs[i], p->randomizes) &&
		    rs_program_is_file(p->programs[i].of, copy, bytes, area->start, &base) &&
		    !has_base(p, i, base))
			err = base_add(p, i, base);
	free(copy);
	return err;
}

/* Searches a process for the programs. */
static struct rs_error *process_search(struct rs_probed *p, struct rs_linux *kernel,
				       const struct rs_linux_task *task)
{
	struct rs_linux_areas areas = { 0 };
	struct rs_error *err = rs_linux_areas_read(kernel, task, &areas);

	if (err) {
		bool no_memory = rs_error_code(err) == RS_NO_MEMORY;

		if (!no_memory)
			rs_error_free(err);
		return no_memory ? err : NULL;
	}
	for (uint32_t i = 0; i < areas.n && !err; i++)
		err = area_search(p, kernel, &areas.areas[i]);
	rs_linux_areas_deinit(&areas);
	return err;
}

static struct rs_error *all_search(struct rs_probed *p, struct rs_linux *kernel)
{
	struct rs_linux_tasks tasks = { 0 };
	struct rs_error *err = rs_linux_tasks_read(kernel, &tasks);

	if (err && rs_error_code(err) != RS_NO_MEMORY) {
		rs_error_free(err);
		return NULL;
	}
	for (uint32_t i = 0; i < tasks.n && !err; i++)
		if (tasks.tasks[i].mm && tasks.tasks[i].pid == tasks.tasks[i].tgid)
			err = process_search(p, kernel, &tasks.tasks[i]);
	rs_linux_tasks_deinit(&tasks);
	return err;
}

/* Searches the new area at whose function the machine is stopped. */
static struct rs_error *mapped_search(struct rs_probed *p, struct rs_linux *kernel)
{
	const struct rs_linux_task *task = rs_guest_kernel_task(&p->guest);
	struct rs_linux_area area;
	struct rs_error *err;

	if (!task)
		return NULL;
	err = rs_linux_area_read(kernel, task, p->regs.gpr[RDI], &area);
	if (!err)
		return area_search(p, kernel, &area);
	rs_error_free(err);
	return NULL;
}

/* Returns the change at whose function the machine is stopped, or RS_CHANGES. */
static enum rs_probed_change change_here(const struct rs_probed *p)
{
	int i = 0;

	while (i < RS_CHANGES && (!p->changes[i] || p->regs.rip != p->changes[i]))
		i++;
	return (enum rs_probed_change)i;
}

static struct rs_error *change(struct rs_probed *p, struct rs_linux *kernel, bool all)
{
	const enum rs_probed_change here = change_here(p);
	const struct rs_linux_task *task;
	struct rs_error *err = NULL;

	if (all && (p->changes[RS_CHANGE_PROGRAM] || p->changes[RS_CHANGE_MAP]))
		err = all_search(p, kernel);
	if (!err && ((all && p->module_probes) || here == RS_CHANGE_LOAD ||
		     here == RS_CHANGE_UNLOAD))
		err = rs_probed_modules_update(p, kernel,
					       here == RS_CHANGE_LOAD ? p->regs.gpr[RDI] : 0,
					       here == RS_CHANGE_UNLOAD ? p->regs.gpr[RDI] : 0);
	if (!err && here == RS_CHANGE_MAP)
		err = mapped_search(p, kernel);
	if (err || here != RS_CHANGE_PROGRAM)
		return err;
	task = rs_guest_kernel_task(&p->guest);
	return task ? process_search(p, kernel, task) : NULL;
}

struct rs_error *rs_probed_rebase(struct rs_probed *p, bool all)
{
	const uint32_t before = p->n_probes;
	struct rs_linux *kernel;
	struct rs_error *err = NULL;

	if (!all && change_here(p) == RS_CHANGES)
		return NULL;
	kernel = rs_guest_kernel_here(&p->guest);
	if (kernel)
		err = change(p, kernel, all);
	return p->n_probes == before ? err : rs_error_first(rs_probed_make_room(p), err);
}
