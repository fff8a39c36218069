/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream, registers and memory of a machine that a probe stopped. */
#include "replay/probed.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "replay/named.h"
#include "replay/ram.h"

/* ---- the machine for programs ------------------------------------------------------------- */

static bool machine_reg(void *ctx, const char *name, uint64_t *value)
{
	struct rs_probed *p = ctx;

	return rs_x86_reg(&p->regs, name, value);
}

static bool machine_read(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at)
{
	struct rs_probed *p = ctx;

	if (rs_memory_read(&p->memory, gva, buf, bytes, at) == RS_FAULT_NONE)
		return true;
	/* Under PTI, the user's page table of a process does not map the kernel. */
	return gva >> 63 && rs_guest_kernel_here(&p->guest) &&
	       rs_memory_read(&p->guest.kernel->memory, gva, buf, bytes, at) == RS_FAULT_NONE;
}

static bool machine_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at)
{
	struct rs_probed *p = ctx;

	*at = gpa;
	return rs_memory_read_phys(&p->memory, gpa, buf, bytes) == RS_FAULT_NONE;
}

static bool machine_thread(void *ctx, uint64_t *address)
{
	struct rs_probed *p = ctx;
	const struct rs_linux_task *task = rs_guest_kernel_task(&p->guest);

	if (task)
		*address = task->address;
	return task;
}

struct rs_error *rs_probed_init(struct rs_probed *p, const struct rs_clock *clock, const char *vm)
{
	struct rs_error *err;

	p->clock = *clock;
	p->machine = (struct rs_machine){ p, machine_reg, machine_read, machine_read_phys,
					  machine_thread };
	err = rs_clock_init(&p->clock);
	if (!err)
		err = rs_schema_create("guest", &p->schema);
	p->stream = (struct rs_stream){ .vm = vm,
					.vcpu = 0,
					.cpu = RS_UNKNOWN,
					.tid = RS_UNKNOWN,
					.dom = RS_UNKNOWN,
					.schema = p->schema,
					.clock = &p->clock,
					.machine = &p->machine };
	return err;
}

void rs_probed_deinit(struct rs_probed *p)
{
	rs_probed_names_destroy(p->names); /* before `kernel`, which it reads */
	rs_guest_kernel_deinit(&p->guest);
	rs_named_destroy(p->named);
	rs_probed_modules_destroy(p->module_probes);
	rs_schema_destroy(p->schema);
	free(p->probes);
	free(p->views);
	free(p->payloads);
}

/* ---- its probes --------------------------------------------------------------------------- */

static struct rs_error *make_room(struct rs_probed *p)
{
	if (p->n_probes == RS_PROBES_MAX)
		return rs_error_create(RS_USAGE, "more than %u probes of a machine", RS_PROBES_MAX);
	return RS_VECTOR_RESERVE(p->probes, p->room, p->n_probes + 1) ? NULL : rs_error_no_memory();
}

struct rs_error *rs_probed_make(struct rs_probed *p, const char *description, uint32_t shift,
				const struct rs_event **event)
{
	struct rs_replay_probe probe;
	bool ours;
	struct rs_error *err;

	*event = NULL;
	for (uint32_t i = 0; i < p->n_probes && !rs_named_is_glob(description); i++) {
		if (p->probes[i].event && rs_probe_match(description, p->probes[i].event))
			return NULL; /* the probe exists already */
	}
	err = rs_replay_probe_parse(description, shift, &probe, &ours);
	if (err)
		return err;
	if (!ours)
		return rs_named_make(p, description, event);
	err = make_room(p);
	if (!err)
		err = rs_replay_probe_declare(p->schema, p->n_probes, description, &probe);
	if (err)
		return err;
	p->probes[p->n_probes++] = probe;
	*event = probe.event;
	return NULL;
}

/* Adds a program's probe, once for each possible base of the program; if it has none, once without
 * a place, for copies at the bases that are found. */
static struct rs_error *add_placed(struct rs_probed *p, const struct rs_program *program,
				   struct rs_replay_probe probe)
{
	const uint64_t address = probe.address;
	struct rs_error *err = NULL;

	probe.of_program = true;
	probe.is_nowhere = !program->n_bases;
	if (probe.is_nowhere)
		err = make_room(p);
	if (probe.is_nowhere && !err)
		p->probes[p->n_probes++] = probe;
	for (uint32_t i = 0; !err && i < program->n_bases; i++) {
		err = make_room(p);
		if (err)
			break;
		probe.base = program->bases[i];
		probe.address = address + probe.base;
		p->probes[p->n_probes++] = probe;
	}
	return err;
}

struct rs_error *rs_probed_add(struct rs_probed *p, const struct rs_replay_probe *probe)
{
	struct rs_error *err;

	if (probe->of_program)
		return add_placed(p, p->programs[probe->program].of, *probe);
	for (uint32_t i = 0; probe->of_module && i < p->n_probes; i++) {
		struct rs_replay_probe *old = &p->probes[i];

		/* a place in a module that has been unloaded */
		if (old->of_module != probe->of_module || !old->is_nowhere || old->is_set)
			continue;
		*old = *probe;
		return NULL;
	}
	err = make_room(p);
	if (!err)
		p->probes[p->n_probes++] = *probe;
	return err;
}

