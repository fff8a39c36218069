/* SPDX-License-Identifier: BSD-2-Clause */
/* The session of sample.bpf.c. */
#include "kvm/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/now.h"
#include "base/random.h"
#include "kvm/bpf_log.h"
#include "kvm/bpf_object.h"
#include "kvm/kvm.h"
#include "kvm/sample.skel.h" /* needs the types above */

#define RING_BYTES     (16u << 20)
#define LOOK_TRIES     8u /* the slots are read again if they change during the scan */
#define TURN_TICKS     4u /* a clock keeps its period this long, at least: clocks_turn() */
#define SCAN_BYTES_MAX (RS_KVM_SAMPLE_VCPUS * sizeof(struct rs_kvm_scan_vcpu) + (1u << 20))
/* Intel SDM volume 3, 24.6; AMD APM volume 2, 15.4. */
#define LEAF_VMX 1u
#define VMX_BIT	 (1u << 5)
#define LEAF_SVM 0x80000001u
#define SVM_BIT	 (1u << 2)

struct rs_kvm_clock {
	struct bpf_link *link; /* owns the event; NULL: no clock */
	int event;
	uint64_t turned_at; /* the ticks when it got its period */
};

struct rs_kvm_sampler {
	int pid;
	struct bpf_object *object;
	struct bpf_program *tick;
	struct rs_bpf_iter scan;
	struct rs_kvm_mapped targets_map, guest_map;
	struct rs_kvm_target *targets;
	struct rs_kvm_sample_guest *guest;
	struct ring_buffer *ring;
	struct rs_kvm_clock clocks[RS_KVM_SAMPLE_VCPUS];
	uint64_t interval_ns, random;
	int *outputs; /* with VMX: an event for each CPU, which the programs output to; -1: none */
	uint32_t n_outputs;
	struct rs_kvm_state vcpus[RS_KVM_SAMPLE_VCPUS];
	struct rs_kvm_scan_slots slots;
	uint32_t n;
	bool is_started; /* vcpus[] has the order of targets[] */
	/* Used during rs_kvm_sampler_poll(). */
	struct rs_error *(*consume)(void *ctx, const struct rs_kvm_sample *sample);
	void *ctx;
	struct rs_error *err;
};

/* ---- loading -------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static bool cpu_has(uint32_t leaf, uint32_t bit)
{
	unsigned int a = 0, b = 0, c = 0, d = 0;

	return __get_cpuid(leaf, &a, &b, &c, &d) && c & bit;
}
#else
static bool cpu_has(uint32_t leaf, uint32_t bit)
{
	(void)leaf;
	(void)bit;
	return false;
}
#endif

static bool uses_svm(void)
{
	return cpu_has(LEAF_SVM, SVM_BIT);
}

bool rs_kvm_can_sample(void)
{
	return (uses_svm() || cpu_has(LEAF_VMX, VMX_BIT)) && !rs_kvm_only_user_exits();
}

struct rs_error *rs_kvm_sampler_check(void)
{
	struct rs_error *err = rs_kvm_unmet(true);

	if (err || rs_kvm_can_sample())
		return err;
	return rs_error_create(RS_ABSENT, "this host's KVM uses neither SVM nor VMX, and keeps a "
					  "vCPU's registers where they are not read: profile "
					  "guests on a host whose module is kvm_amd or kvm_intel");
}

static int on_sample(void *ctx, void *data, size_t bytes)
{
	struct rs_kvm_sampler *s = ctx;
	const struct rs_kvm_sample *sample = data;

	if (bytes < sizeof(*sample) || sample->target >= s->n)
		return 0;
	s->err = s->consume(s->ctx, sample);
	return s->err ? -1 : 0;
}

static struct rs_error *maps_open(struct rs_kvm_sampler *s)
{
	struct rs_error *err = rs_bpf_map(s->object, "targets", &s->targets_map);

	if (!err)
		err = rs_bpf_map(s->object, "guest", &s->guest_map);
	if (err)
		return err;
	s->targets = (void *)s->targets_map.mem;
	s->guest = (void *)s->guest_map.mem;
	s->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(s->object, "samples"), on_sample,
				   s, NULL);
	return s->ring ? NULL : rs_error_errno(errno, "cannot map the ring of samples");
}

/*
 * Opens the events that the programs output to. Nobody reads them, so they have no buffer. Each
 * output makes the kernel take a sample's address, and KVM reads it from the VMCS. Without an event
 * on a CPU, places in its samples are unknown.
 */
