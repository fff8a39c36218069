/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the memory slots of a process's VMs. It finds them by the descriptors of VMs and of their
 * first vCPUs, whether or not a vCPU runs: a VMM may keep either. One VM may be written twice. */
#include "kvm/slots.bpf.h"

static __always_inline struct kvm *vm_of(struct file *file)
{
	struct kvm_vcpu *vcpu;

	if (is_named(file, "kvm-vm"))
		return BPF_CORE_READ(file, private_data);
	if (!is_named(file, "kvm-vcpu:"))
		return NULL;
	vcpu = BPF_CORE_READ(file, private_data);
	return vcpu && !BPF_CORE_READ(vcpu, vcpu_idx) ? BPF_CORE_READ(vcpu, kvm) : NULL;
}

SEC("iter/task_file")
int scan(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct kvm *kvm;

	if (!task || !file || !is_of_process(task))
		return 0;
	kvm = vm_of(file);
	/* The descriptor may be of another process's VM: its slots are of that process's memory. */
	if (!kvm || BPF_CORE_READ(kvm, mm) != BPF_CORE_READ(task, mm))
		return 0;
	slots_write(ctx->meta->seq, kvm);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
