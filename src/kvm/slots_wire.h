/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the BPF iterators over a process's descriptors write, and their sessions read: records, each
 * behind a head. Read by both compilers: no libc, no pointers.
 */
#ifndef RS_KVM_SLOTS_WIRE_H
#define RS_KVM_SLOTS_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define RS_KVM_SLOTS	    512u /* memory slots of a VM; a power of two; others are left out */
#define RS_KVM_SLOT_BUCKETS 128u
#define RS_KVM_SLOT_CHAIN   16u

enum rs_kvm_scan_kind {
	RS_KVM_SCAN_VCPU = 1, /* struct rs_kvm_scan_vcpu */
	RS_KVM_SCAN_SLOTS,    /* struct rs_kvm_scan_slots */
};

struct rs_kvm_scan_head {
	uint32_t kind;	/* enum rs_kvm_scan_kind */
	uint32_t bytes; /* including this head */
};

#define RS_KVM_SLOT_READONLY (1u << 1) /* KVM_MEM_READONLY of linux/kvm.h */

struct rs_kvm_slot_memory {
	uint64_t gpa, bytes, hva;
	uint64_t flags; /* RS_KVM_SLOT_ */
};

struct rs_kvm_scan_slots {
	struct rs_kvm_scan_head head; /* RS_KVM_SCAN_SLOTS */
	uint64_t kvm;		      /* the VM's address in the host's kernel */
	uint64_t generation;	      /* before and after the slots were read, if equal; else ~0 */
	uint32_t n, left;	      /* in slots[]; at least as many without room */
	struct rs_kvm_slot_memory slots[RS_KVM_SLOTS]; /* the record ends behind the last */
};

/* Fixed when the programs are loaded. */
struct rs_kvm_scan_config {
	uint32_t pid;
	uint32_t svm; /* this host's KVM is AMD's */
};

#endif
