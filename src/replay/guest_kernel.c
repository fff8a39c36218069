/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the task that a stopped guest runs. */
#include "replay/guest_kernel.h"

#include <string.h>

void rs_guest_kernel_deinit(struct rs_guest_kernel *g)
{
	rs_linux_close(g->kernel);
	rs_error_free(g->why);
	*g = (struct rs_guest_kernel){ 0 };
}

bool rs_guest_kernel_find(struct rs_guest_kernel *g, const struct rs_memory *memory,
			  const struct rs_x86_regs *regs)
{
	const struct rs_linux_vcpu vcpu = { .regs = *regs };

	rs_error_free(g->why);
	g->why = rs_linux_open(memory, &vcpu, 1, &g->kernel);
	return !g->why;
}

void rs_guest_kernel_stopped(struct rs_guest_kernel *g, const struct rs_memory *memory,
			     const struct rs_x86_regs *regs)
{
	g->memory = memory;
	g->regs = regs;
	g->is_read = g->known = g->mapped = false;
}

struct rs_linux *rs_guest_kernel_here(struct rs_guest_kernel *g)
{
	if (!g->kernel || !g->memory)
		return NULL;
	if (!g->mapped)
		g->mapped = rs_linux_at(g->kernel, g->memory, g->regs);
	return g->mapped ? g->kernel : NULL;
}

/* Returns whether the task at an address is the one that was read last and still has the same
 * memory, which execve() replaces. Reads its name. */
static struct rs_error *is_last(struct rs_guest_kernel *g, uint64_t address, bool *same)
{
	const struct rs_btf_member *comm = &g->kernel->fields.fields[RS_FIELD_TASK_COMM].member;
	uint64_t pid = 0, tgid = 0, mm = 0;
	char name[RS_TASK_COMM_BYTES];
	struct rs_error *err;

	*same = false;
	if (address != g->task.address)
		return NULL;
	err = rs_linux_read(g->kernel, address, RS_FIELD_TASK_PID, &pid);
	if (!err)
		err = rs_linux_read(g->kernel, address, RS_FIELD_TASK_TGID, &tgid);
	if (!err)
		err = rs_linux_read(g->kernel, address, RS_FIELD_TASK_MM, &mm);
	if (!err)
		err = rs_linux_bytes(g->kernel, address + comm->offset, name, sizeof(name));
	if (err || mm != g->task.mm || (int32_t)pid != g->task.pid || (int32_t)tgid != g->task.tgid)
		return err;
	*same = rs_linux_task_set_name(&g->task, name);
	return NULL;
}

static struct rs_error *current_read(struct rs_guest_kernel *g, uint64_t *address)
{
	const struct rs_linux_vcpu vcpu = { .regs = *g->regs };
	uint64_t base = 0;
	uint32_t cpu = 0;
	struct rs_error *err = rs_linux_cpu(g->kernel, &vcpu, &cpu, &base);

	return err ? err : rs_linux_current(g->kernel, base, address);
}

bool rs_guest_kernel_runs(struct rs_guest_kernel *g, uint64_t task)
{
	uint64_t address = 0;
	struct rs_error *err = rs_guest_kernel_here(g)
				       ? current_read(g, &address)
				       : rs_error_create(RS_USAGE, "no kernel is known");
	bool runs = !err && address == task;

	rs_error_free(err);
	return runs;
}

static struct rs_error *read_task(struct rs_guest_kernel *g)
{
	uint64_t address = 0;
	bool same = false;
	struct rs_error *err = current_read(g, &address);

	if (!err)
		err = is_last(g, address, &same);
	if (!err && !same)
		err = rs_linux_task_read(g->kernel, address, &g->task);
	return err;
}

const struct rs_linux_task *rs_guest_kernel_task(struct rs_guest_kernel *g)
{
	struct rs_error *err;

	if (!g->is_read && rs_guest_kernel_here(g)) {
		err = read_task(g);
		g->known = !err;
		rs_error_free(err);
	}
	g->is_read = true;
	return g->known ? &g->task : NULL;
}