static struct rs_error *outputs_open(struct rs_kvm_sampler *s)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_BPF_OUTPUT,
					.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_IP,
					.sample_period = 1 };
	int map = bpf_object__find_map_fd_by_name(s->object, "outputs");
	int n = libbpf_num_possible_cpus();

	if (n <= 0 || n > (int)RS_KVM_SAMPLE_CPUS)
		return rs_error_create(RS_FAILED, "this host may have more than %u CPUs",
				       RS_KVM_SAMPLE_CPUS);
	s->outputs = malloc((size_t)n * sizeof(*s->outputs));
	if (!s->outputs)
		return rs_error_no_memory();
	for (int cpu = 0; cpu < n; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		s->outputs[s->n_outputs++] = fd;
		if (fd < 0 && errno != ENODEV) /* the CPU is offline */
			return rs_error_errno(errno, "cannot create an event on CPU %d", cpu);
		if (fd >= 0 && bpf_map_update_elem(map, &cpu, &fd, BPF_ANY))
			return rs_error_errno(errno, "cannot give BPF the event on CPU %d", cpu);
	}
	return NULL;
}

static struct rs_error *object_load(struct rs_kvm_sampler *s)
{
	const struct rs_kvm_scan_config config = { .pid = (uint32_t)s->pid, .svm = uses_svm() };
	size_t bytes;
	const void *elf = sample_bpf__elf_bytes(&bytes);
	struct rs_error *err = rs_bpf_open(elf, bytes, "ringside_sample", &s->object);
	struct bpf_map *map;
	int status;

	if (!err)
		err = rs_bpf_set_config(s->object, &config, sizeof(config));
	if (err)
		return err;
	map = bpf_object__find_map_by_name(s->object, "samples");
	if (!map || bpf_map__set_max_entries(map, RING_BYTES))
		return rs_error_create(RS_FAILED, "cannot set the size of the ring of samples");
	status = bpf_object__load(s->object);
	if (status)
		return rs_bpf_log_error(-status,
					"cannot load the BPF programs (they need Linux 5.17)");
	s->tick = bpf_object__find_program_by_name(s->object, "tick");
	if (!s->tick)
		return rs_error_create(RS_FAILED, "the BPF object has no program tick");
	err = rs_bpf_iter_attach(&s->scan, s->object, s->pid);
	if (!err)
		err = maps_open(s);
	return err || config.svm ? err : outputs_open(s);
}

struct rs_error *rs_kvm_sampler_open(int pid, struct rs_kvm_sampler **out)
{
	struct rs_error *err = rs_kvm_sampler_check();
	struct rs_kvm_sampler *s;
	libbpf_print_fn_t before;

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return rs_error_no_memory();
	s->pid = pid;
	before = rs_bpf_log_begin();
	err = object_load(s);
	libbpf_set_print(before);
	if (err)
		rs_kvm_sampler_close(s);
	else
		*out = s;
	return err;
}

void rs_kvm_sampler_close(struct rs_kvm_sampler *s)
{
	if (!s)
		return;
	rs_kvm_sampler_stop(s);
	ring_buffer__free(s->ring);
	rs_bpf_unmap(&s->targets_map);
	rs_bpf_unmap(&s->guest_map);
	rs_bpf_iter_detach(&s->scan);
	for (uint32_t i = 0; i < s->n_outputs; i++)
		if (s->outputs[i] >= 0)
			close(s->outputs[i]);
	free(s->outputs);
	bpf_object__close(s->object);
	free(s);
}

/* ---- scanning ------------------------------------------------------------------------------- */

static struct rs_error *records_read(struct rs_kvm_sampler *s)
{
	struct rs_error *err;
	bool all;

	err = rs_bpf_iter_read(&s->scan, SCAN_BYTES_MAX, &all);
	if (err || all)
		return err;
	return rs_error_create(RS_FAILED, "process %d has more than %u vCPUs", s->pid,
			       RS_KVM_SAMPLE_VCPUS);
}

/* Adds a vCPU, unless another descriptor of the process refers to the same vCPU. Once clocks exist,
 * a vCPU keeps its place, and a new vCPU gets none. */
