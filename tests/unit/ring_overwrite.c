/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Overwrite mode: its bytes, the elements that it keeps, a slow reader's view, both forms; random
 * operations compared with a plain array of all elements that were put; hostile headers; a
 * concurrent writer and reader.
 */
#include "event_kit.h"

#include <pthread.h>
#include <sched.h>

#include "event/overwrite_port.h"

#define ELEMENTS_MAX 64u
#define WORDS_MAX    10u /* of an element */

static struct {
	uint64_t before;
	union {
		struct rs_sbuf header;
		uint8_t bytes[sizeof(struct rs_sbuf) + ELEMENTS_MAX * WORDS_MAX * 8];
	} ring;
	uint64_t after;
} mem;

static size_t make(uint32_t elements, uint32_t ele_size, uint64_t flags)
{
	size_t bytes = rs_sbuf_bytes(elements, ele_size);

	memset(&mem, 0xa5, sizeof(mem));
	CHECK_EQ_U64(rs_overwrite_create(&mem.ring, bytes, ele_size, flags), RS_SBUF_OK);
	return bytes;
}

/* Word i of element number n. */
static uint64_t word_of(uint64_t n, uint32_t i)
{
	return i ? (n + i) * UINT64_C(0x9e3779b97f4a7c15) : n;
}

static const uint64_t *element(uint64_t n)
{
	static __thread uint64_t words[WORDS_MAX];

	for (uint32_t i = 0; i < WORDS_MAX; i++)
		words[i] = word_of(n, i);
	return words;
}

static bool is_element(const uint64_t *words, uint64_t n, uint32_t ele_size)
{
	for (uint32_t i = 0; i < ele_size / 8; i++)
		if (words[i] != word_of(n, i))
			return false;
	return true;
}

TEST(bytes_are_acrns)
{
	/* magic, ele_num, ele_size, head, tail, flags, overrun_cnt, size, padding */
	static const uint8_t fresh[64] = {
		0xa3, 0x3a, 0xa1, 0x1a, 0xa7, 0x7a, 0xa5, 0x5a, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0,	 0,
		0,    0,    0,	  0,	0,    3,    0,	  0,	0, 0, 0, 0, 0,	0, 0, 0, 0, 128,
	};
	struct rs_locked l;
	uint32_t words[6];
	size_t bytes = make(8, 16, RS_SBUF_COUNT_OVERRUNS);

	CHECK(test_mem(TEST_HERE, "header", &mem.ring, fresh, sizeof(fresh)));
	REQUIRE_EQ_U64(rs_locked_init(&l, &mem.ring, bytes), RS_SBUF_OK);
	for (uint64_t n = 0; n < 10; n++)
		CHECK(rs_locked_put(&l, element(n)) == (n < 7));
	/* 10 put, 7 kept: head 3, tail 10 - 8 = 2, in elements of 16 bytes */
	memcpy(words, mem.ring.bytes + 16, sizeof(words));
	CHECK_EQ_U64(words[0], 48);
	CHECK_EQ_U64(words[1], 32);
	CHECK_EQ_U64(words[4], 3);
	CHECK_EQ_U64(words[5], 128);
	make(8, 16, RS_SBUF_POSITIONED);
	CHECK_EQ_U64(mem.ring.bytes[24], 2);
	CHECK_EQ_U64(mem.ring.bytes[28], 1); /* reserved for ACRN's hypervisor */
	CHECK_EQ_U64(rs_overwrite_create(&mem.ring, 100, 16, 0), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_overwrite_create(&mem.ring, bytes, 12, 0), RS_SBUF_BAD_GEOMETRY);
}

TEST(a_ring_at_rest_is_read_as_acrn_does)
{
	struct rs_overwriter w;
	size_t bytes = make(8, 16, RS_SBUF_POSITIONED | RS_SBUF_COUNT_OVERRUNS);

	REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
	for (uint64_t n = 0; n < 29; n++) {
		uint32_t head, kept = 0;

		rs_overwriter_put(&w, element(n));
		/* sbuf_get() of ACRN, until head is tail */
		for (head = mem.ring.header.head; head != mem.ring.header.tail; kept++) {
			uint64_t first = n + 1 > 7 ? n + 1 - 7 : 0;

			CHECK(is_element((uint64_t *)(void *)(mem.ring.bytes + 64 + head),
					 first + kept, 16));
			head += 16;
			if (head >= 128)
				head -= 128;
		}
		CHECK_EQ_U64(kept, n < 7 ? n + 1 : 7);
	}
	CHECK_EQ_U64(mem.ring.header.overrun_cnt, 22);
	CHECK_EQ_U64(mem.ring.header.position, 29 * 16);
}

