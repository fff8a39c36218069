/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A KVM session: its settings, the threads that exist when the gate opens, and the gate. load.c
 * loads the BPF object, snapshot.c reads the counts.
 *
 * Nothing here makes bpf() calls while the gate is open. The kernel runs no tracepoint's program on
 * a CPU where a task is inside a bpf() call (bpf_disable_instrumentation()). If that task is
 * preempted there, exits on that CPU are missed.
 */
#include "base/now.h"
#include "kvm/proc.h"
#include "kvm/session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- opening --------------------------------------------------------------------------------- */

static struct rs_error *check_options(const struct rs_kvm_options *o)
{
	if (o->threads_max > RS_KVM_THREADS_MAX)
		return rs_error_create(RS_USAGE, "%u threads are too many: at most %u are possible",
				       o->threads_max, RS_KVM_THREADS_MAX);
	if (o->ring_bytes && (o->ring_bytes < RS_KVM_RING_MIN || o->ring_bytes > RS_KVM_RING_MAX))
		return rs_error_create(RS_USAGE, "a ring must have %u to %u bytes, not %u",
				       RS_KVM_RING_MIN, RS_KVM_RING_MAX, o->ring_bytes);
	return NULL;
}

static void set_config(struct rs_kvm_session *s, const struct rs_kvm_options *o)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	uint32_t ring = o->ring_bytes ? o->ring_bytes : RS_KVM_RING_DEFAULT;

	if (!o->events && !o->than_ns) /* the programs are still checked */
		ring = RS_KVM_RING_MIN;
	s->ring_bytes = ring < page ? page : ring / page * page;
	s->config = (struct rs_kvm_config){
		.than_ns = o->than_ns,
		.trigger_ns = o->trigger_ns,
		.trigger_isa = o->trigger_isa,
		.trigger_code = o->trigger_code,
		.latency = o->latency || o->causes || o->than_ns || o->trigger_ns,
		.causes = o->causes,
		.user = o->user,
		.events = o->events,
		.rings = o->events || o->than_ns,
		.ring_size = (s->ring_bytes - (uint32_t)sizeof(struct rs_sbuf)) / RS_SLOT_BYTES *
			     RS_SLOT_BYTES,
		.pid = (uint32_t)o->pid,
		.listed = o->n_tids != 0,
		.n_cpus = s->n_cpus,
		.wanted = ~UINT64_C(0),
	};
	if (!s->config.latency && !s->config.rings)
		s->config.only_count = o->user ? RS_KVM_ONLY_RETURNS : RS_KVM_ONLY_EXITS;
}

static uint32_t at_most(uint64_t n, uint32_t max)
{
	return n < max ? (uint32_t)n : max;
}

static void set_sizes(struct rs_kvm_session *s, const struct rs_kvm_options *o,
		      const struct rs_kvm_image *image, uint32_t running)
{
	uint64_t some = (uint64_t)running + RS_KVM_SPARE_THREADS;

	s->threads_max = o->threads_max;
	if (!s->threads_max)
		s->threads_max =
			running * 2 > RS_KVM_THREADS_MIN ? running * 2 : RS_KVM_THREADS_MIN;
	s->threads_max = at_most(s->threads_max, RS_KVM_THREADS_MAX);
	s->cells_max = s->config.only_count ? RS_KVM_CELLS_RARE
					    : at_most(some * RS_KVM_CELLS_PER_THREAD, 1u << 24);
	s->causes_max = at_most(some * RS_KVM_CAUSES_PER_THREAD, 1u << 24);
	s->sums_max = 1;
	s->n_keys = RS_FILTER_KEYS;
	if (image && image->cells_max)
		s->cells_max = image->cells_max;
	if (image && image->causes_max)
		s->causes_max = image->causes_max;
}

static struct rs_error *copy_tids(struct rs_kvm_session *s, const struct rs_kvm_options *o)
{
	if (!o->n_tids)
		return NULL;
	s->tids = calloc(o->n_tids, sizeof(*s->tids));
	if (!s->tids)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < o->n_tids; i++)
		s->tids[i] = (uint32_t)o->tids[i];
	s->n_tids = o->n_tids;
	return NULL;
}

/*
 * Creates two maps, one of which holds the other. An update of the outer map returns when each
 * program that ran has ended (kernel/bpf/syscall.c: maybe_wait_bpf_programs(), since 4.20).
 */
