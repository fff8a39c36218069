/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a core of the VM: its RAM with the log's memory behind it, and the registers of each
 * vCPU. */
#include "vm/internal.h"

#include "introspect/dump.h"

struct rs_error *rs_vm_core(struct rs_vm *vm, int fd, const char *path)
{
	const struct rs_ram ram = { 0, vm->options.memory_bytes + vm->log_bytes, vm->memory };
	struct rs_x86_regs regs[RS_VM_VCPUS_MAX];
	const struct rs_dump dump = { &ram, 1, regs, vm->options.vcpus };

	for (uint32_t i = 0; i < dump.n_vcpus; i++) {
		if (!rs_vm_registers(vm, i, &regs[i]))
			return rs_error_create(RS_FAILED,
					       "cannot write core '%s': KVM does not return the "
					       "registers of vCPU %u",
					       path, i);
	}
	return rs_dump_write(&dump, fd, path);
}
