/* SPDX-License-Identifier: BSD-2-Clause */
/* sbuf in overwrite mode; overwrite.h describes the protocol. Nothing here allocates or prints. */
#include <ringside/overwrite.h>

/* A position never wraps: no writer reaches a position beyond this. */
#define POSITION_MAX (UINT64_C(1) << 62)
/* The number of a reader's restarts after a writer has lapped it, before it returns the lost
 * count. */
#define LAPPED_MAX 8

enum rs_sbuf_status rs_overwrite_create(void *mem, size_t bytes, uint32_t ele_size, uint64_t flags)
{
	struct rs_sbuf *ring = mem;
	struct rs_sbuf made; /* copied together: no reader must find a ring of the other mode */
	enum rs_sbuf_status status = rs_sbuf_create(&made, bytes, ele_size);

	if (status != RS_SBUF_OK)
		return status;
	made.magic = 0;
	made.flags = RS_SBUF_OVERWRITE | (flags & (RS_SBUF_POSITIONED | RS_SBUF_COUNT_OVERRUNS));
	*ring = made;
	/* Pairs with the acquire of magic in rs_sbuf_header_read(). */
	__atomic_store_n(&ring->magic, RS_SBUF_MAGIC, __ATOMIC_RELEASE);
	return RS_SBUF_OK;
}

static uint32_t keep(uint32_t size, uint32_t ele_size)
{
	return size - ele_size;
}

/* Returns the oldest element that is kept after this many bytes were written. */
static uint64_t oldest(uint64_t position, uint32_t size, uint32_t ele_size)
{
	return position > keep(size, ele_size) ? position - keep(size, ele_size) : 0;
}

static bool position_is_valid(uint64_t position, uint32_t ele_size)
{
	return position < POSITION_MAX && position % ele_size == 0;
}

enum rs_sbuf_status rs_overwrite_check(const struct rs_sbuf *copy, size_t bytes, uint64_t magic)
{
	struct rs_sbuf other = *copy;
	enum rs_sbuf_status status;

	if (copy->magic != magic || (magic != RS_SBUF_MAGIC && magic != RS_SBUF_MAGIC_LAST))
		return RS_SBUF_NO_MAGIC;
	other.magic = RS_SBUF_MAGIC;
	other.flags &= ~RS_SBUF_OVERWRITE;
	if (copy->flags & RS_SBUF_POSITIONED) /* head and tail are for other readers */
		other.head = other.tail = 0;
	status = rs_sbuf_check(&other, bytes);
	if (status != RS_SBUF_OK)
		return status;
	/* At rest, both modes are read in the same way. */
	if (magic == RS_SBUF_MAGIC && !(copy->flags & RS_SBUF_OVERWRITE))
		return RS_SBUF_OTHER_MODE;
	if (copy->flags & RS_SBUF_POSITIONED &&
	    (!position_is_valid(copy->position, copy->ele_size)))
		return RS_SBUF_BAD_POSITION;
	return RS_SBUF_OK;
}

static enum rs_sbuf_status header_check(const struct rs_sbuf *ring, size_t bytes, uint64_t magic,
					struct rs_sbuf *copy)
{
	return rs_sbuf_header_read(ring, bytes, copy) ? rs_overwrite_check(copy, bytes, magic)
						      : RS_SBUF_TOO_SMALL;
}

enum rs_sbuf_status rs_sbuf_mark_last(void *mem, size_t bytes)
{
	struct rs_sbuf *ring = mem;
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(ring, bytes, RS_SBUF_MAGIC, &copy);

	if (status == RS_SBUF_OTHER_MODE)
		status = rs_sbuf_check(&copy, bytes);
	if (status != RS_SBUF_OK)
		return status;
	__atomic_store_n(&ring->magic, RS_SBUF_MAGIC_LAST, __ATOMIC_RELEASE);
	return RS_SBUF_OK;
}

/* ---- positioned ----------------------------------------------------------------------------- */

enum rs_sbuf_status rs_overwriter_init(struct rs_overwriter *w, void *mem, size_t bytes)
{
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(mem, bytes, RS_SBUF_MAGIC, &copy);

