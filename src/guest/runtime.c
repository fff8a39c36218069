/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest runtime: the area in which the host finds rings and texts, a producer per vCPU, and the
 * doorbell. The code is freestanding; nothing here allocates or waits.
 *
 * Writers: rs_guest_start() runs once, before any other vCPU runs. After that, a vCPU writes only
 * its own entry of vcpus[] and of the area.
 */
#include "guest/arch.h"

uint32_t rs_guest_mask;
struct rs_guest_area rs_guest_area __attribute__((aligned(RS_GUEST_AREA_ALIGN)));

static struct vcpu {
	struct rs_guest_self self; /* %gs:0 reads it */
	struct rs_sbuf_producer producer;
	uint64_t interrupted_end; /* position; see rs_guest_handler_enter() */
} vcpus[RS_GUEST_VCPUS_MAX];

static enum rs_guest_hand_over hand_over;
static uint64_t to_gpa;
static bool own_this;

static uint64_t gpa_of(const void *gva)
{
	return (uintptr_t)gva + to_gpa;
}

void rs_guest_start(const struct rs_guest_config *config, struct rs_site *begin,
		    struct rs_site *end)
{
	uint32_t n = 0;

	hand_over = config->hand_over;
	to_gpa = config->to_gpa;
	own_this = config->own_this;
	for (struct rs_site *site = begin; site < end && n < RS_GUEST_SITES_MAX; site++)
		site->id = rs_site_id(site->kind, ++n);
	rs_guest_area.version = RS_GUEST_AREA_VERSION;
	rs_guest_area.bytes = sizeof(rs_guest_area);
	rs_guest_area.flags = rs_guest_tsc_invariant() ? RS_GUEST_INVARIANT_TSC : 0;
	rs_guest_area.n_sites = n;
	rs_guest_area.sites = n ? gpa_of(begin) : 0;
	rs_guest_area.to_gpa = to_gpa;
	rs_guest_area.self = gpa_of(&rs_guest_area);
	/* Pairs with the host's read of the magic, which precedes its other reads of the area. */
	__atomic_store_n(&rs_guest_area.magic, RS_GUEST_AREA_MAGIC, __ATOMIC_RELEASE);
	rs_guest_mask = config->mask ? config->mask : RS_CLASS_ALL;
}

/*
 * The full() hook of a ring with a doorbell. Returns true if it has rung. If the host does not
 * drain the ring (its disk is full, or the VMM does not support Ringside), the hook rings only from
 * time to time, so that a guest that loses records does not also exit for each lost record.
 *
 * The ring's head does not show whether the host made room: if a handler writes records between a
 * read of the head and the doorbell, the head may move around the whole ring.
 */
static bool ring_full(struct rs_sbuf_producer *p)
{
	if ((p->refused - p->reported) & (RS_GUEST_ASK_EVERY - 1))
		return false;
	rs_guest_arch_doorbell(RS_DOORBELL_FULL, gpa_of(&rs_guest_area));
	return true;
}

/* The full() hook of a ring that overwrites. It is a local function, because the address of another
 * file's function would need a global offset table. */
static bool drop_oldest(struct rs_sbuf_producer *p)
{
	return rs_sbuf_drop_oldest(p);
}

static bool (*when_full(void))(struct rs_sbuf_producer *)
{
	switch (hand_over) {
	case RS_GUEST_DOORBELL:
		return ring_full;
	case RS_GUEST_KEEP:
		return drop_oldest;
	default:
		return NULL;
	}
}

enum rs_guest_status rs_guest_vcpu_init(uint32_t vcpu, void *ring, uint64_t bytes)
{
	struct rs_sbuf_producer *p;

	if (vcpu >= RS_GUEST_VCPUS_MAX)
		return RS_GUEST_TOO_MANY_VCPUS;
	if ((uintptr_t)ring % 8 || rs_sbuf_create(ring, bytes, RS_SLOT_BYTES) != RS_SBUF_OK)
		return RS_GUEST_BAD_RING;
	p = &vcpus[vcpu].producer;
	*p = (struct rs_sbuf_producer){
		.cpu_bits = (uint64_t)(uint8_t)vcpu << RS_CPU_SHIFT,
		.full = when_full(),
	};
	if (rs_sbuf_producer_init(p, ring, bytes) != RS_SBUF_OK)
		return RS_GUEST_BAD_RING;
	vcpus[vcpu].interrupted_end = 0;
	vcpus[vcpu].self.self = p;
	if (!own_this)
		rs_guest_arch_set_this(&vcpus[vcpu].self);
	rs_guest_area.ring[vcpu].gpa = gpa_of(ring);
	/* Pairs with the host's read of bytes, which is 0 until the ring exists. */
	__atomic_store_n(&rs_guest_area.ring[vcpu].bytes, bytes, __ATOMIC_RELEASE);
	if (hand_over == RS_GUEST_DOORBELL)
		rs_guest_arch_doorbell(RS_DOORBELL_REGISTER, gpa_of(&rs_guest_area));
	return RS_GUEST_OK;
}

struct rs_sbuf_producer *rs_guest_producer(uint32_t vcpu)
{
	return vcpu < RS_GUEST_VCPUS_MAX ? &vcpus[vcpu].producer : NULL;
}

/* ---- handlers ----------------------------------------------------------------------------- */

/*
 * Records the end of the put that this handler interrupted, if any: everything from there on is
 * complete. The mark of an outer put that is still open stays.
 */
void rs_guest_handler_enter(uint32_t vcpu)
{
	struct vcpu *v = &vcpus[vcpu % RS_GUEST_VCPUS_MAX];

	if (v->interrupted_end <= v->producer.published)
		v->interrupted_end = v->producer.reserve;
}

/* Turns the bytes of offsets [from, to) into filler, slot by slot, as sbuf.c does. */
static void fill(struct rs_sbuf_producer *p, uint32_t from, uint32_t to)
{
	struct rs_slot *slots = (struct rs_slot *)(p->ring + 1);

	for (; from < to; from += RS_SLOT_BYTES)
		slots[from / RS_SLOT_BYTES] = (struct rs_slot){
			.head = rs_record_head(RS_ID_FILLER, 1),
		};
}

/*
 * Abandons the open put. It occupies [published, end): rs_sbuf_commit_nested() leaves published at
 * the start of a put until that is complete. The put becomes filler and counts as refused; the next
 * put reports the loss. If the interruption came after the store to tail, the put is complete, and
 * the host may already have read it.
 */
void rs_guest_abandon(uint32_t vcpu)
{
	struct vcpu *v = &vcpus[vcpu % RS_GUEST_VCPUS_MAX];
	struct rs_sbuf_producer *p = &v->producer;
	uint64_t open = p->published, end = p->reserve;

	if (!p->ring || open == end)
		return;
	if (v->interrupted_end > open)
		end = v->interrupted_end;
	if (p->ring->tail == (uint32_t)open) {
		uint32_t from = (uint32_t)open;

		if (end >> 32 != open >> 32) {
			fill(p, from, p->size);
			from = 0;
		}
		fill(p, from, (uint32_t)end);
		rs_sbuf_refuse(p, 1);
	}
	rs_sbuf_publish_again(p, open);
}