static struct rs_error *vcpu_add(struct rs_kvm_sampler *s, const struct rs_kvm_state *state)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->vcpus[i].vcpu == state->vcpu) {
			s->vcpus[i] = *state;
			return NULL;
		}
	}
	if (s->n && s->vcpus[0].kvm != state->kvm)
		return rs_error_create(RS_FAILED,
				       "process %d has several VMs; only one is supported", s->pid);
	if (s->is_started)
		return NULL;
	if (s->n == RS_KVM_SAMPLE_VCPUS)
		return rs_error_create(RS_FAILED, "process %d has more than %u vCPUs", s->pid,
				       RS_KVM_SAMPLE_VCPUS);
	s->vcpus[s->n++] = *state;
	return NULL;
}

/* Clears the registers before the vCPUs are read again. vCPUs that are not found keep none. */
static void vcpus_forget(struct rs_kvm_sampler *s)
{
	if (!s->is_started)
		s->n = 0;
	for (uint32_t i = 0; i < s->n; i++)
		s->vcpus[i].known = s->vcpus[i].tid = 0;
}

static struct rs_error *records_parse(struct rs_kvm_sampler *s)
{
	struct rs_kvm_scan_head head;
	struct rs_error *err = NULL;
	const uint8_t *record;
	size_t at = 0;

	vcpus_forget(s);
	s->slots.generation = UINT64_MAX;
	while (!err && (record = rs_bpf_iter_next(&s->scan, &at, &head))) {
		struct rs_kvm_scan_vcpu vcpu;

		if (head.kind == RS_KVM_SCAN_VCPU && head.bytes == sizeof(vcpu)) {
			memcpy(&vcpu, record, sizeof(vcpu));
			err = vcpu_add(s, &vcpu.state);
		} else if (!rs_kvm_scan_slots_copy(record, &head, &s->slots)) {
			break;
		}
	}
	return err;
}

static int state_order(const void *a, const void *b)
{
	const struct rs_kvm_state *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct rs_error *rs_kvm_sampler_scan(struct rs_kvm_sampler *s, struct rs_kvm_scan *scan)
{
	struct rs_error *err = NULL;
	uint32_t tries = 0;

	do {
		err = records_read(s);
		if (!err)
			err = records_parse(s);
	} while (!err && s->n && s->slots.generation == UINT64_MAX && ++tries < LOOK_TRIES);
	if (!err && !s->n)
		err = rs_error_create(RS_FAILED, "process %d runs no vCPU", s->pid);
	if (!err && s->slots.generation == UINT64_MAX)
		err = rs_error_create(RS_FAILED,
				      "the memory slots of process %d's VM changed while "
				      "they were read",
				      s->pid);
	if (err)
		return err;
	if (!s->is_started)
		qsort(s->vcpus, s->n, sizeof(s->vcpus[0]), state_order);
	*scan = (struct rs_kvm_scan){
		.vcpus = s->vcpus,
		.n_vcpus = s->n,
		.slots = s->slots.slots,
		.n_slots = s->slots.n,
		.slots_left = s->slots.left,
		.generation = s->slots.generation,
	};
	return NULL;
}

/* ---- sampling ------------------------------------------------------------------------------- */

void rs_kvm_sampler_guest(struct rs_kvm_sampler *s, const struct rs_kvm_sample_guest *guest,
			  const uint64_t *current_at)
{
	*s->guest = *guest;
	for (uint32_t i = 0; i < s->n; i++)
		s->targets[i].current_at = current_at ? current_at[i] : 0;
}

/* Returns a period from 15/16 to 17/16 of the interval. Short periods give more samples in the same
 * time, so samples times the interval exceed the true time: with this range, by 0.13 % at most. */
static uint64_t period_next(struct rs_kvm_sampler *s)
{
	uint64_t range = s->interval_ns / 8;

	return s->interval_ns - range / 2 + rs_random_next(&s->random) % range;
}

static struct rs_error *clock_start(struct rs_kvm_sampler *s, uint32_t at)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = at);
	const struct rs_kvm_state *vcpu = &s->vcpus[at];
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = period_next(s),
					.disabled = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, (pid_t)vcpu->tid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ESRCH ? NULL /* the thread has ended */
				      : rs_error_errno(errno, "cannot create a clock for thread %u",
						       vcpu->tid);
	s->targets[at].kvm = vcpu->kvm;
	s->targets[at].id = vcpu->id;
	s->targets[at].vcpu = vcpu->vcpu;
	s->clocks[at].event = fd;
	s->clocks[at].link = bpf_program__attach_perf_event_opts(s->tick, fd, &options);
	if (s->clocks[at].link)
		return NULL;
	close(fd);
	return rs_bpf_log_error(errno, "cannot attach to a clock");
}

