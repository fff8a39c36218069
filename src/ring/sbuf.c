/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sbuf: creates and checks rings, and implements the producer's slow path. Built for the host and,
 * without a libc, for guests. So the code does not allocate or print, and calls only the producer's
 * full() hook. sbuf.h describes the protocol.
 */
#include <ringside/record.h>

enum rs_sbuf_status rs_sbuf_create(void *mem, size_t bytes, uint32_t ele_size)
{
	struct rs_sbuf *ring = mem;
	size_t room = bytes > sizeof(*ring) ? bytes - sizeof(*ring) : 0;

	if (!ele_size || ele_size % 8)
		return RS_SBUF_BAD_GEOMETRY;
	if (room > RS_SBUF_SIZE_MAX)
		room = RS_SBUF_SIZE_MAX;
	if (room / ele_size < RS_SBUF_ELE_NUM_MIN)
		return RS_SBUF_TOO_SMALL;
	*ring = (struct rs_sbuf){
		.ele_num = (uint32_t)(room / ele_size),
		.ele_size = ele_size,
		.size = (uint32_t)(room / ele_size) * ele_size,
	};
	/* Pairs with the acquire of magic in rs_sbuf_attach(). */
	__atomic_store_n(&ring->magic, RS_SBUF_MAGIC, __ATOMIC_RELEASE);
	return RS_SBUF_OK;
}

enum rs_sbuf_status rs_sbuf_check(const struct rs_sbuf *copy, size_t bytes)
{
	if (copy->magic != RS_SBUF_MAGIC)
		return RS_SBUF_NO_MAGIC;
	if (!copy->ele_size || copy->ele_size % 8 || copy->ele_num < RS_SBUF_ELE_NUM_MIN)
		return RS_SBUF_BAD_GEOMETRY;
	if ((uint64_t)copy->ele_num * copy->ele_size != copy->size || copy->size > RS_SBUF_SIZE_MAX)
		return RS_SBUF_BAD_GEOMETRY;
	if (bytes < sizeof(*copy) || bytes - sizeof(*copy) < copy->size)
		return RS_SBUF_TOO_SMALL;
	if (copy->flags & RS_SBUF_OVERWRITE)
		return RS_SBUF_OTHER_MODE;
	if (copy->head >= copy->size || copy->head % copy->ele_size || copy->tail >= copy->size ||
	    copy->tail % copy->ele_size)
		return RS_SBUF_BAD_POSITION;
	return RS_SBUF_OK;
}

const char *rs_sbuf_status_text(enum rs_sbuf_status status)
{
	switch (status) {
	case RS_SBUF_OK:
		return "a sound ring";
	case RS_SBUF_TOO_SMALL:
		return "the memory is too small for the ring";
	case RS_SBUF_NO_MAGIC:
		return "no ring in the memory (its magic is missing)";
	case RS_SBUF_BAD_GEOMETRY:
		return "the ring's sizes are impossible or disagree";
	case RS_SBUF_BAD_POSITION:
		return "head or tail points outside the ring or between elements";
	case RS_SBUF_OTHER_MODE:
		return "the ring is in overwrite mode";
	}
	return "unknown ring status";
}

bool rs_sbuf_header_read(const struct rs_sbuf *ring, size_t bytes, struct rs_sbuf *copy)
{
	if (bytes < sizeof(*ring))
		return false;
	/* Pairs with the release of magic in rs_sbuf_create(), rs_overwrite_create(). */
	copy->magic = __atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE);
	copy->ele_num = __atomic_load_n(&ring->ele_num, __ATOMIC_RELAXED);
	copy->ele_size = __atomic_load_n(&ring->ele_size, __ATOMIC_RELAXED);
	copy->head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	copy->tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	copy->flags = __atomic_load_n(&ring->flags, __ATOMIC_RELAXED);
	copy->overrun_cnt = __atomic_load_n(&ring->overrun_cnt, __ATOMIC_RELAXED);
	copy->size = __atomic_load_n(&ring->size, __ATOMIC_RELAXED);
	/* Pairs with the release of position in rs_overwriter_put(). */
	copy->position = __atomic_load_n(&ring->position, __ATOMIC_ACQUIRE);
	copy->refused = __atomic_load_n(&ring->refused, __ATOMIC_RELAXED);
	copy->read = __atomic_load_n(&ring->read, __ATOMIC_RELAXED);
	return true;
}

static enum rs_sbuf_status header_check(const struct rs_sbuf *ring, size_t bytes,
					struct rs_sbuf *copy)
{
	return rs_sbuf_header_read(ring, bytes, copy) ? rs_sbuf_check(copy, bytes)
						      : RS_SBUF_TOO_SMALL;
}

enum rs_sbuf_status rs_sbuf_attach(struct rs_sbuf_consumer *c, void *mem, size_t bytes)
{
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(mem, bytes, &copy);