TEST(complete_laps_are_detected)
{
	struct rs_overwriter w;
	struct rs_overwrite_reader r;
	uint64_t out[ELEMENTS_MAX * 2], lost, next = 0;
	uint32_t got;
	size_t bytes = make(8, 16, RS_SBUF_POSITIONED);

	REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC), RS_SBUF_OK);
	for (uint32_t laps = 1; laps < 5; laps++) {
		for (uint32_t i = 0; i < 8 * laps; i++)
			rs_overwriter_put(&w, element(next++));
		/* head and tail are where they were, and yet */
		CHECK_EQ_U64(rs_overwrite_read(&r, out, ELEMENTS_MAX, &got, &lost), RS_SBUF_OK);
		CHECK_EQ_U64(got, 7);
		CHECK_EQ_U64(lost, 8 * laps - 7);
		for (uint32_t i = 0; i < got; i++)
			CHECK(is_element(out + (size_t)i * 2, next - 7 + i, 16));
		CHECK_EQ_U64(mem.ring.header.read, next * 16);
	}
	CHECK_EQ_U64(mem.ring.header.overrun_cnt, 0); /* counting was not requested */
}

TEST(last_is_marked_once_and_read_from_its_oldest_element)
{
	struct rs_sbuf_consumer c;

	for (uint32_t form = 0; form < 2; form++) {
		uint64_t flags = form ? RS_SBUF_POSITIONED : 0;
		struct rs_overwriter w;
		struct rs_overwrite_reader r;
		struct rs_locked l;
		uint64_t out[ELEMENTS_MAX * 2], lost;
		uint32_t got;
		size_t bytes = make(8, 16, flags);

		if (form)
			REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
		else
			REQUIRE_EQ_U64(rs_locked_init(&l, &mem.ring, bytes), RS_SBUF_OK);
		for (uint64_t n = 0; n < 20; n++)
			form ? rs_overwriter_put(&w, element(n))
			     : (void)rs_locked_put(&l, element(n));
		CHECK_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC_LAST),
			     RS_SBUF_NO_MAGIC);
		CHECK_EQ_U64(rs_sbuf_mark_last(&mem.ring, bytes), RS_SBUF_OK);
		CHECK_EQ_U64(mem.ring.bytes[0], 0xa2);
		CHECK_EQ_U64(rs_sbuf_mark_last(&mem.ring, bytes), RS_SBUF_NO_MAGIC);
		CHECK_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_NO_MAGIC);
		REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC_LAST),
			       RS_SBUF_OK);
		CHECK_EQ_U64(rs_overwrite_read(&r, out, 4, &got, &lost), RS_SBUF_OK);
		CHECK_EQ_U64(got, 4);
		CHECK_EQ_U64(rs_overwrite_read(&r, out + 8, 9, &got, &lost), RS_SBUF_OK);
		CHECK_EQ_U64(got, 3);
		CHECK_EQ_U64(lost, 0);
		for (uint32_t i = 0; i < 7; i++)
			CHECK(is_element(out + (size_t)i * 2, 13 + i, 16));
	}
	/* a ring in the other mode can also be from the last boot */
	CHECK_EQ_U64(rs_sbuf_create(&mem.ring, sizeof(mem.ring), 32), RS_SBUF_OK);
	CHECK_EQ_U64(rs_sbuf_mark_last(&mem.ring, sizeof(mem.ring)), RS_SBUF_OK);
	CHECK_EQ_U64(rs_sbuf_attach(&c, &mem.ring, sizeof(mem.ring)), RS_SBUF_NO_MAGIC);
}

