/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host side of guest tracing, for any VMM: give it a way to reach guest memory and, for the
 * doorbell, the registers of the OUT; get a source, or hand the guest to a recorder.
 *
 *	rs_host_guest_create(&options, &guest);
 *	...on an exit for port RS_DOORBELL_PORT:  rs_host_doorbell(guest, vcpu, eax, rcx)
 *	...on every other exit of that vCPU:      rs_host_drain(guest, vcpu)
 *
 * Everything that comes from the guest is hostile. Each field is read once, into host memory,
 * and checked there; a guest that breaks its ring, its area or its records loses its own trace
 * from there on, which is said, and costs the host a bounded time per call. No call writes guest
 * memory but the rings' head.
 *
 * Threads: calls for one vCPU must not overlap each other; those for different vCPUs may.
 */
#ifndef RINGSIDE_HOST_H
#define RINGSIDE_HOST_H

#include <ringside/guest_abi.h>
#include <ringside/source.h>

/* A guest's memory. Both return false when any byte of the range is not the guest's RAM. */
struct rs_guest_memory {
	void *ctx;
	bool (*read)(void *ctx, uint64_t gpa, void *to, size_t bytes);
	bool (*write)(void *ctx, uint64_t gpa, const void *from, size_t bytes);
};

struct rs_host_options {
	const char *vm;	      /* its name; copied */
	const char *provider; /* of the guest's events; NULL means "guest" */
	struct rs_guest_memory memory;
	const struct rs_clock *clock; /* the host's */
	uint32_t vcpus;		      /* 1 to RS_GUEST_VCPUS_MAX */
};

struct rs_host_guest;

struct rs_error *rs_host_guest_create(const struct rs_host_options *options,
				      struct rs_host_guest **guest);
/* After the recorder or source that drains it is gone. */
void rs_host_guest_destroy(struct rs_host_guest *guest);

/* A vCPU's TSC minus the host's, known to within error_cycles (KVM: attribute
 * KVM_VCPU_TSC_OFFSET; exact). Before that vCPU's ring is found. */
void rs_host_set_tsc_offset(struct rs_host_guest *guest, uint32_t vcpu, int64_t offset,
			    uint64_t error_cycles);

/* Shared hand-over: where the area will be. It is looked at until it is there. */
void rs_host_set_area(struct rs_host_guest *guest, uint64_t gpa);

/*
 * A doorbell: takes the OUT's EAX and RCX. An error means that the guest's request made no sense;
 * the VMM may go on, and will want to say it once. EAX values that are none of ours: RS_USAGE.
 */
struct rs_error *rs_host_doorbell(struct rs_host_guest *guest, uint32_t vcpu, uint32_t eax,
				  uint64_t rcx);

/*
 * Drains a vCPU's ring into whatever was given the guest: a recorder, or a source's buffer.
 * Nothing happens before there is a taker, or after the ring was found broken; a ring that is not
 * known yet is looked for where a doorbell or rs_host_set_area() has said that it will be. An
 * error (the area or ring makes no sense, the ring broke, the storage failed) is returned once.
 */
struct rs_error *rs_host_drain(struct rs_host_guest *guest, uint32_t vcpu);

/* A source of the guest's events, live: next() drains, and is idle where there is nothing. The
 * source ends after rs_host_guest_end(). One source or one recorder per guest. */
struct rs_error *rs_host_source(struct rs_host_guest *guest, struct rs_source **source);

/* The guest will run no more: what is in the rings is all there is. */
void rs_host_guest_end(struct rs_host_guest *guest);

#endif
