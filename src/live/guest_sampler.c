/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples a guest's processors while the guest runs. */
#include "live/guest_sampler.h"

#include <linux/kvm.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/now.h"
#include "insight/image.h"
#include "live/guest_functions.h"
#include "live/vmm_memory.h"

#define SEARCH_TRIES	3u /* searches at the beginning: memory changes while it is read */
#define SEARCH_PAUSE_NS 20000000
#define SEARCH_NS_MIN	UINT64_C(250000000) /* between searches while sampling */
#define SEARCH_NS_MAX	UINT64_C(4000000000)
#define SLOTS_NS	UINT64_C(200000000) /* between scans of the memory slots */
#define DOUBTS_MAX	64u /* dropped samples in sequence that imply a new kernel */
#define TASKS_MAX	65536u
#define HOMES_TRIED_MAX 64u /* samples of a vCPU without finding its processor */
#define CR4_LA57	(UINT64_C(1) << 12)
/* Exits that the host causes: AMD APM volume 2, appendix C; Intel SDM volume 3, appendix C. */
#define SVM_INTR     0x60u
#define SVM_SMI	     0x62u
#define VMX_EXTERNAL 1u

/* A verified task, with all fields that BPF reads. */
struct verified {
	struct rs_kvm_sample_task key;
	struct rs_linux_task task;
};

struct vcpu {
	uint64_t current_at; /* 0: unknown */
	uint32_t tried;
};

struct rs_guest_sampler {
	struct rs_guest_sampler_options options;
	struct rs_kvm_sampler *kvm;
	struct rs_kvm_scan scan;
	struct rs_vmm_memory vmm;
	struct rs_memory memory;
	struct rs_linux *kernel;       /* NULL: not found */
	struct rs_error *no_kernel;    /* why not */
	struct rs_error *no_tasks;     /* the reason if the kernel's tasks are unknown */
	uint64_t search_at, search_ns; /* the next search for the kernel, and the interval */
	uint64_t slots_at;
	uint32_t doubts;
	struct vcpu *vcpus;
	struct rs_map verified;
	struct rs_guest_functions *functions;
	struct rs_sampled_stacks *stacks; /* the kernel's functions, if its tasks are known */
	struct rs_sampled_stack stack;
	struct rs_guest_sampler_counts counts;
	/* Of the current sample. */
	struct rs_guest_place place;
	struct rs_ksym symbol;
	struct rs_frame frame;
	char module[RS_SAMPLED_MODULE_MAX];
	/* Used during a poll. */
	rs_guest_sample_fn *consume;
	void *ctx;
	bool is_stale; /* memory slots have changed since they were read */
};

