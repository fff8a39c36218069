/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads vCPUs without stopping them: the state of the guest's processor at its last exit.
 *
 * scan() runs in the context of the process that reads the iterator. It finds a process's vCPUs by
 * their descriptors, without an event, so it finds sleeping vCPUs, too.
 *
 * tick() runs in an interrupt of a clock that ticks while the vCPU's thread runs, on the thread's
 * CPU. The interrupt has ended the guest's run, so registers and memory of this vCPU do not change
 * while tick() reads them; other vCPUs may change the memory. The process's memory is mapped at
 * this time, so tick() reads the guest's memory there, without page faults: pages that are not
 * present are not read.
 */
#include "kvm/slots.bpf.h"
#include "kvm/sample_wire.h"

#define ADDRESS 0x000ffffffffff000ull
#define PRESENT 1ull
#define LARGE	0x80ull
#define ENTRIES 512u
#define NOWHERE (~0ull)
/* From the top of a task's stack to rsp in struct pt_regs. */
#define USER_SP_BACK 16u
#define USER_REGS    256u /* the size of struct pt_regs at most, and what may be above it */
#define RED_ZONE     128u /* below the stack pointer in user mode, by the ABI */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RS_KVM_SAMPLE_VCPUS);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_sample_guest);
} guest SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* the session sets it */
} samples SEC(".maps");

/* Software events, one for each CPU, that are never read. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
	__uint(max_entries, RS_KVM_SAMPLE_CPUS);
} outputs SEC(".maps");

/* ---- registers ------------------------------------------------------------------------------ */

/*
 * After each exit the VMCB has what the processor saved, and KVM has copied rax, rsp and rip to
 * arch.regs (svm_vcpu_run()). The state that VMSAVE saves is in the first VMCB, also while a nested
 * guest runs.
 */
static __always_inline void svm_read(struct kvm_vcpu *vcpu, struct rs_kvm_state *state)
{
	struct vcpu_svm *svm = (void *)vcpu - bpf_core_field_offset(struct vcpu_svm, vcpu);
	struct vmcb *vmcb = BPF_CORE_READ(svm, vmcb), *first = BPF_CORE_READ(svm, vmcb01.ptr);

	if (!vmcb || !first)
		return;
	state->exit_code = BPF_CORE_READ(vmcb, control.exit_code);
	if (vmcb != first)
		state->known |= RS_KVM_IS_NESTED;
	state->rflags = BPF_CORE_READ(vmcb, save.rflags);
	/* With shadow paging, the VMCB has the root of the shadow page table. */
	if (BPF_CORE_READ(vmcb, control.nested_ctl) & SVM_NESTED_PAGING)
		state->cr3 = BPF_CORE_READ(vmcb, save.cr3);
	state->cs = BPF_CORE_READ(vmcb, save.cs.selector);
	state->cpl = BPF_CORE_READ(vmcb, save.cpl);
	state->fs_base = BPF_CORE_READ(first, save.fs.base);
	state->gs_base = BPF_CORE_READ(vmcb, save.gs.base);
	state->tr_base = BPF_CORE_READ(first, save.tr.base);
	state->k_gs_base = BPF_CORE_READ(first, save.kernel_gs_base);
	state->known |= RS_KVM_HAS_RIP | RS_KVM_HAS_RSP | RS_KVM_HAS_CR3 | RS_KVM_HAS_SEGMENTS;
}

/*
 * rip and rsp are 0 if KVM has no copy of them. The privilege level is that of the stack's segment,
 * as in vmx_get_cpl(); without a copy of that, the address tells it.
 */
