/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sbuf: a ring of fixed-size elements in memory that two parties map, one producer and one
 * consumer. Header and elements are those of ACRN's shared_buf (acrn_common.h: struct shared_buf),
 * so ACRN's tools can read single-slot rings, and this code can read ACRN's rings.
 *
 *	memory:  | header, 64 bytes | element 0 | element 1 | ... | element ele_num - 1 |
 *	                               ^ head: the consumer's        ^ tail: the producer's
 *
 * head and tail are byte offsets from the first element. head == tail means empty; the ring is full
 * when one more element would make them equal, so it holds ele_num - 1.
 *
 * Non-overwrite mode, in this file, is lock-free. A full ring refuses elements and counts them;
 * when there is room again, it first puts a record with the count and the time of the first loss.
 * Overwrite mode (RS_SBUF_OVERWRITE) keeps the newest elements instead: overwrite.h. The functions
 * here refuse such rings.
 *
 * Threads: one thread or vCPU calls the producer functions; signal or exception handlers that
 * interrupt it may call those named _nested. One thread calls the consumer functions. Neither side
 * allocates, locks or calls the kernel.
 *
 * Trust: a producer trusts its private struct rs_sbuf_producer, not the shared head, which can at
 * worst make it refuse elements or overwrite unread ones, but never leave the ring. A consumer
 * trusts nothing that it shares: it reads each header field once and checks it.
 */
#ifndef RINGSIDE_SBUF_H
#define RINGSIDE_SBUF_H

#include <stddef.h>
#include <ringside/language.h>
#include <ringside/arch.h>

RS_C_BEGIN

#define RS_SBUF_MAGIC	   UINT64_C(0x5aa57aa71aa13aa3) /* in use */
#define RS_SBUF_MAGIC_LAST UINT64_C(0x5aa57aa71aa13aa2) /* of the last boot, not read yet */

#define RS_SBUF_COUNT_OVERRUNS (UINT64_C(1) << 0)
#define RS_SBUF_OVERWRITE      (UINT64_C(1) << 1)
/* An extension, in the half of the word that ACRN's hypervisor reserves: overwrite mode without a
 * lock, in which `position` is the writer's position. */
#define RS_SBUF_POSITIONED (UINT64_C(1) << 32)

#define RS_SBUF_SIZE_MAX (UINT32_C(1) << 30) /* bytes of elements; ACRN's own stop at 4 MiB */
/* A loss record (2), an element, filler before both (at most 2), and the free one. A record of k
 * slots finds room at any position of an empty ring if ele_num is at least 2 * k + 4. */
#define RS_SBUF_ELE_NUM_MIN 6

/* The header. Offsets are ACRN's; its six words of padding hold fields that only this code
 * writes. */
struct rs_sbuf {
	uint64_t magic;
	uint32_t ele_num;
	uint32_t ele_size; /* bytes */
	uint32_t head;	   /* byte offset, consumer-owned; read with acquire by the producer */
	uint32_t tail;	   /* byte offset, producer-owned; read with acquire by the consumer */
	uint64_t flags;
	uint32_t overrun_cnt; /* overwrite mode: elements overwritten unread */
	uint32_t size;	      /* ele_num * ele_size */
	uint64_t position;    /* overwrite mode, positioned: bytes ever written */
	uint64_t refused;     /* non-overwrite mode: elements or records ever refused */
	uint64_t read;	      /* overwrite mode, positioned: bytes ever read or skipped */
};
RS_STATIC_ASSERT(sizeof(struct rs_sbuf) == 64, "ACRN's SBUF_HEAD_SIZE");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, head) == 16, "ACRN's head");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, tail) == 20, "ACRN's tail");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, flags) == 24, "ACRN's flags");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, overrun_cnt) == 32, "ACRN's overrun_cnt");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, size) == 36, "ACRN's size");
RS_STATIC_ASSERT(offsetof(struct rs_sbuf, position) == 40, "ACRN's padding");