static uint64_t cpu_ns(void)
{
	return rs_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

static void verified_clear(struct rs_guest_sampler *s)
{
	void *item;
	size_t at = 0;

	while ((item = rs_map_next(&s->verified, &at)))
		free(item);
	rs_map_clear(&s->verified);
}

static void kernel_forget(struct rs_guest_sampler *s)
{
	static const struct rs_kvm_sample_guest none;

	rs_sampled_stacks_destroy(s->stacks);
	s->stacks = NULL;
	rs_linux_close(s->kernel);
	s->kernel = NULL;
	rs_error_free(s->no_tasks);
	s->no_tasks = NULL;
	s->doubts = 0;
	verified_clear(s);
	rs_guest_functions_forget(s->functions);
	for (uint32_t i = 0; s->vcpus && i < s->scan.n_vcpus; i++)
		s->vcpus[i] = (struct vcpu){ 0 };
	rs_kvm_sampler_guest(s->kvm, &none, NULL);
}

static void vcpu_of(const struct rs_kvm_state *state, struct rs_linux_vcpu *vcpu)
{
	rs_kvm_state_regs(state, &vcpu->regs);
	vcpu->tr_base = state->tr_base;
	vcpu->no_sp = !(state->known & RS_KVM_HAS_RSP);
	vcpu->no_bases = !(state->known & RS_KVM_HAS_SEGMENTS);
	vcpu->apic_id = state->id;
}

/* A vCPU's page table belongs to a process, which may end. The kernel's own page table persists. */
static struct rs_error *root_settle(struct rs_linux *kernel)
{
	struct rs_paging paging = kernel->memory.paging;
	struct rs_ksym root;
	char banner[sizeof("Linux")] = "";
	struct rs_ksym at;
	uint64_t gpa;

	if (!rs_kallsyms_by_name(kernel->symbols, "init_top_pgt", &root) ||
	    !rs_kallsyms_by_name(kernel->symbols, "linux_banner", &at))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no init_top_pgt");
	if (rs_memory_translate(&kernel->memory, root.address, &gpa))
		return rs_error_create(RS_DAMAGED, "init_top_pgt is not mapped");
	paging.cr3 = gpa;
	rs_memory_stopped(&kernel->memory, &paging);
	if (rs_memory_read(&kernel->memory, at.address, banner, sizeof(banner) - 1, NULL) ||
	    strcmp(banner, "Linux") != 0)
		return rs_error_create(RS_DAMAGED, "init_top_pgt does not map the kernel");
	return NULL;
}

/* Passes the places of the kernel's tasks to BPF. */
static void guest_set(struct rs_guest_sampler *s)
{
	const struct rs_fields *fields = &s->kernel->fields;
	struct rs_kvm_sample_guest guest = {
		.cr3 = s->kernel->memory.paging.cr3,
		.levels = s->kernel->memory.paging.cr4 & CR4_LA57 ? 5 : 4,
		.pid_at = fields->fields[RS_FIELD_TASK_PID].member.offset,
		.tgid_at = fields->fields[RS_FIELD_TASK_TGID].member.offset,
		.comm_at = fields->fields[RS_FIELD_TASK_COMM].member.offset,
		.stack_at = fields->fields[RS_FIELD_TASK_STACK].member.offset,
		.mm_at = fields->fields[RS_FIELD_TASK_MM].member.offset,
		.pgd_at = fields->fields[RS_FIELD_MM_PGD].member.offset,
	};
	uint64_t current_at[RS_KVM_SAMPLE_VCPUS] = { 0 };

	/* The largest pages: a firmware's are small. */
	for (uint32_t i = 0; i < s->scan.n_slots; i++) {
		struct rs_kvm_slot_memory slot = s->scan.slots[i];

		for (uint32_t n = 0; n < guest.n; n++) {
			if (guest.slots[n].bytes < slot.bytes) {
				struct rs_kvm_slot_memory smaller = guest.slots[n];

				guest.slots[n] = slot;
				slot = smaller;
			}
		}
		if (guest.n < RS_KVM_SAMPLE_NEAR)
			guest.slots[guest.n++] = slot;
	}
	for (uint32_t i = 0; i < s->scan.n_vcpus; i++)
		current_at[i] = s->vcpus[i].current_at;
	rs_kvm_sampler_guest(s->kvm, &guest, current_at);
}

/* Finds the kernel's processor of a vCPU. Returns whether it is known. */
static bool home_find(struct rs_guest_sampler *s, uint32_t at, const struct rs_kvm_state *state)
{
	struct rs_linux_vcpu vcpu;
	uint64_t base = 0, gva = 0;
	struct rs_error *err;
	uint32_t cpu;

	if (s->vcpus[at].current_at)
		return true;
	if (!(state->known & RS_KVM_HAS_VCPU) || state->known & RS_KVM_IS_NESTED ||
	    s->vcpus[at].tried >= HOMES_TRIED_MAX)
		return false;
	s->vcpus[at].tried++;
	vcpu_of(state, &vcpu);
	err = rs_linux_cpu(s->kernel, &vcpu, &cpu, &base);
	if (!err)
		err = rs_linux_current_at(s->kernel, base, &gva);
	if (!err)
		s->vcpus[at].current_at = gva;
	rs_error_free(err);
	return gva;
}

/* Searches for the kernel by the registers of these vCPUs. With VMX, page tables are those that KVM
 * read last, which may not exist any more. */
static struct rs_error *kernel_by_vcpus(struct rs_guest_sampler *s, struct rs_linux **kernel)
{
	struct rs_linux_vcpu *vcpus = calloc(s->scan.n_vcpus, sizeof(*vcpus));
	struct rs_error *err;
	uint32_t n = 0;

	if (!vcpus)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < s->scan.n_vcpus; i++)
		if (s->scan.vcpus[i].known & RS_KVM_HAS_VCPU &&
		    !(s->scan.vcpus[i].known & RS_KVM_IS_NESTED))
			vcpu_of(&s->scan.vcpus[i], &vcpus[n++]);
	err = rs_linux_open(&s->memory, vcpus, n, kernel);
	free(vcpus);
	return err;
}