	if (status == RS_SBUF_OK && !(copy.flags & RS_SBUF_POSITIONED))
		status = RS_SBUF_OTHER_MODE;
	if (status != RS_SBUF_OK)
		return status;
	*w = (struct rs_overwriter){
		.ring = mem,
		.position = copy.position,
		.at = (uint32_t)(copy.position % copy.size),
		.size = copy.size,
		.ele_size = copy.ele_size,
		.counts = copy.flags & RS_SBUF_COUNT_OVERRUNS,
	};
	return RS_SBUF_OK;
}

/* After a put, counts the elements that it overwrote, and sets head and tail for ACRN's tools. */
static void book(const struct rs_overwriter *w)
{
	uint64_t from = oldest(w->position, w->size, w->ele_size);

	if (from) {
		/* Relaxed: a hint from the reader, which may be late. */
		uint64_t read = __atomic_load_n(&w->ring->read, __ATOMIC_RELAXED);

		if (w->counts && read < from)
			__atomic_store_n(&w->ring->overrun_cnt, w->ring->overrun_cnt + 1,
					 __ATOMIC_RELAXED);
		__atomic_store_n(&w->ring->head, (uint32_t)(from % w->size), __ATOMIC_RELAXED);
	}
	/* Pairs with the acquire of tail in ACRN's reader, if it has one. */
	__atomic_store_n(&w->ring->tail, w->at, __ATOMIC_RELEASE);
}

