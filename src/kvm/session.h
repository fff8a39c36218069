/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internals of a KVM session, shared by load.c (the BPF object), session.c (threads, the gate),
 * snapshot.c (the counts), and by tests and benchmarks, which use another object.
 */
#ifndef RS_KVM_SESSION_H
#define RS_KVM_SESSION_H

#include "kvm/bpf_object.h"
#include "kvm/kvm.h"
#include "kvm/wire.h"

#include <bpf/libbpf.h>

#define RS_KVM_PROGRAMS 24

/* The least number of slots, for future threads. A thread keeps its slot for the whole session. */
#define RS_KVM_THREADS_MIN 4096u
#define RS_KVM_THREADS_MAX (1u << 20)
/* Cells and causes: for the running threads, and for a number of further threads. */
#define RS_KVM_CELLS_PER_THREAD	 32u
#define RS_KVM_CELLS_RARE	 (1u << 14) /* if reasons with a place in the row need no cell */
#define RS_KVM_CAUSES_PER_THREAD 64u
#define RS_KVM_SPARE_THREADS	 256u
#define RS_KVM_NEAR_MAX		 256u /* the most sums near each CPU: 8 bits of a hash */
#define RS_KVM_RING_DEFAULT	 (1u << 20)
/* The kernel's limit for an element of an array before 5.16 (KMALLOC_MAX_SIZE of x86). */
#define RS_KVM_RING_MAX (4u << 20)
#define RS_KVM_RING_MIN 4096u

/* The session's data of a thread, in addition to its slot. The array has the order of the threads'
 * first appearance. */
struct rs_kvm_known {
	uint32_t slot;
	int vcpu;
	uint32_t looks; /* lookups while its number was unknown */
	char vm[RS_KVM_VM_MAX];
	bool base_known, sched_known;
	bool asleep; /* just before the gate closed */
	uint64_t base_run_ns, base_wait_ns;
	uint64_t run_ns, wait_ns; /* when the gate closed */
};

enum rs_kvm_gate {
	RS_KVM_NEW,
	RS_KVM_OPEN,
	RS_KVM_SHUT,
};

struct rs_kvm_session {
	struct bpf_object *object;
	struct bpf_object *programs; /* the object with the programs: the same, or loaded later */
	bool later;
	struct bpf_link *links[RS_KVM_PROGRAMS];
	struct rs_kvm_config config;
	uint32_t *tids; /* of the options */
	uint32_t n_tids;
	uint32_t threads_max, cells_max, causes_max, n_cpus, ring_bytes;
	uint32_t sums_max, n_keys; /* size of the hash of a filter's sums, words of their keys */

	struct rs_kvm_mapped control, slots, cells, hists, causes, cpus, rings;
	struct rs_kvm_mapped nears;   /* of later programs, if a filter adds up */
	int grace_outer, grace_inner; /* maps; see grace() */

	enum rs_kvm_gate gate;
	uint64_t opened_ns, closed_ns;

	struct rs_kvm_known *known;
	uint32_t *known_of; /* by slot: index in known + 1; 0: no entry yet */
	uint32_t n_known;

	/* The snapshot's. */
	struct rs_kvm_thread *threads;
	struct rs_kvm_exit *exits;
	struct rs_kvm_cause *cause_rows;
	uint32_t n_exits_max, n_causes_max;
};

static inline void *rs_kvm_element(const struct rs_kvm_mapped *map, uint32_t at)
{
	return map->mem + (size_t)at * map->stride;
}

static inline struct rs_kvm_slot *rs_kvm_slot(const struct rs_kvm_session *session, uint32_t at)
{
	return rs_kvm_element(&session->slots, at);
}

static inline struct rs_kvm_cell *rs_kvm_cell(const struct rs_kvm_session *session, uint32_t at)
{
	return rs_kvm_element(&session->cells, at);
}

static inline struct rs_kvm_cpu *rs_kvm_cpu(const struct rs_kvm_session *session, uint32_t at)
{
	return rs_kvm_element(&session->cpus, at);
}

/* A BPF object that replaces the session's own. Its programs are built for BPF_PROG_TEST_RUN. */
struct rs_kvm_image {
	const void *elf;
	size_t bytes;
	bool bodies;			/* the caller runs the programs; they are not attached */
	uint32_t cells_max, causes_max; /* 0: as in the session's own */
};

/* Does the same as rs_kvm_open() with an image; NULL: the session's own object. */
struct rs_error *rs_kvm_open_image(const struct rs_kvm_options *options,
				   const struct rs_kvm_image *image,
				   struct rs_kvm_session **session);

/* load.c: loads the object, and creates its maps and links. session is zeroed, except options and
 * sizes. */
struct rs_error *rs_kvm_load(struct rs_kvm_session *session, const struct rs_kvm_image *image);
void rs_kvm_unload(struct rs_kvm_session *session);

/* Loads the programs of a session that was opened without them. On an error, unloads them again. */
struct rs_error *rs_kvm_load_programs(struct rs_kvm_session *session,
				      const struct rs_kvm_image *image,
				      const struct rs_filter *filter);

/* Does the same as rs_kvm_program() with an image. */
struct rs_error *rs_kvm_program_image(struct rs_kvm_session *session,
				      const struct rs_kvm_image *image,
				      const struct rs_filter *filter);

/* filter.c: copies an object, with the filter in its place. The caller frees *out. */
struct rs_error *rs_kvm_filter_in(const void *elf, size_t bytes, const struct rs_filter *filter,
				  void **out);

/* Adds entries for the threads that appeared since the last call, with their VMs' names. */
struct rs_error *rs_kvm_refresh(struct rs_kvm_session *session);

#endif