/* Searches for the kernel by the page tables in RAM, where the vCPU's own is not known. */
static struct rs_error *kernel_by_roots(struct rs_guest_sampler *s, const struct rs_kvm_state *vcpu,
					struct rs_linux **kernel)
{
	struct rs_linux_vcpu vcpus[RS_IMAGE_ROOTS_MAX];
	uint64_t roots[RS_IMAGE_ROOTS_MAX];
	struct rs_x86_regs regs;
	uint32_t n = 0;

	rs_kvm_state_regs(vcpu, &regs);
	rs_memory_at(&s->memory, &regs);
	for (uint32_t i = 0; i < s->scan.n_slots && n < RS_IMAGE_ROOTS_MAX; i++) {
		const struct rs_kvm_slot_memory *slot = &s->scan.slots[i];

		n += rs_image_roots(&s->memory, slot->gpa, slot->gpa + slot->bytes, roots + n,
				    RS_IMAGE_ROOTS_MAX - n);
	}
	if (!n)
		return rs_error_create(RS_USAGE, "the guest's RAM has no page table of a kernel");
	for (uint32_t i = 0; i < n; i++) {
		vcpu_of(vcpu, &vcpus[i]);
		vcpus[i].regs.cr3 = roots[i];
	}
	return rs_linux_open(&s->memory, vcpus, n, kernel);
}

static struct rs_error *kernel_search(struct rs_guest_sampler *s)
{
	const struct rs_kvm_state *first = &s->scan.vcpus[0];
	struct rs_linux *kernel = NULL;
	struct rs_error *err = kernel_by_vcpus(s, &kernel);

	if (err && rs_error_code(err) != RS_NO_MEMORY && first->known & RS_KVM_HAS_VCPU &&
	    !(first->known & RS_KVM_HAS_CR3)) {
		rs_error_free(err);
		err = kernel_by_roots(s, first, &kernel);
	}
	if (!err)
		err = root_settle(kernel);
	if (err) {
		rs_linux_close(kernel);
		return err;
	}
	s->kernel = kernel;
	if (kernel->no_btf) {
		s->no_tasks = rs_error_create(RS_USAGE, "%s", rs_error_text(kernel->no_btf));
		return NULL;
	}
	for (uint32_t i = 0; i < s->scan.n_vcpus; i++)
		home_find(s, i, &s->scan.vcpus[i]);
	guest_set(s);
	return rs_sampled_stacks_create(kernel, s->options.symfs, &s->vmm, &s->stacks);
}

static struct rs_error *slots_read(struct rs_guest_sampler *s)
{
	struct rs_error *err = rs_kvm_sampler_scan(s->kvm, &s->scan);

	if (!err)
		rs_vmm_memory_slots(&s->vmm, s->scan.slots, s->scan.n_slots);
	return err;
}

/* Searches for the kernel several times, because data that changes during the reading is
 * inconsistent. */
static struct rs_error *kernel_find(struct rs_guest_sampler *s, uint32_t tries)
{
	const struct timespec pause = { .tv_nsec = SEARCH_PAUSE_NS };
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < tries; i++) {
		rs_error_free(err);
		if (i)
			nanosleep(&pause, NULL);
		err = slots_read(s);
		if (err)
			return err;
		err = kernel_search(s);
		if (!err || rs_error_code(err) == RS_NO_MEMORY)
			break;
	}
	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	rs_error_free(s->no_kernel);
	s->no_kernel = err;
	s->search_ns = s->search_ns < SEARCH_NS_MAX / 2 ? 2 * s->search_ns : SEARCH_NS_MAX;
	s->search_at = rs_now_ns(CLOCK_MONOTONIC) + s->search_ns;
	return NULL;
}

