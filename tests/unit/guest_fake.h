/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guests simulated in the test's process: their memory is an array, and the guest's own code fills
 * their rings. Only a ring's head may be written in guest memory.
 */
#ifndef GUEST_FAKE_H
#define GUEST_FAKE_H

#include "event_kit.h"

#include <ringside/guest_abi.h>
#include <ringside/host.h>

#define AREA	     0x1000u
#define SITES	     0x3000u
#define TEXTS	     0x3400u
#define RINGS	     0x4000u
#define RING_STRIDE  0x4000u
#define VCPUS	     2u
#define MEMORY_BYTES (RINGS + VCPUS * RING_STRIDE)
#define RING_BYTES   0x2000u

#define READ_ID USER(1)
#define SAY_ID	USER(2)
#define SPAN	3u

/* ---- a guest -------------------------------------------------------------------------------- */

struct fake {
	_Alignas(64) uint8_t memory[MEMORY_BYTES];
	uint64_t visible; /* from here on there is no memory */
	struct rs_sbuf_producer p[VCPUS];
	struct rs_clock clock; /* the host's */
	struct rs_host_guest *host;
	int64_t offset[VCPUS];
	uint32_t reads, bad_writes;
	/* Memory that changes: after the change_at-th read that covers it, once. */
	uint64_t change, change_by;
	uint32_t change_at, covered;
};

static inline struct rs_guest_area *area_of(struct fake *f)
{
	return (struct rs_guest_area *)(void *)(f->memory + AREA);
}

static inline struct rs_guest_site *site_of(struct fake *f, uint32_t i)
{
	return (struct rs_guest_site *)(void *)(f->memory + SITES) + i;
}

static inline struct rs_sbuf *ring_of(struct fake *f, uint32_t vcpu)
{
	return (struct rs_sbuf *)(void *)(f->memory + RINGS + vcpu * RING_STRIDE);
}

/* A guest writes while its memory is read, as on a real machine; this is not a race to report. */
__attribute__((no_sanitize("thread"))) static inline void
copy(volatile uint8_t *to, const volatile uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = from[i];
}

static inline bool fake_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	struct fake *f = ctx;

	__atomic_fetch_add(&f->reads, 1, __ATOMIC_RELAXED);
	if (gpa > f->visible || bytes > f->visible - gpa)
		return false;
	copy(to, f->memory + gpa, bytes);
	if (f->change_at && gpa <= f->change && f->change + 8 <= gpa + bytes &&
	    ++f->covered == f->change_at) {
		uint64_t value;

		memcpy(&value, f->memory + f->change, 8);
		value ^= f->change_by;
		memcpy(f->memory + f->change, &value, 8);
	}
	return true;
}

static inline bool fake_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	struct fake *f = ctx;
	bool head = false;

	for (uint32_t i = 0; i < VCPUS; i++)
		head |= gpa == RINGS + i * RING_STRIDE + offsetof(struct rs_sbuf, head);
	if (!head || bytes != 4)
		__atomic_fetch_add(&f->bad_writes, 1, __ATOMIC_RELAXED);
	if (gpa > f->visible || bytes > f->visible - gpa)
		return false;
	if (bytes == 4 && gpa % 4 == 0) /* pairs with the producer's acquire */
		__atomic_store_n((uint32_t *)(void *)(f->memory + gpa), *(const uint32_t *)from,
				 __ATOMIC_RELEASE);
	return true;
}

static inline void site_make(struct fake *f, uint32_t i, uint32_t kind, const char *text)
{
	*site_of(f, i) = (struct rs_guest_site){
		.text = TEXTS + i * 64,
		.len = (uint32_t)strlen(text),
		.kind = kind,
		.id = kind == RS_GUEST_SITE_EVENT ? (uint32_t)USER(i + 1) : i + 1,
	};
	memcpy(f->memory + TEXTS + i * 64, text, strlen(text));
}

static inline void ring_make(struct fake *f, uint32_t vcpu, uint32_t bytes)
{
	area_of(f)->ring[vcpu] = (struct rs_guest_ring){ RINGS + vcpu * RING_STRIDE, bytes };
	CHECK_EQ_U64(rs_sbuf_create(ring_of(f, vcpu), bytes, RS_SLOT_BYTES), RS_SBUF_OK);
	f->p[vcpu] = (struct rs_sbuf_producer){ 0 };
	CHECK_EQ_U64(rs_sbuf_producer_init(&f->p[vcpu], ring_of(f, vcpu), bytes), RS_SBUF_OK);
}