static struct rs_error *grace_init(struct rs_kvm_session *s)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	s->grace_inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rs_grace_inner", 4, 4, 1, NULL);
	options.inner_map_fd = (uint32_t)s->grace_inner;
	s->grace_outer = s->grace_inner < 0 ? -1
					    : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rs_grace",
							     4, 4, 1, &options);
	return s->grace_outer < 0 ? rs_error_errno(errno, "cannot create a BPF map of maps") : NULL;
}

static struct rs_error *grace(const struct rs_kvm_session *s)
{
	const uint32_t at = 0, inner = (uint32_t)s->grace_inner;

	if (bpf_map_update_elem(s->grace_outer, &at, &inner, BPF_ANY))
		return rs_error_errno(errno, "cannot wait for the running BPF programs");
	return NULL;
}

static struct rs_error *count_running(uint32_t *n)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	struct rs_error *err = rs_kvm_discover(&vcpus, n);

	free(vcpus);
	return err;
}

struct rs_error *rs_kvm_open_image(const struct rs_kvm_options *options,
				   const struct rs_kvm_image *image,
				   struct rs_kvm_session **session)
{
	struct rs_error *err = check_options(options);
	struct rs_kvm_session *s;
	uint32_t running = 0;

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return rs_error_no_memory();
	s->grace_inner = -1;
	s->grace_outer = -1;
	s->n_cpus = (uint32_t)libbpf_num_possible_cpus();
	s->later = options->later;
	set_config(s, options);
	err = copy_tids(s, options);
	if (!err)
		err = count_running(&running);
	if (!err) {
		set_sizes(s, options, image, running);
		s->known = calloc(s->threads_max + 1, sizeof(*s->known));
		s->known_of = calloc(s->threads_max + 1, sizeof(*s->known_of));
		s->threads = calloc(s->threads_max + 1, sizeof(*s->threads));
		if (!s->known || !s->known_of || !s->threads)
			err = rs_error_no_memory();
	}
	if (!err)
		err = rs_kvm_load(s, image);
	if (!err)
		err = grace_init(s);
	if (err) {
		rs_kvm_close(s);
		return err;
	}
	*session = s;
	return NULL;
}

struct rs_error *rs_kvm_open(const struct rs_kvm_options *options, struct rs_kvm_session **session)
{
	return rs_kvm_open_image(options, NULL, session);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void rs_kvm_close(struct rs_kvm_session *s)
{
	if (!s)
		return;
	rs_kvm_unload(s);
	close_fd(s->grace_inner);
	close_fd(s->grace_outer);
	free(s->tids);
	free(s->known);
	free(s->known_of);
	free(s->threads);
	free(s->exits);
	free(s->cause_rows);
	free(s);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Adds the thread of a slot that is in use. Returns its entry. */
static struct rs_kvm_known *known_add(struct rs_kvm_session *s, uint32_t slot)
{
	struct rs_kvm_known *known = &s->known[s->n_known++];

	*known = (struct rs_kvm_known){ .slot = slot, .vcpu = -1 };
	s->known_of[slot] = s->n_known;
	return known;
}

/* Returns the process of a thread from /proc, or 0 if the thread has ended. */
static int process_of(int tid)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), pid = 0;

	if (proc >= 0) {
		pid = rs_kvm_process_of(proc, tid);
		close(proc);
	}
	return pid;
}

/* Gives a running thread a slot before the gate opens. Without a free slot the programs count the
 * thread's exits as dropped. */
static struct rs_error *preload(struct rs_kvm_session *s, const struct rs_kvm_vcpu *vcpu)
{
	int free_slots = bpf_object__find_map_fd_by_name(s->object, "free_slots");
	int threads = bpf_object__find_map_fd_by_name(s->object, "threads");
	uint32_t tid = (uint32_t)vcpu->tid, at = 0;
	struct rs_kvm_known *known;
	struct rs_kvm_slot *slot;

	if (bpf_map_lookup_elem(threads, &tid, &at) == 0)
		return NULL;
	if (bpf_map_lookup_and_delete_elem(free_slots, NULL, &at))
		return errno == ENOENT ? NULL : rs_error_errno(errno, "cannot take a free slot");
	slot = rs_kvm_slot(s, at);
	slot->id = (uint64_t)(uint32_t)vcpu->pid << 32 | tid;
	slot->tid = tid;
	slot->tgid = (uint32_t)vcpu->pid;
	slot->vcpu = vcpu->vcpu;
	if (bpf_map_update_elem(threads, &tid, &at, BPF_ANY))
		return rs_error_errno(errno, "cannot add thread %u", tid);
	if (process_of(vcpu->tid) != vcpu->pid) { /* it may have ended before on_thread_end() ran */
		slot->id = ~UINT64_C(0);
		bpf_map_delete_elem(threads, &tid);
		return NULL;
	}
	slot->used = 1;
	known = known_add(s, at);
	known->vcpu = vcpu->vcpu;
	memcpy(known->vm, vcpu->vm, sizeof(known->vm));
	known->base_known =
		rs_kvm_schedstat(vcpu->pid, vcpu->tid, &known->base_run_ns, &known->base_wait_ns);
	return NULL;
}