/* ---- a sample ------------------------------------------------------------------------------- */

static bool verified_same(const void *item, const void *key)
{
	return !memcmp(&((const struct verified *)item)->key, key,
		       sizeof(struct rs_kvm_sample_task));
}

/* Returns whether a processor in user mode has a task's page table. */
static bool root_agrees(struct rs_guest_sampler *s, const struct rs_linux_task *task,
			const struct rs_kvm_state *state)
{
	return state->cpl != 3 || rs_linux_is_root(s->kernel, state->cr3, task->cr3);
}

/* Reads the task that BPF sampled. Returns RS_DAMAGED if another task is at its address. */
static struct rs_error *task_compare(struct rs_guest_sampler *s, const struct rs_kvm_sample *from,
				     struct rs_linux_task *task)
{
	const struct rs_kvm_sample_task *seen = &from->task;
	struct rs_error *err = rs_linux_task_read(s->kernel, seen->address, task);

	if (!err &&
	    (task->pid != (int32_t)seen->pid || task->tgid != (int32_t)seen->tgid ||
	     !rs_linux_task_has_name(task, seen->comm) || !root_agrees(s, task, &from->state)))
		err = rs_error_create(RS_DAMAGED, "the task changed");
	return err;
}

/* Looks up the task that BPF sampled, or reads it. Sets *task to NULL if the task is inconsistent
 * with the sample. */
static struct rs_error *task_check(struct rs_guest_sampler *s, const struct rs_kvm_sample *from,
				   const struct rs_linux_task **task)
{
	uint64_t hash = rs_hash_bytes(&from->task, sizeof(from->task));
	struct verified *it = rs_map_find(&s->verified, hash, verified_same, &from->task);
	struct rs_linux_task read;
	struct rs_error *err;

	*task = it && root_agrees(s, &it->task, &from->state) ? &it->task : NULL;
	if (*task)
		return NULL;
	err = task_compare(s, from, &read);
	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	rs_error_free(err);
	if (err)
		return NULL;
	if (!it) {
		if (s->verified.used >= TASKS_MAX)
			verified_clear(s);
		it = rs_map_reserve(&s->verified) ? malloc(sizeof(*it)) : NULL;
		if (!it)
			return rs_error_no_memory();
		it->key = from->task;
		rs_map_add(&s->verified, hash, it);
	}
	it->task = read;
	*task = &it->task;
	return NULL;
}

static void kernel_function(struct rs_guest_sampler *s, struct rs_guest_sample *sample)
{
	const char *module;
	uint64_t size;

	if (!rs_linux_symbol(s->kernel, sample->rip, &s->symbol, &size, &module))
		return;
	s->frame = (struct rs_frame){ .function = s->symbol.name,
				      .module = rs_sampled_module(module, s->module),
				      .offset = sample->rip - s->symbol.address };
	sample->module = s->frame.module;
	sample->frames = &s->frame;
	sample->n_frames = 1;
}

/* If a process's areas change while they are read, the function stays unknown. */
static struct rs_error *user_function(struct rs_guest_sampler *s, const struct rs_linux_task *task,
				      struct rs_guest_sample *sample)
{
	struct rs_error *err = rs_guest_functions_lookup(s->functions, s->kernel, task, sample->rip,
							 sample->at_ns, &s->place);

	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	if (!err) {
		sample->module = s->place.path;
		sample->frames = s->place.frames;
		sample->n_frames = s->place.n;
	}
	rs_error_free(err);
	return NULL;
}

/* Returns whether the host handled an exit that the guest caused. Segments are known only with
 * SVM. */
static bool is_handled(const struct rs_kvm_state *state)
{
	if (state->known & RS_KVM_HAS_SEGMENTS)
		return state->exit_code < SVM_INTR || state->exit_code > SVM_SMI;
	return state->exit_code != VMX_EXTERNAL;
}