enum rs_sbuf_status {
	RS_SBUF_OK,
	RS_SBUF_TOO_SMALL,    /* the memory does not hold what the header claims */
	RS_SBUF_NO_MAGIC,     /* not a ring, or not yet */
	RS_SBUF_BAD_GEOMETRY, /* sizes are zero, too large, or disagree */
	RS_SBUF_BAD_POSITION, /* head or tail outside the ring or between elements */
	RS_SBUF_OTHER_MODE,   /* an overwrite ring */
};

/* ---- creation ----------------------------------------------------------------------------- */

/* Returns how many bytes of memory a ring of ele_num elements takes, header included. */
static inline size_t rs_sbuf_bytes(uint32_t ele_num, uint32_t ele_size)
{
	return sizeof(struct rs_sbuf) + (size_t)ele_num * ele_size;
}

/*
 * Creates an empty ring with as many elements as fit in bytes of memory at mem, which is 8-byte
 * aligned and stays the caller's. ele_size is a multiple of 8. Writes the magic last, with release,
 * so that a party that polls for it reads a complete header.
 */
enum rs_sbuf_status rs_sbuf_create(void *mem, size_t bytes, uint32_t ele_size);

/* Copies a header from shared memory, each field once, the magic first and with acquire. Returns
 * false if there are too few bytes for a header. */
bool rs_sbuf_header_read(const struct rs_sbuf *ring, size_t bytes, struct rs_sbuf *copy);

/* Checks a header that was copied from shared memory against the size of the memory behind it. */
enum rs_sbuf_status rs_sbuf_check(const struct rs_sbuf *copy, size_t bytes);

/* Returns the status in words, for an error message. */
const char *rs_sbuf_status_text(enum rs_sbuf_status status);

/* ---- producer ----------------------------------------------------------------------------- */

/*
 * A position is lap << 32 | byte offset. It only grows, so a stale limit can never admit a write,
 * and a full turn of the ring cannot fool a compare-and-swap.
 */
struct rs_sbuf_producer {
	uint64_t reserve;	 /* position of the next element */
	uint64_t limit;		 /* end of the known free room; 0 forces the slow path */
	uint64_t published;	 /* the position of tail */
	struct rs_sbuf *ring;	 /* NULL until initialised */
	uint64_t cpu_bits;	 /* this CPU, shifted into a slot's header word */
	uint64_t refused;	 /* elements or records ever refused */
	uint64_t reported;	 /* how many of them loss records have reported */
	uint64_t lost_from;	 /* stamp of the first unreported refusal */
	uint64_t refused_before; /* the ring's own count when this producer attached */
	/* Called when the ring is full. Returns true if it may have made room, and the put should
	 * try again. */
	bool (*full)(struct rs_sbuf_producer *);
	uint32_t size;	   /* bytes of elements */
	uint32_t ele_size; /* bytes */
	uint32_t depth;	   /* open spans and instrumented functions; see emit.h */
	/* The rest is for memory.h. */
	uint32_t reserved;
	uint64_t stack_low;   /* the lowest and highest address of a frame on this thread's or */
	uint64_t stack_top;   /* vCPU's stack; 0: not known */
	uint64_t sample_left; /* bytes until the next allocation that is sampled */
	uint64_t sample_interval; /* the mean for which sample_left was drawn; 0: none was */
	uint64_t sample_state;	  /* of the random numbers */
};

/* Attaches the producing side to a ring that rs_sbuf_create() created in mem. Keeps its content. */
enum rs_sbuf_status rs_sbuf_producer_init(struct rs_sbuf_producer *p, void *mem, size_t bytes);

/* Drops the oldest quarter of a ring of records that nothing collects, in whole records, for use in
 * full(). Safe against handlers that do the same. */
bool rs_sbuf_drop_oldest(struct rs_sbuf_producer *p);

/* A reservation: its position in the ring (for the commit), and its memory. */
struct rs_sbuf_room {
	uint8_t *at; /* NULL: refused, and counted */
	struct rs_sbuf *ring;
	uint64_t tsc;	/* nested reservations: the stamp of this position */
	uint64_t start; /* position that is published if no outer put is in progress */
};

