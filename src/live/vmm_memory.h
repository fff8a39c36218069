/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a running guest's memory through its VMM's: KVM's memory slots map guest-physical memory to
 * the VMM's address space, and process_vm_readv() reads it there. So the VMM's memory may be
 * anonymous, a memfd or a file.
 *
 * The guest writes during the reading: two reads may differ. A read that the kernel can do only in
 * part is a fault. Slots may name memory that the VMM has unmapped.
 */
#ifndef RS_LIVE_VMM_MEMORY_H
#define RS_LIVE_VMM_MEMORY_H

#include <ringside/error.h>

#include "introspect/memory.h"
#include "kvm/sample_wire.h"

struct rs_vmm_memory {
	int pid;
	int pidfd; /* prevents reading another process of the same number; -1: not open */
	uint32_t n;
	struct rs_kvm_slot_memory slots[RS_KVM_SLOTS];
	/* While it is set, stacks and user memory are read only from the sample's pages; their
	 * other pages cannot be read. */
	const struct rs_kvm_sample *sample;
	uint64_t calls, bytes; /* system calls and bytes read, as a measure of cost */
};

/* Opens a process. Returns RS_FAILED if the process does not exist. */
struct rs_error *rs_vmm_memory_init(struct rs_vmm_memory *vmm, int pid);
void rs_vmm_memory_deinit(struct rs_vmm_memory *vmm);

void rs_vmm_memory_slots(struct rs_vmm_memory *vmm, const struct rs_kvm_slot_memory *slots,
			 uint32_t n);

/* Returns whether the process has not ended. */
bool rs_vmm_memory_lives(const struct rs_vmm_memory *vmm);

/* Returns an error if the process's memory must not be read. The message names the missing
 * right. */
struct rs_error *rs_vmm_memory_check(struct rs_vmm_memory *vmm);

/* Initializes *memory to read through vmm, which must outlive it. */
void rs_vmm_memory_use(struct rs_vmm_memory *vmm, struct rs_memory *memory);

#endif