/* Names the function that a vCPU executed. task NULL: unknown. */
static struct rs_error *sample_fill(struct rs_guest_sampler *s, const struct rs_kvm_state *state,
				    const struct rs_linux_task *task,
				    struct rs_guest_sample *sample)
{
	sample->vcpu = state->id;
	sample->is_user = state->known & RS_KVM_HAS_RIP && state->cpl == 3;
	sample->is_nested = state->known & RS_KVM_IS_NESTED;
	sample->is_handled = is_handled(state);
	sample->is_unplaced = !(state->known & RS_KVM_HAS_RIP);
	sample->rip = state->gpr[RS_KVM_RIP];
	sample->cr3 = state->known & RS_KVM_HAS_CR3 ? state->cr3 : task ? task->cr3 : 0;
	if (sample->is_nested || !s->kernel)
		return NULL;
	if (task) {
		sample->has_task = true;
		sample->pid = task->pid;
		sample->tgid = task->tgid;
		memcpy(sample->comm, task->comm, sizeof(sample->comm));
	}
	if (sample->is_unplaced)
		return NULL;
	if (!sample->is_user)
		kernel_function(s, sample);
	else if (task && task->mm)
		return user_function(s, task, sample);
	return NULL;
}

/* Counts a rejected sample. After many in sequence, searches for the kernel again. */
static void sample_reject(struct rs_guest_sampler *s, uint64_t *count)
{
	++*count;
	if (++s->doubts < DOUBTS_MAX)
		return;
	kernel_forget(s);
	s->search_ns = SEARCH_NS_MIN;
	s->search_at = 0;
}

/* Reads the stack. Its innermost function becomes the sample's, if the sample has none. */
static struct rs_error *stack_fill(struct rs_guest_sampler *s, const struct rs_linux_task *task,
				   const struct rs_kvm_sample *from, struct rs_guest_sample *sample)
{
	const struct rs_sampled_frame *first = &s->stack.frames[0];
	struct rs_linux_vcpu vcpu;
	struct rs_error *err;

	vcpu_of(&from->state, &vcpu);
	err = rs_sampled_stacks_read(s->stacks, task, &vcpu, from, &s->stack);
	if (err)
		return err;
	sample->stack = &s->stack;
	s->counts.cut += s->stack.is_cut || s->stack.gap;
	if (sample->n_frames || !s->stack.n || !first->function)
		return NULL;
	s->frame = (struct rs_frame){ .function = first->function, .module = first->module };
	sample->frames = &s->frame;
	sample->n_frames = 1;
	if (!sample->module)
		sample->module = first->module;
	return NULL;
}

static struct rs_error *on_sample(void *ctx, const struct rs_kvm_sample *from)
{
	struct rs_guest_sampler *s = ctx;
	const struct rs_kvm_state *state = &from->state;
	struct rs_guest_sample sample = { .at_ns = from->at_ns };
	const struct rs_linux_task *task = NULL;
	struct rs_error *err = NULL;

	s->is_stale |= state->generation != s->scan.generation;
	if (!(state->known & RS_KVM_HAS_VCPU)) {
		s->counts.hidden++;
		return NULL;
	}
	if (s->kernel)
		rs_linux_moved(s->kernel);
	if (s->kernel && !s->no_tasks && !(state->known & RS_KVM_IS_NESTED)) {
		if (!s->vcpus[from->target].current_at) {
			if (home_find(s, from->target, state))
				guest_set(s); /* from the next sample on */
		} else if (!(state->known & RS_KVM_HAS_TASK)) {
			sample_reject(s, &s->counts.unread);
			return NULL;
		} else {
			err = task_check(s, from, &task);
			if (!err && !task)
				sample_reject(s, &s->counts.changed);
			if (err || !task)
				return err;
		}
	}
	s->doubts = 0;
	err = sample_fill(s, state, task, &sample);
	if (!err && task && s->stacks && !sample.is_unplaced)
		err = stack_fill(s, task, from, &sample);
	if (err)
		return err;
	s->counts.samples++;
	return s->consume(s->ctx, &sample);
}

/* ---- the sampler
 * ------------------------------------------------------------------------------------ */

