/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory slots of VMs, for iterators over a process's descriptors: a descriptor leads to
 * its VM. Such a program runs in the context of the process that reads the iterator, so the VM's
 * own threads run on meanwhile.
 */
#ifndef RS_KVM_SLOTS_BPF_H
#define RS_KVM_SLOTS_BPF_H

#include "kvm/sample_kernel.bpf.h"
#include "kvm/slots_wire.h"

#define PAGE 4096u

const volatile struct rs_kvm_scan_config config SEC(".rodata.config");

/* The record that is being filled. It is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_scan_slots);
} slots_scratch SEC(".maps");

struct walk {
	struct kvm_memslots *memslots;
	struct rs_kvm_scan_slots *to;
	uint32_t which; /* the current one of the two list nodes of each slot */
};

/* Reads the slots of one bucket of the hash of slot ids. */
static long bucket_read(uint32_t bucket, struct walk *walk)
{
	struct hlist_node *node;
	uint64_t back = bpf_core_field_offset(struct kvm_memory_slot, id_node) +
			(walk->which ? bpf_core_type_size(struct hlist_node) : 0);

	if (bpf_probe_read_kernel(&node, sizeof(node),
				  (void *)walk->memslots +
					  bpf_core_field_offset(struct kvm_memslots, id_hash) +
					  bucket * sizeof(void *)))
		return 1;
	for (uint32_t i = 0; node && i < RS_KVM_SLOT_CHAIN; i++) {
		struct kvm_memory_slot *slot = (void *)node - back;
		uint32_t n = walk->to->n;

		node = BPF_CORE_READ(node, next);
		if (n >= RS_KVM_SLOTS) {
			walk->to->left++;
			continue;
		}
		walk->to->n = n + 1;
		RS_OPAQUE(n);
		n &= RS_KVM_SLOTS - 1;
		walk->to->slots[n].gpa = BPF_CORE_READ(slot, base_gfn) * PAGE;
		walk->to->slots[n].bytes = BPF_CORE_READ(slot, npages) * PAGE;
		walk->to->slots[n].hva = BPF_CORE_READ(slot, userspace_addr);
		walk->to->slots[n].flags = BPF_CORE_READ(slot, flags);
	}
	walk->to->left += node != NULL;
	return 0;
}

/* Writes the active memory slots. KVM changes the inactive set, and then swaps the sets:
 * kvm_swap_active_memslots() in virt/kvm/kvm_main.c. */
static __always_inline void slots_write(struct seq_file *seq, struct kvm *kvm)
{
	uint32_t zero = 0;
	struct rs_kvm_scan_slots *to = bpf_map_lookup_elem(&slots_scratch, &zero);
	struct kvm_memslots *memslots = BPF_CORE_READ(kvm, memslots[0]);
	struct walk walk = { .memslots = memslots, .to = to };
	uint64_t generation;
	uint32_t n;

	if (!to)
		return;
	walk.which = (uint32_t)BPF_CORE_READ(memslots, node_idx) & 1;
	generation = BPF_CORE_READ(memslots, generation);
	to->head.kind = RS_KVM_SCAN_SLOTS;
	to->kvm = (uint64_t)kvm;
	to->n = to->left = 0;
	bpf_loop(RS_KVM_SLOT_BUCKETS, bucket_read, &walk, 0);
	to->generation = generation;
	if (BPF_CORE_READ(kvm, memslots[0]) != memslots ||
	    BPF_CORE_READ(memslots, generation) != generation)
		to->generation = ~0ull;
	n = to->n;
	RS_OPAQUE(n);
	if (n > RS_KVM_SLOTS)
		return;
	to->head.bytes = offsetof(struct rs_kvm_scan_slots, slots) + n * sizeof(to->slots[0]);
	bpf_seq_write(seq, to,
		      offsetof(struct rs_kvm_scan_slots, slots) + n * sizeof(to->slots[0]));
}

static __always_inline bool is_of_process(struct task_struct *task)
{
	return (uint32_t)BPF_CORE_READ(task, tgid) == config.pid;
}

/* Returns whether a file is a descriptor of KVM's whose name begins so. No program can name a file
 * of that kind. */
#define is_named(file, prefix)                                                                     \
	({                                                                                         \
		char name_[sizeof(prefix)] = "";                                                   \
		bool is_ =                                                                         \
			BPF_CORE_READ(file, f_path.mnt, mnt_sb, s_magic) == ANON_INODE_FS_MAGIC;   \
                                                                                                   \
		if (is_)                                                                           \
			bpf_probe_read_kernel_str(                                                 \
				name_, sizeof(name_),                                              \
				BPF_CORE_READ(file, f_path.dentry, d_name.name));                  \
		for (uint32_t i_ = 0; i_ < sizeof(prefix) - 1; i_++)                               \
			is_ = is_ && name_[i_] == (prefix)[i_];                                    \
		is_;                                                                               \
	})

#endif
