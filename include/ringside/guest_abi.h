/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracing interface between a guest and its host: the area in guest memory, and the doorbell.
 * Freestanding. All addresses are guest-physical and little endian; the host checks each one.
 *
 * Doorbell: OUT of EAX to RS_DOORBELL_PORT, with RCX an address.
 *	RS_DOORBELL_REGISTER	of the area: this vCPU's ring is in it
 *	RS_DOORBELL_FULL	of the area: this vCPU's ring is full; drain it now
 *	RS_DOORBELL_STACK	of a struct rs_guest_stack: write this vCPU's stack there now
 *
 * Shared: no doorbell. The host finds the area at a known address (the symbol rs_guest_area, or one
 * on which the VMM and the guest agreed), or searches for the magic at the beginning of each page
 * of the guest's RAM. With either hand-over, a ring is valid once its magic is set.
 */
#ifndef RINGSIDE_GUEST_ABI_H
#define RINGSIDE_GUEST_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/language.h>

RS_C_BEGIN

#define RS_DOORBELL_PORT     0x5253 /* "RS" */
#define RS_DOORBELL_REGISTER 1u
#define RS_DOORBELL_FULL     2u
#define RS_DOORBELL_STACK    3u

#define RS_GUEST_AREA_MAGIC   UINT64_C(0x6165726165736972) /* "risearea" */
#define RS_GUEST_AREA_VERSION 1u
#define RS_GUEST_AREA_ALIGN   4096u /* of its guest-physical address */
#define RS_GUEST_VCPUS_MAX    256u
#define RS_GUEST_SITES_MAX    65536u
#define RS_GUEST_TEXT_MAX     256u /* bytes of a site's text */

#define RS_GUEST_INVARIANT_TSC 1u /* flag: CPUID 80000007H EDX bit 8 is set in the guest */

/* A site as the host reads it: struct rs_site of emit.h. */
#define RS_GUEST_SITE_NAME  1u
#define RS_GUEST_SITE_EVENT 2u
#define RS_GUEST_SITE_SPAN  3u
struct rs_guest_site {
	uint64_t text; /* address in the guest; see to_gpa */
	uint32_t len;
	uint32_t kind;
	uint32_t id; /* rs_site_id() of its index + 1 */
	uint32_t reserved;
};
RS_STATIC_ASSERT(sizeof(struct rs_guest_site) == 24, "both sides");

struct rs_guest_ring {
	uint64_t gpa;	/* of the sbuf header */
	uint64_t bytes; /* header included; 0: no ring for this vCPU */
};

struct rs_guest_area {
	uint64_t magic;	  /* written last */
	uint32_t version; /* RS_GUEST_AREA_VERSION */
	uint32_t bytes;	  /* sizeof(struct rs_guest_area) */
	uint32_t flags;	  /* RS_GUEST_ */
	uint32_t n_sites;
	uint64_t sites;	    /* gpa of struct rs_site[n_sites] (emit.h) */
	uint64_t to_gpa;    /* a text's address in a site plus this is its gpa */
	uint64_t log;	    /* gpa of a log's memory (log_ring.h) */
	uint64_t log_bytes; /* 0: none; written last */
	uint64_t self;	    /* gpa of this area, in the first byte of a page; 0: older runtimes */
	struct rs_guest_ring ring[RS_GUEST_VCPUS_MAX]; /* by vCPU */
};
RS_STATIC_ASSERT(offsetof(struct rs_guest_area, ring) == 64, "both sides");
RS_STATIC_ASSERT(sizeof(struct rs_guest_area) == 64 + 16 * RS_GUEST_VCPUS_MAX, "both sides");

/*
 * A stack that the host takes. The guest sets max, and n to 0. The host writes frames and by_fp as
 * the event stack::sample has them, and n last; it leaves n at 0 if it cannot unwind. Element 0 is
 * the address of the doorbell's instruction, or the one after it.
 */
#define RS_GUEST_STACK_MAX 64u
struct rs_guest_stack {
	uint32_t n;
	uint32_t max;  /* elements for which the guest has room, up to RS_GUEST_STACK_MAX */
	uint64_t busy; /* the guest's own */
	uint64_t by_fp;
	uint64_t frames[RS_GUEST_STACK_MAX];
};
RS_STATIC_ASSERT(offsetof(struct rs_guest_stack, by_fp) == 16, "both sides");
RS_STATIC_ASSERT(sizeof(struct rs_guest_stack) == 24 + 8 * RS_GUEST_STACK_MAX, "both sides");

RS_C_END

#endif
