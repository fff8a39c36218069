/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring and its slots, byte by byte, compared with ACRN's: the header is acrn_common.h's struct
 * shared_buf, the slot hypervisor/debug/trace.c's struct trace_entry. The bytes here are written by
 * hand from those layouts. A reader and a writer that work like ACRN's sbuf_get() and sbuf_put()
 * operate the other end of our rings.
 */
#include "../test.h"

#include <ringside/record.h>

#define SLOTS 8u

static union {
	struct rs_sbuf header;
	uint8_t bytes[64 + SLOTS * 32];
} ring;

static uint32_t get32(uint32_t offset)
{
	uint32_t value;

	memcpy(&value, ring.bytes + offset, 4);
	return value;
}

static void set32(uint32_t offset, uint32_t value)
{
	memcpy(ring.bytes + offset, &value, 4);
}

/* Works like ACRN's reader: uses only offsets, not our ring. */
static bool acrn_get(void *to)
{
	uint32_t ele_size = get32(12), head = get32(16), tail = get32(20), size = get32(36);

	if (head == tail)
		return false;
	memcpy(to, ring.bytes + 64 + head, ele_size);
	head += ele_size;
	set32(16, head >= size ? head - size : head);
	return true;
}

/* Works like ACRN's writer. */
static bool acrn_put(const void *from)
{
	uint32_t ele_size = get32(12), head = get32(16), tail = get32(20), size = get32(36);
	uint32_t next = tail + ele_size >= size ? tail + ele_size - size : tail + ele_size;

	if (next == head)
		return false;
	memcpy(ring.bytes + 64 + tail, from, ele_size);
	set32(20, next);
	return true;
}

static void element(uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < 32; i++)
		bytes[i] = (uint8_t)(n * 37 + i);
}

TEST(a_new_ring_is_acrns_header)
{
	static const uint8_t expected[64] = {
		/* magic 0x5aa57aa71aa13aa3 */
		0xa3, 0x3a, 0xa1, 0x1a, 0xa7, 0x7a, 0xa5, 0x5a,
		/* ele_num 8, ele_size 32 */
		0x08, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00,
		/* head 0, tail 0 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		/* flags 0 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		/* overrun_cnt 0, size 256 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
		/* padding[6] */
	};

	memset(&ring, 0xee, sizeof(ring));
	CHECK_EQ_U64(rs_sbuf_create(&ring, sizeof(ring), 32), RS_SBUF_OK);
	CHECK_MEM(ring.bytes, expected, sizeof(expected));
}

TEST(a_slot_is_acrns_trace_entry)
{
	/* A VM_EXIT of ACRN: tsc, id 0x10, n_data 2 (TRACE_2L), cpu 3; exit reason 30, RIP. */
	static const uint8_t expected[32] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* tsc */
		0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, /* id 48, n_data 8, cpu 8 */
		0x1e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* exit reason */
		0xf0, 0xff, 0x0f, 0x81, 0xff, 0xff, 0xff, 0xff, /* guest RIP */
	};
	struct rs_slot slot = {
		.tsc = 0x1122334455667788,
		.head = 0x10 | UINT64_C(2) << RS_N_DATA_SHIFT | UINT64_C(3) << RS_CPU_SHIFT,
	};
	const uint64_t payload[2] = { 30, 0xffffffff810ffff0 };
	struct rs_sbuf_producer p = { 0 };

	memcpy(slot.payload, payload, sizeof(payload));
	REQUIRE_EQ_U64(rs_sbuf_create(&ring, sizeof(ring), 32), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_producer_init(&p, &ring, sizeof(ring)), RS_SBUF_OK);
	CHECK(rs_sbuf_put(&p, &slot, 32));
	CHECK_MEM(ring.bytes + 64, expected, sizeof(expected));
	CHECK_EQ_U64(get32(16), 0);
	CHECK_EQ_U64(get32(20), 32);
}