static __always_inline void vmx_read(struct kvm_vcpu *vcpu, struct rs_kvm_state *state)
{
	struct vcpu_vmx *vmx = (void *)vcpu - bpf_core_field_offset(struct vcpu_vmx, vcpu);
	struct vcpu_vmx___vt *newer = (void *)vmx;
	uint32_t has = BPF_CORE_READ(vcpu, arch.regs_avail);

	if (bpf_core_field_exists(vmx->exit_reason))
		state->exit_code = BPF_CORE_READ(vmx, exit_reason.full) & VMX_EXIT_BASIC;
	else if (bpf_core_field_exists(newer->vt.exit_reason))
		state->exit_code = BPF_CORE_READ(newer, vt.exit_reason.full) & VMX_EXIT_BASIC;
	if (BPF_CORE_READ(vcpu, stat.guest_mode))
		state->known |= RS_KVM_IS_NESTED;
	if (has >> RS_KVM_RIP & 1)
		state->known |= RS_KVM_HAS_RIP;
	else
		state->gpr[RS_KVM_RIP] = 0;
	if (has >> RS_KVM_RSP & 1)
		state->known |= RS_KVM_HAS_RSP;
	else
		state->gpr[RS_KVM_RSP] = 0;
	if (has >> bpf_core_enum_value(enum kvm_reg, VCPU_EXREG_CR3) & 1)
		state->known |= RS_KVM_HAS_CR3;
	state->cpl = state->gpr[RS_KVM_RIP] >> 63 ? 0 : 3;
	if (has >> bpf_core_enum_value(enum kvm_reg, VCPU_EXREG_SEGMENTS) & 1 &&
	    BPF_CORE_READ(vmx, segment_cache.bitmask) >> VMX_SS_AR_BIT & 1)
		state->cpl = BPF_CORE_READ(vmx, segment_cache.seg[VMX_SS].ar) >> 5 & 3;
}

static __always_inline void vcpu_read(struct kvm_vcpu *vcpu, struct rs_kvm_state *state)
{
	state->vcpu = (uint64_t)vcpu;
	state->kvm = (uint64_t)BPF_CORE_READ(vcpu, kvm);
	state->id = (uint32_t)BPF_CORE_READ(vcpu, vcpu_id);
	state->index = (uint32_t)BPF_CORE_READ(vcpu, vcpu_idx);
	state->tid = (uint32_t)BPF_CORE_READ(vcpu, pid, numbers[0].nr);
	state->mp_state = (uint32_t)BPF_CORE_READ(vcpu, arch.mp_state);
	state->generation = BPF_CORE_READ(vcpu, kvm, memslots[0], generation);
	if (BPF_CORE_READ(vcpu, arch.guest_state_protected)) {
		state->known |= RS_KVM_IS_PROTECTED;
		return;
	}
	state->known |= RS_KVM_HAS_VCPU;
	bpf_core_read(state->gpr, sizeof(state->gpr), &vcpu->arch.regs);
	state->cr0 = BPF_CORE_READ(vcpu, arch.cr0);
	state->cr3 = BPF_CORE_READ(vcpu, arch.cr3);
	state->cr4 = BPF_CORE_READ(vcpu, arch.cr4);
	state->efer = BPF_CORE_READ(vcpu, arch.efer);
	if (config.svm && bpf_core_type_exists(struct vcpu_svm))
		svm_read(vcpu, state);
	if (!config.svm && bpf_core_type_exists(struct vcpu_vmx))
		vmx_read(vcpu, state);
}

/* ---- scanning a process's vCPUs ------------------------------------------------------------- */

SEC("iter/task_file")
int scan(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct rs_kvm_scan_vcpu record = { .head = { RS_KVM_SCAN_VCPU, sizeof(record) } };
	struct kvm_vcpu *vcpu;

	if (!task || !file || !is_of_process(task) || !is_named(file, "kvm-vcpu:"))
		return 0;
	vcpu = BPF_CORE_READ(file, private_data);
	if (!vcpu)
		return 0;
	vcpu_read(vcpu, &record.state);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	if (record.state.index)
		return 0;
	slots_write(ctx->meta->seq, BPF_CORE_READ(vcpu, kvm));
	return 0;
}

/* ---- the guest's memory --------------------------------------------------------------------- */

/* Returns the VMM's address of guest-physical memory, or 0. It is not static, like others below, so
 * that the verifier checks it once. */
__noinline uint64_t hva_of(uint64_t gpa)
{
	uint32_t zero = 0;
	const struct rs_kvm_sample_guest *g = bpf_map_lookup_elem(&guest, &zero);

	if (!g)
		return 0;
	for (uint32_t i = 0; i < RS_KVM_SAMPLE_NEAR; i++) {
		uint64_t at = gpa - g->slots[i].gpa;

		if (i < g->n && at < g->slots[i].bytes)
			return g->slots[i].hva + at;
	}
	return 0;
}

/* Reads an entry of a page table. Returns 0 if the entry is not present, or cannot be read. */
__noinline uint64_t entry_read(uint64_t table, uint32_t index)
{
	uint64_t hva = hva_of((table & ADDRESS) + (index & (ENTRIES - 1)) * 8), entry = 0;

	if (!hva || bpf_probe_read_user(&entry, sizeof(entry), (const void *)hva))
		return 0;
	return entry & PRESENT ? entry : 0;
}

