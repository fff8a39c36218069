/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts that the BPF programs that sample vCPUs share with their session. Read by both compilers:
 * no libc, no pointers.
 *
 *	task_file iterator  -> records, read from its descriptor: each vCPU of a process, and the
 *			       memory slots of each VM
 *	a clock per thread  -> struct rs_kvm_sample in the ring, while the vCPU does not run
 *
 * With SVM, all registers are in memory. With VMX, the processor keeps rip, rsp, the page table and
 * the segments in the VMCS: KVM has copies of those that it has read since the vCPU's last exit.
 *
 * targets[] has an element for each vCPU. The session writes `vcpu`, `id` and the address of the
 * guest kernel's current task; the vCPU's own thread writes the counts, with interrupts off.
 */
#ifndef RS_KVM_SAMPLE_WIRE_H
#define RS_KVM_SAMPLE_WIRE_H

#include "kvm/slots_wire.h"

#define RS_KVM_SAMPLE_VCPUS 1024u
#define RS_KVM_SAMPLE_CPUS  8192u /* of the host */
#define RS_KVM_SAMPLE_NEAR  16u	  /* the number of slots, the largest, that the BPF programs read */
#define RS_KVM_SAMPLE_COMM  16u	  /* TASK_COMM_LEN of the guest's kernel */

/* ---- vCPUs ---------------------------------------------------------------------------------- */

enum rs_kvm_known_bits {
	RS_KVM_HAS_RIP = 1u << 0,
	RS_KVM_HAS_RSP = 1u << 1,
	RS_KVM_HAS_CR3 = 1u << 2,
	RS_KVM_HAS_SEGMENTS = 1u << 3, /* cs, cpl, the bases, tr */
	RS_KVM_IS_NESTED = 1u << 4,    /* a nested guest ran: the registers are its */
	RS_KVM_IS_PROTECTED = 1u << 5, /* encrypted, as with SEV-ES */
	RS_KVM_HAS_TASK = 1u << 6,
	RS_KVM_HAS_VCPU = 1u << 7, /* the vCPU exists, and its other registers are known */
};

/* KVM's order of registers: enum kvm_reg of arch/x86/include/asm/kvm_host.h. */
enum rs_kvm_gpr {
	RS_KVM_RAX,
	RS_KVM_RCX,
	RS_KVM_RDX,
	RS_KVM_RBX,
	RS_KVM_RSP,
	RS_KVM_RBP,
	RS_KVM_RSI,
	RS_KVM_RDI,
	RS_KVM_R8,
	RS_KVM_RIP = 16,
	RS_KVM_GPRS,
};

struct rs_kvm_state {
	uint64_t vcpu, kvm; /* addresses in the host's kernel */
	uint64_t gpr[RS_KVM_GPRS];
	uint64_t rflags, cr0, cr3, cr4, efer;
	uint64_t fs_base, gs_base, k_gs_base, tr_base;
	uint64_t generation; /* the memory slots' generation */
	uint32_t id, index;  /* KVM's numbers of the vCPU */
	uint32_t tid;	     /* the thread that ran it last; 0: none */
	uint32_t cs, cpl;
	uint32_t exit_code; /* the code of its last exit */
	uint32_t mp_state;  /* KVM_MP_STATE_ of linux/kvm.h */
	uint32_t known;	    /* enum rs_kvm_known_bits */
};

/* ---- the iterator's records ----------------------------------------------------------------- */

struct rs_kvm_scan_vcpu {
	struct rs_kvm_scan_head head; /* RS_KVM_SCAN_VCPU */
	struct rs_kvm_state state;
};

/* ---- samples -------------------------------------------------------------------------------- */

struct rs_kvm_sample_task {
	uint64_t address; /* the part read of the current task_struct of the vCPU's processor */
	uint32_t pid, tgid;
	char comm[RS_KVM_SAMPLE_COMM];
};

/* Pages of the stacks, read in the interrupt from the stack pointer on: of a stack that is not the
 * task's; of the task's kernel stack; and of the stack in user mode, with its red zone. */
#define RS_KVM_SAMPLE_PAGE	 4096u
#define RS_KVM_SAMPLE_OTHER	 0u
#define RS_KVM_SAMPLE_TASK	 2u
#define RS_KVM_SAMPLE_TASK_PAGES 4u /* THREAD_SIZE of x86-64 */
#define RS_KVM_SAMPLE_USER	 6u
#define RS_KVM_SAMPLE_PAGES	 8u

struct rs_kvm_sample_page {
	uint64_t gva; /* of the page; 0: not read */
	uint64_t gpa;
	uint32_t from; /* the offset of the first byte that was read; all after it were */
	uint32_t spare;
};

struct rs_kvm_sample {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint32_t target, spare;
	struct rs_kvm_state state;
	struct rs_kvm_sample_task task; /* with RS_KVM_HAS_TASK */
	uint64_t stack;			/* the task's kernel stack; 0: not read */
	struct rs_kvm_sample_page pages[RS_KVM_SAMPLE_PAGES];
	/* What was read of each page, without a gap before it. */
	uint8_t bytes[RS_KVM_SAMPLE_PAGES][RS_KVM_SAMPLE_PAGE];
};

struct rs_kvm_target {
	uint64_t vcpu;	     /* 0: none */
	uint64_t kvm;	     /* its place in targets[] */
	uint64_t current_at; /* the guest's address of its processor's current task; 0: unknown */
	uint32_t id;
	uint32_t spare;
	uint64_t ticks;	  /* ticks of the clock */
	uint64_t refused; /* samples without room in the ring */
	uint64_t cost_ns; /* the time spent in all ticks */
	uint64_t gone;	  /* ticks after the process closed the vCPU */
};
_Static_assert(sizeof(struct rs_kvm_target) == 64, "a cache line");

/* The places in a guest's memory that the programs read, once its kernel is found. The map has one
 * element. */
struct rs_kvm_sample_guest {
	uint64_t cr3;				     /* of the kernel; 0: not found */
	uint32_t levels;			     /* of its page tables: 4 or 5 */
	uint32_t pid_at, tgid_at, comm_at, stack_at; /* offsets in task_struct */
	uint32_t mm_at, pgd_at;			     /* offsets in task_struct and mm_struct */
	uint32_t n;
	struct rs_kvm_slot_memory slots[RS_KVM_SAMPLE_NEAR];
};

#endif