static bool is_listed(const struct rs_kvm_session *s, int tid)
{
	for (uint32_t i = 0; i < s->n_tids; i++)
		if (s->tids[i] == (uint32_t)tid)
			return true;
	return false;
}

static bool is_wanted(const struct rs_kvm_session *s, const struct rs_kvm_vcpu *vcpu)
{
	if (s->config.pid && (uint32_t)vcpu->pid != s->config.pid)
		return false;
	return !s->n_tids || is_listed(s, vcpu->tid);
}

/* Gives slots to the threads that the options list, whether or not they are found as vCPUs. */
static struct rs_error *preload_listed(struct rs_kvm_session *s)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < s->n_tids; i++) {
		struct rs_kvm_vcpu vcpu = { .tid = (int)s->tids[i], .vcpu = -1 };

		vcpu.pid = process_of(vcpu.tid);
		if (!vcpu.pid || (s->config.pid && (uint32_t)vcpu.pid != s->config.pid))
			continue;
		rs_kvm_vm_name(vcpu.pid, vcpu.vm);
		err = preload(s, &vcpu);
	}
	return err;
}

static struct rs_error *preload_all(struct rs_kvm_session *s)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;
	struct rs_error *err = rs_kvm_discover(&vcpus, &n);

	for (uint32_t i = 0; !err && i < n; i++)
		if (is_wanted(s, &vcpus[i]))
			err = preload(s, &vcpus[i]);
	free(vcpus);
	return err ? err : preload_listed(s);
}

#define NUMBER_WAIT_US 2000 /* between the last attempts */
#define NUMBER_LAST    5

/* Returns whether a thread's vCPU number is not yet known. */
static bool is_unnumbered(const struct rs_kvm_session *s, const struct rs_kvm_known *known)
{
	const struct rs_kvm_slot *slot = rs_kvm_slot(s, known->slot);

	return known->vcpu < 0 && slot->vcpu < 0;
}

/* Returns the vCPU of the list that a thread ran, or -1 if it ran none, or several. */
static int vcpu_of(const struct rs_kvm_slot *slot, const struct rs_kvm_vcpu *vcpus, uint32_t n)
{
	int vcpu = -1;

	for (uint32_t i = 0; i < n; i++) {
		if ((uint32_t)vcpus[i].tid != slot->tid || (uint32_t)vcpus[i].pid != slot->tgid)
			continue;
		if (vcpu >= 0)
			return -1;
		vcpu = vcpus[i].vcpu;
	}
	return vcpu;
}

/* Finds vCPU numbers that were not in a record, because the kernel does not record them, or the
 * session counts kvm_userspace_exit. A thread that has just begun may not be found yet, and is
 * looked up again later. A thread that has ended is found while its VM exists. */
static struct rs_error *number(struct rs_kvm_session *s)
{
	struct rs_kvm_vcpu *vcpus = NULL;
	uint32_t n = 0;
	struct rs_error *err = rs_kvm_discover_past(&vcpus, &n);

	for (uint32_t i = 0; !err && i < s->n_known; i++) {
		struct rs_kvm_known *known = &s->known[i];

		if (is_unnumbered(s, known))
			known->vcpu = vcpu_of(rs_kvm_slot(s, known->slot), vcpus, n);
	}
	free(vcpus);
	return err;
}

static bool any_unnumbered(const struct rs_kvm_session *s)
{
	for (uint32_t i = 0; i < s->n_known; i++)
		if (is_unnumbered(s, &s->known[i]))
			return true;
	return false;
}

/* Returns whether a thread without a number is due for a lookup: at the first call, the second, the
 * fourth, ... */
static bool any_to_number(struct rs_kvm_session *s)
{
	bool any = false;

	for (uint32_t i = 0; i < s->n_known; i++) {
		struct rs_kvm_known *known = &s->known[i];

		if (!is_unnumbered(s, known))
			continue;
		known->looks++;
		any = any || !(known->looks & (known->looks - 1));
	}
	return any;
}