/* Returns the guest-physical address of a virtual one by a page table, or NOWHERE. */
__noinline uint64_t gpa_of(uint64_t cr3, uint64_t gva)
{
	uint32_t zero = 0;
	const struct rs_kvm_sample_guest *g = bpf_map_lookup_elem(&guest, &zero);
	uint64_t entry = cr3;

	if (!g)
		return NOWHERE;
	for (int level = 4; level >= 0; level--) {
		uint32_t shift = 12 + 9 * (uint32_t)level;
		uint64_t mask = (1ull << shift) - 1;

		if (level == 4 && g->levels != 5)
			continue;
		entry = entry_read(entry, (uint32_t)(gva >> shift));
		if (!entry)
			return NOWHERE;
		if (!level || (level <= 2 && entry & LARGE))
			return (entry & ADDRESS & ~mask) | (gva & mask);
	}
	return NOWHERE;
}

/* The page of the guest's kernel that was read last: a task's members are in one page or two. */
struct place {
	uint64_t gva, hva; /* hva 0: none */
};

static __always_inline bool guest_read(const struct rs_kvm_sample_guest *g, struct place *last,
				       uint64_t gva, void *to, uint32_t bytes)
{
	uint64_t from = gva & (PAGE - 1), gpa;

	if (from + bytes > PAGE)
		return false;
	if (!last->hva || last->gva != gva - from) {
		last->gva = gva - from;
		gpa = gpa_of(g->cr3, last->gva);
		last->hva = gpa != NOWHERE ? hva_of(gpa) : 0;
	}
	return last->hva && !bpf_probe_read_user(to, bytes, (const void *)(last->hva + from));
}

/* Reads the page table of the task's process, for a processor whose own is not known. */
static __always_inline void root_read(const struct rs_kvm_sample_guest *g, struct place *at,
				      struct rs_kvm_sample *sample)
{
	uint64_t mm = 0, pgd = 0, gpa;

	sample->state.cr3 = 0;
	if (!guest_read(g, at, sample->task.address + g->mm_at, &mm, sizeof(mm)) || !mm ||
	    !guest_read(g, at, mm + g->pgd_at, &pgd, sizeof(pgd)))
		return;
	gpa = gpa_of(g->cr3, pgd);
	if (gpa != NOWHERE)
		sample->state.cr3 = gpa;
}

/* Reads the current task of the guest's kernel on this processor. */
static __always_inline void task_read(const struct rs_kvm_target *target,
				      struct rs_kvm_sample *sample)
{
	uint32_t zero = 0;
	const struct rs_kvm_sample_guest *g = bpf_map_lookup_elem(&guest, &zero);
	struct rs_kvm_sample_task *task = &sample->task;
	struct place at = { 0 };

	if (!g || !g->cr3 || !target->current_at)
		return;
	if (guest_read(g, &at, target->current_at, &task->address, sizeof(task->address)) &&
	    guest_read(g, &at, task->address + g->stack_at, &sample->stack,
		       sizeof(sample->stack)) &&
	    guest_read(g, &at, task->address + g->pid_at, &task->pid, sizeof(task->pid)) &&
	    guest_read(g, &at, task->address + g->tgid_at, &task->tgid, sizeof(task->tgid)) &&
	    guest_read(g, &at, task->address + g->comm_at, task->comm, sizeof(task->comm)))
		sample->state.known |= RS_KVM_HAS_TASK;
	if (!config.svm)
		root_read(g, &at, sample);
}

/* Copies a page's bytes from an address to the end of the page: what is below a stack pointer is
 * never used, and copying is most of the cost of a sample. */
static __always_inline void page_read(struct rs_kvm_sample *sample, uint32_t at, uint64_t cr3,
				      uint64_t gva)
{
	uint32_t from = (uint32_t)gva & (PAGE - 1);
	uint64_t gpa = gpa_of(cr3, gva), hva = gpa != NOWHERE ? hva_of(gpa) : 0;

	if (!hva || bpf_probe_read_user(sample->bytes[at], PAGE - from, (const void *)hva))
		return;
	sample->pages[at].gva = gva - from;
	sample->pages[at].gpa = gpa - from;
	sample->pages[at].from = from;
}

