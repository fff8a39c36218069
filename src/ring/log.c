/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log's rings; log_ring.h describes the protocol. Built for the host and, without a libc, for
 * guests: nothing here allocates, prints or waits.
 */
#include <ringside/log_ring.h>
#include <ringside/overwrite.h>

#define NUMBER_SHIFT 16
#define KIND_SHIFT   12
#define PART_SHIFT   4
#define PARTS_SHIFT  1
#define WORDS	     (RS_LOG_ELEMENT_BYTES / (uint32_t)sizeof(uint64_t))

_Static_assert(RS_LOG_ELEMENT_BYTES % sizeof(uint64_t) == 0, "an element is words");

static uint64_t state_of(uint64_t number, enum rs_log_kind kind, uint32_t part, uint32_t parts,
			 bool cut)
{
	return (number + 1) << NUMBER_SHIFT | (uint64_t)kind << KIND_SHIFT |
	       (uint64_t)part << PART_SHIFT | (uint64_t)(parts - 1) << PARTS_SHIFT | cut;
}

static uint32_t kind_of(uint64_t state)
{
	return (uint32_t)(state >> KIND_SHIFT) & 15;
}

static uint32_t part_of(uint64_t state)
{
	return (uint32_t)(state >> PART_SHIFT) & 15;
}

static uint32_t parts_of(uint64_t state)
{
	return ((uint32_t)(state >> PARTS_SHIFT) & 7) + 1;
}

/* Odd numbers without a pattern (pi's digits, made odd), so that a change of a word, or an exchange
 * of two words, changes the sum. */
static uint64_t mix(uint64_t sum, uint64_t word, uint32_t i)
{
	sum += (word ^ (word >> 29)) *
	       (UINT64_C(0x243f6a8885a308d3) + i * UINT64_C(0x13198a2e03707344));
	return sum;
}

static uint64_t finish(uint64_t sum, uint64_t state)
{
	sum ^= state * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 31;
}

/* ---- layout -------------------------------------------------------------------------------- */

enum rs_sbuf_status rs_log_layout_init(struct rs_log_layout *layout, uint64_t bytes, uint32_t lanes,
				       uint64_t trace_bytes)
{
	uint64_t half, room;
	uint32_t elements = RS_LOG_ELEMENTS_MIN;

	if (!lanes || lanes > RS_LOG_LANES_MAX || bytes > RS_LOG_BYTES_MAX || trace_bytes % 64)
		return RS_SBUF_BAD_GEOMETRY;
	if (bytes < RS_LOG_HEAD_BYTES)
		return RS_SBUF_TOO_SMALL;
	half = (bytes - RS_LOG_HEAD_BYTES) / 2 & ~UINT64_C(63);
	if (trace_bytes > half)
		return RS_SBUF_TOO_SMALL;
	room = (half - trace_bytes) / lanes;
	if (rs_log_lane_bytes(elements) > room)
		return RS_SBUF_TOO_SMALL;
	while (elements < RS_LOG_ELEMENTS_MAX && rs_log_lane_bytes(elements * 2) <= room)
		elements *= 2;
	*layout = (struct rs_log_layout){ .half_bytes = half,
					  .lane_bytes = rs_log_lane_bytes(elements),
					  .trace_bytes = trace_bytes,
					  .lanes = lanes,
					  .elements = elements };
	return RS_SBUF_OK;
}

enum rs_sbuf_status rs_log_head_check(const struct rs_log_head *head, uint64_t bytes,
				      struct rs_log_layout *layout)
{
	uint64_t own;

	if (bytes < RS_LOG_HEAD_BYTES)
		return RS_SBUF_TOO_SMALL;
	/* Pairs with the release in rs_log_head_create(). */
	if (__atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) != RS_LOG_MAGIC)
		return RS_SBUF_NO_MAGIC;
	if (__atomic_load_n(&head->version, __ATOMIC_RELAXED) != RS_LOG_VERSION)
		return RS_SBUF_BAD_GEOMETRY;
	own = __atomic_load_n(&head->bytes, __ATOMIC_RELAXED);
	if (own > bytes)
		return RS_SBUF_TOO_SMALL;
	return rs_log_layout_init(layout, own, __atomic_load_n(&head->lanes, __ATOMIC_RELAXED),
				  __atomic_load_n(&head->trace_bytes, __ATOMIC_RELAXED));
}

