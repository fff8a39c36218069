/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/probed.h"

#include <stdlib.h>

#define PROBES_MAX 4096u
#define HOLE	   UINT64_C(0xa0000) /* devices, up to: */
#define HOLE_END   UINT64_C(0xc0000)

/* ---- the machine, as programs see it ------------------------------------------------------ */

static bool machine_reg(void *ctx, const char *name, uint64_t *value)
{
	struct rs_probed *p = ctx;

	return rs_x86_reg(&p->regs, name, value);
}

static bool machine_read(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at)
{
	struct rs_probed *p = ctx;

	return rs_memory_read(&p->memory, gva, buf, bytes, at) == RS_FAULT_NONE;
}

static bool machine_read_phys(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at)
{
	struct rs_probed *p = ctx;

	*at = gpa;
	return rs_memory_read_phys(&p->memory, gpa, buf, bytes) == RS_FAULT_NONE;
}

struct rs_error *rs_probed_init(struct rs_probed *p, const struct rs_clock *clock, const char *vm)
{
	struct rs_error *err;

	p->clock = *clock;
	p->machine = (struct rs_machine){ p, machine_reg, machine_read, machine_read_phys };
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
	rs_schema_destroy(p->schema);
	free(p->probes);
	free(p->views);
	free(p->payloads);
}

/* ---- its probes --------------------------------------------------------------------------- */

static struct rs_error *make_room(struct rs_probed *p)
{
	uint32_t room = p->room ? p->room * 2 : 16;
	struct rs_replay_probe *more;

	if (p->n_probes == PROBES_MAX)
		return rs_error_create(RS_USAGE, "more than %u probes of a machine", PROBES_MAX);
	if (p->n_probes < p->room)
		return NULL;
	more = reallocarray(p->probes, room, sizeof(*more));
	if (!more)
		return rs_error_no_memory();
	p->probes = more;
	p->room = room;
	return NULL;
}

struct rs_error *rs_probed_make(struct rs_probed *p, const char *description, uint32_t shift,
				const struct rs_event **event)
{
	struct rs_replay_probe probe;
	bool ours;
	struct rs_error *err;

	*event = NULL;
	for (uint32_t i = 0; i < p->n_probes; i++) {
		if (rs_probe_match(description, p->probes[i].event))
			return NULL; /* it is there */
	}
	err = rs_replay_probe_parse(description, shift, &probe, &ours);
	if (err || !ours)
		return err;
	err = make_room(p);
	if (!err)
		err = rs_replay_probe_declare(p->schema, p->n_probes, description, &probe);
	if (err)
		return err;
	p->probes[p->n_probes++] = probe;
	*event = probe.event;
	return NULL;
}

struct rs_error *rs_probed_add_notes(struct rs_probed *p, const struct rs_notes *notes)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < notes->n; i++) {
		struct rs_replay_probe probe;

		err = make_room(p);
		if (!err)
			err = rs_replay_note_declare(p->schema, p->n_probes, &notes->at[i], &probe);
		if (!err)
			p->probes[p->n_probes++] = probe;
	}
	return err;
}

/* ---- where it stands ---------------------------------------------------------------------- */

struct rs_error *rs_probed_begin(struct rs_probed *p)
{
	p->views = calloc(p->n_probes + 1, sizeof(*p->views));
	p->payloads = calloc(p->n_probes + 1, sizeof(*p->payloads));
	return p->views && p->payloads ? NULL : rs_error_no_memory();
}

void rs_probed_map(struct rs_probed *p, const uint8_t *ram, uint64_t bytes)
{
	struct rs_guest_memory *m = &p->memory;

	m->n_ram = 0;
	m->ram[m->n_ram++] = (struct rs_ram){ 0, bytes < HOLE ? bytes : HOLE, ram };
	if (bytes > HOLE_END)
		m->ram[m->n_ram++] = (struct rs_ram){ HOLE_END, bytes - HOLE_END, ram + HOLE_END };
}

void rs_probed_stopped(struct rs_probed *p)
{
	rs_memory_stopped(&p->memory, &(struct rs_paging){ .cr0 = p->regs.cr0,
							   .cr3 = p->regs.cr3,
							   .cr4 = p->regs.cr4,
							   .efer = p->regs.efer });
}

bool rs_probed_breaks(const struct rs_probed *p, uint64_t rip)
{
	for (uint32_t i = 0; i < p->n_probes; i++) {
		const struct rs_replay_probe *probe = &p->probes[i];

		if (probe->wanted && rs_replay_probe_is_code(probe) && probe->address == rip)
			return true;
	}
	return false;
}

bool rs_probed_hit(const struct rs_probed *p, const struct rs_replay_probe *probe)
{
	if (probe->kind == RS_REPLAY_MEM)
		return p->stopped.why == RS_GDB_WATCHED && p->stopped.address == probe->address &&
		       p->stopped.kind == probe->point;
	return probe->address == p->regs.rip && !p->again;
}