/*
 * Reserves on the slow path: at the end of a lap, with a limit to refresh, a loss to report, or a
 * full ring. bytes is a multiple of ele_size. Safe against handlers that put during it.
 */
struct rs_sbuf_room rs_sbuf_reserve_slow(struct rs_sbuf_producer *p, uint32_t bytes) RS_NOTHROW;

/* Returns the room at a position that the limit admits. A limit above 0 means that there is a
 * ring. */
static inline struct rs_sbuf_room rs_sbuf_room_at(const struct rs_sbuf_producer *p, uint64_t from,
						  uint64_t tsc)
{
	struct rs_sbuf *ring = p->ring;

	if (!ring)
		__builtin_unreachable();
	return (struct rs_sbuf_room){ .at = (uint8_t *)(ring + 1) + (uint32_t)from,
				      .ring = ring,
				      .tsc = tsc,
				      .start = from };
}

/* Reserves bytes (a multiple of ele_size) of adjacent elements. Not for code that a handler may
 * interrupt if that handler puts into this ring. */
static inline struct rs_sbuf_room rs_sbuf_reserve(struct rs_sbuf_producer *p, uint32_t bytes)
{
	uint64_t from = p->reserve;

	if (__builtin_expect(from + bytes > p->limit, 0))
		return rs_sbuf_reserve_slow(p, bytes);
	p->reserve = from + bytes;
	return rs_sbuf_room_at(p, from, 0);
}

/* Publishes up to a position. Pairs with the consumer's acquire of tail. */
static inline void rs_sbuf_publish(struct rs_sbuf_producer *p, struct rs_sbuf *ring, uint64_t to)
{
	p->published = to;
	__atomic_store_n(&ring->tail, (uint32_t)to, __ATOMIC_RELEASE);
}

/* Publishes all that was reserved. */
static inline void rs_sbuf_commit(struct rs_sbuf_producer *p)
{
	rs_sbuf_publish(p, p->ring, p->reserve);
}

/*
 * Copies bytes, a constant at the call, word by word if they are few, so that values that the
 * caller has just computed go from registers to the ring. A compiler's own copy would store them by
 * words, load them back as a vector, and wait for the stores.
 */
static inline __attribute__((always_inline)) void rs_sbuf_copy(void *to, const void *from,
							       uint32_t bytes)
{
	uint32_t done = 0;

#define RS_SBUF_COPY_WORD()                                                                        \
	if (bytes - done >= 8) {                                                                   \
		__builtin_memcpy((uint8_t *)to + done, (const uint8_t *)from + done, 8);           \
		done += 8;                                                                         \
	}
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
	RS_SBUF_COPY_WORD()
#undef RS_SBUF_COPY_WORD
	__builtin_memcpy((uint8_t *)to + done, (const uint8_t *)from + done, bytes - done);
}

/* Puts one element of ele_size bytes, a constant at the call for speed. Returns false, and counts
 * it, if the ring is full. */
static inline bool rs_sbuf_put(struct rs_sbuf_producer *p, const void *element, uint32_t ele_size)
{
	uint64_t to = p->reserve + ele_size;
	struct rs_sbuf_room room;

	if (__builtin_expect(to > p->limit, 0)) {
		room = rs_sbuf_reserve_slow(p, ele_size);
		if (!room.at)
			return false;
		to = p->reserve;
	} else {
		p->reserve = to;
		room = rs_sbuf_room_at(p, to - ele_size, 0);
	}
	rs_sbuf_copy(room.at, element, ele_size);
	rs_sbuf_publish(p, room.ring, to);
	return true;
}

/* Counts n elements or records as refused; the next put that finds room reports them. Handlers may
 * call it, and may interrupt it. */
void rs_sbuf_refuse(struct rs_sbuf_producer *p, uint64_t n);

/* Puts n elements that need not be adjacent, and publishes them together. Returns how many found
 * room. */
uint32_t rs_sbuf_put_many(struct rs_sbuf_producer *p, const void *elements, uint32_t n);