/* ACRN's log rings have flags 0; a restarted hypervisor changes only the magic and the head. */
TEST(a_last_ring_in_the_other_mode_is_read_from_head_to_tail)
{
	size_t bytes = sizeof(struct rs_sbuf) + 8u * 16;
	struct rs_overwrite_reader r;
	uint64_t lost, out[16], words[2] = { 0 };
	struct rs_sbuf *ring = (void *)&mem.ring;
	uint32_t got;

	CHECK_EQ_U64(rs_sbuf_create(ring, bytes, 16), RS_SBUF_OK);
	for (words[0] = 0; words[0] < 8; words[0]++)
		memcpy((uint8_t *)(ring + 1) + words[0] * 16, words, 16);
	ring->head = 6 * 16;
	ring->tail = 3 * 16;
	CHECK_EQ_U64(rs_overwrite_attach(&r, ring, bytes, RS_SBUF_MAGIC), RS_SBUF_OTHER_MODE);
	CHECK_EQ_U64(rs_sbuf_mark_last(ring, bytes), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_overwrite_attach(&r, ring, bytes, RS_SBUF_MAGIC_LAST), RS_SBUF_OK);
	CHECK_EQ_U64(rs_overwrite_read(&r, out, 8, &got, &lost), RS_SBUF_OK);
	REQUIRE_EQ_U64(got, 5);
	CHECK_EQ_U64(lost, 0);
	for (uint32_t i = 0; i < got; i++)
		CHECK_EQ_U64(out[(size_t)i * 2], (6 + i) % 8);
}

TEST(a_new_writer_continues)
{
	struct rs_overwriter w;
	struct rs_overwrite_reader r;
	uint64_t out[ELEMENTS_MAX * 2], lost;
	uint32_t got;
	size_t bytes = make(8, 16, RS_SBUF_POSITIONED);

	for (uint64_t n = 0; n < 12; n++) {
		REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
		rs_overwriter_put(&w, element(n));
	}
	for (uint32_t i = 0; i < 3; i++) { /* and a new reader, from where the last one ended */
		REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC),
			       RS_SBUF_OK);
		CHECK_EQ_U64(rs_overwrite_read(&r, out, 2, &got, &lost), RS_SBUF_OK);
		CHECK_EQ_U64(got, 2);
		CHECK_EQ_U64(lost, i ? 0 : 5);
		CHECK(is_element(out, 5 + i * 2, 16));
	}
}

/* ---- hostile ----------------------------------------------------------------------------------
 */

TEST(hostile_headers_are_refused)
{
	static const struct {
		uint32_t at; /* 32-bit word */
		uint32_t value;
		enum rs_sbuf_status status;
	} bad[] = {
		{ 0, 0, RS_SBUF_NO_MAGIC },	 { 2, 7, RS_SBUF_BAD_GEOMETRY },
		{ 2, 0, RS_SBUF_BAD_GEOMETRY },	 { 3, 0, RS_SBUF_BAD_GEOMETRY },
		{ 3, 12, RS_SBUF_BAD_GEOMETRY }, { 9, 64, RS_SBUF_BAD_GEOMETRY },
		{ 6, 0, RS_SBUF_OTHER_MODE },	 { 7, 0, RS_SBUF_OTHER_MODE },
		{ 10, 8, RS_SBUF_BAD_POSITION }, { 11, 1u << 30, RS_SBUF_BAD_POSITION },
		{ 4, UINT32_MAX, RS_SBUF_OK },	 { 5, 7, RS_SBUF_OK },
		{ 14, 3, RS_SBUF_OK },		 { 15, UINT32_MAX, RS_SBUF_OK },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rs_overwrite_reader r;
		size_t bytes = make(8, 16, RS_SBUF_POSITIONED);

		memcpy(mem.ring.bytes + bad[i].at * 4, &bad[i].value, 4);
		CHECK_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC),
			     bad[i].status);
		if (bad[i].status == RS_SBUF_OK)
			CHECK_EQ_U64(r.position, 0);
	}
	for (size_t bytes = 0; bytes < 64 + 128; bytes += 8) {
		struct rs_overwrite_reader r;

		make(8, 16, RS_SBUF_POSITIONED);
		CHECK_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC),
			     RS_SBUF_TOO_SMALL);
	}
}