/* Copies from an address on, in its page and the next. */
static __always_inline void pages_read(struct rs_kvm_sample *sample, uint32_t at, uint64_t cr3,
				       uint64_t gva)
{
	page_read(sample, at, cr3, gva);
	page_read(sample, at + 1, cr3, (gva | (PAGE - 1)) + 1);
}

/* Copies the stack of the kernel. If the stack pointer is unknown, copies only the registers that
 * the task saved at its entry. */
static __always_inline void kernel_stacks_read(const struct rs_kvm_sample_guest *g,
					       struct rs_kvm_sample *sample, uint64_t bytes)
{
	uint64_t sp = sample->state.gpr[RS_KVM_RSP];
	bool is_on;

	if (!(sample->state.known & RS_KVM_HAS_RSP))
		sp = sample->stack + bytes - USER_REGS;
	is_on = sp - sample->stack < bytes;
	if (!is_on)
		pages_read(sample, RS_KVM_SAMPLE_OTHER, g->cr3, sp);
	for (uint32_t i = 0; i < RS_KVM_SAMPLE_TASK_PAGES; i++) {
		uint64_t page = sample->stack + i * PAGE;

		if (!is_on || page + PAGE > sp)
			page_read(sample, RS_KVM_SAMPLE_TASK + i, g->cr3,
				  is_on && sp > page ? sp : page);
	}
}

/*
 * Copies the stacks' contents. In the kernel, the stack pointer is on the task's stack, or on a
 * stack of the processor, whose frames lead to the task's stack. The registers of user mode are at
 * the top of the task's stack: task_pt_regs() in arch/x86/include/asm/processor.h.
 */
static __always_inline void stacks_read(struct rs_kvm_sample *sample)
{
	const uint64_t bytes = RS_KVM_SAMPLE_TASK_PAGES * PAGE;
	uint64_t user_sp = sample->state.gpr[RS_KVM_RSP];
	uint32_t zero = 0;
	const struct rs_kvm_sample_guest *g = bpf_map_lookup_elem(&guest, &zero);
	struct place at = { 0 };

	if (!g || !(sample->state.known & RS_KVM_HAS_TASK) ||
	    !(sample->state.known & RS_KVM_HAS_RIP))
		return;
	if (sample->state.cpl != 3) {
		kernel_stacks_read(g, sample, bytes);
		if (!guest_read(g, &at, sample->stack + bytes - USER_SP_BACK, &user_sp,
				sizeof(user_sp)))
			return;
	} else if (!(sample->state.known & RS_KVM_HAS_RSP)) {
		user_sp = sample->state.gpr[RS_KVM_RBP]; /* the frame's, if the code has frames */
	}
	if (!user_sp || user_sp >> 63)
		return;
	pages_read(sample, RS_KVM_SAMPLE_USER, sample->state.cr3, user_sp - RED_ZONE);
}

/* ---- samples -------------------------------------------------------------------------------- */

SEC("perf_event")
int tick(void *ctx)
{
	uint64_t begin = bpf_ktime_get_ns();
	uint32_t at = (uint32_t)bpf_get_attach_cookie(ctx);
	struct rs_kvm_target *target = bpf_map_lookup_elem(&targets, &at);
	struct kvm_vcpu *vcpu = target ? (void *)target->vcpu : NULL;
	struct rs_kvm_sample *sample;

	if (!vcpu)
		return 0;
	target->ticks++;
	/* A VMM may have closed the descriptor since the scan: the memory may then have another
	 * owner. */
	if ((uint64_t)BPF_CORE_READ(vcpu, kvm) != target->kvm ||
	    (uint32_t)BPF_CORE_READ(vcpu, vcpu_id) != target->id) {
		target->gone++;
		return 0;
	}
	sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample) {
		target->refused++;
		return 0;
	}
	__builtin_memset(sample, 0, offsetof(struct rs_kvm_sample, bytes));
	sample->at_ns = begin;
	sample->target = at;
	/* The output of a sample makes KVM read rip from the VMCS, if the interrupt has ended the
	 * guest's run: perf_instruction_pointer() in arch/x86/events/core.c. */
	if (!config.svm)
		bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, &at, sizeof(at));
	vcpu_read(vcpu, &sample->state);
	task_read(target, sample);
	stacks_read(sample);
	bpf_ringbuf_submit(sample, BPF_RB_NO_WAKEUP);
	target->cost_ns += bpf_ktime_get_ns() - begin;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