struct rs_error *rs_guest_sampler_open(const struct rs_guest_sampler_options *options,
				       struct rs_guest_sampler **out)
{
	struct rs_guest_sampler *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->options = *options;
	s->search_ns = SEARCH_NS_MIN / 2;
	s->vmm.pidfd = -1;
	err = rs_kvm_sampler_open(options->pid, &s->kvm);
	if (!err)
		err = rs_vmm_memory_init(&s->vmm, options->pid);
	if (!err)
		err = rs_guest_functions_create(options->symfs, &s->functions);
	if (!err)
		err = slots_read(s);
	if (!err)
		err = rs_vmm_memory_check(&s->vmm);
	if (!err) {
		rs_vmm_memory_use(&s->vmm, &s->memory);
		/* More may appear until sampling starts. */
		s->vcpus = calloc(RS_KVM_SAMPLE_VCPUS, sizeof(*s->vcpus));
		err = s->vcpus ? kernel_find(s, SEARCH_TRIES) : rs_error_no_memory();
	}
	if (err)
		rs_guest_sampler_close(s);
	else
		*out = s;
	return err;
}

void rs_guest_sampler_close(struct rs_guest_sampler *s)
{
	if (!s)
		return;
	rs_sampled_stacks_destroy(s->stacks);
	rs_linux_close(s->kernel);
	rs_error_free(s->no_kernel);
	rs_error_free(s->no_tasks);
	verified_clear(s);
	rs_map_deinit(&s->verified);
	rs_guest_functions_destroy(s->functions);
	rs_vmm_memory_deinit(&s->vmm);
	rs_kvm_sampler_close(s->kvm);
	free(s->vcpus);
	free(s);
}

struct rs_error *rs_guest_sampler_start(struct rs_guest_sampler *s)
{
	return rs_kvm_sampler_start(s->kvm, s->options.interval_ns);
}

void rs_guest_sampler_stop(struct rs_guest_sampler *s)
{
	rs_kvm_sampler_stop(s->kvm);
}

/* Reads the memory slots again if a sample reports that they changed, and starts clocks for vCPUs
 * that have got a thread. */
static struct rs_error *slots_refresh(struct rs_guest_sampler *s, uint64_t now_ns)
{
	struct rs_error *err;

	if (!s->is_stale && now_ns < s->slots_at)
		return NULL;
	s->is_stale = false;
	s->slots_at = now_ns + SLOTS_NS;
	err = slots_read(s);
	if (!err && s->kernel && !s->no_tasks)
		guest_set(s);
	if (err)
		return err;
	/* The process may have dropped the rights for a new clock. A missing clock is counted. */
	rs_error_free(rs_kvm_sampler_start(s->kvm, s->options.interval_ns));
	return NULL;
}

struct rs_error *rs_guest_sampler_poll(struct rs_guest_sampler *s, rs_guest_sample_fn *consume,
				       void *ctx, bool *ended)
{
	uint64_t begin = cpu_ns(), now_ns = rs_now_ns(CLOCK_MONOTONIC);
	struct rs_error *err;

	*ended = !rs_vmm_memory_lives(&s->vmm);
	s->consume = consume;
	s->ctx = ctx;
	err = rs_kvm_sampler_poll(s->kvm, on_sample, s);
	s->counts.read_ns += cpu_ns() - begin;
	if (err || *ended)
		return err;
	err = slots_refresh(s, now_ns);
	if (!err && !s->kernel && now_ns >= s->search_at)
		err = kernel_find(s, 1);
	/* A VMM that has ended has no vCPUs any more. */
	if (err && !rs_vmm_memory_lives(&s->vmm)) {
		rs_error_free(err);
		err = NULL;
		*ended = true;
	}
	return err;
}

void rs_guest_sampler_count(const struct rs_guest_sampler *s,
			    struct rs_guest_sampler_counts *counts)
{
	struct rs_kvm_sampler_counts kvm;

	rs_kvm_sampler_count(s->kvm, &kvm);
	*counts = s->counts;
	counts->refused = kvm.refused;
	counts->cost_ns = kvm.cost_ns;
	counts->ticks = kvm.ticks;
	counts->vcpus_missed = kvm.without_clock;
}