/* A valid guest of two vCPUs, with its area and rings. */
static inline struct fake *fake_create(const char *vm, uint32_t ring_bytes)
{
	struct fake *f = aligned_alloc(64, sizeof(*f));
	struct rs_host_options options = { .vm = vm,
					   .memory = { f, fake_read, fake_write },
					   .vcpus = VCPUS };

	memset(f, 0, sizeof(*f));
	f->visible = MEMORY_BYTES;
	f->clock = kit_clock(rs_tsc());
	*area_of(f) = (struct rs_guest_area){ .magic = RS_GUEST_AREA_MAGIC,
					      .version = RS_GUEST_AREA_VERSION,
					      .bytes = sizeof(struct rs_guest_area),
					      .flags = RS_GUEST_INVARIANT_TSC,
					      .n_sites = 3,
					      .sites = SITES };
	site_make(f, 0, RS_GUEST_SITE_EVENT, "io::read(u64 sector, u32 len:bytes)");
	site_make(f, 1, RS_GUEST_SITE_EVENT, "io::say(u16 level, text message)");
	site_make(f, 2, RS_GUEST_SITE_NAME, "a span");
	for (uint32_t i = 0; i < VCPUS; i++)
		ring_make(f, i, ring_bytes);
	options.clock = &f->clock;
	CHECK_OK(rs_host_guest_create(&options, &f->host));
	return f;
}

static inline void fake_destroy(struct fake *f)
{
	CHECK_EQ_U64(f->bad_writes, 0);
	rs_host_guest_destroy(f->host);
	free(f);
}

#define APART 1000 /* ticks: above any counter's step, and two CPUs' difference */

/*
 * Puts one io::read. Returns its stamp on the host's clock; 0: refused. The stamp is later than the
 * previous one of any vCPU, because records of equal times are merged by vCPU number.
 */
static inline uint64_t emit(struct fake *f, uint32_t vcpu, uint64_t sector)
{
	static uint64_t last;
	struct rs_sbuf_room room;
	struct rs_slot *slot;
	uint32_t len = 512;

	while ((int64_t)(rs_tsc() - last) < APART)
		;
	room = rs_sbuf_reserve_nested(&f->p[vcpu], RS_SLOT_BYTES);
	slot = (struct rs_slot *)(void *)room.at;
	if (!slot)
		return 0;
	last = room.tsc;
	slot->tsc = room.tsc + (uint64_t)f->offset[vcpu];
	slot->head = rs_record_head(READ_ID, 1) | (uint64_t)vcpu << RS_CPU_SHIFT;
	memset(slot->payload, 0, 16);
	memcpy(slot->payload, &sector, 8);
	memcpy(slot->payload + 8, &len, 4);
	rs_sbuf_commit_nested(&f->p[vcpu], room);
	return room.tsc;
}

static inline bool put_message(struct fake *f, uint32_t vcpu, uint16_t level, const char *text)
{
	return rs_emit_text(&f->p[vcpu], SAY_ID, &level, 2, text, strlen(text));
}

static inline void span(struct fake *f, uint32_t vcpu)
{
	struct rs_sbuf_room room = rs_sbuf_reserve_nested(&f->p[vcpu], RS_SLOT_BYTES);
	struct rs_slot *slot = (struct rs_slot *)(void *)room.at;
	struct rs_span payload = { .name = SPAN, .arg = 5 };

	if (!CHECK(slot != NULL))
		return;
	slot->tsc = room.tsc;
	slot->head = rs_record_head(RS_ID_SPAN_BEGIN, 1);
	memcpy(slot->payload, &payload, sizeof(payload));
	rs_sbuf_commit_nested(&f->p[vcpu], room);
}

static inline struct rs_error *ring_doorbell(struct fake *f, uint32_t vcpu)
{
	return rs_host_doorbell(f->host, vcpu, RS_DOORBELL_REGISTER, AREA);
}

#endif