void rs_overwriter_put(struct rs_overwriter *w, const void *element)
{
	uint64_t *to = (uint64_t *)(void *)((uint8_t *)(w->ring + 1) + w->at);
	const uint64_t *from = element;

	/* Each word is written after the previous put's position: pairs with copy_out()'s
	 * acquires. */
	for (uint32_t i = 0; i < w->ele_size / sizeof(*to); i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	w->position += w->ele_size;
	w->at += w->ele_size;
	if (w->at == w->size)
		w->at = 0;
	/* Pairs with the acquires of position in rs_overwrite_read(). */
	__atomic_store_n(&w->ring->position, w->position, __ATOMIC_RELEASE);
	book(w);
}

/* Computes the position of a locked ring of the last boot from its head and tail, because the ring
 * has none. */
static void attach_locked(struct rs_overwrite_reader *r, const struct rs_sbuf *copy)
{
	r->position = copy->head;
	r->seen = copy->tail >= copy->head ? copy->tail : (uint64_t)copy->tail + copy->size;
}

enum rs_sbuf_status rs_overwrite_attach(struct rs_overwrite_reader *r, void *mem, size_t bytes,
					uint64_t magic)
{
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(mem, bytes, magic, &copy);
	bool last = magic == RS_SBUF_MAGIC_LAST;

	if (status == RS_SBUF_OK && !last && !(copy.flags & RS_SBUF_POSITIONED))
		status = RS_SBUF_OTHER_MODE;
	if (status != RS_SBUF_OK)
		return status;
	*r = (struct rs_overwrite_reader){
		.ring = mem,
		.data = (const uint8_t *)mem + sizeof(struct rs_sbuf),
		.size = copy.size,
		.ele_size = copy.ele_size,
		.last = last,
	};
	if (!(copy.flags & RS_SBUF_POSITIONED)) {
		attach_locked(r, &copy);
		return RS_SBUF_OK;
	}
	r->seen = copy.position;
	if (last)
		r->position = oldest(copy.position, copy.size, copy.ele_size);
	else if (copy.read <= copy.position && copy.read % copy.ele_size == 0)
		r->position = copy.read;
	return RS_SBUF_OK;
}

/* Reads the writer's position. Returns false if it is impossible. A ring at rest stays as it was
 * attached. */
static bool position_poll(struct rs_overwrite_reader *r)
{
	uint64_t position;

	if (r->last)
		return true;
	/* Pairs with the release of position in rs_overwriter_put(). */
	position = __atomic_load_n(&r->ring->position, __ATOMIC_ACQUIRE);
	if (position < r->seen || !position_is_valid(position, r->ele_size))
		return false;
	r->seen = position;
	return true;
}

/* Skips the elements from r->position on that are overwritten. Returns their number. */
static uint64_t skip(struct rs_overwrite_reader *r)
{
	uint64_t from = oldest(r->seen, r->size, r->ele_size);
	uint64_t n;

	if (r->last || from <= r->position)
		return 0;
	n = (from - r->position) / r->ele_size;
	r->position = from;
	r->lost += n;
	return n;
}

static void copy_out(const struct rs_overwrite_reader *r, uint64_t *to, uint32_t n)
{
	uint32_t at = (uint32_t)(r->position % r->size);
	uint32_t words = n * (r->ele_size / (uint32_t)sizeof(*to));

	for (uint32_t i = 0; i < words; i++) {
		/* Before the second load of position: pairs with rs_overwriter_put()'s releases. */
		to[i] = __atomic_load_n((const uint64_t *)(const void *)(r->data + at),
					__ATOMIC_ACQUIRE);
		at += (uint32_t)sizeof(*to);
		if (at == r->size)
			at = 0;
	}
}

enum rs_sbuf_status rs_overwrite_read(struct rs_overwrite_reader *r, void *to, uint32_t n,
				      uint32_t *got, uint64_t *lost)
{
	uint32_t have = 0;
	uint64_t gone = 0;

	*got = 0;
	*lost = 0;
	for (int i = 0; i < LAPPED_MAX && gone == have; i++) {
		uint64_t left;

		if (!position_poll(r))
			return RS_SBUF_BAD_POSITION;
		*lost += skip(r);
		left = (r->seen - r->position) / r->ele_size;
		have = left < n ? (uint32_t)left : n;
		if (!have)
			break;
		copy_out(r, to, have);
		if (!position_poll(r))
			return RS_SBUF_BAD_POSITION;
		gone = skip(r);
		*lost += gone;
		if (gone > have) /* the copied elements and some after them */
			gone = have;
	}
	if (gone < have) {
		*got = have - (uint32_t)gone;
		if (gone)
			__builtin_memmove(to, (uint8_t *)to + gone * r->ele_size,
					  (size_t)*got * r->ele_size);
		r->position += (uint64_t)*got * r->ele_size;
	}
	if (!r->last)
		__atomic_store_n(&r->ring->read, r->position, __ATOMIC_RELAXED);
	return RS_SBUF_OK;
}

/* ---- locked --------------------------------------------------------------------------------- */

enum rs_sbuf_status rs_locked_init(struct rs_locked *l, void *mem, size_t bytes)
{
	struct rs_sbuf copy = { 0 };
	enum rs_sbuf_status status = header_check(mem, bytes, RS_SBUF_MAGIC, &copy);

	if (status == RS_SBUF_OK && copy.flags & RS_SBUF_POSITIONED)
		status = RS_SBUF_OTHER_MODE;
	if (status != RS_SBUF_OK)
		return status;
	*l = (struct rs_locked){
		.ring = mem,
		.size = copy.size,
		.ele_size = copy.ele_size,
		.head = copy.head,
		.tail = copy.tail,
		.counts = copy.flags & RS_SBUF_COUNT_OVERRUNS,
	};
	return RS_SBUF_OK;
}

static void lock(struct rs_locked *l)
{
	/* Pairs with the release in unlock(). */
	while (__atomic_exchange_n(&l->lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&l->lock, __ATOMIC_RELAXED))
			;
}

static void unlock(struct rs_locked *l)
{
	__atomic_store_n(&l->lock, 0, __ATOMIC_RELEASE);
}

static uint32_t next(const struct rs_locked *l, uint32_t at)
{
	at += l->ele_size;
	return at == l->size ? 0 : at;
}

bool rs_locked_put(struct rs_locked *l, const void *element)
{
	bool full;

	lock(l);
	__builtin_memcpy((uint8_t *)(l->ring + 1) + l->tail, element, l->ele_size);
	l->tail = next(l, l->tail);
	full = l->tail == l->head;
	if (full) {
		l->head = next(l, l->head);
		if (l->counts)
			l->ring->overrun_cnt++;
		/* Written before tail, so that a ring that is interrupted between the two is not
		 * empty. */
		__atomic_store_n(&l->ring->head, l->head, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&l->ring->tail, l->tail, __ATOMIC_RELEASE);
	unlock(l);
	return !full;
}

bool rs_locked_get(struct rs_locked *l, void *element)
{
	bool any;

	lock(l);
	any = l->head != l->tail;
	if (any) {
		__builtin_memcpy(element, (uint8_t *)(l->ring + 1) + l->head, l->ele_size);
		l->head = next(l, l->head);
		__atomic_store_n(&l->ring->head, l->head, __ATOMIC_RELEASE);
	}
	unlock(l);
	return any;
}