struct rs_error *rs_kvm_refresh(struct rs_kvm_session *s)
{
	for (uint32_t at = 1; at <= s->threads_max; at++) {
		const struct rs_kvm_slot *slot = rs_kvm_slot(s, at);
		struct rs_kvm_known *known;

		if (s->known_of[at] || !__atomic_load_n(&slot->used, __ATOMIC_ACQUIRE))
			continue;
		known = known_add(s, at);
		rs_kvm_vm_name((int)slot->tgid, known->vm);
		if (!known->vm[0])
			memcpy(known->vm, slot->comm, sizeof(slot->comm) - 1);
		known->base_known = slot->base_known;
		known->base_run_ns = slot->base_run_ns;
		known->base_wait_ns = slot->base_wait_ns;
	}
	return any_to_number(s) ? number(s) : NULL;
}

/* ---- the gate -------------------------------------------------------------------------------- */

static struct rs_error *gate_open(struct rs_kvm_session *s)
{
	struct rs_kvm_control *control = (void *)s->control.mem;
	struct rs_error *err = preload_all(s);

	if (err)
		return err;
	s->opened_ns = rs_now_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < s->n_known; i++)
		rs_vcpu_begin(&rs_kvm_slot(s, s->known[i].slot)->time, s->opened_ns);
	s->gate = RS_KVM_OPEN;
	/* Pairs with each program's load of the gate: programs observe the stores above. */
	__atomic_store_n(&control->gate, 1, __ATOMIC_RELEASE);
	return NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Counts pending exits and refused records, after the last program has ended. */
static void finish(struct rs_kvm_session *s)
{
	for (uint32_t i = 0; i < s->n_known; i++) {
		struct rs_kvm_slot *slot = rs_kvm_slot(s, s->known[i].slot);

		s->closed_ns = later(s->closed_ns, slot->time.at);
		if (s->config.only_count && slot->place < RS_KVM_ROW)
			slot->count[slot->place]++;
		if (slot->cell == RS_KVM_NO_CELL)
			rs_kvm_cpu(s, 0)->dropped_exits++;
		else if (slot->cell)
			rs_kvm_cell(s, slot->cell)->count++;
		slot->cell = 0;
		slot->place = 0;
	}
	for (uint32_t i = 0; s->config.rings && i < s->n_cpus; i++) {
		struct rs_kvm_cpu *cpu = rs_kvm_cpu(s, i);
		struct rs_sbuf *ring = rs_kvm_element(&s->rings, i);

		s->closed_ns = later(s->closed_ns, cpu->last_ns);
		/* A record that waited for a next program is lost. */
		cpu->refused += cpu->pending_end - cpu->pending_begin;
		cpu->pending_begin = cpu->pending_end;
		/* Pairs with the consumer's acquire: a drain may run concurrently. */
		__atomic_store_n(&ring->refused, cpu->refused, __ATOMIC_RELEASE);
	}
}

static void schedstats(struct rs_kvm_session *s)
{
	for (uint32_t i = 0; i < s->n_known; i++) {
		struct rs_kvm_known *known = &s->known[i];
		const struct rs_kvm_slot *slot = rs_kvm_slot(s, known->slot);

		known->sched_known = known->base_known && !slot->ended &&
				     rs_kvm_schedstat((int)slot->tgid, (int)slot->tid,
						      &known->run_ns, &known->wait_ns);
	}
}

/* Refreshes the threads for the last time, and waits a short time for numbers that are still
 * unknown. */
static struct rs_error *refresh_last(struct rs_kvm_session *s)
{
	struct rs_error *err = rs_kvm_refresh(s);

	for (int i = 0; !err && i < NUMBER_LAST && any_unnumbered(s); i++) {
		usleep(NUMBER_WAIT_US);
		err = number(s);
	}
	return err;
}

/* Finds which threads without an event sleep. Called while the gate is still open, so that a switch
 * after the check would be an event. */
static void asleep_read(struct rs_kvm_session *s)
{
	for (uint32_t i = 0; i < s->n_known; i++) {
		const struct rs_kvm_slot *slot = rs_kvm_slot(s, s->known[i].slot);

		s->known[i].asleep = !slot->time.seen && !slot->ended &&
				     rs_kvm_asleep((int)slot->tgid, (int)slot->tid);
	}
}

