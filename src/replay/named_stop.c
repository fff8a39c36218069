/* SPDX-License-Identifier: BSD-2-Clause */
/* At a stop, decides whether a probe by name fires, and writes its payload. */
#include <stdio.h>
#include <string.h>

#include "introspect/leaves.h"
#include "replay/named.h"

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8, R9 };

static bool read_memory(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	return rs_memory_read(ctx, gva, buf, bytes, NULL) == RS_FAULT_NONE;
}

/* Reads a value from the kernel. Returns false if it cannot be read. */
static bool value(struct rs_guest_kernel *guest, uint64_t gva, enum rs_field_id id, uint64_t *to)
{
	struct rs_linux *kernel = rs_guest_kernel_here(guest);
	struct rs_error *err = kernel ? rs_linux_read(kernel, gva, id, to) : NULL;
	bool read = kernel && !err;

	rs_error_free(err);
	return read;
}

/* Returns whether the kernel leaves this system call: the number is the call's, and the caller is
 * the entry of system calls. A new task (ret_from_fork) has another caller. */
static bool is_syscall_left(struct rs_probed *p, uint32_t number)
{
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	uint64_t caller, nr = 0, size;
	struct rs_ksym sym;

	if (!kernel || !value(&p->guest, p->regs.gpr[RDI], RS_FIELD_REGS_NR, &nr) || nr != number ||
	    rs_memory_read(&p->memory, p->regs.gpr[RSP], &caller, sizeof(caller), NULL) ||
	    !rs_kallsyms_by_address(kernel->symbols, caller, &sym, &size))
		return false;
	return !strcmp(sym.name, "do_syscall_64") ||
	       !strncmp(sym.name, "entry_SYSCALL_64", strlen("entry_SYSCALL_64"));
}

bool rs_named_hit(struct rs_probed *p, const struct rs_replay_probe *probe)
{
	switch (probe->kind) {
	case RS_REPLAY_RETURN:
		return rs_leaves_now(probe->named->leaves, &p->regs, probe->base, read_memory,
				     &p->memory);
	case RS_REPLAY_SYSRET:
		return is_syscall_left(p, probe->named->number);
	case RS_REPLAY_SWITCH:
		return rs_guest_kernel_runs(&p->guest, p->regs.gpr[RDI]);
	default:
		return true;
	}
}

/* ---- payloads ----------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

/* Arguments of functions follow the x86-64 psABI 3.2.3, also in the kernel. */
static uint8_t *put_args(const struct rs_x86_regs *regs, uint8_t *to)
{
	static const uint8_t order[] = { RDI, RSI, RDX, RCX, R8, R9 };

	for (size_t i = 0; i < sizeof(order); i++)
		to = put(to, &regs->gpr[order[i]], 8);
	return to;
}

/* Arguments of a system call are in the user's registers, which the kernel has saved. */
static uint8_t *put_syscall_args(struct rs_replay_at *at, uint8_t *to)
{
	static const enum rs_field_id order[] = { RS_FIELD_REGS_DI, RS_FIELD_REGS_SI,
						  RS_FIELD_REGS_DX, RS_FIELD_REGS_R10,
						  RS_FIELD_REGS_R8, RS_FIELD_REGS_R9 };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		uint64_t arg = 0;

		if (!value(at->guest, at->regs->gpr[RDI], order[i], &arg))
			at->unread++;
		to = put(to, &arg, 8);
	}
	return to;
}

static uint8_t *put_result(struct rs_replay_at *at, uint8_t *to)
{
	uint64_t result = 0;

	if (!value(at->guest, at->regs->gpr[RDI], RS_FIELD_REGS_AX, &result))
		at->unread++;
	return put(to, &result, sizeof(result));
}

/* Reads the next task, and checks it. */
static void next_read(struct rs_replay_at *at, struct rs_linux_task *next)
{
	struct rs_linux *kernel = rs_guest_kernel_here(at->guest);
	struct rs_error *err = NULL;

	*next = (struct rs_linux_task){ .pid = -1, .tgid = -1 };
	if (kernel)
		err = rs_linux_task_read(kernel, at->regs->gpr[RSI], next);
	at->unread += !kernel || err;
	rs_error_free(err);
}

static uint8_t *put_switch(struct rs_replay_at *at, const struct rs_linux_task *next, uint8_t *to)
{
	to = put(to, &at->regs->gpr[RDI], 8);
	to = put(to, &at->regs->gpr[RSI], 8);
	to = put(to, &next->tgid, sizeof(next->tgid));
	return put(to, &next->pid, sizeof(next->pid));
}

uint32_t rs_named_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
			  uint8_t payload[RS_REPLAY_PAYLOAD_MAX])
{
	uint8_t cpl = at->regs->cs & 3, *to = payload;
	struct rs_linux_task next;
	uint16_t len;

	if (probe->kind == RS_REPLAY_CALL)
		to = put_args(at->regs, to);
	else if (probe->kind == RS_REPLAY_RETURN)
		to = put(to, &at->regs->gpr[RAX], 8);
	else if (probe->kind == RS_REPLAY_SYSCALL)
		to = put_syscall_args(at, to);
	else if (probe->kind == RS_REPLAY_SYSRET)
		to = put_result(at, to);
	if (probe->kind == RS_REPLAY_SWITCH) {
		next_read(at, &next);
		to = put_switch(at, &next, to);
	}
	to = put(to, &at->regs->rip, sizeof(at->regs->rip));
	to = put(to, &at->icount, sizeof(at->icount));
	to = put(to, &cpl, sizeof(cpl));
	if (probe->kind == RS_REPLAY_SWITCH) {
		len = (uint16_t)strlen(next.comm);
		to = put(to, &len, sizeof(len));
		to = put(to, next.comm, len);
	}
	return (uint32_t)(to - payload);
}
