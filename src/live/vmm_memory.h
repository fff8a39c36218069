/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a guest that runs, by its VMM's: KVM's memory slots say where in the VMM's address
 * space guest-physical memory is, and process_vm_readv() reads it there. So it does not matter
 * whether the VMM's memory is anonymous, a memfd or a file.
 *
 * The guest writes while it is read: two reads may differ. A read that the kernel can do only in
 * part is a fault. Slots may name memory that the VMM has unmapped.
 */
#ifndef RS_LIVE_VMM_MEMORY_H
#define RS_LIVE_VMM_MEMORY_H

#include <ringside/error.h>

#include "introspect/memory.h"
#include "kvm/sample_wire.h"

struct rs_vmm_memory {
	int pid;
	int pidfd; /* so that another process of the same number is not read; -1: not open */
	uint32_t n;
	struct rs_kvm_slot_memory slots[RS_KVM_SAMPLE_SLOTS];
	/* While it is set, stacks and user memory are those of the sample's pages, and no other
	 * page of them can be read. */
	const struct rs_kvm_sample *sample;
	uint64_t calls, bytes; /* that were made and read, as a measure of cost */
};

/* Returns RS_FAILED if there is no such process. */
struct rs_error *rs_vmm_memory_init(struct rs_vmm_memory *vmm, int pid);
void rs_vmm_memory_deinit(struct rs_vmm_memory *vmm);

void rs_vmm_memory_slots(struct rs_vmm_memory *vmm, const struct rs_kvm_slot_memory *slots,
			 uint32_t n);

/* Returns whether the process has not ended. */
bool rs_vmm_memory_lives(const struct rs_vmm_memory *vmm);

/* Returns an error if the process' memory must not be read; the message says what is missing. */
struct rs_error *rs_vmm_memory_check(struct rs_vmm_memory *vmm);

/* Initializes *memory to read through vmm, which outlives it. */
void rs_vmm_memory_use(struct rs_vmm_memory *vmm, struct rs_memory *memory);

#endif