TEST(hostile_positions_end_the_read)
{
	static const uint64_t positions[] = { 0, 16, 33, UINT64_C(1) << 62, UINT64_MAX - 15 };

	for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
		struct rs_overwriter w;
		struct rs_overwrite_reader r;
		uint64_t out[ELEMENTS_MAX * 2], lost;
		uint32_t got;
		size_t bytes = make(8, 16, RS_SBUF_POSITIONED);

		REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
		REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC),
			       RS_SBUF_OK);
		rs_overwriter_put(&w, element(0));
		rs_overwriter_put(&w, element(1));
		CHECK_EQ_U64(rs_overwrite_read(&r, out, 8, &got, &lost), RS_SBUF_OK);
		mem.ring.header.position = positions[i];
		CHECK_EQ_U64(rs_overwrite_read(&r, out, 8, &got, &lost), RS_SBUF_BAD_POSITION);
		CHECK_EQ_U64(got, 0);
		/* A distant, but possible position is a loss. */
		mem.ring.header.position = UINT64_C(1) << 61;
		CHECK_EQ_U64(rs_overwrite_read(&r, out, 8, &got, &lost), RS_SBUF_OK);
		CHECK_EQ_U64(got, 7);
		CHECK_EQ_U64(lost, ((UINT64_C(1) << 61) - 32) / 16 - 7);
		rs_overwriter_put(&w, element(2)); /* the writer uses its own position */
		CHECK_EQ_U64(mem.ring.header.position, 48);
	}
}

/*
 * ---- random operations, compared with all elements put
 * -------------------------------------------------------
 */

TEST(random_puts_and_reads)
{
	for (uint64_t seed = 1; seed <= 400 && !test_failures; seed++) {
		uint64_t state = seed, next = 0, expect = 0, lost, all_lost = 0;
		uint32_t elements = 6 + (uint32_t)(kit_random(&state) % (ELEMENTS_MAX - 5));
		uint32_t ele_size = 8 * (1 + (uint32_t)(kit_random(&state) % WORDS_MAX));
		uint64_t out[ELEMENTS_MAX * WORDS_MAX];
		size_t bytes =
			make(elements, ele_size, RS_SBUF_POSITIONED | RS_SBUF_COUNT_OVERRUNS);
		struct rs_overwriter w;
		struct rs_overwrite_reader r;
		uint32_t got;

		REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
		REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC),
			       RS_SBUF_OK);
		for (uint32_t step = 0; step < 500; step++) {
			uint32_t n = (uint32_t)(kit_random(&state) % (2 * elements));

			while (n--)
				rs_overwriter_put(&w, element(next++));
			n = (uint32_t)(kit_random(&state) % elements) + 1;
			CHECK_EQ_U64(rs_overwrite_read(&r, out, n, &got, &lost), RS_SBUF_OK);
			CHECK_EQ_U64(lost, next - expect > elements - 1
						   ? next - expect - (elements - 1)
						   : 0);
			expect += lost;
			all_lost += lost;
			CHECK_EQ_U64(got, next - expect < n ? next - expect : n);
			for (uint32_t i = 0; i < got; i++)
				CHECK(is_element(out + (size_t)i * ele_size / 8, expect + i,
						 ele_size));
			expect += got;
		}
		CHECK_EQ_U64(r.lost, all_lost);
		CHECK_EQ_U64(mem.ring.header.overrun_cnt, all_lost); /* no read meanwhile */
		CHECK(mem.before == UINT64_C(0xa5a5a5a5a5a5a5a5) && mem.after == mem.before);
	}
}

/* ---- threads
 * ------------------------------------------------------------------------------------- */

#define THREAD_PUTS 400000u

struct threads {
	struct rs_overwriter w;
	struct rs_locked l;
	bool locked, done;
};

