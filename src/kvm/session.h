/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a KVM session, shared by load.c (the BPF object), session.c (threads, the gate) and
 * snapshot.c (what was counted); and for tests and benchmarks, which bring an object of their own.
 */
#ifndef RS_KVM_SESSION_H
#define RS_KVM_SESSION_H

#include "kvm/kvm.h"
#include "kvm/wire.h"

#include <bpf/libbpf.h>

#define RS_KVM_PROGRAMS 24

/* Slots that there are at least, for threads to come; a slot is its thread's for the session. */
#define RS_KVM_THREADS_MIN 4096u
#define RS_KVM_THREADS_MAX (1u << 20)
/* Cells and causes: for those that run, and as many more threads. */
#define RS_KVM_CELLS_PER_THREAD	 32u
#define RS_KVM_CELLS_RARE	 (1u << 14) /* where those with a place in the row need none */
#define RS_KVM_CAUSES_PER_THREAD 64u
#define RS_KVM_SPARE_THREADS	 256u
#define RS_KVM_NEAR_MAX		 256u /* sums that have a place near each CPU: 8 bits of a hash */
#define RS_KVM_RING_DEFAULT	 (1u << 20)
/* The kernel's limit for an element of an array before 5.16 (KMALLOC_MAX_SIZE of x86). */
#define RS_KVM_RING_MAX (4u << 20)
#define RS_KVM_RING_MIN 4096u

/* An array in the memory of both. */
struct rs_kvm_mapped {
	uint8_t *mem;
	size_t bytes;
	uint32_t stride; /* bytes from one element to the next */
	uint32_t n;
};

/* What the session knows of a thread beside its slot. Ordered as they were seen first. */
struct rs_kvm_known {
	uint32_t slot;
	int vcpu;
	uint32_t looks; /* while it had no number */
	char vm[RS_KVM_VM_MAX];
	bool base_known, sched_known;
	bool asleep; /* just before the close */
	uint64_t base_run_ns, base_wait_ns;
	uint64_t run_ns, wait_ns; /* at the close */
};

enum rs_kvm_gate {
	RS_KVM_NEW,
	RS_KVM_OPEN,
	RS_KVM_SHUT,
};

struct rs_kvm_session {
	struct bpf_object *object;
	struct bpf_object *programs; /* where they are: in the same, or loaded later */
	bool later;
	struct bpf_link *links[RS_KVM_PROGRAMS];
	struct rs_kvm_config config;
	uint32_t *tids; /* of the options */
	uint32_t n_tids;
	uint32_t threads_max, cells_max, causes_max, n_cpus, ring_bytes;
	uint32_t sums_max, n_keys; /* of a filter's sums in the hash, and the words of their keys */

	struct rs_kvm_mapped control, slots, cells, hists, causes, cpus, rings;
	struct rs_kvm_mapped nears;   /* of the programs that come later; where a filter adds up */
	int grace_outer, grace_inner; /* maps; see grace() */

	enum rs_kvm_gate gate;
	uint64_t opened_ns, closed_ns;

	struct rs_kvm_known *known;
	uint32_t *known_of; /* by slot: index in known + 1; 0: not seen yet */
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

/* A BPF object that stands in for the session's own, its programs made for BPF_PROG_TEST_RUN. */
struct rs_kvm_image {
	const void *elf;
	size_t bytes;
	bool bodies;			/* of programs that are run by hand, not attached */
	uint32_t cells_max, causes_max; /* 0: as in the session's own */
};

/* rs_kvm_open() with an image; NULL: the session's own. */
struct rs_error *rs_kvm_open_image(const struct rs_kvm_options *options,
				   const struct rs_kvm_image *image,
				   struct rs_kvm_session **session);

/* load.c: the object, its maps and links. session is zeroed, but for options and sizes. */
struct rs_error *rs_kvm_load(struct rs_kvm_session *session, const struct rs_kvm_image *image);
void rs_kvm_unload(struct rs_kvm_session *session);

/* The programs of a session that was opened without. What was half done is undone. */
struct rs_error *rs_kvm_load_programs(struct rs_kvm_session *session,
				      const struct rs_kvm_image *image,
				      const struct rs_filter *filter);

/* rs_kvm_program() with an image. */
struct rs_error *rs_kvm_program_image(struct rs_kvm_session *session,
				      const struct rs_kvm_image *image,
				      const struct rs_filter *filter);

/* filter.c: a copy of an object, malloc()ed, with the filter in its place. */
struct rs_error *rs_kvm_filter_in(const void *elf, size_t bytes, const struct rs_filter *filter,
				  void **out);

/* The threads that were seen since the last call become known, with their names. */
struct rs_error *rs_kvm_learn(struct rs_kvm_session *session);

#endif