struct rs_error *rs_kvm_sampler_start(struct rs_kvm_sampler *s, uint64_t interval_ns)
{
	libbpf_print_fn_t before = rs_bpf_log_begin();
	struct rs_error *err = NULL;

	s->is_started = true;
	s->interval_ns = interval_ns;
	if (!s->random)
		s->random = rs_now_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; !err && i < s->n; i++)
		if (s->vcpus[i].tid && !s->clocks[i].link)
			err = clock_start(s, i);
	libbpf_set_print(before);
	return err;
}

void rs_kvm_sampler_stop(struct rs_kvm_sampler *s)
{
	for (uint32_t i = 0; i < RS_KVM_SAMPLE_VCPUS; i++) {
		bpf_link__destroy(s->clocks[i].link);
		s->clocks[i].link = NULL;
	}
}

/*
 * A guest may repeat its work in a multiple of the period, and a clock in step with it would sample
 * the same part each time. A new period costs an interrupt of the vCPU's CPU, so it is given after
 * several ticks. If it cannot be given, the clock keeps the one it has.
 */
static void clocks_turn(struct rs_kvm_sampler *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t period, ticks = __atomic_load_n(&s->targets[i].ticks, __ATOMIC_RELAXED);
		struct rs_kvm_clock *clock = &s->clocks[i];

		if (!clock->link || ticks - clock->turned_at < TURN_TICKS)
			continue;
		clock->turned_at = ticks;
		period = period_next(s);
		ioctl(clock->event, PERF_EVENT_IOC_PERIOD, &period);
	}
}

struct rs_error *
rs_kvm_sampler_poll(struct rs_kvm_sampler *s,
		    struct rs_error *(*consume)(void *ctx, const struct rs_kvm_sample *), void *ctx)
{
	struct rs_error *err;

	s->consume = consume;
	s->ctx = ctx;
	ring_buffer__consume(s->ring);
	err = s->err;
	s->err = NULL;
	clocks_turn(s);
	return err;
}

void rs_kvm_sampler_count(const struct rs_kvm_sampler *s, struct rs_kvm_sampler_counts *counts)
{
	*counts = (struct rs_kvm_sampler_counts){ 0 };
	for (uint32_t i = 0; i < s->n; i++) {
		const struct rs_kvm_target *target = &s->targets[i];

		counts->without_clock += s->vcpus[i].tid && !target->vcpu;
		/* Pairs with tick(), which is the only writer. */
		counts->ticks += __atomic_load_n(&target->ticks, __ATOMIC_RELAXED);
		counts->refused += __atomic_load_n(&target->refused, __ATOMIC_RELAXED);
		counts->cost_ns += __atomic_load_n(&target->cost_ns, __ATOMIC_RELAXED);
		counts->gone += __atomic_load_n(&target->gone, __ATOMIC_RELAXED);
	}
}

/* ---- registers ------------------------------------------------------------------------------ */

void rs_kvm_state_regs(const struct rs_kvm_state *state, struct rs_x86_regs *regs)
{
	/* From KVM's order to that of struct rs_x86_regs. */
	static const uint8_t low[] = { RS_KVM_RAX, RS_KVM_RBX, RS_KVM_RCX, RS_KVM_RDX,
				       RS_KVM_RSI, RS_KVM_RDI, RS_KVM_RBP, RS_KVM_RSP };

	*regs = (struct rs_x86_regs){ .rip = state->gpr[RS_KVM_RIP],
				      .eflags = (uint32_t)state->rflags,
				      .cs = (state->cs & ~3u) | (state->cpl & 3u),
				      .fs_base = state->fs_base,
				      .gs_base = state->gs_base,
				      .k_gs_base = state->k_gs_base,
				      .cr0 = state->cr0,
				      .cr3 = state->cr3,
				      .cr4 = state->cr4,
				      .efer = state->efer };
	for (uint32_t i = 0; i < sizeof(low); i++)
		regs->gpr[i] = state->gpr[low[i]];
	memcpy(&regs->gpr[RS_KVM_R8], &state->gpr[RS_KVM_R8], 8 * sizeof(regs->gpr[0]));
}