	if (status != RS_SBUF_OK)
		return status;
	*c = (struct rs_sbuf_consumer){
		.ring = mem,
		.data = (const uint8_t *)mem + sizeof(struct rs_sbuf),
		.size = copy.size,
		.ele_size = copy.ele_size,
		.head = copy.head,
	};
	return RS_SBUF_OK;
}

enum rs_sbuf_status rs_sbuf_producer_init(struct rs_sbuf_producer *p, void *mem, size_t bytes)
{
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(mem, bytes, &copy);

	if (status != RS_SBUF_OK)
		return status;
	p->size = copy.size;
	p->ele_size = copy.ele_size;
	p->reserve = copy.tail;
	p->published = copy.tail;
	p->limit = 0;
	p->refused = 0;
	p->reported = 0;
	p->lost_from = 0;
	p->refused_before = copy.refused;
	rs_signal_fence(); /* ring last: a producer with a ring is ready */
	p->ring = mem;
	return RS_SBUF_OK;
}

/* ---- the slow path ------------------------------------------------------------------------ */

/* Returns whether refused records await a loss record. Only rings of slots have loss records. */
static bool has_unreported(const struct rs_sbuf_producer *p)
{
	return __atomic_load_n(&p->reported, __ATOMIC_RELAXED) !=
		       __atomic_load_n(&p->refused, __ATOMIC_RELAXED) &&
	       p->ele_size == RS_SLOT_BYTES;
}

/*
 * A signal handler may refuse and report in between. Then lost_from is earlier than necessary, but
 * never later than the first unreported refusal.
 */
void rs_sbuf_refuse(struct rs_sbuf_producer *p, uint64_t n)
{
	uint64_t now = rs_tsc();
	uint64_t before;

	if (!has_unreported(p))
		__atomic_store_n(&p->lost_from, now, __ATOMIC_RELAXED);
	rs_signal_fence();
	do {
		before = __atomic_load_n(&p->refused, __ATOMIC_RELAXED);
	} while (!rs_local_cmpxchg(&p->refused, before, before + n));
	do { /* must not overwrite a handler's newer count */
		before = __atomic_load_n(&p->refused, __ATOMIC_RELAXED);
		__atomic_store_n(&p->ring->refused, p->refused_before + before, __ATOMIC_RELAXED);
		rs_signal_fence();
	} while (__atomic_load_n(&p->refused, __ATOMIC_RELAXED) != before);
	if (has_unreported(p))
		__atomic_store_n(&p->limit, 0, __ATOMIC_RELAXED);
}

/* Fills each slot separately, so that no old content looks like a record. */
static void write_filler(uint8_t *at, uint64_t tsc, uint32_t slots)
{
	for (; slots; slots--, at += RS_SLOT_BYTES)
		*(struct rs_slot *)at = (struct rs_slot){
			.tsc = tsc,
			.head = rs_record_head(RS_ID_FILLER, 1),
		};
}

void rs_record_write_lost(void *at, uint64_t cpu_bits, const struct rs_lost *lost, uint64_t tsc)
{
	struct rs_slot *slot = at;

	slot[0].tsc = tsc;
	slot[0].head = rs_record_head(RS_ID_LOST, RS_LOST_SLOTS) | cpu_bits;
	slot[1] = (struct rs_slot){ 0 };
	*(struct rs_lost *)slot->payload = *lost;
}

/* A claim on the ring: filler to the lap's end and a loss record, if needed, and the bytes. */
struct claim {
	uint64_t from, to; /* positions */
	uint64_t refused;  /* as read for this claim, before its stamp: for its loss record */
	uint32_t head;	   /* as read for this claim */
	uint32_t filler;   /* bytes */
	uint32_t loss;	   /* bytes */
};

/*
 * Writes the loss record to the two slots claimed for it. It counts all refusals up to the claim.
 * If a handler has already reported them, the slots become filler.
 */
static void write_loss(struct rs_sbuf_producer *p, uint8_t *at, const struct claim *c, uint64_t tsc)
{
	struct rs_lost lost = { .to = tsc };
	uint64_t reported;

	do {
		reported = __atomic_load_n(&p->reported, __ATOMIC_RELAXED);
		if (reported >= c->refused) {
			write_filler(at, tsc, RS_LOST_SLOTS);
			return;
		}
		lost.count = c->refused - reported;
		lost.from = __atomic_load_n(&p->lost_from, __ATOMIC_RELAXED);
	} while (!rs_local_cmpxchg(&p->reported, reported, c->refused));
	rs_record_write_lost(at, p->cpu_bits, &lost, tsc);
}

