/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs' view of the kernel: the fields that the programs read of kernel structures.
 * libbpf finds the fields by name in the running kernel's BTF when it loads the programs, so
 * nothing here depends on the kernel of the build machine. A field that some kernels lack is read
 * only after a check by bpf_core_field_exists().
 *
 * Records are those of Linux 6.18. Comments give the version that added a field. `___name` is
 * another layout of the same record (libbpf ignores what follows the three underscores).
 */
#ifndef RS_KVM_KERNEL_BPF_H
#define RS_KVM_KERNEL_BPF_H

#include "kvm/types.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* The records of kvm_exit and of the tracepoints before entries, of the host, by isa.def. */
#define RS_MEMBER(type, name) type name;
#define RS_HOST_EXIT(members, pc, vcpu)                                                            \
	struct trace_event_raw_kvm_exit {                                                          \
		members                                                                            \
	};
#define RS_HOST_ENTRY_RECORD(record, members)                                                      \
	struct trace_event_raw_##record {                                                          \
		members                                                                            \
	};
#include <ringside/event/isa.def>
#undef RS_MEMBER

struct trace_event_raw_kvm_nested_vmexit {
	unsigned int exit_reason; /* 5.10 */
	unsigned long guest_rip;  /* 5.10 */
};

struct trace_event_raw_kvm_userspace_exit {
	__u32 reason;
	int errno;
};

struct trace_event_raw_kvm_vcpu_wakeup {
	__u64 ns;
	bool waited;
	bool valid;
};

struct trace_event_raw_kvm_pio {
	unsigned int rw;
	unsigned int port;
	unsigned int size;
	unsigned int count;
	unsigned int val;
};

struct trace_event_raw_kvm_mmio {
	__u32 type;
	__u32 len;
	__u64 gpa;
	__u64 val;
};

struct trace_event_raw_kvm_fast_mmio {
	__u64 gpa;
};

struct trace_event_raw_kvm_msr {
	unsigned int write;
	__u32 ecx;
	__u64 data;
	__u8 exception;
};

struct trace_event_raw_kvm_cpuid {
	unsigned int function;
	unsigned int index; /* 5.8 */
};

struct trace_event_raw_kvm_hypercall {
	unsigned long nr, a0, a1, a2, a3;
};

struct trace_event_raw_kvm_inj_virq {
	unsigned int vector;
	bool soft;	 /* 6.0 */
	bool reinjected; /* 6.0 */
};

struct trace_event_raw_kvm_inj_exception {
	__u8 exception;
	__u8 has_error;
	__u32 error_code;
	bool reinjected; /* 6.0 */
};

/* error_code is 32 bits wide before 6.10; libbpf makes the load the kernel's width. */
struct trace_event_raw_kvm_page_fault {
	unsigned long fault_address;
	__u64 error_code;
	unsigned long guest_rip; /* 6.0 */
};

/* arm64: arch/arm64/kvm/trace_arm.h, trace_handle_exit.h */
struct trace_event_raw_kvm_guest_fault {
	unsigned long vcpu_pc;
	unsigned long hsr;
	unsigned long hxfar;
	unsigned long long ipa;
};

struct trace_event_raw_kvm_wfx_arm64 {
	unsigned long vcpu_pc;
	bool is_wfe;
};

struct trace_event_raw_kvm_hvc_arm64 {
	unsigned long vcpu_pc;
	unsigned long r0;
	unsigned long imm;
};

struct trace_event_raw_kvm_sys_access {
	unsigned long vcpu_pc;
	bool is_write;
	__u8 Op0;
	__u8 Op1;
	__u8 CRn;
	__u8 CRm;
	__u8 Op2;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	char comm[16];
	unsigned int __state; /* 5.14; before: */
	struct sched_entity se;
	struct sched_info sched_info;
};

struct task_struct___5_13 {
	volatile long state;
};

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000 /* linux/sched.h; the same since 2.6 */

/* The value of a 32-bit field if the record has it, else another value. */
#define RS_FIELD_OR(field, other) (bpf_core_field_exists(field) ? (field) : (other))

/* Keeps the order of memory accesses in the program, which suffices on x86. */
#define RS_ORDER() __asm__ volatile("" ::: "memory")

#endif
