/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory slots of the VMs of one process: where in the process's memory KVM has each VM's
 * guest-physical memory. Needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, or root, Linux 5.17, and KVM
 * of any vendor and architecture; no tracefs.
 *
 * All calls come from one thread at a time.
 */
#ifndef RS_KVM_SLOTS_H
#define RS_KVM_SLOTS_H

#include <stdint.h>
#include <ringside/error.h>

#include "kvm/slots_wire.h"

#define RS_KVM_VMS_MAX 1024u /* of a process */

struct rs_kvm_slots;

/* Loads the BPF program. Returns RS_FAILED if this machine or user cannot; the message says what is
 * missing. */
struct rs_error *rs_kvm_slots_open(int pid, struct rs_kvm_slots **slots);
void rs_kvm_slots_close(struct rs_kvm_slots *slots); /* NULL is ignored */

/* One VM. `vm` identifies it while it lives. */
struct rs_kvm_vm_slots {
	uint64_t vm;
	const struct rs_kvm_slot_memory *slots;
	uint32_t n, left; /* at least as many without room */
};

/* Reads the slots as they are now. *vms is valid until the next call. Returns RS_FAILED if the
 * slots changed during each of several reads, and if there are more than RS_KVM_VMS_MAX VMs. */
struct rs_error *rs_kvm_slots_read(struct rs_kvm_slots *slots, const struct rs_kvm_vm_slots **vms,
				   uint32_t *n);

#endif