struct rs_error *rs_probed_add_notes(struct rs_probed *p, const struct rs_notes *notes,
				     const struct rs_program *program)
{
	struct rs_replay_probe probe = {
		.kind = RS_REPLAY_ENTRY, .address = program->entry, .bytes = 1, .point = RS_GDB_EXEC
	};
	const uint32_t index = p->n_programs;
	struct rs_error *err = NULL;

	if (index == RS_PROGRAMS_MAX)
		return rs_error_create(RS_USAGE, "more than %u programs", RS_PROGRAMS_MAX);
	p->n_programs++;
	p->programs[index].of = program;
	probe.program = index;
	if (program->entry)
		err = add_placed(p, program, probe);
	for (uint32_t i = 0; !err && i < notes->n; i++) {
		err = make_room(p);
		if (!err)
			err = rs_replay_note_declare(p->schema, p->n_probes, &notes->at[i], &probe);
		probe.program = index;
		if (!err)
			err = add_placed(p, program, probe);
	}
	return err;
}

/* ---- stops -------------------------------------------------------------------------------- */

static void want(struct rs_probed *p, const struct rs_query *query)
{
	for (uint32_t i = 0; i < p->n_probes; i++) {
		struct rs_replay_probe *probe = &p->probes[i];

		probe->wanted = probe->event && rs_query_wants(query, probe->event);
		if (probe->of_program)
			p->programs[probe->program].wanted |= probe->wanted;
	}
	for (uint32_t i = 0; i < p->n_probes; i++) {
		if (p->probes[i].kind == RS_REPLAY_ENTRY)
			p->probes[i].wanted = p->programs[p->probes[i].program].wanted;
	}
	for (struct rs_module_probe *of = p->module_probes; of; of = of->next)
		of->wanted = rs_query_wants(query, of->event);
}

struct rs_error *rs_probed_make_room(struct rs_probed *p)
{
	const size_t n = (size_t)p->n_probes + 1;
	struct rs_view *views = realloc(p->views, n * sizeof(*p->views));
	void *payloads = realloc(p->payloads, n * sizeof(*p->payloads));

	p->views = views ? views : p->views;
	p->payloads = payloads ? payloads : p->payloads;
	return views && payloads ? NULL : rs_error_no_memory();
}

struct rs_error *rs_probed_begin(struct rs_probed *p, const struct rs_query *query)
{
	want(p, query);
	return rs_probed_make_room(p);
}

void rs_probed_map(struct rs_probed *p, const uint8_t *ram, uint64_t bytes)
{
	rs_replay_ram_set(&p->memory, ram, bytes);
}

void rs_probed_stopped(struct rs_probed *p)
{
	rs_memory_stopped(&p->memory, &(struct rs_paging){ .cr0 = p->regs.cr0,
							   .cr3 = p->regs.cr3,
							   .cr4 = p->regs.cr4,
							   .efer = p->regs.efer });
	rs_guest_kernel_stopped(&p->guest, &p->memory, &p->regs);
	rs_probed_names_stopped(p->names);
}

void rs_probed_fired(struct rs_probed *p)
{
	const struct rs_linux_task *task = rs_guest_kernel_task(&p->guest);

	p->stream.tid = task ? task->pid : RS_UNKNOWN;
	p->stream.pid = task ? task->tgid : 0;
	p->stream.thread = task ? p->name : NULL;
	if (task)
		memcpy(p->name, task->comm, sizeof(task->comm));
}

bool rs_probed_breaks(const struct rs_probed *p, uint64_t rip)
{
	for (uint32_t i = 0; i < RS_CHANGES; i++)
		if (p->changes[i] && rip == p->changes[i])
			return true;
	for (uint32_t i = 0; i < p->n_probes; i++) {
		const struct rs_replay_probe *probe = &p->probes[i];

		if (rs_replay_probe_needs_point(probe) && rs_replay_probe_is_code(probe) &&
		    probe->address == rip)
			return true;
	}
	return false;
}

static bool read_memory(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	return rs_memory_read(ctx, gva, buf, bytes, NULL) == RS_FAULT_NONE;
}

/* Returns whether the program is executed at the probe. Counts the hit. */
static bool program_is_there(struct rs_probed *p, const struct rs_replay_probe *probe)
{
	struct rs_probed_program *program = &p->programs[probe->program];
	bool is =
		rs_program_is_at(program->of, probe->base, probe->address, read_memory, &p->memory);

	if (!is)
		program->others++;
	else if (probe->kind == RS_REPLAY_ENTRY)
		program->begun++;
	else
		program->reached++;
	return is;
}

bool rs_probed_hit(struct rs_probed *p, const struct rs_replay_probe *probe)
{
	if (probe->kind == RS_REPLAY_MEM)
		return p->stopped.why == RS_GDB_WATCHED && p->stopped.address == probe->address &&
		       p->stopped.kind == probe->point;
	if (probe->address != p->regs.rip || p->again || probe->is_nowhere)
		return false;
	if (probe->of_module && !rs_probed_module_is_there(p, probe))
		return false;
	if (probe->of_program && !program_is_there(p, probe))
		return false;
	if (probe->kind >= RS_REPLAY_NAMED)
		return rs_named_hit(p, probe);
	return probe->kind != RS_REPLAY_ENTRY;
}
