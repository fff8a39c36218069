/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of the host's kernel that sampling and the readers of memory slots read: of Linux,
 * of KVM and of KVM's modules for AMD and Intel, found by BTF. Fields are those of Linux 5.17 to
 * 6.18. `struct vcpu_svm` and `struct vcpu_vmx` are in those modules, of which one is loaded. Code
 * that reads them first checks bpf_core_type_exists(), because a reachable relocation without a
 * target makes the load of the whole object fail.
 */
#ifndef RS_KVM_SAMPLE_KERNEL_BPF_H
#define RS_KVM_SAMPLE_KERNEL_BPF_H

#include "kvm/types.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* ---- Linux ---------------------------------------------------------------------------------- */

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct super_block {
	unsigned long s_magic;
};

struct vfsmount {
	struct super_block *mnt_sb;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	void *private_data;
};

struct upid {
	int nr;
};

struct pid {
	struct upid numbers[1];
};

struct task_struct {
	int tgid;
	struct mm_struct *mm;
};

struct mm_struct;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

/* ---- KVM ------------------------------------------------------------------------------------ */

struct kvm_memory_slot {
	struct hlist_node id_node[2]; /* 5.17, a54d806688fe */
	unsigned long long base_gfn;
	unsigned long npages;
	unsigned long userspace_addr;
	__u32 flags; /* KVM_MEM_ of linux/kvm.h */
};

struct kvm_memslots {
	__u64 generation;
	struct hlist_head id_hash[128];
	int node_idx;
};

struct kvm {
	struct mm_struct *mm; /* in which the slots' addresses are */
	struct kvm_memslots *memslots[2];
};

struct kvm_vcpu_arch {
	unsigned long regs[17];
	__u32 regs_avail;
	unsigned long cr0, cr3, cr4;
	__u64 efer;
	int mp_state;
	bool guest_state_protected;
};

/* Numbers of registers, and of bits in regs_avail. */
enum kvm_reg {
	VCPU_EXREG_CR3 = 19,
	VCPU_EXREG_SEGMENTS = 22, /* the copies of segments are those of the last exit */
};

struct kvm_vcpu_stat {
	__u64 guest_mode; /* a nested guest runs */
};

struct kvm_vcpu {
	struct kvm *kvm;
	int vcpu_id;
	int vcpu_idx;
	struct pid *pid;
	struct kvm_vcpu_arch arch;
	struct kvm_vcpu_stat stat;
};

/* ---- AMD: AMD64 Architecture Programmer's Manual, volume 2, appendix B ---------------------- */

struct vmcb_seg {
	__u16 selector;
	__u64 base;
};

struct vmcb_save_area {
	struct vmcb_seg cs, fs, gs, tr;
	__u8 cpl;
	__u64 cr3, rflags, kernel_gs_base;
};

struct vmcb_control_area {
	__u32 exit_code;
	__u64 nested_ctl;
};

struct vmcb {
	struct vmcb_control_area control;
	struct vmcb_save_area save;
};

struct kvm_vmcb_info {
	struct vmcb *ptr;
};

struct vcpu_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;
	struct kvm_vmcb_info vmcb01;
};

/* ---- Intel: arch/x86/kvm/vmx/vmx.h ---------------------------------------------------------- */

struct kvm_save_segment {
	__u32 ar; /* the access rights, with the privilege level */
};

struct vmx_segment_cache {
	__u32 bitmask; /* 4 bits for each segment, the last for `ar` */
	struct kvm_save_segment seg[8];
};

union vmx_exit_reason {
	__u32 full;
};

struct vcpu_vmx {
	struct kvm_vcpu vcpu;
	struct vmx_segment_cache segment_cache;
	union vmx_exit_reason exit_reason;
};

/* Since 6.16 the last exit's reason is in a part that TDX has, too. */
struct vcpu_vt {
	union vmx_exit_reason exit_reason;
};

struct vcpu_vmx___vt {
	struct vcpu_vt vt;
};

#pragma clang attribute pop

#define ANON_INODE_FS_MAGIC 0x09041934 /* linux/magic.h */
#define SVM_NESTED_PAGING   1u	       /* of nested_ctl */
#define VMX_SS		    2u	       /* VCPU_SREG_SS: KVM's number of the stack's segment */
#define VMX_SS_AR_BIT	    11u	       /* of segment_cache.bitmask */
#define VMX_EXIT_BASIC	    0xffffu    /* of exit_reason: Intel SDM volume 3, 25.9.1 */

#endif