/* Computes a claim for bytes from the present position. Returns false if there is no room. */
static bool claim_plan(const struct rs_sbuf_producer *p, uint32_t bytes, struct claim *c)
{
	uint32_t at, used, need;

	c->from = __atomic_load_n(&p->reserve, __ATOMIC_RELAXED);
	/* Pairs with the consumer's release of head: the consumer has read what this producer may
	 * overwrite. */
	c->head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
	if (c->head >= p->size || c->head % p->ele_size)
		return false;
	at = (uint32_t)c->from;
	used = at >= c->head ? at - c->head : at + p->size - c->head;
	c->refused = __atomic_load_n(&p->refused, __ATOMIC_RELAXED);
	c->loss = has_unreported(p) ? RS_LOST_SLOTS * RS_SLOT_BYTES : 0;
	need = bytes + c->loss;
	c->filler = need > p->size - at ? p->size - at : 0;
	if (c->filler && p->ele_size != RS_SLOT_BYTES)
		return false;
	need += c->filler;
	if (need > p->size - p->ele_size - used)
		return false;
	at += need;
	c->to = (c->from & ~UINT64_C(0xffffffff)) | at;
	if (at >= p->size)
		c->to += (UINT64_C(1) << 32) - p->size;
	return true;
}

/*
 * Returns the limit after a claim: the consumer's position, or one element before the lap's end,
 * because the put that reaches the end must take the slow path to start the next lap.
 */
static void limit_set(struct rs_sbuf_producer *p, const struct claim *c)
{
	uint32_t at = (uint32_t)c->to;
	uint32_t end = (c->head > at ? c->head : p->size) - p->ele_size;

	/* A handler may have set the limit from a newer head; a limit from an older head is only
	 * stricter. */
	__atomic_store_n(&p->limit, (c->to & ~UINT64_C(0xffffffff)) | end, __ATOMIC_RELAXED);
	rs_signal_fence();
	if (has_unreported(p)) /* each put must then take the slow path */
		__atomic_store_n(&p->limit, 0, __ATOMIC_RELAXED);
}

/* Claims bytes, with the records that must precede them, or counts a refusal. */
static bool claim_make(struct rs_sbuf_producer *p, uint32_t bytes, struct claim *c, uint64_t *tsc)
{
	uint64_t asked_at = UINT64_MAX;

	for (;;) {
		if (!p->ring || !claim_plan(p, bytes, c)) {
			/* Handlers that wrote after full() may have filled the ring again. */
			uint64_t before = p->reserve;

			if (p->full && asked_at != before && p->full(p)) {
				asked_at = before;
				continue;
			}
			if (p->ring)
				rs_sbuf_refuse(p, 1);
			return false;
		}
		*tsc = rs_tsc();
		if (rs_local_cmpxchg(&p->reserve, c->from, c->to))
			return true;
	}
}

struct rs_sbuf_room rs_sbuf_reserve_slow(struct rs_sbuf_producer *p, uint32_t bytes)
{
	struct rs_sbuf_room room = { 0 };
	struct claim claim;
	uint64_t tsc;

	if (!claim_make(p, bytes, &claim, &tsc))
		return room;
	room = rs_sbuf_room_at(p, claim.from, tsc);
	if (claim.filler) {
		write_filler(room.at, tsc, claim.filler / RS_SLOT_BYTES);
		room.at = (uint8_t *)(p->ring + 1);
	}
	if (claim.loss) {
		write_loss(p, room.at, &claim, tsc);
		room.at += claim.loss;
	}
	limit_set(p, &claim);
	return room;
}

void rs_sbuf_publish_again(struct rs_sbuf_producer *p, uint64_t to)
{
	while (p->published == to && p->reserve != to) {
		to = p->reserve;
		rs_signal_fence();
		/* Pairs with the consumer's acquire of tail. */
		__atomic_store_n(&p->ring->tail, (uint32_t)to, __ATOMIC_RELEASE);
		rs_signal_fence();
		p->published = to;
		rs_signal_fence();
	}
}

uint32_t rs_sbuf_put_many(struct rs_sbuf_producer *p, const void *elements, uint32_t n)
{
	const uint8_t *from = elements;
	uint32_t done = 0;

	while (done < n) {
		uint64_t left = p->limit > p->reserve ? p->limit - p->reserve : 0;
		uint64_t want = (uint64_t)(n - done) * p->ele_size;
		uint32_t bytes = left >= want ? (uint32_t)want : (uint32_t)left;
		struct rs_sbuf_room room;

		if (!bytes)
			bytes = p->ele_size;
		room = rs_sbuf_reserve(p, bytes);
		if (!room.at) {
			if (p->ring && n - done > 1)
				rs_sbuf_refuse(p, n - done - 1);
			break;
		}
		__builtin_memcpy(room.at, from, bytes);
		from += bytes;
		done += bytes / p->ele_size;
	}
	if (done)
		rs_sbuf_commit(p);
	return done;
}