enum rs_sbuf_status rs_log_head_create(void *mem, uint64_t bytes, uint32_t lanes,
				       uint64_t trace_bytes, struct rs_log_layout *layout)
{
	struct rs_log_head *head = mem;
	enum rs_sbuf_status status = rs_log_layout_init(layout, bytes, lanes, trace_bytes);

	if (status != RS_SBUF_OK)
		return status;
	__atomic_store_n(&head->magic, 0, __ATOMIC_RELEASE);
	__builtin_memset(head, 0, RS_LOG_HEAD_BYTES);
	head->version = RS_LOG_VERSION;
	head->lanes = lanes;
	head->bytes = bytes;
	head->trace_bytes = trace_bytes;
	head->level[RS_LOG_CONSOLE] = RS_LOG_LEVEL_CONSOLE;
	head->level[RS_LOG_MEMORY] = RS_LOG_LEVEL_MEMORY;
	/* Pairs with the acquire in rs_log_head_check(). */
	__atomic_store_n(&head->magic, RS_LOG_MAGIC, __ATOMIC_RELEASE);
	return RS_SBUF_OK;
}

void rs_log_lane_of(struct rs_log_head *head, const struct rs_log_layout *layout, uint32_t half,
		    uint32_t number, struct rs_log_lane *lane)
{
	rs_log_lane_init(lane, (uint8_t *)head + rs_log_lane_at(layout, half, number),
			 layout->elements);
}

static void settle_half(struct rs_log_head *head, const struct rs_log_layout *layout, uint32_t at)
{
	struct rs_log_half *half = &head->half[at];
	uint32_t state = __atomic_load_n(&half->state, __ATOMIC_ACQUIRE);
	bool all_collected = true;

	if (state == RS_LOG_HALF_FREE || state == RS_LOG_HALF_LAST)
		return;
	for (uint32_t i = 0; i < layout->lanes; i++) {
		struct rs_log_lane lane;

		rs_log_lane_of(head, layout, at, i, &lane);
		if (lane.control->read != lane.control->taken)
			all_collected = false;
		rs_sbuf_mark_last(lane.ring, layout->lane_bytes);
	}
	half->end = state == RS_LOG_HALF_ENDED ? RS_LOG_END_ORDERLY : RS_LOG_END_UNEXPECTED;
	/* A run that was killed is recovered completely, because its lines belong together. */
	if (state == RS_LOG_HALF_ENDED && all_collected)
		state = RS_LOG_HALF_FREE;
	else
		state = RS_LOG_HALF_LAST;
	__atomic_store_n(&half->state, state, __ATOMIC_RELEASE);
}

void rs_log_settle(struct rs_log_head *head, const struct rs_log_layout *layout)
{
	settle_half(head, layout, 0);
	settle_half(head, layout, 1);
}

bool rs_log_half_choose(const struct rs_log_head *head, uint32_t *half)
{
	*half = !head->current;
	if (head->half[*half].state != RS_LOG_HALF_FREE)
		*half = !*half;
	return head->half[*half].state == RS_LOG_HALF_FREE;
}

void rs_log_lane_init(struct rs_log_lane *lane, void *mem, uint32_t elements)
{
	uint8_t *at = mem;

	lane->ring = mem;
	lane->words = (uint64_t *)(void *)(at + sizeof(struct rs_sbuf));
	at += sizeof(struct rs_sbuf) + (uint64_t)elements * RS_LOG_ELEMENT_BYTES;
	lane->control = (struct rs_log_control *)(void *)at;
	lane->tags = (struct rs_log_tag *)(void *)(at + sizeof(struct rs_log_control));
	lane->elements = elements;
}

void rs_log_lane_create(struct rs_log_lane *lane, void *mem, uint32_t elements)
{
	rs_log_lane_init(lane, mem, elements);
	__atomic_store_n(&lane->ring->magic, 0, __ATOMIC_RELEASE);
	__builtin_memset(lane->control, 0, sizeof(*lane->control));
	__builtin_memset(lane->tags, 0, elements * sizeof(*lane->tags));
	*lane->ring = (struct rs_sbuf){ .ele_num = elements,
					.ele_size = RS_LOG_ELEMENT_BYTES,
					.flags = RS_SBUF_OVERWRITE | RS_SBUF_TAGGED,
					.size = elements * RS_LOG_ELEMENT_BYTES };
	/* Pairs with the acquire of magic in a reader that polls for the ring. */
	__atomic_store_n(&lane->ring->magic, RS_SBUF_MAGIC, __ATOMIC_RELEASE);
}