const char *rs_guest_sampler_kernel(const struct rs_guest_sampler *s, const char **why)
{
	if (why)
		*why = s->no_kernel ? rs_error_text(s->no_kernel) : NULL;
	return s->kernel ? s->kernel->version : NULL;
}

const char *rs_guest_sampler_no_tasks(const struct rs_guest_sampler *s)
{
	return s->no_tasks ? rs_error_text(s->no_tasks) : NULL;
}

uint32_t rs_guest_sampler_vcpus(const struct rs_guest_sampler *s)
{
	return s->scan.n_vcpus;
}

/* ---- the present state
 * ------------------------------------------------------------------------------------ */

static enum rs_guest_now now_of(const struct rs_kvm_state *state)
{
	if (!(state->known & (RS_KVM_HAS_VCPU | RS_KVM_IS_PROTECTED)))
		return RS_NOW_GONE;
	switch (state->mp_state) {
	case KVM_MP_STATE_HALTED:
		return RS_NOW_HALTED;
	case KVM_MP_STATE_UNINITIALIZED:
	case KVM_MP_STATE_INIT_RECEIVED:
	case KVM_MP_STATE_SIPI_RECEIVED:
	case KVM_MP_STATE_AP_RESET_HOLD:
		return RS_NOW_NOT_STARTED;
	default:
		return RS_NOW_RUNS;
	}
}

/* Reads the task of a vCPU that is halted. */
static struct rs_error *halted_task(struct rs_guest_sampler *s, uint32_t at,
				    const struct rs_kvm_state *state, struct rs_linux_task *task,
				    bool *is_known)
{
	uint64_t address = 0;
	struct rs_error *err;

	if (!s->kernel || s->no_tasks || !home_find(s, at, state))
		return NULL;
	rs_linux_moved(s->kernel);
	err = rs_linux_bytes(s->kernel, s->vcpus[at].current_at, &address, sizeof(address));
	if (!err)
		err = rs_linux_task_read(s->kernel, address, task);
	*is_known = !err;
	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	rs_error_free(err);
	return NULL;
}

/* Returns whether a vCPU has not run between two scans. */
static bool is_same(const struct rs_kvm_state *a, const struct rs_kvm_state *b)
{
	return a->vcpu == b->vcpu && a->mp_state == b->mp_state &&
	       !memcmp(a->gpr, b->gpr, sizeof(a->gpr)) && a->cr3 == b->cr3;
}

/* Passes on the state of a vCPU, with its place if it does not run. Scans before and after the
 * reading show whether it ran. */
static struct rs_error *now_pass(struct rs_guest_sampler *s, uint32_t at,
				 const struct rs_kvm_state *before, rs_guest_now_fn *consume,
				 void *ctx)
{
	struct rs_guest_sample sample = { .vcpu = before->id, .at_ns = rs_now_ns(CLOCK_MONOTONIC) };
	enum rs_guest_now now = now_of(before);
	struct rs_linux_task task;
	bool is_known = false;
	struct rs_error *err = NULL;

	if (now == RS_NOW_HALTED && before->known & RS_KVM_HAS_VCPU) {
		err = halted_task(s, at, before, &task, &is_known);
		if (!err)
			err = slots_read(s);
		if (err)
			return err;
		if (!is_same(before, &s->scan.vcpus[at]))
			now = RS_NOW_RUNS;
		else
			err = sample_fill(s, before, is_known ? &task : NULL, &sample);
	}
	return err ? err : consume(ctx, now, &sample);
}

struct rs_error *rs_guest_sampler_now(struct rs_guest_sampler *s, rs_guest_now_fn *consume,
				      void *ctx)
{
	struct rs_error *err = slots_read(s);
	uint32_t n = err ? 0 : s->scan.n_vcpus;
	struct rs_kvm_state *states = calloc(n ? n : 1, sizeof(*states));

	if (!err && !states)
		err = rs_error_no_memory();
	if (!err)
		memcpy(states, s->scan.vcpus, n * sizeof(*states));
	for (uint32_t i = 0; !err && i < n; i++)
		err = now_pass(s, i, &states[i], consume, ctx);
	free(states);
	return err;
}