TEST(our_records_head)
{
	/* One slot: n_data 0x81; cpu 5; provider 2 (its bits begin at 20), number 7. */
	static const uint8_t one[8] = { 0x07, 0, 0x20, 0, 0, 0, 0x81, 0x05 };
	static const uint8_t most[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xc0, 0xff };
	uint64_t head = rs_record_head(RS_ID(2, 7), 1) | UINT64_C(5) << RS_CPU_SHIFT;

	CHECK_MEM(&head, one, 8);
	CHECK_EQ_U64(rs_slot_id(head), RS_ID(2, 7));
	CHECK_EQ_U64(rs_slot_count(head), 1);
	head = rs_record_head(RS_ID_MASK, 64) | UINT64_C(0xff) << RS_CPU_SHIFT;
	CHECK_MEM(&head, most, 8);
	CHECK_EQ_U64(rs_slot_count(head), 64);
}

TEST(slot_counts)
{
	/* Ours are 0x81 to 0xc0; ACRN's 2, 4, 8 and 16, one slot each; all others are invalid. */
	for (uint32_t n_data = 0; n_data < 256; n_data++) {
		bool acrns = n_data == 2 || n_data == 4 || n_data == 8 || n_data == 16;
		uint32_t expected = n_data > 0x80 && n_data <= 0xc0 ? n_data - 0x80 : acrns;

		CHECK_EQ_U64(rs_slot_count((uint64_t)n_data << 48 | 0xff00000000001234), expected);
	}
	CHECK_EQ_U64(RS_RECORD_SLOTS(0), 1);
	CHECK_EQ_U64(RS_RECORD_SLOTS(16), 1);
	CHECK_EQ_U64(RS_RECORD_SLOTS(17), 2);
	CHECK_EQ_U64(RS_RECORD_SLOTS(48), 2);
	CHECK_EQ_U64(RS_RECORD_SLOTS(RS_RECORD_PAYLOAD_MAX), 64);
	CHECK_EQ_U64(RS_RECORD_PAYLOAD_MAX, 2032);
}

TEST(a_loss_record)
{
	static const uint8_t expected[64] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* tsc */
		0x01, 0x00, 0x10, 0x00, 0x00, 0x00, 0x82, 0x09, /* common 1, two slots, cpu 9 */
		0x0d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* count 13 */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* from */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* to */
		0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* why: storage */
	};
	struct rs_lost lost = {
		.count = 13,
		.from = 0x0807060504030201,
		.to = 0x1122334455667788,
		.why = RS_LOST_STORAGE,
	};
	uint8_t at[64] __attribute__((aligned(8)));

	memset(at, 0xee, sizeof(at));
	rs_record_write_lost(at, UINT64_C(9) << RS_CPU_SHIFT, &lost, lost.to);
	CHECK_MEM(at, expected, sizeof(expected));
}

TEST(acrn_reads_our_records)
{
	struct rs_sbuf_producer p = { 0 };
	uint8_t in[32], out[32];
	uint32_t put = 0, got = 0;

	REQUIRE_EQ_U64(rs_sbuf_create(&ring, sizeof(ring), 32), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_producer_init(&p, &ring, sizeof(ring)), RS_SBUF_OK);
	while (got < 100) {
		for (uint32_t i = 0; i < 1 + got % (SLOTS - 1); i++) {
			element(in, put++);
			CHECK(rs_sbuf_put(&p, in, 32));
		}
		while (acrn_get(out)) {
			element(in, got++);
			CHECK_MEM(out, in, 32);
		}
		CHECK_EQ_U64(got, put);
	}
}

TEST(we_read_acrn_s_records)
{
	struct rs_sbuf_consumer c;
	uint8_t in[32];
	const uint8_t *run = NULL;
	uint32_t put = 0, got = 0, bytes = 0;

	REQUIRE_EQ_U64(rs_sbuf_create(&ring, sizeof(ring), 32), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_attach(&c, &ring, sizeof(ring)), RS_SBUF_OK);
	while (got < 100) {
		uint32_t filled = 0;

		element(in, put);
		while (acrn_put(in)) {
			filled++;
			element(in, ++put);
		}
		CHECK_EQ_U64(filled, SLOTS - 1);
		while (rs_sbuf_peek(&c, &run, &bytes) == RS_SBUF_OK && bytes) {
			for (uint32_t at = 0; at < bytes; at += 32) {
				element(in, got++);
				CHECK_MEM(run + at, in, 32);
			}
			rs_sbuf_release(&c, bytes);
		}
		CHECK_EQ_U64(got, put);
	}
}