/* ---- putting ------------------------------------------------------------------------------- */

static struct rs_log_tag *tag_at(const struct rs_log_lane *lane, uint64_t number)
{
	return &lane->tags[number & (lane->elements - 1)];
}

static uint64_t *words_at(const struct rs_log_lane *lane, uint64_t number)
{
	return lane->words + (number & (lane->elements - 1)) * WORDS;
}

/* Returns the state of the next part of a line from the state of a part. */
#define NEXT_PART ((UINT64_C(1) << NUMBER_SHIFT) + (1u << PART_SHIFT))

/* Claims an element. Returns false if another put writes it, or a later put has written it. */
static bool claim(struct rs_log_tag *tag, uint64_t mine)
{
	uint64_t state = __atomic_load_n(&tag->state, __ATOMIC_RELAXED);

	do {
		if (kind_of(state) == RS_LOG_WRITING ||
		    state >> NUMBER_SHIFT >= mine >> NUMBER_SHIFT)
			return false;
		/* Acquire: the stores below come after it. Pairs with the release in publish(). */
	} while (!__atomic_compare_exchange_n(&tag->state, &state, mine, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return true;
}

/* Claims all parts of a line, or none. */
static bool claim_all(const struct rs_log_lane *lane, uint64_t number, uint32_t parts)
{
	uint64_t mine = state_of(number, RS_LOG_WRITING, 0, parts, false);

	for (uint32_t i = 0; i < parts; i++, mine += NEXT_PART) {
		if (claim(tag_at(lane, number + i), mine))
			continue;
		while (i--)
			__atomic_store_n(&tag_at(lane, number + i)->state,
					 state_of(number + i, RS_LOG_VOID, i, parts, false),
					 __ATOMIC_RELEASE);
		return false;
	}
	return true;
}

static void write_part(struct rs_log_tag *tag, uint64_t *to, uint64_t done, const uint64_t *from)
{
	uint64_t sum = 0;

	/* Each word after the tag's WRITING: pairs with the acquires in read_element(). */
	for (uint32_t i = 0; i < WORDS; i++) {
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
		sum = mix(sum, from[i], i);
	}
	__atomic_store_n(&tag->check, finish(sum, done), __ATOMIC_RELEASE);
}

/* Sets the tail for ACRN's tools. Two puts that end at the same time may leave the earlier one's
 * tail. */
static void book(const struct rs_log_lane *lane, uint64_t end)
{
	uint64_t oldest = end - (lane->elements - 1);

	if (end > lane->elements - 1)
		__atomic_store_n(&lane->ring->head,
				 (uint32_t)(oldest & (lane->elements - 1)) * RS_LOG_ELEMENT_BYTES,
				 __ATOMIC_RELAXED);
	__atomic_store_n(&lane->ring->tail,
			 (uint32_t)(end & (lane->elements - 1)) * RS_LOG_ELEMENT_BYTES,
			 __ATOMIC_RELEASE);
}

bool rs_log_lane_put(const struct rs_log_lane *shared, struct rs_log_line_buffer *line)
{
	const struct rs_log_lane own = *shared, *lane = &own; /* once, not after each store */
	uint32_t parts = (line->bytes + RS_LOG_ELEMENT_BYTES - 1) / RS_LOG_ELEMENT_BYTES;
	uint64_t number, done;

	if (!parts)
		parts = 1;
	__builtin_memset((char *)line->words + line->bytes, 0,
			 parts * RS_LOG_ELEMENT_BYTES - line->bytes);
	for (int tries = 0;; tries++) {
		if (tries == RS_LOG_TRIES) {
			__atomic_fetch_add(&lane->control->dropped, 1, __ATOMIC_RELAXED);
			return false;
		}
		/* Pairs with the acquire of taken in a reader, for which it is a hint. */
		number = __atomic_fetch_add(&lane->control->taken, parts, __ATOMIC_ACQ_REL);
		if (claim_all(lane, number, parts))
			break;
	}
	done = state_of(number, RS_LOG_DONE, 0, parts, line->cut);
	for (uint32_t i = 0; i < parts; i++)
		write_part(tag_at(lane, number + i), words_at(lane, number + i),
			   done + i * NEXT_PART, line->words + i * WORDS);
	for (uint32_t i = 0; i < parts; i++) /* pairs with the acquires of state */
		__atomic_store_n(&tag_at(lane, number + i)->state, done + i * NEXT_PART,
				 __ATOMIC_RELEASE);
	book(lane, number + parts);
	return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* An element, with its tag before and after the copy. */
static bool read_element(const struct rs_log_lane *lane, uint64_t number, uint64_t state,
			 uint64_t *to)
{
	const struct rs_log_tag *tag = tag_at(lane, number);
	const uint64_t *from = words_at(lane, number);
	uint64_t check = __atomic_load_n(&tag->check, __ATOMIC_ACQUIRE);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WORDS; i++) {
		/* Before the second load of the state: pairs with write_part()'s releases. */
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		sum = mix(sum, to[i], i);
	}
	return __atomic_load_n(&tag->state, __ATOMIC_RELAXED) == state &&
	       check == finish(sum, state);
}

static uint64_t state_read(const struct rs_log_lane *lane, uint64_t number)
{
	/* Pairs with the releases in rs_log_lane_put(). */
	return __atomic_load_n(&tag_at(lane, number)->state, __ATOMIC_ACQUIRE);
}

void rs_log_reader_init(struct rs_log_reader *r, const struct rs_log_lane *lane, uint64_t from)
{
	uint64_t taken = __atomic_load_n(&lane->control->taken, __ATOMIC_ACQUIRE);

	*r = (struct rs_log_reader){ .lane = *lane, .next = from <= taken ? from : 0 };
	r->dropped = __atomic_load_n(&lane->control->dropped, __ATOMIC_RELAXED);
}

static void text_end(struct rs_log_raw *raw, uint32_t parts)
{
	raw->bytes = parts * RS_LOG_ELEMENT_BYTES;
	while (raw->bytes && !raw->text[raw->bytes - 1])
		raw->bytes--;
}

enum taken {
	TAKEN,
	TAKE_BUSY,
	TAKE_OVERWRITTEN,
	TAKE_DAMAGED,
};

/* Returns why an element with this tag cannot be read. */
static enum taken unreadable_reason(uint64_t state, uint64_t due)
{
	if (state >> NUMBER_SHIFT > due >> NUMBER_SHIFT)
		return TAKE_OVERWRITTEN;
	return kind_of(state) == RS_LOG_DONE ? TAKE_DAMAGED : TAKE_BUSY;
}

/* Reads the line that begins at r->next, whose tag says DONE. Its parts may be overwritten in any
 * order, since writers do not wait for each other. */
static enum taken record_read(const struct rs_log_reader *r, uint64_t state, struct rs_log_raw *raw)
{
	uint32_t parts = parts_of(state);

	if (part_of(state)) /* the line's beginning was lost */
		return TAKE_OVERWRITTEN;
	if (parts > RS_LOG_PARTS_MAX)
		return TAKE_DAMAGED;
	for (uint32_t i = 0; i < parts; i++) {
		uint64_t due = state_of(r->next + i, RS_LOG_DONE, i, parts, state & 1);
		uint64_t words[WORDS];

		state = state_read(&r->lane, r->next + i);
		if (state != due)
			return unreadable_reason(state, due);
		if (!read_element(&r->lane, r->next + i, due, words))
			return unreadable_reason(state_read(&r->lane, r->next + i), due);
		__builtin_memcpy(raw->text + i * RS_LOG_ELEMENT_BYTES, words, sizeof(words));
	}
	raw->cut = state & 1;
	text_end(raw, parts);
	return TAKEN;
}

/* Skips lines that are already overwritten. */
static void catch_up(struct rs_log_reader *r, uint64_t taken)
{
	if (taken - r->next <= r->lane.elements)
		return;
	r->lost += taken - r->lane.elements - r->next;
	r->next = taken - r->lane.elements;
}

enum rs_log_read rs_log_reader_next(struct rs_log_reader *r, struct rs_log_raw *raw)
{
	/* Pairs with the reservation in rs_log_lane_put(). */
	uint64_t taken = __atomic_load_n(&r->lane.control->taken, __ATOMIC_ACQUIRE);

	r->dropped = __atomic_load_n(&r->lane.control->dropped, __ATOMIC_RELAXED);
	if (taken < r->next) { /* the position never goes back */
		r->damaged++;
		r->next = taken;
	}
	catch_up(r, taken);
	for (; r->next < taken; r->next++) {
		uint64_t state = state_read(&r->lane, r->next);
		uint64_t number = state >> NUMBER_SHIFT;
		enum taken got;

		if (number > r->next + 1) { /* overwritten since */
			r->lost++;
			continue;
		}
		if (number < r->next + 1 || kind_of(state) == RS_LOG_WRITING)
			return RS_LOG_READ_BUSY;
		if (kind_of(state) == RS_LOG_VOID)
			continue;
		got = kind_of(state) == RS_LOG_DONE ? record_read(r, state, raw) : TAKE_DAMAGED;
		if (got == TAKE_BUSY)
			return RS_LOG_READ_BUSY;
		if (got == TAKEN) {
			r->next += parts_of(state);
			return RS_LOG_READ_LINE;
		}
		if (got == TAKE_OVERWRITTEN)
			r->lost++;
		else
			r->damaged++;
	}
	return RS_LOG_READ_EMPTY;
}

void rs_log_reader_skip(struct rs_log_reader *r)
{
	uint64_t taken = __atomic_load_n(&r->lane.control->taken, __ATOMIC_ACQUIRE);

	if (r->next >= taken)
		return;
	catch_up(r, taken);
	do {
		r->lost++;
		r->next++;
	} while (r->next < taken && (state_read(&r->lane, r->next) >> NUMBER_SHIFT < r->next + 1 ||
				     kind_of(state_read(&r->lane, r->next)) == RS_LOG_WRITING));
}

void rs_log_reader_done(const struct rs_log_reader *r)
{
	__atomic_store_n(&r->lane.control->read, r->next, __ATOMIC_RELAXED);
}

void rs_log_move(struct rs_log_reader *from, const struct rs_log_lane *lanes, uint32_t n)
{
	struct rs_log_line_buffer line;
	struct rs_log_raw raw;
	uint32_t at = 0;

	while (rs_log_reader_next(from, &raw) == RS_LOG_READ_LINE) {
		__builtin_memcpy(line.words, raw.text, raw.bytes);
		line.bytes = raw.bytes;
		line.cut = raw.cut;
		rs_log_lane_put(&lanes[at++ % n], &line);
	}
}

/* ---- reading at rest ----------------------------------------------------------------------- */

/* Sifts an item down a heap, by number: `order` has states. */
static void sift(uint64_t *order, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * at + 1;
		uint64_t moved = order[at];

		if (child >= n)
			return;
		if (child + 1 < n && order[child + 1] > order[child])
			child++;
		if (order[child] <= moved)
			return;
		order[at] = order[child];
		order[child] = moved;
		at = child;
	}
}

/* qsort() is not used, because there is no libc, and untrusted data must not cause recursion. */
static void sort(uint64_t *order, uint32_t n)
{
	for (uint32_t i = n / 2; i--;)
		sift(order, i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint64_t last = order[i];

		order[i] = order[0];
		order[0] = last;
		sift(order, 0, i);
	}
}

/* Collects the states of whole lines, in the order of their numbers. */
static uint32_t whole(const struct rs_log_lane *lane, uint64_t *order, struct rs_log_salvage *sum)
{
	uint64_t words[WORDS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < lane->elements; i++) {
		uint64_t state = state_read(lane, i);
		uint32_t kind = kind_of(state);

		if (!state || kind == RS_LOG_VOID)
			continue;
		if (kind == RS_LOG_DONE && parts_of(state) <= RS_LOG_PARTS_MAX &&
		    part_of(state) < parts_of(state) &&
		    (((state >> NUMBER_SHIFT) - 1) & (lane->elements - 1)) == i &&
		    read_element(lane, i, state, words))
			order[n++] = state;
		else
			sum->torn++;
	}
	sort(order, n);
	return n;
}

void rs_log_lane_salvage(const struct rs_log_lane *lane, uint64_t *order,
			 void (*found)(void *ctx, const struct rs_log_raw *raw), void *ctx,
			 struct rs_log_salvage *sum)
{
	uint64_t due = 0;
	uint32_t n, i = 0;

	*sum = (struct rs_log_salvage){ 0 };
	n = whole(lane, order, sum);
	while (i < n) {
		struct rs_log_reader r = { .lane = *lane, .next = (order[i] >> NUMBER_SHIFT) - 1 };
		struct rs_log_raw raw;

		if (record_read(&r, order[i], &raw) == TAKEN) {
			sum->lines++;
			raw.after_loss = r.next != due;
			due = r.next + parts_of(order[i]);
			i += parts_of(order[i]);
			found(ctx, &raw);
		} else {
			sum->parts++;
			i++;
		}
	}
}
