/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing from inside a guest: the spans and events of emit.h without a libc. Each vCPU has a ring
 * in the guest's memory. Link with libringside-guest.a.
 *
 *	static char ring[RS_GUEST_RING_BYTES] __attribute__((aligned(64)));
 *
 *	rs_guest_init(&(struct rs_guest_config){ .hand_over = RS_GUEST_DOORBELL });
 *	rs_guest_vcpu_init(0, ring, sizeof(ring));	// on each vCPU, before its first event
 *
 * Hand-over, chosen per guest:
 *	doorbell  an OUT registers the ring; a full ring makes another OUT, at which the host
 *		  drains it before the put continues. The host also drains after every exit, so
 *		  HLT, abort, panic and triple fault lose nothing. Cost: one exit per
 *		  RS_GUEST_RING_BYTES of records or, if the host does not answer, per
 *		  RS_GUEST_ASK_EVERY records lost.
 *	shared	  the host reads the ring while the guest runs: no exit. A full ring drops and
 *		  counts. The VMM needs no support for it: `ringside record --guest-memory`.
 *	keep	  the host does not read it: no exit. A full ring drops its oldest quarter; its
 *		  content can be recovered after the guest's end (guest_log.h).
 *
 * An exception or interrupt handler may trace, even during a put: the handler's records follow the
 * interrupted one and have later stamps. A handler that will not return must first call
 * rs_guest_abandon(); otherwise a half-written put hides its records.
 *
 * RS_GUEST_THIS() returns the current producer. The default keeps a pointer to it at %gs:0 (x86-64)
 * or in TPIDR_EL1 (arm64). A kernel with its own per-CPU data defines RS_GUEST_THIS() before
 * including this header.
 */
#ifndef RINGSIDE_GUEST_H
#define RINGSIDE_GUEST_H

#include <stdbool.h>
#include <ringside/language.h>
#include <ringside/guest_abi.h>
#include <ringside/sbuf.h>

/* 4 MiB as in ACRN: 131,000 records between doorbells. */
#define RS_GUEST_RING_BYTES (4u << 20)
/* The runtime rings an unanswered doorbell again after this many lost records; a power of two. */
#define RS_GUEST_ASK_EVERY (64u << 10)

extern uint32_t rs_guest_mask; /* RS_CLASS_ bits that are on; all after rs_guest_init() */

/* Returns the producer of a vCPU, for a guest that defines RS_GUEST_THIS(), or NULL if there is no
 * such vCPU. */
struct rs_sbuf_producer *rs_guest_producer(uint32_t vcpu);

/* volatile, so that the compiler reads the mask first: before rs_guest_vcpu_init(), there is no
 * producer to read, and the mask is 0. */
#ifndef RS_GUEST_THIS
#if defined(__x86_64__)
static inline struct rs_sbuf_producer *rs_guest_this(void)
{
	struct rs_sbuf_producer *p;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(p));
	return p;
}
#elif defined(__aarch64__)
static inline struct rs_sbuf_producer *rs_guest_this(void)
{
	struct rs_sbuf_producer *p;

	__asm__ volatile("mrs %0, tpidr_el1" : "=r"(p));
	return p;
}
#endif
#define RS_GUEST_THIS() rs_guest_this()
#endif

#define RS_THIS_MASK	   rs_guest_mask
#define RS_THIS_PRODUCER() RS_GUEST_THIS()

#include <ringside/emit.h>

RS_C_BEGIN

enum rs_guest_hand_over {
	RS_GUEST_DOORBELL,
	RS_GUEST_SHARED,
	RS_GUEST_KEEP,
};

struct rs_guest_config {
	enum rs_guest_hand_over hand_over;
	uint32_t mask;	 /* classes to enable; 0 means all */
	uint64_t to_gpa; /* add to a guest-virtual address to get its guest-physical one */
	bool own_this;	 /* the guest defines RS_GUEST_THIS(): do not change %gs (TPIDR_EL1) */
};

enum rs_guest_status {
	RS_GUEST_OK,
	RS_GUEST_TOO_MANY_VCPUS,
	RS_GUEST_BAD_RING, /* too small, or not aligned to 8 bytes */
};

/* The area in which the host finds rings and texts; one per guest. */
extern struct rs_guest_area rs_guest_area;

/* Numbers the sites from 1, checks the TSC, and fills in the area. Sites past RS_GUEST_SITES_MAX
 * get no number, and their spans record nothing. */
void rs_guest_start(const struct rs_guest_config *config, struct rs_site *begin,
		    struct rs_site *end);

/* The guest program's own sites. The symbols are weak, because a guest without sites has no such
 * section. */
extern struct rs_site __start_rs_sites[] __attribute__((weak, visibility("hidden")));
extern struct rs_site __stop_rs_sites[] __attribute__((weak, visibility("hidden")));

/* Calls rs_guest_start() for the program's sites. Call it once, on the boot vCPU, before any
 * event. */
static inline void rs_guest_init(const struct rs_guest_config *config)
{
	rs_guest_start(config, __start_rs_sites, __stop_rs_sites);
}

/* Creates the ring of a vCPU in bytes of memory and, with a doorbell, registers it. vcpu is the
 * VMM's number of it. Runs on that vCPU. Sets the %gs base (or TPIDR_EL1), unless the guest defines
 * RS_GUEST_THIS(). */
enum rs_guest_status rs_guest_vcpu_init(uint32_t vcpu, void *ring, uint64_t bytes);

/*
 * For handlers on vCPU vcpu, before they trace. _enter is for a handler that will return to the
 * interrupted code; it is optional, and lets a later _abandon keep the handler's records. _abandon
 * is for a handler that will not return: it abandons an interrupted put, counts it as lost, and
 * publishes what handlers put after it.
 */
void rs_guest_handler_enter(uint32_t vcpu);
void rs_guest_abandon(uint32_t vcpu);

/* Returns CPUID 80000007H EDX bit 8 (x86-64). Always true on arm64, whose architecture defines the
 * counter. */
bool rs_guest_tsc_invariant(void);

RS_C_END

#endif