static void *write_all(void *arg)
{
	struct threads *t = arg;

	for (uint64_t n = 0; n < THREAD_PUTS; n++) {
		if (t->locked)
			rs_locked_put(&t->l, element(n));
		else
			rs_overwriter_put(&t->w, element(n));
		if (n % 1000 == 0)
			sched_yield();
	}
	__atomic_store_n(&t->done, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST(a_concurrent_reader_sees_no_torn_element)
{
	struct threads t = { 0 };
	struct rs_overwrite_reader r;
	size_t bytes = make(17, 40, RS_SBUF_POSITIONED);
	uint64_t out[17 * 5], lost, expect = 0, kept = 0;
	uint32_t got = 1;
	pthread_t thread;

	REQUIRE_EQ_U64(rs_overwriter_init(&t.w, &mem.ring, bytes), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_overwrite_attach(&r, &mem.ring, bytes, RS_SBUF_MAGIC), RS_SBUF_OK);
	REQUIRE(!pthread_create(&thread, NULL, write_all, &t));
	for (bool done = false; !done || got;) {
		done = __atomic_load_n(&t.done, __ATOMIC_ACQUIRE);
		if (!CHECK_EQ_U64(rs_overwrite_read(&r, out, 16, &got, &lost), RS_SBUF_OK))
			break;
		expect += lost;
		for (uint32_t i = 0; i < got; i++)
			CHECK(is_element(out + (size_t)i * 5, expect + i, 40));
		expect += got;
		kept += got;
	}
	pthread_join(thread, NULL);
	CHECK_EQ_U64(expect, THREAD_PUTS);
	CHECK_EQ_U64(kept + r.lost, THREAD_PUTS);
	printf("# %" PRIu64 " read, %" PRIu64 " lost\n", kept, r.lost);
}

TEST(the_locked_form_with_several_threads)
{
	struct threads t = { .locked = true };
	size_t bytes = make(17, 40, RS_SBUF_COUNT_OVERRUNS);
	uint64_t out[5], kept = 0, next = 0;
	bool got = true;
	pthread_t thread;

	REQUIRE_EQ_U64(rs_locked_init(&t.l, &mem.ring, bytes), RS_SBUF_OK);
	REQUIRE(!pthread_create(&thread, NULL, write_all, &t));
	for (bool done = false; !done || got;) {
		done = __atomic_load_n(&t.done, __ATOMIC_ACQUIRE);
		got = rs_locked_get(&t.l, out);
		if (!got)
			continue;
		CHECK(out[0] >= next && is_element(out, out[0], 40));
		next = out[0] + 1;
		kept++;
	}
	pthread_join(thread, NULL);
	CHECK_EQ_U64(next, THREAD_PUTS);
	CHECK_EQ_U64(kept + mem.ring.header.overrun_cnt, THREAD_PUTS);
}

/* ---- the port
 * ------------------------------------------------------------------------------------ */

TEST(a_drain_reports_overwritten_elements)
{
	static struct rs_overwrite_port port;
	static uint8_t to[RS_DRAIN_ROOM_MIN * 2] __attribute__((aligned(8)));
	struct rs_schema *schema = kit_schema("app");
	uint64_t state = 7, put = 0, kept = 0, told = 0, stamp = 1000, out_last = 0;
	size_t bytes = make(50, 32, RS_SBUF_POSITIONED);
	struct rs_overwriter w;
	struct rs_drain drain;
	struct rs_drained got;
	struct rs_port p;

	REQUIRE_EQ_U64(rs_overwriter_init(&w, &mem.ring, bytes), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_overwrite_port_init(&port, &mem.ring, bytes, RS_SBUF_MAGIC), RS_SBUF_OK);
	p = rs_port_overwrite(&port);
	rs_drain_init(&drain, &p, schema);
	for (uint32_t step = 0; step < 3000; step++) {
		uint32_t n = (uint32_t)(kit_random(&state) % 75);

		while (n--) {
			struct rs_slot slot = { .tsc = stamp++,
						.head = USER(KIT_ONE) | UINT64_C(0x81) << 48 };

			memcpy(slot.payload, &put, sizeof(put));
			put++;
			rs_overwriter_put(&w, &slot);
		}
		CHECK_EQ_U64(rs_drain_read(&drain, to, sizeof(to), UINT64_MAX, &got), RS_DRAIN_OK);
		for (const struct rs_slot *slot = (void *)to; (uint8_t *)slot < to + got.bytes;
		     slot += rs_slot_count(slot->head)) {
			uint64_t number;

			CHECK(slot->tsc >= out_last);
			out_last = slot->tsc;
			if (rs_slot_id(slot->head) == RS_ID_LOST) {
				told += rs_lost_count(slot);
				continue;
			}
			memcpy(&number, slot->payload, sizeof(number));
			CHECK_EQ_U64(number, kept + told);
			CHECK_EQ_U64(slot->tsc, 1000 + number);
			kept++;
		}
	}
	CHECK_EQ_U64(kept + told, put);
	CHECK(told > 1000);
	CHECK_EQ_U64(drain.damaged_total, 0);
	rs_drain_end(&drain, to, sizeof(to), UINT64_MAX, &got);
	CHECK_EQ_U64(got.bytes, 0);
	make(8, 16, RS_SBUF_POSITIONED);
	CHECK_EQ_U64(rs_overwrite_port_init(&port, &mem.ring, bytes, RS_SBUF_MAGIC),
		     RS_SBUF_BAD_GEOMETRY);
	rs_schema_destroy(schema);
}