/*
 * Reserves as rs_sbuf_reserve() does, for code that handlers may interrupt in the middle of a put
 * and that put themselves. Takes the stamp between reading the position and claiming it: if a
 * handler puts in between, the claim fails and is repeated with a new stamp, so stamps in the ring
 * never go back.
 */
static inline struct rs_sbuf_room rs_sbuf_reserve_nested(struct rs_sbuf_producer *p, uint32_t bytes)
{
	uint64_t from, tsc;

	do {
		rs_signal_fence(); /* plain loads suffice: only this thread and its handlers write
				    */
		from = p->reserve;
		if (__builtin_expect(from + bytes > p->limit, 0))
			return rs_sbuf_reserve_slow(p, bytes);
		tsc = rs_tsc();
	} while (__builtin_expect(!rs_local_cmpxchg(&p->reserve, from, from + bytes), 0));
	return rs_sbuf_room_at(p, from, tsc);
}

/* Publishes for a handler that interrupted the publication of a put. */
void rs_sbuf_publish_again(struct rs_sbuf_producer *p, uint64_t to) RS_NOTHROW;

/*
 * Publishes, unless an interrupted outer put has not finished: published then still equals that
 * put's start, and that put publishes for both. A handler that runs before the store to published
 * does not publish, because published is not at the handler's start, hence the second check of
 * reserve; a handler that runs after the store has published its own put and moved published on.
 * tail cannot serve for this test, because it wraps, and a handler may put a whole lap.
 */
static inline void rs_sbuf_commit_nested(struct rs_sbuf_producer *p, struct rs_sbuf_room room)
{
	uint64_t to;

	rs_signal_fence();
	if (__builtin_expect(p->published != room.start, 0))
		return;
	to = p->reserve;
	rs_signal_fence();
	/* Pairs with the consumer's acquire of tail. */
	__atomic_store_n(&room.ring->tail, (uint32_t)to, __ATOMIC_RELEASE);
	rs_signal_fence();
	p->published = to;
	rs_signal_fence();
	if (__builtin_expect(p->reserve != to, 0))
		rs_sbuf_publish_again(p, to);
}

/* ---- consumer ----------------------------------------------------------------------------- */

struct rs_sbuf_consumer {
	struct rs_sbuf *ring;
	const uint8_t *data;
	uint32_t size;	   /* checked at attach; never read again */
	uint32_t ele_size; /* likewise */
	uint32_t head;	   /* the trusted copy; the shared one is only written */
};

/* Attaches the consuming side to a ring that another party created in bytes of memory at mem. */
enum rs_sbuf_status rs_sbuf_attach(struct rs_sbuf_consumer *c, void *mem, size_t bytes);

/*
 * Returns what can be read now without a wrap, in place, in *run and *run_bytes, a multiple of
 * ele_size; 0 if the ring is empty. The run is valid until it is released; in memory shared with an
 * untrusted producer, copy it before checking it. Returns RS_SBUF_BAD_POSITION if tail is outside
 * the ring; nothing was read then.
 */
static inline enum rs_sbuf_status rs_sbuf_peek(const struct rs_sbuf_consumer *c,
					       const uint8_t **run, uint32_t *run_bytes)
{
	/* Pairs with the producer's release of tail. */
	uint32_t tail = __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE);

	if (tail >= c->size || tail % c->ele_size)
		return RS_SBUF_BAD_POSITION;
	*run = c->data + c->head;
	*run_bytes = (tail >= c->head ? tail : c->size) - c->head;
	return RS_SBUF_OK;
}

/* Returns bytes (a multiple of ele_size, at most what peek returned) to the producer. */
static inline void rs_sbuf_release(struct rs_sbuf_consumer *c, uint32_t bytes)
{
	c->head += bytes;
	if (c->head >= c->size)
		c->head -= c->size;
	/* Pairs with the producer's acquire of head: the reads precede the producer's next
	 * writes. */
	__atomic_store_n(&c->ring->head, c->head, __ATOMIC_RELEASE);
}

RS_C_END

#endif
