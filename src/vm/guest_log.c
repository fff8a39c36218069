/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Provides the memory of the guest's log: a file on the host, mapped behind the guest's RAM, so
 * that it outlives the guest, the VM, and this process.
 *
 *	gpa   0 ... RAM ... | the log's memory |
 *	hva   anonymous     | the file	       |	one mapping, one memory slot of KVM
 *
 * The guest uses the memory like its own (guest_log.h): it claims the free half, which this file
 * prepares before the guest starts, and reads its levels there. This process holds the writer's
 * lock for the guest. A guest that returned has ended its run cleanly; any other end leaves the
 * half in state *last* for the next start. The guest writes the content, so it is not trusted. This
 * process reads it only with the code of collectors and recovery, which checks everything.
 */
#include "vm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ringside/clock.h>

/* The share of each half of new memory for the vCPUs' trace rings: one in TRACE_PART. */
#define TRACE_PART 2

struct rs_error *rs_vm_log_open(struct rs_vm *vm)
{
	const struct rs_vm_options *options = &vm->options;
	struct rs_log_left unused = { 0 };
	struct rs_log_options log = { .path = options->guest_log,
				      .bytes = RS_LOG_BYTES,
				      .lanes = options->vcpus,
				      .trace_bytes = RS_LOG_BYTES / 2 / TRACE_PART,
				      .last = options->guest_log_last };
	struct rs_error *err;
	bool made;

	if (!options->guest_log)
		return NULL;
	err = rs_log_memory_claim(&log, options->guest_log_left ? options->guest_log_left : &unused,
				  &vm->log, &vm->log_half, &made);
	if (err)
		return err;
	vm->has_log = true;
	vm->log_bytes = (vm->log.map.bytes + RS_VM_PAGE_BYTES - 1) & ~(RS_VM_PAGE_BYTES - 1);
	if (vm->log_bytes > RS_VM_LOG_MAX)
		return rs_error_create(RS_USAGE, "%s: a guest's log has up to %llu bytes",
				       options->guest_log, (unsigned long long)RS_VM_LOG_MAX);
	if (made) /* this process prints its messages to the console */
		vm->log.head->level[RS_LOG_CONSOLE] = 0;
	return NULL;
}

struct rs_error *rs_vm_log_map(struct rs_vm *vm)
{
	void *at = vm->memory + vm->options.memory_bytes;
	char again[40];
	void *mapped;
	int fd;

	if (!vm->has_log)
		return NULL;
	/* Opens the file again, because a mapping of the descriptor with the lock would keep the
	 * lock. */
	snprintf(again, sizeof(again), "/proc/self/fd/%d", vm->log.map.fd);
	fd = open(again, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return rs_error_errno(errno, "opening %s again", vm->options.guest_log);
	mapped = mmap(at, vm->log_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return mapped == MAP_FAILED ? rs_error_errno(errno, "mapping %s", vm->options.guest_log)
				    : NULL;
}

/* Returns the Unix time in ns, by the host's clock, at which the guest's TSC was 0. */
static int64_t wall_of_zero(const struct rs_clock *clock, int64_t tsc_offset)
{
	uint64_t tsc = clock->origin + (uint64_t)tsc_offset;

	return clock->wall_ns - (int64_t)((unsigned __int128)tsc * 1000000000u / clock->freq_hz);
}

struct rs_error *rs_vm_log_boot(const struct rs_vm_vcpu *vcpu, struct rs_kit_boot *boot)
{
	const struct rs_vm *vm = vcpu->vm;
	struct rs_clock clock;
	struct rs_error *err;

	if (!vm->has_log)
		return NULL;
	err = rs_clock_host(&clock);
	if (err)
		return err;
	boot->log = vm->options.memory_bytes;
	boot->log_bytes = vm->log.map.bytes;
	boot->tsc_hz = clock.freq_hz;
	boot->wall_ns = wall_of_zero(&clock, vcpu->tsc_offset);
	if (vm->options.name)
		snprintf(boot->name, sizeof(boot->name), "%s", vm->options.name);
	if (boot->hand_over == RS_KIT_NO_TRACE && vm->log.layout.trace_bytes)
		boot->hand_over = RS_KIT_KEEP;
	return NULL;
}

void rs_vm_log_end(struct rs_vm *vm)
{
	bool returned = vm->booted;

	for (uint32_t i = 0; i < vm->options.vcpus; i++)
		returned &= vm->vcpus[i].outcome.end == RS_VM_RETURNED;
	if (vm->has_log && returned)
		rs_log_memory_end(&vm->log, vm->log_half);
}

void rs_vm_log_close(struct rs_vm *vm)
{
	if (vm->has_log)
		rs_log_memory_close(&vm->log);
	vm->has_log = false;
}