static struct rs_error *gate_shut(struct rs_kvm_session *s)
{
	struct rs_kvm_control *control = (void *)s->control.mem;
	struct rs_error *err;

	if (s->config.latency)
		asleep_read(s);
	/* Pairs with each program's load of the gate. */
	__atomic_store_n(&control->gate, 0, __ATOMIC_SEQ_CST);
	s->closed_ns = rs_now_ns(CLOCK_MONOTONIC);
	s->gate = RS_KVM_SHUT;
	if (s->config.latency)
		schedstats(s);
	err = grace(s);
	if (!err)
		err = refresh_last(s);
	if (!err)
		finish(s);
	return err;
}

struct rs_error *rs_kvm_gate(struct rs_kvm_session *s, bool open)
{
	if (open && s->gate == RS_KVM_NEW)
		return gate_open(s);
	if (!open && s->gate == RS_KVM_OPEN)
		return gate_shut(s);
	return rs_error_create(RS_USAGE, "a session's gate opens once, and closes once");
}

/* ---- rings and trigger ----------------------------------------------------------------------- */

uint32_t rs_kvm_ring_count(const struct rs_kvm_session *s)
{
	return s->config.rings ? s->n_cpus : 0;
}

void rs_kvm_ring(const struct rs_kvm_session *s, uint32_t cpu, void **mem, size_t *bytes)
{
	*mem = rs_kvm_element(&s->rings, cpu);
	*bytes = s->ring_bytes;
}

bool rs_kvm_triggered(const struct rs_kvm_session *s, struct rs_kvm_trigger *trigger)
{
	bool any = false;

	for (uint32_t i = 0; i < s->n_cpus; i++) {
		const struct rs_kvm_pulled *pulled = &rs_kvm_cpu(s, i)->pulled;

		/* Pairs with trigger() in exits.bpf.c, which writes `set` last. */
		if (!__atomic_load_n(&pulled->set, __ATOMIC_ACQUIRE) ||
		    (any && pulled->at_ns >= trigger->at_ns))
			continue;
		any = true;
		*trigger = (struct rs_kvm_trigger){
			.at_ns = pulled->at_ns,
			.cost_ns = pulled->cost_ns,
			.tid = (int)pulled->tid,
			.isa = RS_KVM_WHAT_ISA(pulled->what),
			.code = RS_KVM_WHAT_CODE(pulled->what),
		};
	}
	return any;
}

void rs_kvm_rearm(struct rs_kvm_session *s)
{
	/* Pairs with trigger() in exits.bpf.c, which writes only while `set` is 0. */
	for (uint32_t i = 0; i < s->n_cpus; i++)
		__atomic_store_n(&rs_kvm_cpu(s, i)->pulled.set, 0, __ATOMIC_RELEASE);
}

/* ---- later programs -------------------------------------------------------------------------- */

/* Returns the number of sums that have a place near each CPU: at most half of all. */
static uint32_t near_count(const struct rs_kvm_session *s, const struct rs_filter *filter)
{
	uint32_t n = RS_KVM_NEAR_MAX;

	while (n && (uint64_t)n * s->n_cpus > filter->room / 2)
		n /= 2;
	return n;
}

static void filter_apply(struct rs_kvm_session *s, const struct rs_filter *filter)
{
	s->config.wanted = filter ? filter->wanted : ~UINT64_C(0);
	s->config.filter = filter && filter->n;
	s->config.filter_thread = filter && filter->thread;
	s->config.adds = filter && filter->adds;
	s->config.from_ns = filter ? filter->from_ns : 0;
	s->config.epoch_ns = filter ? filter->epoch_ns : 0;
	s->config.near = s->config.adds ? near_count(s, filter) : 0;
	s->sums_max = s->config.adds ? filter->room - s->config.near * s->n_cpus : 1;
	s->n_keys = s->config.adds ? filter->n_keys : RS_FILTER_KEYS;
	s->config.n_keys = s->n_keys;
}

struct rs_error *rs_kvm_program_image(struct rs_kvm_session *s, const struct rs_kvm_image *image,
				      const struct rs_filter *filter)
{
	if (!s->later || s->programs || s->gate != RS_KVM_NEW)
		return rs_error_create(RS_USAGE, "this session's programs are already loaded");
	filter_apply(s, filter);
	return rs_kvm_load_programs(s, image, filter);
}

struct rs_error *rs_kvm_program(struct rs_kvm_session *s, const struct rs_filter *filter)
{
	return rs_kvm_program_image(s, NULL, filter);
}
